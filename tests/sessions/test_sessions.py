"""Several sessions on one server: each sees its own prompt's result, whatever the others do and whatever breaks."""

import json
import os
import random
import signal
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from threading import Barrier
from urllib.parse import urlencode, urlparse
from urllib.request import urlopen

import pytest
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

from headlight.app.server.guard import MIN_SECONDS
from headlight.model.runs.edits import to_text
from tests.serving import START_SECONDS, headlight
from tests.sessions.client import Client
from tests.sessions.expected import EDITS, answer, distinct, said

RUNS = int(os.environ.get("SESSION_RUNS", "32"))  # in all; `make test-sessions` takes 2,000
PAGES = ("", "residual", "lens")


def test_each_of_four_sessions_sees_its_own_results(server: str) -> None:
    """Two of them compare each prompt's run with the same run edited, which the others must not notice."""
    prompts = distinct(16, seed=0)
    start = Barrier(4)

    def session(number: int) -> list[str]:
        rng, wrong = random.Random(number), []
        edits = EDITS if number % 2 else ()
        with Client(server, urlencode({"edits": " ".join(map(to_text, edits))})) as client:
            start.wait()
            for _ in range(RUNS // 4):
                prompt, bos = rng.choice(prompts)
                client.submit(prompt, bos)
                if rng.random() < 0.2:
                    client.go_to(rng.choice(PAGES))
                expected = [answer(prompt, bos), *([answer(prompt, bos, edits)] if edits else [])]
                if not all(said(client.texts, run).same(each) for run, each in enumerate(expected)):
                    wrong.append(f"{prompt!r}, {bos}: {client.texts}")
        return wrong

    with ThreadPoolExecutor(4) as pool:
        assert [wrong for session_ in pool.map(session, range(4)) for wrong in session_] == []


@pytest.mark.thorough
def test_after_caches_were_cleared_the_next_input_is_answered(server: str) -> None:
    (first, bos), (second, _) = distinct(2, seed=1)
    with Client(server) as client:
        client.submit(first, bos)
        client.clear_caches()
        client.submit(second, not bos)
        assert said(client.texts).same(answer(second, not bos))


@pytest.mark.thorough
def test_other_sessions_survive_that_caches_are_cleared(server: str) -> None:
    (first, bos), (second, _) = distinct(2, seed=2)
    with Client(server) as client, Client(server) as other:
        client.submit(first, bos)
        other.clear_caches()
        client.submit(second, bos)
        assert said(client.texts).same(answer(second, bos))


def _children(process: int) -> set[int]:
    return set(map(int, Path(f"/proc/{process}/task/{process}/children").read_text().split()))


def _wait_for(url: str) -> None:
    give_up = time.monotonic() + START_SECONDS
    while time.monotonic() < give_up:
        with suppress(OSError):  # nobody listens yet
            return urlopen(f"{url}/_stcore/health", timeout=5).close()
        time.sleep(0.1)
    raise TimeoutError(url)


@pytest.mark.thorough
@pytest.mark.skipif(sys.platform != "linux", reason="processes are found in /proc")
def test_after_the_server_was_killed_a_session_goes_on_where_it_was(tmp_path: Path) -> None:
    (first, bos), (second, _) = distinct(2, seed=3)
    others = _children(os.getpid())
    with headlight(tmp_path, "--threads", "1") as url:
        (guard,) = _children(os.getpid()) - others
        (serving,) = _children(guard)
        client = Client(url).open()
        client.submit(first, bos)
        time.sleep(MIN_SECONDS)  # what ends sooner is not started again
        os.kill(serving, signal.SIGBUS)  # as the system does where a mapped file was cut short
        _wait_for(url)
        client.open()  # as a browser does, with all that it held
        assert said(client.texts).same(answer(first, bos))
        client.submit(second, bos)
        assert said(client.texts).same(answer(second, bos))
        client.close()
    assert "Traceback" not in (tmp_path / "log.txt").read_text()


@pytest.mark.thorough
def test_beyond_the_queue_the_page_says_busy_and_keeps_what_it_showed(tmp_path: Path) -> None:
    with headlight(tmp_path, "--threads=1", "--runs-at-once=1", "--runs-waiting=0") as url:
        clients = [Client(url).open() for _ in range(4)]
        start, busy = Barrier(4), []

        def submit(client: Client, prompt: str) -> None:
            before = said(client.texts)
            start.wait()
            client.submit(prompt, True)
            refused = [text for text in client.texts if text.startswith("Busy: 1 runs are under way")]
            busy.extend(refused)
            assert said(client.texts).same(before if refused else answer(prompt, True))

        with ThreadPoolExecutor(4) as pool:
            for attempt in range(20):
                prompts = [" ".join([word] * 60) + f" {attempt}" for word in ("red", "green", "blue", "cat")]
                list(pool.map(submit, clients, prompts))
                if busy:
                    break
        for client in clients:
            client.close()
    assert busy, "four sessions at once never filled a queue of one"


def test_a_page_elsewhere_cannot_reach_the_server_by_a_name_of_its_own(server: str) -> None:
    """A name of somebody's that resolves to this machine (DNS rebinding)."""
    there = "127.0.0.1", urlparse(server).port
    for host, welcome in (("localhost", True), ("evil.example", False)):
        stream = f"ws://{host}:{there[1]}/_stcore/stream"
        if welcome:
            with connect(stream, address=there):
                pass
        else:
            with pytest.raises(InvalidStatus, match="403"), connect(stream, address=there):
                pass


def test_a_page_that_embeds_this_one_cannot_command_it(server: str) -> None:
    """As Streamlit's own list would let anybody's page on its public hosting."""
    with urlopen(f"{server}/_stcore/host-config") as answer:
        assert json.load(answer)["allowedOrigins"] == []

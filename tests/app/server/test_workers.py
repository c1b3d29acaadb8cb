"""Several processes behind one port: who is sent where, and what of it stays when one of them is killed."""

import asyncio
import json
import os
import signal
import socket
import sys
import time
from collections.abc import Callable, Coroutine, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any, TypeVar
from urllib.request import urlopen

import pytest
import requests
from prometheus_client.parser import text_string_to_metric_families
from starlette.types import Message, Receive, Scope, Send

from headlight.app import selection
from headlight.app.server import front as front_module
from headlight.app.server import worker as worker_module
from headlight.app.server.affinity import COOKIE, is_document, named_worker, scope_of, worker_by_address
from headlight.app.server.flags import Settings
from headlight.app.server.front import CORES, FREE, FULL, READY, Front, Place, Worker, listen, share_of
from headlight.app.server.metrics import together
from headlight.app.server.settings import read, share
from headlight.app.server.uploads import BoundedUploads
from headlight.app.server.worker import Stay
from headlight.model.base.errors import ConfigError
from tests.serving import DRAIN_SECONDS, START_SECONDS, headlight
from tests.sessions.client import Client
from tests.sessions.expected import answer, said

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Windows hands no sockets over")
PAGE = "GET /?model=mini HTTP/1.1\r\nHost: a\r\nAccept: text/html,*/*"
NAVIGATION = selection.widget_key("navigation")
Result = TypeVar("Result")


def _run(work: Coroutine[Any, Any, Result]) -> Result:
    with ThreadPoolExecutor(1) as other:  # in this thread a browser's test may have a loop of its own
        return other.submit(asyncio.run, work).result()


def _scope(head: str, peer: str = "127.0.0.1") -> Scope:
    return scope_of(head.encode(), peer)


@pytest.mark.parametrize(
    ("head", "number"),
    [
        (PAGE, None),
        (f"{PAGE}\r\nCookie: a=b; headlight_worker=2; c=d", 2),
        (f"{PAGE}\r\ncookie: headlight_worker=0", 0),
        (f"{PAGE}\r\nCookie: headlight_worker=3", None),  # of a server that had more
        (f"{PAGE}\r\nCookie: my_headlight_worker=1", None),
        (f"{PAGE}\r\nCookie: headlight_worker=1x", None),
        (f"{PAGE}\r\nX-Note: headlight_worker=1", None),
        ("GET /metrics?worker=1 HTTP/1.1\r\nCookie: headlight_worker=2", 1),
        ("\x16\x03\x01\x02", None),
        ("", None),
    ],
)
def test_a_request_names_its_worker_by_a_cookie_or_in_its_address(head: str, number: int | None) -> None:
    assert named_worker(_scope(head), 3) == number


def test_a_page_is_a_get_that_takes_html() -> None:
    assert is_document(_scope(PAGE))
    for head in (PAGE.replace("GET", "PUT"), PAGE.replace("text/html,", ""), "nonsense", ""):
        assert not is_document(_scope(head))


def test_who_keeps_no_cookie_has_a_worker_by_address_as_a_trusted_proxy_tells_it() -> None:
    def number(peer: str, forwarded: str = "", trusted: str = "127.0.0.1") -> int:
        head = f"GET /media/a.png HTTP/1.1\r\nX-Forwarded-For: {forwarded}" if forwarded else "GET / HTTP/1.1"
        return _run(worker_by_address(_scope(head, peer), trusted, 64))

    visitors = [f"192.0.2.{last}" for last in range(64)]
    numbers = [number(visitor) for visitor in visitors]
    assert len(set(numbers)) > 20  # spread over the workers
    assert [number("127.0.0.1", visitor) for visitor in visitors] == numbers
    assert {number("198.51.100.1", visitor) for visitor in visitors} == {number("198.51.100.1")}  # who is not trusted
    assert number("2001:db8::1") == number("2001:db8::ffff:1")  # who has one of a network's addresses has all


class _Taken:
    """In the place of a worker: what is handed to it."""

    is_ready = has_room = True

    def __init__(self) -> None:
        self.connections = list[socket.socket]()

    def hand(self, connection: socket.socket) -> None:
        self.connections.append(connection)


async def _handed() -> None:
    workers = [_Taken(), _Taken()]
    with listen("127.0.0.1", 0) as listener, ExitStack() as connections:
        front = Front(listener, 2)
        front.workers = workers  # type: ignore[assignment]
        accepting = asyncio.create_task(front.accept())

        def connect(text: bytes) -> socket.socket:
            client = connections.enter_context(socket.create_connection(listener.getsockname()[:2]))
            client.send(text)
            return client

        async def until(n_taken: int, n_waiting: int) -> None:
            while (sum(len(worker.connections) for worker in workers), len(front._handing)) != (n_taken, n_waiting):
                await asyncio.sleep(0.01)

        silent, half, late = connect(b""), connect(b"GET / HTTP/1.1\r\nCook"), connect(PAGE.encode())
        connect(b"GET / HTTP/1.1\r\nCookie: " + b"x" * front_module.MAX_HEAD)  # which a worker will refuse
        for _ in range(4):
            connect(f"{PAGE}\r\n\r\n".encode())
        await until(5, 3)  # nobody has waited for those that say nothing
        late.send(b"\r\nCookie: headlight_worker=1\r\n\r\n")
        await until(6, 2)
        heads = [[each.recv(2**17).partition(b"\r\n\r\n")[0] for each in worker.connections] for worker in workers]
        assert [own.count(PAGE.encode()) for own in heads] == [2, 2]  # in turn, and every byte is there
        assert [sum(b"headlight_worker=1" in head for head in own) for own in heads] == [0, 1]
        for client in (silent, half):
            client.setblocking(False)
            with suppress(ConnectionResetError):  # by which ends what has sent something
                assert await asyncio.wait_for(asyncio.get_running_loop().sock_recv(client, 1), 10) == b""
        await until(6, 0)
        accepting.cancel()
        for connection in (each for worker in workers for each in worker.connections):
            connection.close()


def test_a_client_that_says_nothing_half_or_too_much_holds_up_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(front_module, "HEAD_SECONDS", 5.0)  # in which the rest has to be done on a busy machine
    _run(asyncio.wait_for(_handed(), 60))


def test_a_page_whose_worker_has_ended_is_answered_by_another() -> None:
    with listen("127.0.0.1", 0) as listener:
        front = Front(listener, 2)
    kept, ended = front.workers = [_Taken(), _Taken()]  # type: ignore[assignment, list-item]
    ended.is_ready = ended.has_room = False
    for head, worker in ((PAGE, kept), ("GET /_stcore/stream HTTP/1.1", ended)):
        assert _run(front._worker_for(_scope(f"{head}\r\nCookie: headlight_worker=1"))) is worker


def test_a_page_whose_worker_is_full_is_answered_by_another_that_is_not() -> None:
    with listen("127.0.0.1", 0) as listener:
        front = Front(listener, 3)
    for worker in front.workers:
        worker._take_note(READY)
    full, free, last = front.workers

    def workers(head: str, number: int = 4) -> list[Worker]:
        return [_run(front._worker_for(_scope(f"{head}\r\nCookie: headlight_worker=0"))) for _ in range(number)]

    assert workers(PAGE) == [full] * 4
    for worker in (full, last):
        worker._take_note(FULL)
    assert workers(PAGE) == [free] * 4
    assert workers("GET /_stcore/stream HTTP/1.1", 1) == [full]  # what is open there goes on there
    free._take_note(FULL)
    assert set(workers(PAGE)) == {full, free, last}  # which say so
    full._take_note(FREE)
    assert workers(PAGE) == [full] * 4


def test_a_worker_tells_once_that_it_is_full_and_that_it_has_room(monkeypatch: pytest.MonkeyPatch) -> None:
    worker_module.tell_full(True)  # one process alone tells nobody
    heard, channel = socket.socketpair()
    with heard, channel:
        monkeypatch.setattr(worker_module, "_channel", channel)
        monkeypatch.setattr(worker_module, "_is_full", False)
        for is_full in (False, True, True, False, True):
            worker_module.tell_full(is_full)
        assert heard.recv(9) == FULL + FREE + FULL
        heard.close()
        worker_module.tell_full(False)  # nobody is there who would hear it


def test_what_one_worker_has_is_asked_for_by_an_address_that_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    assert worker_module.own("/media/a.png") == "/media/a.png"
    monkeypatch.setattr(worker_module, "_place", Place(1, 0, 0, is_again=False))
    (upload,) = BoundedUploads("/_stcore/upload_file").get_upload_urls("session", ["a.txt"])
    for address in (worker_module.own("/media/a.png"), upload.upload_url, upload.delete_url):
        assert named_worker(_scope(f"GET {address} HTTP/1.1\r\nCookie: headlight_worker=0"), 2) == 1


@pytest.mark.parametrize(
    ("head", "status", "is_told"),
    [
        (PAGE, 200, "1;"),
        (f"{PAGE}\r\nCookie: headlight_worker=0", 200, "1;"),  # whose worker has ended or is full
        (f"{PAGE}\r\nCookie: headlight_worker=1", 304, ""),
        (PAGE, 503, ""),  # it is full: the next time another may answer
        (f"{PAGE}\r\nCookie: headlight_worker=1", 503, "; Max-Age=0;"),
        ("GET /media/a.png HTTP/1.1", 200, ""),
        ("GET /fetch/a/0/0 HTTP/1.1\r\nCookie: headlight_worker=1", 503, ""),
    ],
)
def test_a_worker_tells_its_number_with_a_page_and_ends_the_connection(
    head: str, status: int, is_told: str, settings: dict[str, object]
) -> None:
    settings["workers"] = 2
    sent = list[Message]()

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": status, "headers": []})

    async def send(message: Message) -> None:
        sent.append(message)

    _run(Stay(app, 1)(_scope(head), None, send))  # type: ignore[arg-type]
    headers = dict(sent[0]["headers"])
    assert headers[b"connection"] == b"close"
    cookie = headers.get(b"set-cookie", b"").decode()
    assert cookie.startswith(f"headlight_worker={is_told}") if is_told else not cookie


def test_each_worker_has_its_share_of_what_the_settings_give_the_server() -> None:
    flags = ["--workers=2", "--sessions=9", "--models-gib=3", "--cache-gib=1", "--runs-at-once=3", "--runs-waiting=10"]
    flags += ["--run-gib=1", "--threads=2", "--runs-per-minute=6", "--sessions-of-address=4"]
    one = share(read(flags, {}))
    assert (one.sessions, one.models_gib, one.cache_gib, one.runs_at_once, one.runs_waiting) == (5, 1.5, 0.5, 2, 5)
    assert (one.run_gib, one.threads, one.runs_per_minute, one.sessions_of_address) == (1, 2, 6, 4)
    assert share(read([], {})) == Settings()


def test_workers_share_the_cores_and_each_has_one() -> None:
    assert [share_of({3, 1, 2, 0}, number, 2) for number in range(2)] == [{0, 2}, {1, 3}]
    assert [share_of({4, 7}, number, 3) for number in range(3)] == [{4}, {7}, {4}]
    assert share_of(set(), 1, 2) == set()


def test_windows_has_one_process(monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as there:
        there.setattr(sys, "platform", "win32")
        with pytest.raises(ConfigError, match="on Windows there can be one alone"):
            read(["--workers=2"], {})


def test_figures_of_all_workers_are_one_text_in_which_each_has_a_label() -> None:
    texts = [f'# HELP a_total What.\n# TYPE a_total counter\na_total{{b="c"}} {value}\n'.encode() for value in (2, 3)]
    (family,) = text_string_to_metric_families(together([*texts, b""]).decode())
    assert (family.type, family.documentation) == ("counter", "What.")
    assert {each.labels["worker"]: each.value for each in family.samples} == {"0": 2, "1": 3}
    assert {each.labels["b"] for each in family.samples} == {"c"}


def _children(process: int) -> list[int]:
    return list(map(int, Path(f"/proc/{process}/task/{process}/children").read_text().split()))


def _sessions(url: str, worker: int | None = None, timeout: float = 60) -> int:
    with urlopen(f"{url}/healthz" + ("" if worker is None else f"?worker={worker}"), timeout=timeout) as health:
        return int(json.load(health)["sessions"])


def _is_ready(url: str) -> bool:
    """Whether it says so at once: who asks while a worker's end is not known yet hears from the next one."""
    try:
        return _sessions(url, timeout=2) >= 0
    except OSError:
        return False


def _wait_until(holds: Callable[[], bool]) -> None:
    give_up = time.monotonic() + START_SECONDS
    while not holds():
        assert time.monotonic() < give_up
        time.sleep(0.1)


def _use_with_others_cookie(client: Client, other: str) -> None:
    """A tab of a browser in which another tab was opened at the same moment, whose cookie came last."""
    cookie = next(cookie for cookie in client._browser.cookies if cookie.name == COOKIE)
    own, cookie.value = cookie.value, other.partition("=")[2]
    client.upload("own.txt", b"one two own")
    assert "one two own" in client.all_texts
    cookie.value = own


def _pictures(url: str, cookies: Sequence[str]) -> list[bytes]:
    """The page's picture as a tab has it that has the cookie of its own worker, or of another tab's."""
    with Client(url, headers={"Cookie": cookies[0]}) as tab:
        address = f"{url}/fetch/{tab.props(NAVIGATION)['picture']}/0"
        answers = [requests.get(address, headers={"Cookie": cookie}, timeout=60) for cookie in cookies]
    return [answer.content for answer in answers if answer.ok]


def _fill(url: str, cookie: str, other: str) -> None:
    """Have a worker full, whose page then comes from the other as long as it is."""

    def worker_of_page() -> str:
        answer = requests.get(url, headers={"Accept": "text/html", "Cookie": cookie}, timeout=60)
        return answer.headers.get("Set-Cookie", cookie).partition(";")[0]

    with Client(url, headers={"Cookie": cookie}) as third:
        assert third.cookies in ("", cookie)
        _wait_until(lambda: worker_of_page() == other)
    _wait_until(lambda: worker_of_page() == cookie)


@pytest.mark.skipif(sys.platform != "linux", reason="processes are found in /proc")
def test_sessions_stay_with_their_worker_and_outlive_the_other(tmp_path: Path) -> None:
    others = _children(os.getpid())
    with headlight(tmp_path, "--workers=2", "--threads=1", "--sessions=4") as url, ExitStack() as sessions:
        (guard,) = set(_children(os.getpid())) - set(others)
        (front,) = _children(guard)
        workers = sorted(_children(front))  # as they were started
        assert [os.sched_getaffinity(worker) for worker in workers] == [
            share_of(CORES, number, 2) for number in range(2)
        ]
        clients = [sessions.enter_context(Client(url, "page=prompts")) for _ in range(2)]
        cookies = [client.cookies for client in clients]
        assert sorted(cookies) == ["headlight_worker=0", "headlight_worker=1"]
        assert [_sessions(url), _sessions(url, 0), _sessions(url, 1)] == [2, 1, 1]
        for number in range(4):  # each file goes to who has given its address
            clients[number % 2].upload(f"{number}.txt", f"one two {number}".encode())
            assert f"one two {number}" in clients[number % 2].all_texts
        _use_with_others_cookie(clients[0], cookies[1])
        own, by_other = _pictures(url, cookies)
        assert own == by_other
        assert b"PNG" in own
        assert requests.get(f"{url}/fetch/unknown/0", timeout=60).status_code == 404
        _fill(url, *cookies)
        kept, lost = (clients[cookies.index(f"headlight_worker={number}")] for number in range(2))
        kept.close()
        kept.open()  # as a browser does whose connection was cut
        assert [_sessions(url, 0), _sessions(url, 1)] == [1, 1]

        os.kill(workers[1], signal.SIGKILL)
        _wait_until(lambda: not _is_ready(url))
        kept.submit("one two three", True)
        assert said(kept.texts).same(answer("one two three", True))
        lost.open()  # which waits for the worker that is started in its place
        lost.submit("two three", True)
        assert said(lost.texts).same(answer("two three", True))
        assert [_sessions(url, 0), _sessions(url, 1)] == [1, 1]

        serving = _children(front)
        assert set(serving) & set(workers) == {workers[0]}
        began = time.monotonic()
        os.kill(guard, signal.SIGTERM)
        _wait_until(lambda: not any(Path(f"/proc/{process}/exe").exists() for process in (front, *serving)))
        assert time.monotonic() - began < DRAIN_SECONDS
    log = (tmp_path / "log.txt").read_text()
    assert "ended worker 1 (SIGKILL)" in log
    assert "Traceback" not in log

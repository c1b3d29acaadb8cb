"""What a running server tells of itself, at /healthz, /metrics and in its log; and limits of an address."""

import json
from collections.abc import Iterator
from http.client import HTTPConnection
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from tests.serving import headlight
from tests.sessions.client import Client
from tests.sessions.expected import answer, said

PROMPT = "one two three one two"


@pytest.fixture(scope="module")
def watched(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    """A server with limits, and its log."""
    folder = tmp_path_factory.mktemp("watched")
    with headlight(folder, "--threads=1", "--runs-per-minute=2", "--uploads-per-minute=1") as url:
        yield url, folder / "log.txt"


def _request(url: str, path: str, method: str = "GET", **headers: str) -> tuple[int, str]:
    connection = HTTPConnection(url.removeprefix("http://"), timeout=60)
    connection.request(method, path, headers=headers)
    response = connection.getresponse()
    text = response.read().decode()
    connection.close()
    return response.status, text


def _figures(url: str) -> dict[str, float]:
    families = text_string_to_metric_families(_request(url, "/metrics")[1])
    samples = [sample for family in families for sample in family.samples]
    return {"/".join((each.name, *each.labels.values())): each.value for each in samples}


def test_a_run_is_counted_and_logged_without_its_text(watched: tuple[str, Path]) -> None:
    url, log = watched
    with Client(url) as client:
        client.submit(PROMPT, True)
        before = _figures(url)
        assert before["headlight_sessions"] == 1
        assert {f"headlight_refusals_total/{reason}" for reason in ("runs", "sessions", "uploads")} <= before.keys()
        assert json.loads(_request(url, "/healthz", Host="10.0.0.1")[1]) == {
            "ready": True,
            "models_open": 1,
            "sessions": 1,
        }
        client.submit(f"{PROMPT} three", True)
        client.submit(PROMPT, True)  # from the cache
        after = _figures(url)
    assert after["headlight_run_seconds_count"] > before["headlight_run_seconds_count"]
    assert after["headlight_run_seconds_count"] == after["headlight_wait_seconds_count"]
    assert after["headlight_results_total/cache"] > before["headlight_results_total/cache"]
    assert after["headlight_cache_bytes"] > before["headlight_cache_bytes"] > 0
    assert after["headlight_runs_waiting"] == after["headlight_runs_under_way"] == 0
    assert after["process_resident_memory_bytes"] > 1e8
    lines = [line for line in log.read_text().splitlines() if "run of 'mini'" in line]
    assert f"{answer(f'{PROMPT} three', True).n_tokens} tokens, 0 edits" in lines[-1]
    assert PROMPT not in log.read_text()


def test_figures_are_for_this_machine_alone(watched: tuple[str, Path]) -> None:
    """A proxy on this machine tells from whom a request is."""
    status, text = _request(watched[0], "/metrics", **{"X-Forwarded-For": "192.0.2.1"})
    assert status == 403
    assert "--open-metrics" in text


def test_an_address_starts_so_many_runs_a_minute_and_the_page_keeps_what_it_showed(watched: tuple[str, Path]) -> None:
    Client(watched[0], headers={"X-Forwarded-For": "192.0.2.6"}).open().close()  # the default's run is there
    with Client(watched[0], headers={"X-Forwarded-For": "192.0.2.7"}) as client:
        client.submit("red green", True)
        client.submit("red green blue", True)
        client.submit("red green blue cat", True)
        assert any("2 runs within a minute" in text and "try again in" in text for text in client.texts)
        assert said(client.texts).same(answer("red green blue", True))
    with Client(watched[0], headers={"X-Forwarded-For": "192.0.2.8"}) as other:
        other.submit("red green blue cat dog", True)
        assert said(other.texts).same(answer("red green blue cat dog", True))
    assert _figures(watched[0])["headlight_refusals_total/runs"] == 1


def test_an_address_uploads_so_many_files_a_minute(watched: tuple[str, Path]) -> None:
    visitor = {"X-Forwarded-For": "192.0.2.9"}
    statuses = [_request(watched[0], "/_stcore/upload_file/session/file", "PUT", **visitor) for _ in range(2)]
    assert statuses[0][0] != 429
    assert statuses[1][0] == 429
    assert "within a minute" in statuses[1][1]

"""A server that has just started, at which many sessions arrive before any other has drawn a page."""

import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier
from urllib.parse import urlencode

import pytest

from headlight.app.registry import VIEWS
from tests.serving import headlight
from tests.sessions.client import Client

SESSIONS = 60
TWO = {"prompt": "one two three", "prompt_b": "one two one"}
TELLING = sys.executable, "-X", "importtime", "-m", "headlight.app"  # each module that is imported is a line of the log


WITH_SCIKIT_LEARN = {"sklearn", "scipy", "joblib", "threadpoolctl", "narwhals", "rich", "psutil", "cloudpickle"}
WITH_SCIKIT_LEARN |= {"numpy", "pandas", "pyarrow", "dateutil", "charset_normalizer", "sksparse", "scikits"}
WITH_SCIKIT_LEARN |= {"cython", "lz4", "uarray"}


def _imported(log: Path) -> list[str]:
    lines = (line for line in log.read_text().splitlines() if line.startswith("import time:"))
    return [line.rpartition("|")[2].strip() for line in lines]


@pytest.mark.parametrize("inputs", [{}, pytest.param(TWO, marks=pytest.mark.thorough)], ids=["one run", "two"])
def test_no_page_imports_what_was_not_there_before_the_first_session(tmp_path: Path, inputs: dict[str, str]) -> None:
    """What two sessions' threads import at once one of them may see half made; Python's own modules do not mind.

    Nor does scikit-learn with what it imports, which the page Directions imports under a lock.
    """
    log = tmp_path / "log.txt"
    with headlight(tmp_path, "--threads", "1", command=TELLING) as url:
        before = len(_imported(log))
        with Client(url, urlencode(inputs)) as client:
            for view in VIEWS:
                client.go_to(view.slug)
                assert client.texts
        late = _imported(log)[before:]
    expected = {*sys.stdlib_module_names, *WITH_SCIKIT_LEARN}
    others = {name for name in late if name.partition(".")[0] not in expected}
    assert others == set()
    assert before > 2000  # which shows that imports were told


@pytest.mark.thorough
@pytest.mark.parametrize("pages", [["why"], [view.slug for view in VIEWS]], ids=["why", "every page"])
def test_sixty_sessions_that_arrive_at_once_all_get_their_page(tmp_path: Path, pages: list[str]) -> None:
    start = Barrier(SESSIONS)

    def visit(number: int) -> list[str]:
        query = urlencode({"page": pages[number % len(pages)], "prompt": f"one two three {number}"})
        client = Client(url, query)
        start.wait()
        with client:
            return client.texts

    with headlight(tmp_path, "--threads=1", "--runs-waiting=1000") as url, ThreadPoolExecutor(SESSIONS) as pool:
        texts = list(pool.map(visit, range(SESSIONS)))
    for number, page in enumerate(texts):
        assert any("tokens" in text for text in page), pages[number % len(pages)]
    assert [text for page in texts for text in page if "unexpected error" in text.lower()] == []
    assert "Traceback" not in (tmp_path / "log.txt").read_text()

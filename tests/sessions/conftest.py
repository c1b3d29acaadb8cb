"""One server for the tests that only talk to it."""

from collections.abc import Iterator

import pytest

from tests.serving import headlight


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of Headlight; a traceback in its log fails the last test."""
    folder = tmp_path_factory.mktemp("sessions")
    with headlight(folder, "--threads", "1") as url:
        yield url
    log = (folder / "log.txt").read_text()
    assert "Traceback" not in log, log

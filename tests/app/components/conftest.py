"""A Streamlit process that shows the components."""

from collections.abc import Iterator

import pytest

from tests.serving import served


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Where page.py is served."""
    with served("tests/app/components/page.py", tmp_path_factory.mktemp("server")) as url:
        yield url

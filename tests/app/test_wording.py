"""The wording of every page, compared whole with one file, so that a better sentence is one line of change.

`make wording` writes the file anew; its diff is then to be read.
"""

import re
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from headlight.app.registry import VIEWS
from tests.app.conftest import Options
from tests.places import MAIN

WORDING = Path(__file__).parent / "wording.txt"
SECONDS = 120  # for one page on a busy machine
KINDS = ("header", "subheader", "caption", "text", "info", "warning", "error")
NUMBER = re.compile(r"[−+-]?\d[\d,]*(\.\d+)?(e[−+-]?\d+)?%?")
QUERIES: dict[str, dict[str, str]] = {
    "": {},
    " of A and B": {"prompt_b": "Paul had lunch. Then Paul went to the shop."},
}


@pytest.fixture
def wording(unchecked: None, settings: dict[str, object], options: Options) -> str:
    """What all pages say; annotations are unchecked, as a batch grows where variants of a run travel side by side."""
    settings["model"] = "mini"
    return "\n".join(
        f"## {view.slug}{which}\n" + "\n".join(_texts(view.slug, query, options)) + "\n"
        for view in VIEWS
        for which, query in QUERIES.items()
    )


def test_the_pages_say_what_the_wording_has(wording: str) -> None:
    assert wording.splitlines() == WORDING.read_text(encoding="utf-8").splitlines()


def _texts(slug: str, query: dict[str, str], options: Options) -> list[str]:
    """The texts of a page in order, without repeats; numbers and quoted tokens are left out."""
    options.drawn.clear()
    page = AppTest.from_file(str(MAIN), default_timeout=SECONDS)
    for name, value in {"page": slug, **query}.items():
        page.query_params[name] = value
    page.run()
    assert not page.exception
    texts: list[str] = [str(element.value) for kind in KINDS for element in page.get(kind)]
    texts += [button.label for button in page.button]
    texts += [f"{option.label} ({option.name})" for option in options.drawn.values()]
    assert not any(text.startswith("Unexpected error") for text in texts)
    masked = (re.sub(r"“[^”]*”", "“…”", text.replace("\n", " ")) for text in texts)
    return list(dict.fromkeys(" ".join(NUMBER.sub("#", text).split()) for text in masked))

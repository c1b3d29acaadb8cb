"""Every page on a tiny model of each kind of architecture: what it shows, or the sentence that says why it does not.

`make pages` writes it into the manual; numbers themselves are held against other computations in
`tests/model`.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import pytest
from streamlit.testing.v1 import AppTest

from headlight.app.registry import VIEWS
from headlight.app.runs import comparisons
from headlight.app.server import boundary
from headlight.model.base.errors import HeadlightError
from headlight.model.checkpoints.families import FAMILIES as ARCHITECTURES
from headlight.model.checkpoints.families import OWN
from tests.app.choosing import selection_of
from tests.model.checkpoints.table import ARCHITECTURES as ARCHITECTURES_PAGE
from tests.places import MAIN
from tests.tiny import FAMILIES, KINDS, save_tiny

SECONDS = 120  # for one script run on a busy machine
PROMPT, OTHER = "one two three one two three one", "one two four one two four one"
TITLES = {view.slug: view.title for view in VIEWS if view.slug != "translate"}  # which is of encoder-decoders
MORE: dict[str, list[dict[str, str]]] = {  # what else is asked of a page
    "weights": [{"heads": "L1H2"}, {"heads": "L1H2", "circuit": "ov"}],
    "patching": [{"prompt_b": OTHER}],
    "why": [{"table": "1"}],
    "residual": [{"table": "1"}],
    "attention": [{"table": "1", "heads": "L1H2"}, {"show": "write", "heads": "L1H2"}],
}
BEGIN, END = "<!-- pages: make pages -->", "<!-- end of pages -->"
WORKS, NOT = "✓", "–"

# Most of what tells architectures from GPT-2 is in these; `make test-all` has the others too.
TELLING, THOROUGH = ("gemma2-like", "gpt_oss-like", "bert-like"), pytest.mark.thorough

pytestmark = pytest.mark.usefixtures("unchecked")  # a batch grows where variants of a run travel side by side


def _sentences(page: AppTest, refused: Sequence[str], name: str) -> tuple[str, ...]:
    """What a page says that it does not show."""
    said = [*(each.value for each in (*page.info, *page.error)), *refused]
    return tuple(dict.fromkeys(each.replace(name, "This model") for each in said))


class Page(NamedTuple):
    """Whether a page works with a kind of model, and what it says that it does not show."""

    works: bool
    notes: tuple[str, ...]


@pytest.fixture
def drawn(kind: str, slug: str, tmp_path: Path, settings: dict[str, object], monkeypatch: pytest.MonkeyPatch) -> Page:
    """A page on a tiny model of a kind, which finds nothing out by an error."""
    refused: list[str] = []

    @contextmanager
    def strict(report: Callable[[str], None]) -> Iterator[None]:
        """What is meant for the user goes to the page; anything else fails the test."""
        try:
            yield
        except HeadlightError as error:
            refused.append(str(error))
            report(str(error))

    monkeypatch.setattr(boundary, "guard", strict)
    save_tiny(kind, tmp_path / kind)
    settings["model"] = str(tmp_path / kind)
    view = next(view for view in VIEWS if view.slug == slug)
    said: list[str] = []
    for query in [{}, *MORE.get(slug, [])]:
        page = AppTest.from_file(MAIN, default_timeout=SECONDS)
        for name, value in {"page": slug, "prompt": PROMPT, **query}.items():
            page.query_params[name] = value
        page.run()
        assert not page.exception
        said += _sentences(page, refused, str(tmp_path / kind))
    assert not refused, "what cannot be had is said by the page, and not found out by an error"
    missing = view.needs(comparisons.for_selection(selection_of(model=str(tmp_path / kind), prompt=PROMPT)))
    return Page(not missing, tuple(dict.fromkeys(said)))


@pytest.mark.parametrize("slug", TITLES)
@pytest.mark.parametrize("kind", [kind if kind in TELLING else pytest.param(kind, marks=THOROUGH) for kind in KINDS])
def test_a_page_shows_its_numbers_or_says_why_not(kind: str, slug: str, drawn: Page) -> None:
    if kind in FAMILIES:
        table = _told()
        assert table.cells[FAMILIES[kind]][slug] == (drawn.works, set(drawn.notes) & table.notes)


@pytest.mark.parametrize("slug", ["why", "graph", "mlp", "patching"])
def test_pages_of_logit_differences_say_that_these_are_from_before_a_soft_cap(
    slug: str, tmp_path: Path, settings: dict[str, object]
) -> None:
    save_tiny("gemma2-like", tmp_path / "capped")
    settings["model"] = str(tmp_path / "capped")
    page = AppTest.from_file(MAIN, default_timeout=SECONDS)
    for name, value in {"page": slug, "prompt": PROMPT, "prompt_b": OTHER}.items():
        page.query_params[name] = value
    page.run()
    said = " ".join(each.value for each in (*page.text, *page.caption))
    assert "before the soft cap of 3, after which contributions do not sum" in said


def test_a_page_that_a_model_does_not_have_has_its_title_and_says_what_to_do(
    tmp_path: Path, settings: dict[str, object], headings: list[str]
) -> None:
    save_tiny("gpt_oss-like", tmp_path / "experts")
    settings["model"] = str(tmp_path / "experts")
    page = AppTest.from_file(MAIN, default_timeout=SECONDS)
    page.query_params["page"], page.query_params["prompt"] = "graph", PROMPT
    page.run()
    assert headings == ["Graph"]
    assert "Open another model" in page.info[0].value


def markdown(drawn: Mapping[tuple[str, str], Page]) -> str:
    """A row for each kind, a column for each page; what gpt2-like models are told too is no word about a kind."""
    notes: dict[str, int] = {}

    def cell(kind: str, slug: str) -> str:
        works, said = drawn[kind, slug]
        usual = drawn["gpt2-like", slug].notes
        numbers = [str(notes.setdefault(each, len(notes) + 1)) for each in said if each not in usual]
        return " ".join([WORKS if works else NOT, *(f"[{number}]" for number in numbers)])

    rows = [f"| {FAMILIES[kind]} | {' | '.join(cell(kind, slug) for slug in TITLES)} |" for kind in FAMILIES]
    head = [f"| architectures | {' | '.join(TITLES.values())} |", "|---" * (len(TITLES) + 1) + "|"]
    return "\n".join([*head, *rows, "", *(f"{number}. {note}" for note, number in notes.items())])


class Told(NamedTuple):
    """What the manual says: of each kind and page whether it works, and what the page says; and all that pages say."""

    cells: dict[str, dict[str, tuple[bool, set[str]]]]
    notes: set[str]


def _told() -> Told:
    lines = ARCHITECTURES_PAGE.read_text(encoding="utf-8").partition(BEGIN)[2].partition(END)[0].strip().splitlines()
    notes = dict(line.split(". ", 1) for line in lines if re.match(r"\d+\. ", line))
    rows = [line.strip("| ").split(" | ") for line in lines if line.startswith("| ")][1:]

    def cell(text: str) -> tuple[bool, set[str]]:
        return text.startswith(WORKS), {notes[number] for number in re.findall(r"\[(\d+)\]", text)}

    return Told({row[0]: dict(zip(TITLES, map(cell, row[1:]), strict=True)) for row in rows}, set(notes.values()))


def test_the_manual_has_every_architecture() -> None:
    named = [name for names in _told().cells for name in names.split(", ")]
    assert sorted(named) == sorted(set(ARCHITECTURES) - set(OWN))

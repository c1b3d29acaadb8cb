"""What is shown of a small random model: one hostile prompt, and two that share some tokens."""

import pytest

from app import shown
from app.exports.export import Export, of_prompts
from app.prompt_files import Prompt
from app.selection import Selection
from app.shown import Shown
from app.views.prompts import Listed

HOSTILE = 'one two $x$ "three" </script><b>{0}</b> one\\n\n\u202e\x00 ᚠ שלום 👨‍👩‍👧 =1+1 one two'
OTHER = "one two three $x$ four </script>, one five"

REFUSED = Listed(
    Prompt("long " * 200, "a.csv", (("kind", "5"),)), False, "There are 401 tokens; the context holds 100."
)
TEXTS = [
    "<b>x</b>",
    "=1+1 =1+1",
    "no copies",
    "''' + abort() + \"\"\"\r\n\u2028# one",
    "one two one two 👨‍👩‍👧 \u202etxet",
    HOSTILE,
]
RUN = (*((text, str(place)) for place, text in enumerate(TEXTS)), (TEXTS[1], "twice"))
LISTED = (
    *(Listed(Prompt(text, "a.csv", (("kind", kind), ("<b>no</b>", "=2+2"))), True, "") for text, kind in RUN),
    REFUSED,
    Listed(Prompt("not run yet", "typed"), False, ""),
)


def listing(listed: tuple[Listed, ...] = LISTED) -> Export:
    """What the page of prompts offers of a list: hostile prompts, one of them twice, one refused and one not run."""
    export = of_prompts(listed)
    assert export is not None
    return export


PROMPTS = listing()


def chosen(folder: str, **fields: object) -> Selection:
    """A selection of the hostile prompt with two heads."""
    return Selection(**{"model": folder, "prompt": HOSTILE, "heads": ((1, 2), (0, 4)), **fields})  # type: ignore[arg-type]


@pytest.fixture(scope="session")
def alone(folder: str) -> Shown:
    """Run A."""
    return shown.of(chosen(folder))


@pytest.fixture(scope="session")
def two(folder: str) -> Shown:
    """Runs A and B, whose tokens are matched."""
    return shown.of(chosen(folder, prompt_b=OTHER))

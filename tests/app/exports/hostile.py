"""What is shown of a small random model: one hostile prompt, and two that share some tokens."""

from headlight.app.exports.export import Export
from headlight.app.frame.prompt_list import Prompt
from headlight.app.pages.prompts import export as of_prompts
from headlight.app.pages.prompts.view import Listed
from headlight.app.selection import Selection
from tests.app.choosing import selection_of

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
    return selection_of(**{"model": folder, "prompt": HOSTILE, "heads": ((1, 2), (0, 4)), **fields})

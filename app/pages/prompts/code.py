"""The script of the page of prompts."""

from collections.abc import Sequence

from headlight.app.exports.script import call, loading, written
from headlight.app.pages.prompts.choices import Choices
from headlight.app.pages.prompts.numbers import found_of
from headlight.app.pages.prompts.view import Listed
from headlight.app.parts.scores import SCORES
from headlight.app.selection.chosen import Selection
from headlight.model.comparison import Comparison


def script(listed: Sequence[Listed], shown: Comparison, chosen: Selection) -> str:
    """A script that prints a statistic of each prompt that was run, and of every head over all of them."""
    found, statistic = found_of(listed, shown, chosen), chosen.of(Choices).statistic
    literals = "".join(f"    {row.prompt.text!r},\n" for row in found.rows if row.known)
    options = {"head": repr(found.head), "statistic": repr(statistic), "prepend_bos": repr(shown.a.bos)}
    lines = [
        f"model = {loading(shown.a)}",
        f"prompts = [\n{literals}]",
        f"print_tables({call('prompt_tables', 'model', 'prompts', **options)})",
    ]
    imports = {"headlight.model": {"load"}, "headlight.model.reports": {"print_tables", "prompt_tables"}}
    return written(f"{SCORES[statistic].title} of every head {found.over}.", imports, lines)

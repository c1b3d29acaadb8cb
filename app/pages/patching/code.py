"""The script of the page *Patching*."""

from headlight.app.exports.script import report
from headlight.app.pages.patching.choices import Choices
from headlight.app.pages.patching.patches import asked_of
from headlight.app.selection.chosen import Selection
from headlight.model.comparison import Comparison
from headlight.model.patching import PATHS

PURPOSE = "What parts of one run change in another."


def script(shown: Comparison, chosen: Selection) -> str:
    """A script that makes the map once more, with its estimate where one was asked for."""
    asked = asked_of(shown, chosen)
    options: dict[str, object] = {"measured": asked.measured, "parts": asked.parts, "into": asked.into}
    if chosen.of(Choices).patch_estimate and asked.parts.what not in PATHS:
        options["estimate"] = True
    return report(PURPOSE, shown, chosen.align, "patching_tables", **options)

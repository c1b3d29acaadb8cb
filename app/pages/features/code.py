"""The script of the page *Features*."""

from headlight.app.exports.script import call, imports_of, opening, runs_made, written
from headlight.app.pages.features.found import find
from headlight.app.selection.chosen import Selection
from headlight.model.comparison import Comparison

PURPOSE = "The features of a dictionary in a prompt, what it misses, and one feature in full."


def script(shown: Comparison, chosen: Selection) -> str:
    """A script that prints the strongest features, what the dictionary misses, and all there is of the chosen one."""
    found = find(shown, chosen)
    assert found is not None  # without a dictionary nothing is offered
    imports = {
        **imports_of(shown),
        "headlight.model.dictionaries.opening": {"open_dictionary"},
        "headlight.model.reports": {"feature_tables", "print_tables"},
        "headlight.model.reports.features": {"Order"},
    }
    chosen_here = {"layer": found.layer, "feature": found.feature, "order": found.order}
    options = {name: repr(value) for name, value in chosen_here.items()}
    made = [*runs_made(shown, chosen.align), f"opened = {opening(found.name, 'model')}"]
    return written(PURPOSE, imports, [*made, f"print_tables({call('feature_tables', 'shown', 'opened', **options)})"])

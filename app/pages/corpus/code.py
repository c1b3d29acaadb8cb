"""The script of the page *Corpus*."""

from headlight.app.exports.script import call, written
from headlight.app.pages.corpus.found import find
from headlight.app.runs import scans
from headlight.app.selection.chosen import Selection
from headlight.model.comparison import Comparison
from headlight.model.corpus.tree import Tree


def script(shown: Comparison, chosen: Selection) -> str:
    """A script that prints every head's figures, and what the scan has of the chosen heads."""
    found = find(shown, chosen)
    assert found is not None  # without a scan nothing is offered
    options = {"heads": repr(found.heads)}
    lines = [f"a = {_reading(found.a)}"]
    if found.b is not None:
        lines.append(f"b = {_reading(found.b)}")
        options["b"] = "b"
    if len(found.series) > 1:
        each = "".join(f"    {_reading(tree)},\n" for tree in found.series)
        lines.append(f"series = [\n{each}]")
        options |= {"series": "series", "metric": repr(found.by)}
    imports = {
        "headlight.model.corpus.reading": {"read_tree"},
        "headlight.model.reports": {"corpus_tables", "print_tables"},
    }
    return written(PURPOSE, imports, [*lines, f"print_tables({call('corpus_tables', 'a', **options)})"])


PURPOSE = "What every head does over a corpus, and the sequences of some."


def _reading(tree: Tree) -> str:
    return f"read_tree({scans.opened_by(tree)!r})"

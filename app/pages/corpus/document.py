"""The page *Corpus* as a file: a map of all heads, their figures, and one head's sequences."""

from headlight.app.components import CellAxis, cell_map, sampled_texts
from headlight.app.components.shared.mount import recorded
from headlight.app.exports.html.document import document
from headlight.app.exports.html.file_table import file_table
from headlight.app.pages.corpus import finder
from headlight.app.pages.corpus.dashboard import shown_texts
from headlight.app.pages.corpus.found import Found, find
from headlight.app.pages.corpus.plots import called, named
from headlight.app.parts.sides import DIFFERENCE
from headlight.app.selection.chosen import Selection
from headlight.model.comparison import Comparison
from headlight.model.corpus.titles import figure
from headlight.model.edits import head_name


def page(shown: Comparison, chosen: Selection) -> bytes:
    """A file in which the heads can be sorted, and the chosen head's sequences pointed at as on the page."""
    found = find(shown, chosen)
    assert found is not None  # without a scan nothing is offered
    of_head = found.dashboard()
    with recorded() as mounted:
        _map(found)
        texts = shown_texts(of_head.sequences, found.a.n_intervals, shown.a if found.own else None)
        sampled_texts(texts, title=f"Sequences of {head_name(found.head)}", key="sequences")
        file_table("Heads", finder.columns(found))
    title = f"{head_name(found.head)} of {named(found.a)} over {called(found.a.dataset_name)}"
    return document(title, None, mounted, "plain", tokens=False)


def _map(found: Found) -> None:
    n_layers, n_heads = found.found.values.shape
    of, signed = figure(found.by), found.b is not None or figure(found.by).signed
    cell_map(
        found.found.values,
        CellAxis("layer", [f"L{layer}" for layer in range(n_layers)]),
        CellAxis("head", [f"H{head}" for head in range(n_heads)]),
        title=of.named if found.b is None else f"{of.named}, {DIFFERENCE}",
        scale="signed" if signed else "linear",
        key="heads",
    )

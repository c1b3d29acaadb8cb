"""The script of the page *Weights*."""

from headlight.app.exports.script import call, loading, written
from headlight.app.pages.weights.numbers import listed, looked_up
from headlight.app.pages.weights.weight_tables import weights_of
from headlight.app.selection.chosen import Selection
from headlight.model.comparison import Comparison
from headlight.model.edits import head_name


def script(shown: Comparison, chosen: Selection) -> str:
    """A script that prints a head's outermost pairs, its singular directions and its composition."""
    of = weights_of(shown, chosen)
    token = looked_up(of.run, chosen)
    options = {"head": repr(of.head), "kind": repr(of.kind)}
    lines = [f"model = {loading(of.run)}"]
    if of.compares:
        lines.append(f"model_b = {loading(of.models['B'])}")
        options |= {"model_b": "model_b", "listed": repr(listed(of))}
    options |= {"distance": repr(of.key.distance)} if of.key.distance else {}
    options |= {} if token is None else {"token": repr(token)}
    purpose = f"What the weights of {head_name(of.head)} do with tokens, by its {of.kind.upper()} circuit."
    imports = {"headlight.model": {"load"}, "headlight.model.reports": {"circuit_tables", "print_tables"}}
    return written(purpose, imports, [*lines, f"print_tables({call('circuit_tables', 'model', **options)})"])

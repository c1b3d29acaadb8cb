"""Plot of the page *MLP*: bars of the first neurons, and the sums of other neurons and biases."""

from dataclasses import replace

from headlight.app.figures import Plot, Row, bar_list
from headlight.app.figures.text import alike, token_name
from headlight.app.pages.mlp.neuron_view import NeuronView
from headlight.model.neurons.tables import BIASES, EDITS, MEASURED, MEASURES, NEURONS, WRITTEN
from headlight.model.runs.edits import neuron_name

SERIES = ("direct effect (all else frozen)", "total effect (measured)")


def neurons(view: NeuronView) -> Plot:
    """Bar for each listed neuron; of effects also one for all others, so that the bars sum to the total."""
    name, layer = view.ranked_by, view.question.layer
    values = view.of_listed(name).tolist()
    measured = view.of_listed(MEASURED).tolist() if view.question.measured and name != MEASURES["activation"] else []
    listed = [
        Row(neuron_name(neuron), spans(value, measured[at : at + 1]))
        for at, (neuron, value) in enumerate(zip(view.neurons, values, strict=True))
    ]
    target, distractor = view.comparison.a.outputs.labels([view.question.target, view.question.distractor])
    where = "every layer" if layer is None else f"L{layer}"
    at = token_name(view.comparison.labels[view.question.place], view.question.place)
    side = "" if view.comparison.b is None else f", {view.called}"
    is_effect = name != MEASURES["activation"]
    rest = _rest(view, name, values, len(measured) > 0) if is_effect else []
    texts = alike([*(row.spans[-1][1] for row in listed), *(row.spans[0][1] for row in rest)], signed=True)
    return bar_list.rows(
        [replace(row, text=text) for row, text in zip([*listed, *rest], texts, strict=True)],
        title=f"Neurons of {where} at {at}{side}",
        unit="logits" if is_effect else "activation",
        what=f"{name} on {target} − {distractor}" if is_effect else name,
        series=SERIES if measured else ("",),
    )


def spans(value: float, measured: list[float]) -> list[tuple[float, float]]:
    """Bars of a neuron: its measure, and the measured effect of its ablation."""
    return [(0.0, each) for each in (value, *measured)]


def _rest(view: NeuronView, name: str, values: list[float], twice: bool) -> list[Row]:
    """Sums of all other neurons, biases, and changes by later edits, and the total."""
    total = view.total_of(name)
    n_others = view.n_ranked - len(values)
    rows = [(f"the other {n_others:,}", total - sum(values), "rest")] if n_others else []
    if name == MEASURES["direct"]:
        if BIASES in view.sums:
            rows.append((BIASES, view.sum_of(BIASES), "rest"))
        if abs(edits := view.sum_of(EDITS)) > 0:
            rows.append((EDITS, edits, "rest"))
        rows.append(("MLP’s write" if view.question.layer is not None else "MLPs’ writes", view.sum_of(WRITTEN), "sum"))
    else:
        rows.append((f"all {NEURONS}", total, "sum"))
    beside = [(0.0, 0.0)] * twice  # only neurons were measured
    return [Row(label, [(0.0, value), *beside], kind="sum" if kind == "sum" else "rest") for label, value, kind in rows]

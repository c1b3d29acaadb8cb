"""What is taken along of the page *Directions*: its script, its numbers, and a file of its pictures and tables."""

from headlight.app.exports.data import Data
from headlight.app.exports.drawings import Drawing, Drawings, table
from headlight.app.exports.script import Expression, names_of, opening, opening_direction, printing, runs_made
from headlight.app.pages.directions import charts
from headlight.app.pages.directions.choices import Choices
from headlight.app.pages.directions.direction_view import DirectionView, dose_question, find, study_question
from headlight.app.selection.chosen import Selection
from headlight.model.directions.reading import fitting_sides, projections
from headlight.model.measure import Measure
from headlight.model.runs.comparison import Comparison

PURPOSE = "A direction in the residual stream: how well it predicts, what lies along it, and what it causes."


def _view(comparison: Comparison, chosen: Selection) -> DirectionView:
    view = find(comparison, chosen)
    assert view is not None  # without a direction nothing is offered
    return view


def script(comparison: Comparison, chosen: Selection) -> str:
    """A script that finds the direction in the same prompts, or opens its file, and prints the page's tables."""
    view = _view(comparison, chosen)
    names, lines = names_of(comparison), runs_made(comparison, chosen.align)
    own: dict[str, object] = {"layer": view.layer, "place": view.place}
    if view.others:
        opened = ", ".join(f"{name!r}: {opening_direction(each, 'model')}" for name, each in view.others.items())
        names |= {"open_direction"}
        own["others"] = Expression(f"{{{opened}}}")
    if view.dictionary:
        names |= {"open_dictionary"}
        own["opened"] = Expression(opening(view.dictionary, "model"))
    if view.study is None:
        lines.append(f"direction = {opening_direction(view.direction.identity, 'model')}")
        names |= {"open_direction"}
        return printing(PURPOSE, names, lines, "reading_tables", "comparison", "direction", **own)
    question = study_question(comparison, chosen)
    rows = "".join(f"    {row!r},\n" for row in question.known.prompt_set.rows)
    lines.append(f"prompts = PromptSet({view.study.tokens.name!r}, (\n{rows}))")
    dose = dose_question(comparison, chosen, view.layer)
    options = own | {"where": chosen.choices_of(Choices).dir_where if view.curve else None, "neutral": dose.neutral}
    names |= {"PromptSet", "PromptPair"}
    expressions = "comparison", "prompts"
    return printing(PURPOSE, names, lines, "direction_tables", *expressions, settings=question.settings, **options)


def data(comparison: Comparison, chosen: Selection) -> Data:
    """All tables; the vectors, the projections and what was measured as arrays."""
    view = _view(comparison, chosen)
    sides = fitting_sides(comparison, view.direction)
    arrays = {f"{side} projections": projections(run, view.direction) for side, run in sides.items()}
    for layer, vector in view.direction.vectors.items():
        arrays[f"vector {layer}"] = Measure(f"direction before layer {layer}", "value", ("d_model",), vector)
    if view.study is not None:
        tested = view.study.held_out
        arrays["accuracy"] = Measure("held-out accuracy", "share", ("layer",), tested.accuracy)
        arrays["auroc"] = Measure("held-out AUROC", "share", ("layer",), tested.auroc)
        arrays["shuffled"] = Measure("accuracy with shuffled labels", "share", ("layer", "draw"), tested.shuffled)
        arrays["random"] = Measure("accuracy of random vectors", "share", ("layer", "draw"), tested.random)
    if view.curve is not None:
        arrays["dose"] = Measure("logit difference", "logits", ("factor", "row"), view.curve.values)
        arrays["dose, random vector"] = Measure("logit difference", "logits", ("factor", "row"), view.curve.random)
    shows = {
        "direction": view.direction.identity,
        "method": view.direction.method,
        "position": view.direction.position,
        "layer": view.layer,
        "place": view.place,
        "factors": [] if view.curve is None else list(view.curve.factors),
    }
    return Data("directions", shows, view.tables, arrays)


def drawings(comparison: Comparison, chosen: Selection) -> Drawings:
    """Accuracy by layer, the tokens' projections, the dose curve, and the tables."""
    view = _view(comparison, chosen)
    rows: list[list[Drawing]] = []
    if view.study is not None:
        rows.append([Drawing(plot) for plot in charts.by_layer(view.study, comparison.a.layer_labels)])
    rows.append([Drawing(charts.projected(view), view.place)])
    if view.curve is not None and view.study is not None:
        rows.append([Drawing(plot) for plot in charts.dose(view.curve, view.study.examples.classes[0])])
    rows += [[table(name.capitalize(), columns)] for name, columns in view.tables.items() if name != "projection"]
    return Drawings(f"Direction {view.direction.name}", comparison, rows)

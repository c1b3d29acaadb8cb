"""Page *MLP*: the first neurons at a token by their effect there, and one of them in full."""

from dataclasses import replace

import streamlit as st

from headlight.app import selection
from headlight.app.components import Choice, Column, Listed, Option, Switch, Table, row_table
from headlight.app.frame import notices, progress
from headlight.app.glossary import TERMS
from headlight.app.pages.mlp import charts as own
from headlight.app.pages.mlp import one, over_prompts
from headlight.app.pages.mlp.choices import Choices
from headlight.app.pages.mlp.neuron_view import NeuronView, find
from headlight.app.parts import charts, options, tables
from headlight.app.parts.markdown import plain
from headlight.app.parts.pair import said_of_cap
from headlight.app.parts.parts import heading, title_row
from headlight.app.parts.sides import DIFFERENCE, say_what_is_common, say_what_is_missing
from headlight.model.neurons.tables import MEASURED, MEASURES, Ranking, measured_of, mlp_tables
from headlight.model.runs.comparison import Comparison
from headlight.model.runs.edits import neuron_name

BY: dict[Ranking, str] = {"direct": "Direct effect", "gradient": "Gradient × activation", "activation": "Activation"}


def render(comparison: Comparison) -> None:
    """The options, the first neurons as bars and as a table, and the chosen one."""
    view = find(comparison, selection.current())
    _options(view)
    for slot, remark in enumerate(view.pair.remarks):
        notices.refused(remark, f"pair_{slot}")
    say_what_is_common(comparison)
    say_what_is_missing(comparison, view.question.place)
    if capped := said_of_cap(comparison.runs):
        st.caption(plain(capped))
    view = replace(view, question=replace(view.question, measured=_is_measured(view)))
    if selection.current().table:
        _tables(view)
        return
    left, right = st.columns(2, gap="large")
    with right:
        _list(view)
    with left:
        charts.draw([[own.neurons(view)]], f"Top neurons by {view.ranked_by}")
    one.draw(view)
    over_prompts.draw(view)


def _is_measured(view: NeuronView) -> bool:
    """Ablate each listed neuron where that was requested; return whether all effects are known."""
    question = view.question
    if not question.measured:
        return False
    subject = tuple(run.key for run in view.comparison.runs), question, tuple(view.neurons)
    said = "running the model without each neuron"
    made = progress.watched(
        said, "layers done", "neurons", subject, lambda: measured_of(view.comparison, question, view.neurons)
    )
    return made is not None


def _options(view: NeuronView) -> None:
    comparison, labels = (
        view.comparison,
        view.comparison.a.outputs.labels([view.question.target, view.question.distractor]),
    )
    layers = {None: "every layer"} | {layer: f"L{layer}" for layer in range(comparison.n_layers)}
    with title_row("Neurons", "mlp", level=1, key="mlp"):
        options.row(
            options.bind(Choice, "neurons_by", "By", page=Choices, options=BY, change=selection.choose),
            options.bind(
                Listed,
                "neurons_layer",
                "Layer",
                page=Choices,
                change=selection.choose,
                options=layers,
                width=120,
            ),
            _token(view),
            options.token("target", labels[0], comparison.a.label_names, width=120),
            options.token("distractor", labels[1], comparison.a.label_names, width=120),
            options.side(comparison.b is not None, "Show"),
            options.bind(Switch, "neurons_measured", "Measure", page=Choices),
            _count(),
            options.as_tables(),
        )


def _token(view: NeuronView) -> Option:
    def change(place: int) -> None:
        selection.choose(position=place)

    labels, turns = view.comparison.labels, view.comparison.turns
    return options.place("neurons_token", "Token", labels, view.question.place, change, width=150, groups=turns)


def _count() -> Listed:
    counts = sorted({8, 16, 32, 64, 100, selection.current().choices_of(Choices).neurons_count})
    return options.bind(
        Listed,
        "neurons_count",
        "Top neurons",
        page=Choices,
        change=selection.choose,
        options={each: str(each) for each in counts},
        width=80,
        folded=True,
    )


def _list(view: NeuronView) -> None:
    """The listed neurons as a table of all measures; a click on a row opens that neuron."""
    heading("All measures", "neurons_list", key="neurons_list")
    known = (name for name in view.values if name in MEASURES.values())  # a gate is listed with the chosen neuron
    names = [*known, *([MEASURED] if view.question.measured else [])]
    place = row_table(
        Table(
            [
                Column("neuron", [neuron_name(neuron) for neuron in view.neurons]),
                *(
                    Column(_short(name), view.of_listed(name).tolist(), signed=name != "activation", help=_help(name))
                    for name in names
                ),
            ],
            title=f"Top neurons by {view.ranked_by}",
            caption="Click a row to open the neuron." + (f" {DIFFERENCE}." if view.called == DIFFERENCE else ""),
        ),
        epoch=selection.epoch(view.side, tuple(view.neurons)),
        key=selection.widget_key("neurons_table"),
        whole=len(view.neurons) <= Choices().neurons_count,
    )
    if place is not None and view.neurons[place] != view.neuron:
        selection.update(neuron=view.neurons[place])
        st.rerun()


def _short(name: str) -> str:
    return {"direct effect": "direct", "gradient × activation": "grad × act", MEASURED: "measured"}.get(name, name)


def _help(name: str) -> str:
    known: dict[str, str] = {MEASURES["direct"]: "direct", MEASURES["gradient"]: "gradient", MEASURED: "measured"}
    return TERMS.get(f"neurons_{known.get(name, name)}", "")


def _tables(view: NeuronView) -> None:
    for name, table in mlp_tables(view.comparison, view.question).items():
        st.caption(plain(name.capitalize()))
        tables.draw(table, f"MLP: {name}")

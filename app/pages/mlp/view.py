"""The page *MLP*: the first neurons at a token by what they do there, and one of them in full."""

from dataclasses import replace

import streamlit as st

from headlight.app import selection
from headlight.app.components import Choice, Column, Listed, Option, Switch, row_table
from headlight.app.frame import notices, progress
from headlight.app.glossary import TERMS
from headlight.app.pages.mlp import charts as own
from headlight.app.pages.mlp import one, over_prompts
from headlight.app.pages.mlp.choices import Choices
from headlight.app.pages.mlp.found import Found, find
from headlight.app.parts import charts, options, tables
from headlight.app.parts.markdown import plain
from headlight.app.parts.pair import said_of_cap
from headlight.app.parts.parts import heading, title_row
from headlight.app.parts.sides import DIFFERENCE, say_what_is_common, say_what_is_missing
from headlight.model.neurons.tables import MEASURED, MEASURES, Ranking, measured_of, mlp_tables, reads_logits
from headlight.model.runs.comparison import Comparison
from headlight.model.runs.edits import neuron_name
from headlight.model.runs.linear import no_reading

BY: dict[Ranking, str] = {"direct": "Direct effect", "gradient": "Gradient × activation", "activation": "Activation"}


def render(comparison: Comparison) -> None:
    """The options, the first neurons as bars and as a table, and the chosen one."""
    found = find(comparison, selection.current())
    _options(found)
    for slot, remark in enumerate(found.pair.remarks):
        notices.refused(remark, f"pair_{slot}")
    say_what_is_common(comparison)
    say_what_is_missing(comparison, found.asked.place)
    if reason := next(filter(None, (no_reading(run.model) for run in comparison.runs)), ""):
        st.info(plain(f"{reason} So neurons have no direct effects here."))
    if capped := said_of_cap(comparison.runs):
        st.caption(plain(capped))
    found = replace(found, asked=replace(found.asked, measured=_is_measured(found)))
    if selection.current().table:
        _tables(found)
        return
    left, right = st.columns(2, gap="large")
    with right:
        _list(found)
    with left:
        charts.draw([[own.neurons(found)]], f"The first neurons by {found.ranked_by}")
    one.draw(found)
    over_prompts.draw(found)


def _is_measured(found: Found) -> bool:
    """Whether the model has been run without each neuron, which is done now where it is asked for, unless stopped."""
    asked = found.asked
    if not asked.measured:
        return False
    subject = tuple(run.key for run in found.comparison.runs), asked, tuple(found.neurons)
    said = "running the model without each neuron"
    made = progress.watched(
        said, "layers done", "neurons", subject, lambda: measured_of(found.comparison, asked, found.neurons)
    )
    return made is not None


def _options(found: Found) -> None:
    shown, labels = found.comparison, found.comparison.a.tokenizer.labels([found.asked.target, found.asked.distractor])
    ways = BY if reads_logits(shown) else {by: name for by, name in BY.items() if by != "direct"}
    layers = {None: "every layer"} | {layer: f"L{layer}" for layer in range(shown.n_layers)}
    with title_row("Neurons", "mlp", key="mlp"):
        options.row(
            options.bind(Choice, "neurons_by", "By", page=Choices, options=ways, change=selection.choose),
            options.bind(
                Listed,
                "neurons_layer",
                "Layer",
                page=Choices,
                change=selection.choose,
                options=layers,
                width=120,
            ),
            _token(found),
            options.token("target", labels[0], width=120),
            options.token("distractor", labels[1], width=120),
            options.side(shown.b is not None, "Show"),
            options.bind(Switch, "neurons_measured", "Measure", page=Choices),
            _count(),
            options.as_tables(),
        )


def _token(found: Found) -> Option:
    labels, place = found.comparison.labels, found.asked.place
    return options.place("neurons_token", "Token", labels, place, lambda at: selection.choose(position=at), width=150)


def _count() -> Listed:
    counts = sorted({8, 16, 32, 64, 100, selection.current().of(Choices).neurons_count})
    return options.bind(
        Listed,
        "neurons_count",
        "How many",
        page=Choices,
        change=selection.choose,
        options={each: str(each) for each in counts},
        width=80,
        folded=True,
    )


def _list(found: Found) -> None:
    """The listed neurons as a table of all measures, of which a row chooses the neuron shown in full."""
    heading("All measures of these", "neurons_list", key="neurons_list")
    known = (name for name in found.values if name in MEASURES.values())  # what a gate reads is told of the chosen one
    names = [*known, *([MEASURED] if found.asked.measured else [])]
    place = row_table(
        [
            Column("neuron", [neuron_name(neuron) for neuron in found.neurons]),
            *(
                Column(_short(name), found.of_listed(name).tolist(), 3, signed=name != "activation", help=_help(name))
                for name in names
            ),
        ],
        title=f"The first neurons by {found.ranked_by}",
        caption="Choose a row for all there is of it." + (f" {DIFFERENCE}." if found.called == DIFFERENCE else ""),
        epoch=selection.epoch(found.side, tuple(found.neurons)),
        key=selection.widget_key("neurons_table"),
        whole=len(found.neurons) <= Choices().neurons_count,
    )
    if place is not None and found.neurons[place] != found.neuron:
        selection.update(neuron=found.neurons[place])
        st.rerun()


def _short(name: str) -> str:
    return {"direct effect": "direct", "gradient × activation": "grad × act", MEASURED: "measured"}.get(name, name)


def _help(name: str) -> str:
    known: dict[str, str] = {MEASURES["direct"]: "direct", MEASURES["gradient"]: "gradient", MEASURED: "measured"}
    return TERMS.get(f"neurons_{known.get(name, name)}", "")


def _tables(found: Found) -> None:
    for name, table in mlp_tables(found.comparison, found.asked).items():
        st.caption(plain(name.capitalize()))
        tables.draw(table, f"MLP: {name}")

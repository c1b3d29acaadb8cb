"""One neuron in full: its activation over the prompt, its weights as tokens, and the heads that it composes with."""

from collections.abc import Mapping

import numpy as np
import streamlit as st

from headlight.app import selection
from headlight.app.components import Column, Number, Option, Table, TokenValues, row_table, token_values
from headlight.app.components.options.kinds import Listed
from headlight.app.frame.edits import drawer
from headlight.app.pages.mlp.neuron_view import NeuronView
from headlight.app.parts import options, unit_windows
from headlight.app.parts.labels import number
from headlight.app.parts.parts import heading, title_row
from headlight.app.parts.sides import DIFFERENCE, by_side, named
from headlight.model.attribution.direct_effects import Promoted
from headlight.model.attribution.tables import promoted_columns
from headlight.model.neurons.activations import over_prompt
from headlight.model.neurons.tables import composed_of, strip_of
from headlight.model.neurons.weights import neuron_composition, neuron_tokens
from headlight.model.runs.edits import AblateNeurons, Neuron, head_name, neuron_name
from headlight.model.text.outputs import Outputs

MAX_HEADS, MAX_TOKENS = 10, 8
ORDER = ("activation", "direct effect", "gradient × activation")
PAGES = {"inside": "Inside", "why": "Why"}
ABLATE = (
    "Ablates this neuron in A and shows that as B on every page. The edits' drawer can clamp it or patch it from "
    "another prompt."
)


def draw(view: NeuronView) -> None:
    """The strip of tokens, and the tables under it."""
    name = neuron_name(view.neuron)
    with title_row(f"Neuron {name}", "neuron", key="neuron"):
        options.row(*_which(view), _ablate(view), name="neuron", whole=True)
    st.text(_said(view))
    _strip(view)
    left, right = st.columns(2, gap="large")
    with left:
        _tokens(view)
    with right:
        _heads(view)
    unit_windows.draw(view.at[0], "mlp", "neurons", *view.neuron)


def choose(neuron: Neuron) -> None:
    """Show another neuron in full."""
    selection.choose(neuron=neuron)


def _which(view: NeuronView) -> list[Option]:
    (layer, index), cfg = view.neuron, view.at[0].cfg
    most = min((run.cfg.d_mlp or 1) for run in view.comparison.runs) - 1
    layers = {at: f"L{at}" for at in range(view.comparison.n_layers)}
    return (
        [
            options.tie(
                Listed, "neuron_layer", "Layer", layer, lambda at: choose((at, index)), options=layers, width=80
            ),
            options.tie(
                Number, "neuron_number", "Neuron", index, lambda at: choose((layer, int(at))), least=0, most=most
            ),
        ]
        if cfg.d_mlp
        else []
    )


def _ablate(view: NeuronView) -> Option:
    return drawer.ablating("ablate_neuron", AblateNeurons((view.neuron,)), ABLATE)


def _said(view: NeuronView) -> str:
    """The neuron at the token, in a line."""
    run, at = view.at
    values = (
        {}
        if view.called == DIFFERENCE
        else {name: float(measure.values[at]) for name, measure in over_prompt(run, view.neuron).reads.items()}
    )
    values |= {name: float(view.values[name].values[view.neuron]) for name in ORDER if name in view.values}
    side = "" if view.comparison.b is None else f"{view.called}: "
    readings = ", ".join(f"{name} {number(value)}" for name, value in values.items())
    return f"{side}at {view.comparison.token_at(run, at)}: {readings}"


def _strip(view: NeuronView) -> None:
    place = token_values(
        TokenValues(
            view.comparison.labels,
            strip(view),
            title=f"activation of {neuron_name(view.neuron)}",
            signed=True,
            turns=view.comparison.turns,
        ),
        chosen=view.question.place,
        epoch=selection.epoch(),
        key=selection.widget_key("neuron_strip"),
    )
    if place is not None and place != view.question.place:
        selection.choose(position=place)
        st.rerun()


def strip(view: NeuronView) -> Mapping[str, np.ndarray]:
    """Activation at every place of each run; of a gated neuron of one run also its gate and linear part."""
    values = by_side(strip_of(view.comparison, view.neuron))
    reads = over_prompt(view.comparison.a, view.neuron).reads
    if view.comparison.b is None and len(reads) > 1:
        return {name: each.values.numpy() for name, each in reads.items()} | {"product": values["A"]}
    return named(view.comparison, values, "")


def _tokens(view: NeuronView) -> None:
    heading("Weights as tokens", "neuron_tokens", key="neuron_tokens")
    run, at = view.at
    tokens = neuron_tokens(run, view.neuron, at)
    _table(view, "Writes", run.outputs, ("promotes", "suppresses"), tokens.written, "Logits for an activation of 1.")
    for name, read in tokens.read.items():
        title = f"Its {name} reads" if name != "input" else "Reads"
        _table(
            view,
            title,
            run.tokenizer,
            ("raised by", "lowered by"),
            read,
            "Embeddings, at a scale of 1 of the norm before it.",
        )


def _table(
    view: NeuronView, title: str, names: Outputs, sides: tuple[str, str], tokens: Promoted, caption: str
) -> None:
    raised, raised_by, lowered, lowered_by = promoted_columns(tokens, names, MAX_TOKENS)
    row_table(
        Table(
            [
                Column(sides[0], raised),
                Column("by", raised_by, signed=True),
                Column(sides[1], lowered),
                Column("by ", lowered_by, signed=True),
            ],
            title=f"{title}: tokens of neuron {neuron_name(view.neuron)}",
            caption=f"{title}. {caption}",
        ),
        key=selection.widget_key(f"neuron_{title}"),
        choosable=False,
        whole=True,
    )


def _heads(view: NeuronView) -> None:
    heading("Heads it composes with", "neuron_heads", key="neuron_heads")
    run = view.at[0]
    rows = composed_of(run, view.neuron)[:MAX_HEADS]
    if not rows:
        st.caption("No head comes before it or after it.")
        return
    random = neuron_composition(run, view.neuron).random
    place = row_table(
        Table(
            [
                Column("head", [head_name(head) for _, head, _ in rows]),
                Column("how", [how for how, _, _ in rows]),
                Column("composition", [score for *_, score in rows]),
            ],
            title=f"Heads that {neuron_name(view.neuron)} composes with",
            caption=f"By weights alone; about {random:.3f} would be chance. Choose a row for its links.",
        ),
        epoch=selection.epoch(view.neuron),
        key=selection.widget_key("neuron_heads_table"),
        whole=True,
    )
    links = options.to_head(PAGES, rows[place or 0][1], view.question.place)
    options.row(*links, name="neuron_head", whole=True)

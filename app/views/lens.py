"""What the model would predict after each layer, at every position."""

from dataclasses import dataclass

import numpy as np
import streamlit as st
from jaxtyping import Float32, Int32

from app import notices, runs, selection
from app.components import LensCells, LensPin, lens_grid
from app.glossary import TERMS
from app.runs import Run
from app.views.parts import chart, heading
from model.analysis import Measure
from model.analysis.lens import LogitLens
from model.errors import HeadlightError

MEASURES = {
    "top": "Top token",
    "entropy": "Entropy",
    "kl": "KL to final",
    "target": "Followed token",
    "rank": "Its rank",
}


@dataclass(frozen=True)
class Colouring:
    """What colours the cells: a measure with its name and unit, and the ends of the colour bar."""

    name: str
    unit: str
    values: Float32[np.ndarray, "layer pos"]
    ends: tuple[float, float]


def needs(run: Run) -> str:
    """A model whose outputs are not tokens has nothing to read off."""
    if run.cfg.d_vocab_out == run.cfg.d_vocab:
        return ""
    return f"This model gives {run.cfg.d_vocab_out:,} classes, not tokens, so there is no lens. Open a language model."


def render(run: Run) -> None:
    """The lens as a table of layers and positions, and the pinned cell's ten best tokens."""
    token = _followed(run)
    with st.spinner("Reading every layer…"):
        read = runs.kept(run, ("lens", token), lambda: runs.logit_lens(run, token))
    pin = _grid(run, read) or LensPin(run.cfg.n_layers, len(run.tokens) - 1)
    _cell(run, read, pin, token)


def _followed(run: Run) -> int:
    """The id of the token to follow: the one typed, or the model's own prediction."""
    left, right = st.columns([3, 2], vertical_alignment="bottom", gap="large")
    with left:
        heading("What each layer would say", "lens")
        st.segmented_control(
            "Colour by",
            list(MEASURES),
            format_func=MEASURES.__getitem__,
            required=True,
            wrap=True,
            help=TERMS[f"lens_{selection.current().measure}"],
            **selection.bind("measure"),
        )
    predicted = int(run.next_logits.argmax())
    with right:
        st.text_input(
            "Follow a token",
            placeholder=f"the prediction, “{run.tokenizer.labels([predicted])[0]}”",
            help="Type one token. Inside a sentence most begin with a space: type the space too.",
            **selection.bind("target"),
        )
        try:
            typed = selection.current().target
            return run.tokenizer.to_single_token(typed) if typed else predicted
        except HeadlightError as error:
            notices.refused(str(error))
            return predicted


def _grid(run: Run, read: LogitLens) -> LensPin | None:
    now = selection.current()
    before = None if now.layer is None or now.position is None else LensPin(now.layer, now.position)
    colouring = _colouring(read, now.measure)
    vocabulary, top = runs.kept(run, "top words", lambda: _top_words(run, read))
    cells = LensCells(
        layer_labels=run.layer_labels,
        position_labels=run.labels,
        vocabulary=vocabulary,
        top=top,
        probabilities=_array(read.top_probs),
        measure=colouring.values,
        measure_name=colouring.name,
        measure_unit=colouring.unit,
        measure_range=colouring.ends,
    )
    pin = lens_grid(cells, pinned=before, epoch=selection.epoch(), key=selection.widget_key("lens"))
    if pin != before:
        selection.update(layer=pin and pin.layer, position=pin and pin.position)
    return pin


def _colouring(read: LogitLens, measure: selection.Measure) -> Colouring:
    match measure:
        case "top":
            return Colouring("probability of the top token", "", _array(read.top_probs)[..., 0], (0.0, 1.0))
        case "target":
            return Colouring("probability of the followed token", "", _array(read.chosen_probs)[..., 0], (0.0, 1.0))
        case "rank":
            ranks = np.log10(_array(read.chosen_ranks)[..., 0])
            return Colouring("rank of the followed token", "log10", ranks, (max(float(ranks.max()), 1.0), 0.0))
        case "entropy":
            entropy = _array(read.entropy)
            return Colouring("entropy", "nats", entropy, (0.0, float(entropy.max())))
        case "kl":
            kl = _array(read.kl_from_final)
            return Colouring("KL(final ‖ layer)", "nats", kl, (0.0, max(float(kl.max()), 1e-3)))


def _array(measure: Measure) -> np.ndarray:
    return measure.values.numpy().astype(np.float32)


def _top_words(run: Run, read: LogitLens) -> tuple[list[str], Int32[np.ndarray, "layer pos k"]]:
    """The labels of all tokens that any cell lists, and for each cell which of them."""
    ids, index = np.unique(read.top_tokens.values.numpy(), return_inverse=True)
    return run.tokenizer.labels(ids.tolist()), index.reshape(read.top_tokens.values.shape).astype(np.int32)


def _cell(run: Run, read: LogitLens, pin: LensPin, token: int) -> None:
    # Here, because Plotly takes a quarter of a second that other pages need not pay.
    from app.figures import lens as figures

    layer, position = pin
    left, right = st.columns(2, gap="large")
    with left:
        heading(f"Ten best after {run.layer_labels[layer]}, position {position}", "lens_top")
        labels = run.tokenizer.labels(read.top_tokens.values[layer, position])
        chart("best", figures.top_tokens(_array(read.top_probs)[layer, position], labels))
    with right:
        heading(f"The followed token at position {position}", "lens_target", "lens_rank")
        st.text(run.tokenizer.labels([token])[0])
        probabilities, ranks = _array(read.chosen_probs), read.chosen_ranks.values.numpy()
        chart("followed", figures.followed(probabilities[:, position, 0], ranks[:, position, 0], run.layer_labels))

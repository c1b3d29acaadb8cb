"""Every head's attention over the prompt, and the chosen heads side by side."""

from dataclasses import dataclass

import numpy as np
import streamlit as st

from app import runs, selection
from app.components import HeadPattern, Pin, encode_thumbnails, encode_weights, head_grid, heads, token_strip
from app.glossary import TERMS
from app.runs import Run
from app.views.parts import heading

GROUP = "attention"
SCALES = {"sqrt": "√ weight", "linear": "weight"}
COLUMNS = {  # of the table under the heads: score, heading
    "entropy": "Entropy (nats)",
    "mean_distance": "Distance (tokens)",
    "previous_token": "Previous token",
    "induction": "Induction",
    "duplicate_token": "Same token",
    "first_token": "First token",
}


@dataclass(frozen=True)
class ShownHead:
    """One head as the page shows it: its coded pattern, and the largest value-weighted norm of its cells (L2 norm)."""

    pattern: HeadPattern
    largest_write: float


def render(run: Run) -> None:
    """The token strip, the grid of all heads and the chosen ones."""
    strip = st.container()
    left, right = st.columns([2, 3], gap="large")
    with left:
        chosen = _grid(run)
    with right:
        if not chosen:
            st.info("No head is chosen. Click one in the grid to see its pattern here; up to six fit side by side.")
            return
        shown = [_shown_head(run, *head) for head in chosen]
        _heads(run, [each.pattern for each in shown])
    with strip:
        _strip(run, shown[0].pattern)
    _table(run, shown)


def _grid(run: Run) -> tuple[selection.Head, ...]:
    heading("All heads", "attention", "head")
    st.caption("One picture a head, one row a layer. Click to choose up to six.")
    now = selection.current().heads
    before = clearest(run) if now is None else now
    chosen = head_grid(
        runs.kept(run, "thumbnails", lambda: encode_thumbnails(run.thumbnails.numpy(), run.hidden.numpy())),
        selected=before,
        epoch=selection.epoch(),
        key=selection.widget_key("grid"),
        group=GROUP,
        captions=runs.kept(run, "captions", lambda: _captions(run)),
        max_selected=selection.MAX_HEADS,
    )
    if chosen != before:
        selection.update(heads=chosen)
    return chosen


def clearest(run: Run) -> tuple[selection.Head, ...]:
    """The heads worth a first look on this prompt: the best two at induction and the best at the previous token.

    Where no token occurs twice there is no induction, and the best three at the previous token are taken.
    """
    repeats = not bool(run.scores["induction"].values.isnan().any())
    first = _ranked(run, "induction")[:2] if repeats else []
    return tuple(dict.fromkeys([*first, *_ranked(run, "previous_token")]))[:3]


def _ranked(run: Run, score: str) -> list[selection.Head]:
    order = run.scores[score].values.flatten().argsort(descending=True)
    return [divmod(int(index), run.cfg.n_heads) for index in order]


def _captions(run: Run) -> list[list[str]]:
    scores = (run.scores[name].values.tolist() for name in ("entropy", "previous_token", "induction"))
    return [[_caption(*head) for head in zip(*layer, strict=True)] for layer in zip(*scores, strict=True)]


def _caption(entropy: float, previous_token: float, induction: float) -> str:
    return f"entropy {entropy:.2f} nats · previous token {previous_token:.2f} · induction {_or_dash(induction)}"


def _or_dash(score: float) -> str:
    return "–" if np.isnan(score) else f"{score:.2f}"


def _shown_head(run: Run, layer: int, head: int) -> ShownHead:
    return runs.kept(run, ("head", layer, head), lambda: _code(run, layer, head))


def _code(run: Run, layer: int, head: int) -> ShownHead:
    attended = runs.attend(run, layer, head)
    pattern = HeadPattern(
        layer=layer,
        head=head,
        weights=encode_weights(attended.pattern.numpy(), attended.scores.isneginf().numpy()),
        logsumexp=attended.scores.logsumexp(-1).numpy(),
    )
    return ShownHead(pattern, float(runs.value_weighted(run, layer, head, attended.pattern).values.max()))


def _strip(run: Run, pattern: HeadPattern) -> None:
    token_strip(
        run.labels,
        pattern,
        key=selection.widget_key("strip"),
        group=GROUP,
        scale=selection.current().scale,
    )


def _heads(run: Run, patterns: list[HeadPattern]) -> None:
    with st.container(horizontal=True, vertical_alignment="bottom"):
        heading("Chosen heads", "attention")
        st.space("stretch")
        st.segmented_control(
            "Colour scale",
            list(SCALES),
            format_func=SCALES.__getitem__,
            required=True,
            label_visibility="collapsed",
            help=TERMS["scale"],
            **selection.bind("scale"),
        )
    st.caption("Row: the token that looks. Column: the token looked at. Stronger colour: larger weight.")
    now = selection.current()
    before = None if now.query is None and now.key is None else Pin(now.query, now.key)
    pin = heads(
        patterns,
        run.labels,
        run.labels,
        pinned=before,
        epoch=selection.epoch(),
        key=selection.widget_key("heads"),
        group=GROUP,
        scale=now.scale,
    )
    if pin != before:
        selection.update(query=pin.query if pin else None, key=pin.key if pin else None)


def _table(run: Run, shown: list[ShownHead]) -> None:
    places = [(each.pattern.layer, each.pattern.head) for each in shown]
    columns: dict[str, list[float]] = {
        title: [float(run.scores[score].values[place]) for place in places] for score, title in COLUMNS.items()
    }
    columns["Largest write (norm)"] = [each.largest_write for each in shown]
    helps = [*(TERMS[score] for score in COLUMNS), TERMS["value_weighted"]]
    st.dataframe(
        {"Head": [f"L{layer}H{head}" for layer, head in places], **columns},
        column_config={
            title: st.column_config.NumberColumn(title, format="%.2f", help=help_text)
            for title, help_text in zip(columns, helps, strict=True)
        },
        hide_index=True,
        alt="Scores of the chosen heads on this prompt",
    )

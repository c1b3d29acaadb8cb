"""Patching: which parts of one prompt's run, put into another, make that predict as the other does."""

from collections.abc import Iterator, Sequence

import streamlit as st

from headlight.app import selection
from headlight.app.components import (
    CellAxis,
    CellMap,
    Choice,
    Column,
    Listed,
    Option,
    Switch,
    Table,
    cell_map,
    row_table,
)
from headlight.app.frame import notices, progress, prompt_bar
from headlight.app.glossary import TERMS
from headlight.app.pages.patching import cell, example_map
from headlight.app.pages.patching.choices import Choices
from headlight.app.pages.patching.patches import (
    INTO,
    MAX_LISTED,
    TITLES,
    PatchedMap,
    axes,
    maps_of,
    matches_of,
    measured_at,
    obstacle,
    pair,
    patched_of,
    question_of,
    receiver_of,
    said_after,
    said_of_b,
    table,
    title,
)
from headlight.app.parts import options, tables
from headlight.app.parts.labels import isolated, number, quoted
from headlight.app.parts.markdown import plain
from headlight.app.parts.matrix import Matrix
from headlight.app.parts.pair import preposition, said_of_cap
from headlight.app.parts.parts import heading, title_row
from headlight.app.runs import jobs, patching, prompts
from headlight.app.runs.jobs import Jobs
from headlight.app.runs.patching import Piece
from headlight.app.selection.chosen import Selection
from headlight.model.base.errors import HeadlightError
from headlight.model.patching import PATHS
from headlight.model.runs.comparison import Comparison

SHARE = "normalized logit difference (0 = A, 1 = B)"
AT_ONCE = 9.5  # seconds by estimate, as all heads of SmolLM2 on a sentence: a page that is opened shows something
ESTIMATE = "estimate of it, by attribution patching"


def render(comparison: Comparison) -> None:
    """The question, the map and its strongest cells, and how far the work is."""
    title = title_row("Patching", "patching", level=1)
    if reason := obstacle(comparison, selection.current()):
        _refuse(comparison, reason)
        return
    with title:
        _options(comparison)
    for slot, remark in enumerate(pair(comparison, selection.current()).remarks):
        notices.refused(remark, f"pair_{slot}")
    question = question_of(comparison, selection.current())
    work = jobs.get_jobs("patching")
    pieces = patching.pieces_of(question)
    _draw(comparison, patched_of(comparison, selection.current()))
    with st.container(key="headlight-work"):  # below the map, which stays where it is when this comes and goes
        _working(work, pieces)
    _say_difference(comparison)
    progress.go_on(work, patching.do)


def is_complete(comparison: Comparison) -> bool:
    """Whether the map that is chosen is there to be taken along."""
    if obstacle(comparison, selection.current()):
        return False
    try:
        return patched_of(comparison, selection.current()).complete
    except HeadlightError:
        return False


def _refuse(comparison: Comparison, reason: str) -> None:
    """Say what is missing, offer an example that has it, and show what comes of it."""
    left, right = st.columns([2, 3], gap="large")
    with left:
        heading("What if one word were different?", level=1, key="empty")
        with st.container(key="headlight-missing"):
            st.text(reason)
        for example in prompts.examples():
            if example.prompt_b is not None:
                st.button(
                    plain(f"Patch an example: {example.name}"),
                    type="primary",
                    key=selection.widget_key(f"patching.{example.title}"),
                    on_click=prompt_bar.open_example,
                    args=(example,),
                )
    with right:
        st.caption(plain(example_map.CAPTION))
        with st.container(key="headlight-example"):
            cell_map(example_map.drawn(), key=selection.widget_key("example"))


def _options(comparison: Comparison) -> None:
    now = selection.current()
    own = now.choices_of(Choices)
    titles = {each: TITLES[each] for each in maps_of(comparison, own.patch_into)}
    which = own.patch_map if own.patch_map in titles else "z"
    options.row(
        options.tie(
            Listed,
            "patch_map",
            "What is patched",
            which,
            lambda new: selection.update(Choices, patch_map=new, patch_cell=None),
            options=titles,
            width=290,
        ),
        *_where(comparison, now),
        options.bind(Choice, "patch_into", "Direction", page=Choices, options=INTO),
        options.bind(Switch, "patch_mlps", "Through MLPs", page=Choices)
        if which in PATHS
        else options.bind(Switch, "patch_estimate", "Add an estimate", page=Choices),
        options.as_tables(),
        *_question(comparison, now),
    )


def _where(comparison: Comparison, now: Selection) -> Iterator[Option]:
    """Option of the layer or the receiver, where the map has one."""
    cfg, which = comparison.a.cfg, now.choices_of(Choices).patch_map
    if which == "z_by_position":
        layers = {layer: f"L{layer}" for layer in range(cfg.n_layers)}
        last = cfg.n_layers - 1
        yield options.bind(Listed, "patch_layer", "Layer", last, page=Choices, options=layers, width=80)
    elif which in PATHS:
        later = options.heads(range(1, cfg.n_layers), cfg.n_heads)
        yield options.tie(
            Listed,
            "patch_receiver",
            "Receiver",
            receiver_of(comparison, now),
            lambda head: selection.update(Choices, patch_head=head),
            options=later,
            width=100,
        )


def _question(comparison: Comparison, now: Selection) -> Iterator[Option]:
    """The two tokens and the position."""
    tokens = pair(comparison, now)
    labels = comparison.a.outputs.labels([tokens.target, tokens.distractor])
    for field, label in zip(("target", "distractor"), labels, strict=True):
        yield options.token(
            field, label, comparison.a.label_names, help=TERMS[f"patch_{field}"], width=170, folded=True
        )
    yield options.tie(
        Listed,
        "patch_position",
        f"Predicted {preposition(comparison.a)}",
        _place(comparison, now),
        lambda new: selection.choose(position=new),
        options={place: _token(comparison, place) for place in _places(comparison, now)},
        help=TERMS["why_position"],
        width=180,
        folded=True,
    )


def _places(comparison: Comparison, now: Selection) -> list[int]:
    """Places on the axis of A's positions that match one of B's, and of A's prediction."""
    positions = {a for a, _ in matches_of(comparison, now)} | {comparison.a.prediction_position}
    return [place for place, position in enumerate(comparison.positions(comparison.a)) if position in positions]


def _place(comparison: Comparison, now: Selection) -> int:
    """Place on the axis of A's position."""
    return comparison.place_of(comparison.a, measured_at(comparison, now)[0])


def _token(comparison: Comparison, place: int) -> str:
    """A's token at a place, with that one's number."""
    position = comparison.positions(comparison.a)[place]
    return "" if position is None else f"{place}  {comparison.a.labels[position]}"


def _say_difference(comparison: Comparison) -> None:
    now = selection.current()
    runs, tokens = patching.patching_of(question_of(comparison, now)), pair(comparison, now)
    target, distractor = comparison.a.outputs.labels([tokens.target, tokens.distractor])
    st.text(
        f"Logit difference ({quoted(target)} − {quoted(distractor)}) after {isolated(said_after(comparison, now))}:  "
        f"A\u00a0{number(runs.a)}, B\u00a0{number(runs.b)}. Normalized: 0\u00a0=\u00a0A, 1\u00a0=\u00a0B"
    )
    for line in filter(None, (said_of_cap(comparison.runs), *said_of_b(comparison, now))):
        st.caption(plain(line))


def _working(work: Jobs, pieces: Sequence[Piece]) -> None:
    """Compute missing cells: at once where that is quick, else on a click, with progress and a stop button."""
    missing = progress.missing(work, pieces, patching.is_done, "patches")
    progress.bar(work, "parts of the map done", "patching")
    label = f"Patch {sum(piece.stop - piece.start for piece in missing):,} cells"
    with st.empty():  # or else a button that was pressed would stay until all work is done
        progress.offer(work, missing, label, "patching", patching.seconds(missing), AT_ONCE, cost=patching.seconds_of)


LEFT_OUT = " Positions after the prediction cannot influence it and are left out."


def _draw(comparison: Comparison, patched: PatchedMap) -> None:
    if selection.current().table:
        tables.draw(table(patched), title(patched.question))
        _agreement(patched)
        return
    left, right = st.columns([3, 1], gap="large")
    with left:
        for matrix, called in drawn(patched):
            key = selection.widget_key(f"patched {called}")
            before, drawn_map = cell.chosen_cell(patched), patch_map(patched, matrix, called)
            _choose(cell_map(drawn_map, choosable=True, chosen=before, epoch=selection.epoch(), key=key))
        left_out = LEFT_OUT if comparison.a.cfg.attention_dir == "causal" else ""
        st.caption(
            plain(
                f"{title(patched.question)}. Colours are centred on {patched.unpatched:.0f} (unpatched); values are "
                f"not clipped.{left_out}"
            )
        )
        cell.draw(comparison, patched)
        _agreement(patched)
    if patched.order:
        with right:
            _largest(patched)


def _largest(patched: PatchedMap) -> None:
    """The cells that move the prediction most; a row chooses its cell."""
    heading("Largest effects")
    cells, names = table(patched, MAX_LISTED), axes(patched.question)
    if names == ("layer", "head"):  # in one name, which opens the head's menu
        layers, heads = (cells.pop(name) for name in names)
        cells = {"head": [f"{layer}{head}" for layer, head in zip(layers, heads, strict=True)], **cells}
    place = row_table(
        Table(
            [Column(name, each, None if name in names else 3) for name, each in cells.items()],
            title="The strongest cells",
        ),
        epoch=selection.epoch(patched.question),
        key=selection.widget_key("patching_largest"),
    )
    _choose(None if place is None else patched.order[place])


def _choose(chosen: tuple[int, int] | None) -> None:
    """Look at a cell; the maps and the table, which hold one each, have to learn of it."""
    if chosen is not None and tuple(chosen) != selection.current().choices_of(Choices).patch_cell:
        selection.choose(Choices, patch_cell=tuple(chosen))
        st.rerun()


def drawn(patched: PatchedMap) -> list[tuple[Matrix, str]]:
    """The map, and its estimate where there is one, with their titles."""
    nothing = f"; unpatched: {patched.unpatched:.0f}"
    estimate = [] if patched.estimate is None else [(patched.estimate, f"{ESTIMATE}{nothing}")]
    return [(patched.exact, f"{SHARE}{nothing}"), *estimate]


def patch_map(patched: PatchedMap, matrix: Matrix, called: str) -> CellMap:
    """A map of shares."""
    rows, columns = axes(patched.question)
    return CellMap(
        matrix.values,
        CellAxis(rows, matrix.rows),
        CellAxis(columns, matrix.columns),
        title=called,
        scale="signed",
        ends=(0.0, patched.limit(matrix)),
        centre=patched.unpatched,
        lacks="not matched" if patched.complete else "not computed yet",
    )


def spelled_agreement(patched: PatchedMap) -> str:
    """Rank agreement of the estimate with the map; empty without an estimate, or before the map is complete."""
    if patched.agreement is None or not patched.complete:
        return ""
    correlation = (
        "undefined, since one of them is constant"
        if patched.agreement != patched.agreement
        else f"{patched.agreement:.3f}"
    )
    return f"Attribution patching is an estimate. Its rank correlation with the map (Spearman): {correlation}."


def _agreement(patched: PatchedMap) -> None:
    if sentence := spelled_agreement(patched):
        st.text(sentence)

"""Explanation of an attention cell: its score, its write, ablations, and the sources of the prediction."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import streamlit as st

from headlight.app import selection
from headlight.app.components import Button, Choice, Link, Listed, MapCell, cell_map, chosen_cell
from headlight.app.frame import means, notices, progress
from headlight.app.glossary import TERMS
from headlight.app.pages.why import answer, as_numbers, by_features, follow, spelled
from headlight.app.pages.why import charts as own
from headlight.app.pages.why import figures as numbers
from headlight.app.pages.why.choices import Choices
from headlight.app.pages.why.chosen import head_of, query_place, sides_of
from headlight.app.parts import charts, needs, options, part_maps
from headlight.app.parts.labels import isolated, number, percent, quoted
from headlight.app.parts.markdown import plain
from headlight.app.parts.pair import Pair, pair_of, place_of, preposition, typeable
from headlight.app.parts.parts import heading, title_row
from headlight.app.parts.sides import DIFFERENCE, compared, is_there, side_of
from headlight.app.runs import runs
from headlight.app.selection.chosen import Selection
from headlight.model.attribution.explanation import Explained
from headlight.model.attribution.parts import logits_at
from headlight.model.attribution.tables import summary
from headlight.model.measure.contrast import contrast, measured_outputs
from headlight.model.measure.likelihood import probabilities
from headlight.model.runs.comparison import Comparison
from headlight.model.runs.edits import head_name
from headlight.model.runs.run import Run

MAP, MEAN, CELL = "effects_map", "of_why", "why_cell"


def render(comparison: Comparison) -> None:
    """The two tokens, the cell, and the panels that explain both."""
    if comparison.a.cfg.output == "none":
        _of_body(comparison)
        return
    _take_click(comparison)
    pair = pair_of(comparison, selection.current())
    _question(comparison, pair)
    if selection.current().table:
        _say_difference(comparison, pair, place_of(comparison, selection.current()))
    inputs = means.wanted(comparison.runs, selection.current().mean_over)
    sides, reasons = sides_of(comparison, _with_known_mean(inputs))
    side = side_of(comparison, selection.current())
    if is_there(sides, side) and not selection.current().table:
        answer.draw(comparison, pair, sides, side)
        _say_difference(comparison, pair, place_of(comparison, selection.current()))
    _cell(comparison, sides)
    for reason in reasons.values() if side == DIFFERENCE else filter(None, [reasons.get(side)]):
        st.info(plain(reason))
    if not is_there(sides, side):
        return
    _explain(comparison, pair, sides, side)
    means.step(MEAN)


def _of_body(comparison: Comparison) -> None:
    """The cell and its score alone, of a model without logits."""
    sides, reasons = sides_of(comparison, selection.current())
    side = side_of(comparison, selection.current())
    with title_row("Why does a head look there?", "why_score", level=1):
        options.row(options.side(comparison.b is not None, "Explain", help=TERMS["why_side"]), options.as_tables())
    _cell(comparison, sides)
    for reason in reasons.values() if side == DIFFERENCE else filter(None, [reasons.get(side)]):
        st.info(plain(reason))
    if is_there(sides, side):
        if selection.current().table:
            as_numbers.draw_score(sides, side)
        else:
            _why(comparison, sides, side)
    st.caption(
        "This model has no head, so that there is no logit to explain. Residual stream has what each part adds to the "
        "cosine of two sentences."
    )


def _with_known_mean(inputs: Sequence[runs.Inputs]) -> Selection:
    """The choices; the mean is over this prompt until that over the others is known."""
    now = selection.current()
    return replace(now, mean_over=()) if means.missing(inputs) else now


def _explain(comparison: Comparison, pair: Pair, sides: Mapping[str, Explained], side: str) -> None:
    if selection.current().table:
        measured = _are_measured(sides)
        if measured and len(sides) == 2:
            _summaries(sides)
        _mean(comparison)
        as_numbers.draw(comparison, sides, side, measured)
        if (reader := _reader(comparison)) is not None:
            by_features.draw_tables(comparison, reader, sides, side)
        return
    left, right = st.columns([3, 2], gap="large")
    with left:
        _why(comparison, sides, side)
        _by_source(comparison, sides, side)
    with right:
        _what(sides, side)
        written = st.container()
        _does_it_matter(sides, side)
        _mean(comparison)
        outcomes = st.container()
    heading("Over layers and heads", key="why_over_layers")
    _attribution(comparison, sides, side)
    with written:
        charts.draw(own.promoted(comparison, sides, side), "Tokens that the cell's write promotes and suppresses")
    with outcomes:  # last, because it runs the model
        measured = _are_measured(sides)
        if measured:
            charts.alone(own.outcomes(comparison, sides, side), "What is changed without the cell", "why_outcomes")
    if measured and len(sides) == 2:
        _summaries(sides)


def _are_measured(sides: Mapping[str, Explained]) -> bool:
    """Whether the model has been run without each cell and head, which is done now unless it was stopped."""
    said = "running the model without it"
    subject = tuple((at.run.key, at.cell, at.question, at.replacements.identity) for at in sides.values())
    outcomes = progress.watched(
        said, "layers done", "measured", subject, lambda: [at.outcomes for at in sides.values()]
    )
    return outcomes is not None


def _question(comparison: Comparison, pair: Pair) -> None:
    """The two tokens and the place, as they are and to be changed."""
    run, place = comparison.a, place_of(comparison, selection.current())
    target, distractor = run.outputs.labels([pair.target, pair.distractor])
    compares = comparison.b is not None  # which side is explained then takes the room
    with title_row("Why this label?" if run.label_names else "Why this token?", "why", level=1):
        options.row(
            options.token("target", target, run.label_names),
            None if run.cfg.has_one_output else options.token("distractor", distractor, run.label_names),
            None if run.cfg.has_one_output else _swap(pair, run, folded=compares),
            _place(
                "position",
                f"Predicted {preposition(run)}",
                comparison,
                place,
                lambda at: selection.choose(position=at),
                folded=compares,
            ),
            _written(comparison, pair, place),
            options.side(compares, "Explain", help=TERMS["why_side"]),
            options.as_tables(),
        )
    for slot, remark in enumerate(pair.remarks):
        notices.refused(remark, f"pair_{slot}")


def _say_difference(comparison: Comparison, pair: Pair, place: int) -> None:
    """Logits of the two tokens and their difference, in each run."""
    labels = comparison.a.outputs.labels([pair.target, pair.distractor])
    for side, run in comparison.sides.items():
        position = comparison.positions(run)[place]
        if position is None:
            continue
        logits = logits_at(run, position)
        shares = probabilities(logits, run.cfg.multi_label)[[pair.target, pair.distractor]].tolist()
        difference = float(contrast(logits[measured_outputs(len(logits), pair.target, pair.distractor)]))
        named = f"{side}: " if comparison.b is not None else ""
        token = isolated(comparison.token_at(run, position))
        where = "by the mean of all tokens" if run.cfg.pools_mean else f"{preposition(run)} {token}"
        if run.cfg.has_one_output:
            st.text(f"{named}{where}:  {labels[0]}  {number(difference)}")
            continue
        predictions = ", ".join(
            f"{quoted(label)} {percent(share, 2)}" for label, share in zip(labels, shares, strict=True)
        )
        st.text(f"{named}{where}:  {predictions};  difference {number(difference)} logits")


def _swap(pair: Pair, run: Run, folded: bool) -> Button:
    """Each of the two tokens in the place of the other, as far as they can be typed."""
    texts = [typeable(run, token) for token in (pair.distractor, pair.target)]
    reason = "One of these tokens has no text that can be typed." if None in texts else ""

    def swap() -> None:
        selection.choose(target=texts[0], distractor=texts[1])

    return replace(options.button("swap_pair", "⇄ Swap", swap, reason, disabled=None in texts), folded=folded)


def _written(comparison: Comparison, pair: Pair, place: int) -> Button | None:
    """The token that A's text goes on with at the place as the target, where it is another one than is explained."""
    run, position = comparison.a, comparison.positions(comparison.a)[place]
    if run.cfg.output != "tokens" or run.cfg.attention_dir != "causal":
        return None
    if position is None or position == len(run.tokens) - 1:
        return None
    token = int(run.tokens[position + 1])
    text = typeable(run, token)
    if text is None or token == pair.target:
        return None

    def explain() -> None:
        selection.choose(target=text, distractor="")

    help = "The text goes on with this token. Compare it with the likeliest one."
    return options.button("why_written", f"Explain {quoted(run.outputs.labels([token])[0])}", explain, help)


def _cell(comparison: Comparison, sides: Mapping[str, Explained]) -> None:
    """The head, query and key, to be changed; the key is the query's strongest until one is chosen."""
    now, at = selection.current(), next(iter(sides.values()), None)
    key = comparison.positions(at.run).index(at.cell.key) if at else (now.keys or (0,))[0]
    name = head_name(head_of(comparison, now))
    with title_row(f"Where {name} looks, and why", "why_cell", "why_score", key=CELL):
        options.row(
            options.first_head("why_head", comparison, head_of(comparison, now)),
            _place(
                "query",
                "Query token",
                comparison,
                query_place(comparison, now),
                lambda at: selection.choose(queries=(at,)),
            ),
            _place("key", "Key token", comparison, key, lambda at: selection.choose(keys=(at,))),
            _strongest() if now.keys or now.queries else None,
            _by() if by_features.reader_of(comparison, now, head_of(comparison, now)[0]) else None,
            name="cell",
        )


def _by() -> Choice:
    ways = {"parts": "component", "features": "features"}
    return options.bind(Choice, "why_by", "By", page=Choices, options=ways, help=TERMS["why_by"])


def _strongest() -> Button:
    def choose() -> None:
        selection.choose(queries=(), keys=())

    return options.button("why_strongest", "Strongest cell", choose, TERMS["why_strongest"])


def _place(
    field: str, label: str, comparison: Comparison, value: int, change: Callable[[int], None], folded: bool = False
) -> Listed:
    labels, turns = comparison.labels, comparison.turns
    return options.place(f"why_{field}", label, labels, value, change, folded=folded, groups=turns)


def _summaries(sides: Mapping[str, Explained]) -> None:
    """The cell's numbers in A, in B, and B - A."""
    columns = compared(sides, summary)
    cells = {side: f"{at.run.labels[at.cell.query]} → {at.run.labels[at.cell.key]}" for side, at in sides.items()}
    rows = {
        f"{side}: {cells[side]}" if side in cells else side: list(map(number, values.values()))
        for side, values in columns.items()
    }
    st.dataframe(
        {"The cell": list(columns["A"]), **rows},
        hide_index=True,
        width="content",
        alt=f"The cell's numbers in A, in B, and {DIFFERENCE}",
    )


def _why(comparison: Comparison, sides: Mapping[str, Explained], side: str) -> None:
    if (reader := _reader(comparison)) is not None:
        by_features.draw_score(comparison, reader, sides, side)
    else:
        score = part_maps.score(compared(sides, numbers.score_matrix), side)
        cell_map(score, key=selection.widget_key("score_parts"))
        if side != DIFFERENCE:
            st.text(spelled.score(comparison, sides[side]))
    of_both = " A component missing in one run counts as 0." if side == DIFFERENCE else ""
    st.caption(
        plain(
            "Rows: query-side components. Columns: key-side components. Norm scales frozen at this run's "
            f"values.{of_both}"
        )
    )
    if side != DIFFERENCE:
        follow.draw(comparison, sides[side])


def _reader(comparison: Comparison) -> by_features.Reader | None:
    """The dictionary by whose features the score is to be split."""
    now = selection.current()
    return by_features.wanted(comparison, now, head_of(comparison, now)[0])


def _what(sides: Mapping[str, Explained], side: str) -> None:
    heading("What it writes", "why_what")
    st.text(spelled.write_apart(sides) if side == DIFFERENCE else spelled.write(sides[side]))


def _does_it_matter(sides: Mapping[str, Explained], side: str) -> None:
    measured = f"{DIFFERENCE} of each intervention's effect, where both runs have it. {spelled.mean(sides['A'])}"
    said = measured if side == DIFFERENCE else spelled.outcomes(sides[side])
    heading("Does it matter?", "why_matters", caption=said)


def _mean(comparison: Comparison) -> None:
    """Prompts over which the head's mean is taken, and the progress of that work."""
    means.choose(comparison.runs)
    means.work(MEAN, means.wanted(comparison.runs, selection.current().mean_over))


def _attribution(comparison: Comparison, sides: Mapping[str, Explained], side: str) -> None:
    at = sides.get(side) or sides["A"]
    if side != DIFFERENCE:
        by_features.link_to_carriers(comparison, at)
    caption = "By layer and head. Click a head to explain it."
    cell_map(
        part_maps.effect_map(compared(sides, numbers.effect_map), side, caption=caption),
        choosable=True,
        leads_to=f"headlight-head-{CELL}",
        chosen=MapCell(at.cell.layer, at.cell.head),
        epoch=selection.epoch(),
        key=selection.widget_key(MAP),
    )
    if not needs.neurons(comparison):
        options.row(_neurons(), name="neurons", whole=True)
    scales = "this run's scales" if any(run.cfg.post_norm for run in comparison.runs) else "the final norm's scale"
    caption = f"Accumulated over layers at {scales}, with each layer's logit lens at its own scale."
    layers, names = compared(sides, numbers.by_layer), ("", "after layer")
    drawn = part_maps.plain_map(layers, side, names, "target − distractor (logits)", caption)
    cell_map(drawn, key=selection.widget_key("by_layer"))


def _neurons() -> Link:
    """Button to the page that splits the MLPs' contribution by neuron."""
    return Link("mlp", "MLPs by neuron", None, lambda _: selection.ask(selection.current(), "mlp"))


def _by_source(comparison: Comparison, sides: Mapping[str, Explained], side: str) -> None:
    at = sides.get(side) or sides["A"]
    sources = compared(sides, lambda each: numbers.by_source(comparison, each))
    caption = f"Direct effect of {head_name(at.head)} by source token."
    drawn = part_maps.plain_map(sources, side, ("head", "token"), part_maps.EFFECT, caption)
    cell_map(drawn, key=selection.widget_key("by_source"))
    if (reader := _reader(comparison)) is not None:
        by_features.draw_moved(comparison, reader, sides, side)


def _take_click(comparison: Comparison) -> None:
    """The head that was clicked in the map, before anything is drawn from it."""
    layer, head = head_of(comparison, selection.current())
    clicked = chosen_cell(MapCell(layer, head), selection.epoch(), selection.widget_key(MAP))
    is_head = clicked and clicked.row < comparison.n_layers and clicked.column < comparison.n_heads
    if clicked and is_head and clicked != (layer, head):
        selection.choose(heads=options.with_first((clicked.row, clicked.column)), keys=())

"""Why a token was written: the parts that made it, and why one of the heads looks where it does."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import streamlit as st

from headlight.app import selection
from headlight.app.components import CellMap, Listed, cell_map
from headlight.app.figures import Plot
from headlight.app.figures.text import token_name, token_names
from headlight.app.glossary import TERMS
from headlight.app.pages.translate import explaining, head_menu
from headlight.app.pages.translate.choices import Choices
from headlight.app.parts import charts, options, part_maps, part_plots, tables
from headlight.app.parts.labels import number, quoted, signed
from headlight.app.parts.markdown import plain
from headlight.app.parts.parts import heading, title_row
from headlight.app.parts.sides import DIFFERENCE, compared
from headlight.app.parts.sums import condensed_rows
from headlight.model.decoding.explained_sides import ExplainedToken, TranslationQuestion, explain_translations
from headlight.model.decoding.explained_tables import explained_tables, promoted_of
from headlight.model.decoding.translation import Attends
from headlight.model.decoding.translations import Translations
from headlight.model.runs.edits import Head

BY_SOURCE = "direct effect of cross-attention's heads (logits)"
FALL = "translate_why_fall"
NOTHING = -1  # in place of a token's id


def draw(translations: Translations) -> None:
    """The section of a written token that was clicked; nothing before one is."""
    question = explaining.question_of(translations, selection.current())
    if question is None:
        return
    _title(translations, question)
    sides, reasons = explain_translations(translations, question)
    side = explaining.side_of(translations, selection.current(), sides)
    for reason in reasons.values():
        st.info(plain(f"{reason} Here {side} is explained." if sides else reason))
    if not sides:
        _cell_row(translations, question, sides)
        return
    if selection.current().table:
        _cell_row(translations, question, sides)
        for name, table in explained_tables(sides).items():
            heading(TABLES[name])
            tables.draw(table, TABLES[name])
        return
    _answer(translations, sides, side)
    _cell_row(translations, question, sides)
    left, right = st.columns([3, 2], gap="large")
    with left:
        _score(translations, question, sides, side)
    with right:
        _write(sides, side, question)


TABLES = {
    "cell": "The cell",
    "score": "The score by pairs of components",
    "effects": "Direct logit attribution",
    "sources": "Effects of cross-attention by source token",
    "outcomes": "Does it matter?",
    "promoted": "What the cell writes",
}


def _title(translations: Translations, question: TranslationQuestion) -> None:
    """The written token and the one whose logit is subtracted, to be changed."""
    labels = translations.axes("cross", "written")[0].labels
    offered = explaining.others(translations, question.written)
    if question.distractor is not None and question.distractor not in offered:
        (label,) = translations.a.outputs.labels([question.distractor])
        offered = {question.distractor: label, **offered}
    versus = NOTHING if question.distractor is None else question.distractor
    with title_row("Why this token?", "translate_why", key="translate_why"):
        options.row(
            options.place(
                "why_written",
                "Written token",
                labels,
                question.written,
                lambda place: _explain(why_written=place, why_versus=None, pair_queries=(), pair_keys=()),
            ),
            options.tie(
                Listed,
                "why_versus",
                "Instead of",
                versus,
                lambda token: _explain(why_versus=None if token == NOTHING else token, why_alone=token == NOTHING),
                options={**_distinct(offered), NOTHING: "nothing: the logit itself"},
                width=180,
            ),
            options.side(translations.b is not None, "Explain", "difference"),
            options.button("why_close", "Close", lambda: _explain(why_written=None, why_versus=None)),
            name="translate_why",
        )


def _distinct(labels: Mapping[int, str]) -> dict[int, str]:
    """Labels in quotes; those of several tokens with the token's id."""
    every = list(labels.values())
    return {
        token: quoted(label) if every.count(label) == 1 else f"{quoted(label)} ({token})"
        for token, label in labels.items()
    }


def _explain(**chosen: object) -> None:
    selection.choose(Choices, **chosen)


def _answer(translations: Translations, sides: Mapping[str, ExplainedToken], side: str) -> None:
    """The components with the largest direct effects, and cross-attention's by source token."""
    heading(explaining.finding(sides, side), "why_attribution", level=3, key="translate_finding")
    at = sides.get(side) or sides["A"]
    left, right = st.columns(2, gap="large")
    with left:
        effects, heads = explaining.effects_of(sides, side), explaining.heads_by_name(sides)
        names = [row.label for row in part_maps.fall_rows(effects, "")]
        plot = fall_plot(translations, sides, side)
        charts.choosable(
            plot, "Direct logit attribution", FALL, lambda places: _choose([names[at] for at in places], heads), ()
        )
        st.caption(plain(f"Click a head's bar to explain it below. {said_of_sum(at, side)}"))
    with right:
        caption = (
            "Direct effect of each head of cross-attention by the source token that it reads. In the last row their "
            "sum: what is read from each token."
        )
        cell_map(sources_map(translations, sides, side, caption), key=selection.widget_key("why_sources"))


def fall_plot(translations: Translations, sides: Mapping[str, ExplainedToken], side: str) -> Plot:
    """Direct effects of the strongest components."""
    named = "" if translations.b is None else f", {side}"
    total = explaining.total_name(sides.get(side) or sides["A"])
    return part_plots.fall(explaining.effects_of(sides, side), named, total)


def sources_map(
    translations: Translations, sides: Mapping[str, ExplainedToken], side: str, caption: str = ""
) -> CellMap:
    """Direct effects of the heads of cross-attention by source token."""
    matrices = compared(sides, lambda at: explaining.by_source(translations, at))
    matrices = {name: condensed_rows(matrix) for name, matrix in matrices.items()}
    title = BY_SOURCE if translations.b is None else f"{side}: {BY_SOURCE}"
    return replace(part_maps.plain_map(matrices, side, ("head", "source token"), title, caption), sums=False)


def said_of_sum(at: ExplainedToken, side: str) -> str:
    """How exactly the effects add up to the model's own logits, and at which scales they are taken."""
    cfg = at.translation.model.cfg
    scales = "The final norm's scale is this run's." if cfg.norm_first else "All norms' scales are this run's."
    if side == DIFFERENCE:
        return scales
    residual = f"{float(at.effects.residual.values):.1e}".replace("-", "−")
    return f"They sum to the model's own {explaining.total_name(at)} (error {residual}). {scales}"


def _choose(names: Sequence[str], heads: Mapping[str, tuple[Attends, Head]]) -> None:
    """Explain the head of a bar, with its kind of attention above."""
    clicked = next((heads[name] for name in names if name in heads), None)
    if clicked is None:
        return
    head_menu.choose(*clicked)


def _cell_row(translations: Translations, question: TranslationQuestion, sides: Mapping[str, ExplainedToken]) -> None:
    """The head, query and key, to be changed; the key is the query's strongest until one is chosen."""
    own = selection.current().choices_of(Choices)
    down, across = translations.axes(own.attends, own.rows)
    n_layers, n_heads = translations.shape(own.attends)
    side, at = next(iter(sides.items()), ("A", None))
    index = list(translations.sides).index(side)
    query = question.query or 0 if at is None else down.positions[index].index(at.cell.query)
    key = question.key or 0 if at is None else across.positions[index].index(at.cell.key)
    title = f"Where {explaining.head_title(question)} looks, and why"
    with title_row(title, "why_cell", "why_score", level=3, key="translate_cell"):
        options.row(
            options.tie(
                Listed,
                "translate_head",
                "Head",
                question.head,
                lambda head: _explain(pair_heads=options.head_first(head, (own.pair_heads or ())[1:]), pair_keys=()),
                help=TERMS["head"],
                options=options.heads(range(n_layers), n_heads),
                width=100,
            ),
            options.place(
                "translate_query",
                "Query token",
                down.labels,
                query,
                lambda place: _explain(pair_queries=(place,), pair_keys=()),
                help=TERMS["why_query"],
            ),
            options.place(
                "translate_key",
                "Key token",
                across.labels,
                key,
                lambda place: _explain(pair_keys=(place,)),
                help=TERMS["why_key"],
            ),
            name="translate_cell",
        )


def _score(
    translations: Translations, question: TranslationQuestion, sides: Mapping[str, ExplainedToken], side: str
) -> None:
    score = part_maps.score(compared(sides, explaining.score_matrix), side)
    cell_map(score, key=selection.widget_key("why_score_parts"))
    if side != DIFFERENCE:
        st.text(said_of_score(sides[side]))
    keys = "the encoder's output, which cross-attention reads" if question.attends == "cross" else "the key's stream"
    st.caption(
        plain(f"Rows: components of the query's stream. Columns: components of {keys}. Norms at this run's scales.")
    )


def said_of_score(at: ExplainedToken) -> str:
    """The cell's tokens, its score and weight, and how exactly the parts add up to the score."""
    translation, cell = at.translation, at.cell
    queries = token_names(translation.source_labels if cell.attends == "encoder" else translation.read_labels)
    keys = token_names(translation.read_labels if cell.attends == "decoder" else translation.source_labels)
    residual = f"{float(at.why.parts.residual.values):.1e}".replace("-", "−")
    label = "" if cell.attends == "encoder" else translation.written_labels[cell.query]
    writes = label and f", writing {token_name(label, cell.query + 1)},"
    return (
        f"{queries[cell.query]}{writes} looks at {keys[cell.key]}:  score {number(float(at.why.parts.score.values))}, "
        f"weight {number(at.why.weight)}. Decomposition error: {residual}."
    )


def _write(sides: Mapping[str, ExplainedToken], side: str, question: TranslationQuestion) -> None:
    """What the head writes, and what changes without it."""
    heading("What it writes", "why_what", level=3)
    at = sides.get(side) or sides["A"]
    if at.write is None:
        st.text(
            "Heads of the encoder write to the streams of source tokens, from which no logit is read: they have no "
            "direct effect. What they change is measured below."
        )
    elif side != DIFFERENCE:
        st.text(said_of_write(at))
    *promoted, outcomes = write_plots(sides, side)
    charts.draw([[plot] for plot in promoted], "Tokens that the cell's write promotes and suppresses")
    heading("Does it matter?", "why_matters", level=3)
    st.caption(
        "Hollow bars: direct effect. Filled bars: total effect, measured by running the model without the edge or the "
        "head. The mean is over the tokens of this text."
    )
    charts.alone([[outcomes]], "What is changed without the cell", "translate_outcomes")


def said_of_write(at: ExplainedToken) -> str:
    """Norm of the write, and the head's direct effect on the written token."""
    assert at.write is not None  # of the decoder's heads
    whole = signed(float(at.write.by_key.values.sum()))
    said = f"L2 norm {number(float(at.write.norm.values))}. "
    if at.cell.query != at.written.position:
        return f"{said}This edge has no direct effect here: the token is written at another position."
    edge = signed(float(at.write.effect.values))
    return f"{said}Direct effect on {explaining.total_name(at)}: {edge} logits, of the head's {whole}."


def write_plots(sides: Mapping[str, ExplainedToken], side: str) -> list[Plot]:
    """Tokens that the head's write promotes and suppresses, and the effects of interventions."""
    named = "" if len(sides) == 1 else f", {side}"
    promoted = promoted_of(sides).get(side)
    at = sides.get(side) or sides["A"]
    plots = (
        []
        if promoted is None
        else part_plots.promoted(at.translation.outputs, promoted, part_maps.PROMOTES[False], named)
    )
    return [*plots, part_plots.outcomes(explaining.changes_by_side(sides)[side], named)]

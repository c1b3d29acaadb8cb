"""Page *Head roles*: a map of every head's score, a table of the highest, and the heads' labels."""

from collections.abc import Mapping, Sequence

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from headlight.app import selection
from headlight.app.components import (
    Choice,
    Column,
    HeadGrid,
    Listed,
    Number,
    Slider,
    Switch,
    Table,
    head_grid,
    row_table,
)
from headlight.app.exports.csv_files import Cell
from headlight.app.figures.plots import MAX_INTERVALS
from headlight.app.frame import progress, prompt_list
from headlight.app.glossary import TERMS
from headlight.app.pages.heads import charts as own
from headlight.app.pages.heads import finding
from headlight.app.pages.heads.choices import Choices, FinderData
from headlight.app.pages.heads.head_map import FIRST, head_map, limit_of
from headlight.app.pages.heads.ranking import Change, HeadRanking, Ranking, changed, changes_table, find, table
from headlight.app.pages.heads.subjects import Subject, edits_left_out, prompt_against_prompt, subjects, why_alone
from headlight.app.parts import charts, detection, grid, options, over_corpus
from headlight.app.parts.labels import SCORES
from headlight.app.parts.markdown import plain
from headlight.app.parts.parts import heading, title_row
from headlight.app.parts.sides import DIFFERENCE
from headlight.app.runs import jobs
from headlight.app.selection.chosen import FINDER_COUNTS, FINDER_HALVES, Selection
from headlight.model.roles import ABLATIONS
from headlight.model.runs.comparison import Comparison
from headlight.model.runs.edits import Head, head_name
from headlight.model.text.chat import is_begun

DATA: dict[FinderData, str] = {"repeats": "random repeats", "prompts": "my prompts"}
SHOWS_HEADS = "attention"
MAX_LISTED = 12  # heads with a doubtful label
HOW_TO_READ = (
    "One picture a head: its attention on the prompt, its roles as bars above it, its score as the tint below. "
    "Click a role for its heads alone."
)


def render(comparison: Comparison) -> None:
    """Draw the sequences and their progress, the maps, and the table."""
    with title_row("Head roles", "finder", "head_label", level=1):
        _options(comparison)
    now = selection.current()
    sides = subjects(texts(), comparison, now)
    work = jobs.get_jobs("detection")
    finding.look(work, sides)
    rankings = {side: each for side, subject in sides.items() if (each := find(subject, now)) is not None}
    if len(rankings) == len(sides):
        finding.ablate(work, rankings)
        _say_what_has_none(rankings)
        beside = _compared(rankings["A"], rankings["B"], now) if "B" in rankings else _alone(rankings["A"], now)
        with beside:
            _doubts(rankings)
            if not any(isinstance(job, detection.Input) for job in work.waiting):
                _plot(rankings)
    _about(comparison, sides, now)
    progress.go_on(work, detection.do)


def _plot(rankings: Mapping[str, HeadRanking]) -> None:
    """Plot every head's score, once all sequences are measured.

    To draw it after each sequence takes a browser longer than the server takes to measure the next one. What the server
    sends would pile up, with the server's ping behind it, until the connection is taken for dead.
    """
    charts.draw(own.rows(rankings), "The score of every head with its interval")
    if max(each.values.size for each in rankings.values()) > MAX_INTERVALS:
        st.caption("Of so many heads the 95% intervals are in the tooltips and in the table, not in the plot.")


def texts() -> tuple[str, ...]:
    """The prompts of the list as it stands, for files that are made later, outside the session."""
    return tuple(prompt.text for prompt in prompt_list.prompts())


def _options(comparison: Comparison) -> None:
    score, n_heads = selection.current().choices_of(Choices).finder_score, comparison.n_layers * comparison.n_heads
    titles = {each: named.title for each, named in SCORES.items()}
    top = options.bind(Slider, "finder_top", "Top heads", min(FIRST, n_heads), page=Choices, least=1, most=n_heads)
    options.row(
        options.bind(Choice, "finder_data", "Measure on", page=Choices, options=DATA),
        options.bind(Listed, "finder_score", "Score", page=Choices, options=titles, help=TERMS[score]),
        top if n_heads > 1 else None,
        options.bind(Switch, "every_head", "Ablate all heads", page=Choices),
        _repeats("finder_count", "Sequences", FINDER_COUNTS),
        _repeats("finder_half", "Tokens per repeat", FINDER_HALVES),
        _repeats("finder_seed", "Seed", (0, 999_999)),
    )


def _repeats(field: str, label: str, limits: tuple[int, int]) -> Number:
    """Options of the random repeats."""
    least, most = limits
    return options.bind(Number, field, label, least=least, most=most, width=110, folded=True)


def _about(comparison: Comparison, sides: Mapping[str, Subject], chosen: Selection) -> None:
    """Say on what the numbers are measured, and what of B they leave out."""
    a = sides["A"]
    repeats = _spelled(a, chosen)
    if chosen.choices_of(Choices).finder_data == "repeats":
        st.caption(plain(f"Measured on {repeats}." if repeats else _NO_REPEATS))
    else:
        _about_prompts(comparison, a, repeats)
    if reason := why_alone(comparison, chosen):
        st.info(plain(reason))
    elif left_out := edits_left_out(comparison):
        st.caption(
            plain(
                "Not applied in B, since they refer to tokens of its prompt or copy from a prompt of the same "
                f"length: {'; '.join(left_out)}."
            )
        )


_NO_REPEATS = "The context or the vocabulary is too small for random repeats: use your own prompts."


def _about_prompts(comparison: Comparison, a: Subject, repeats: str) -> None:
    ablations = f" Ablations are measured on {repeats}." if repeats else ""
    if prompt_against_prompt(comparison, selection.current()):
        st.caption(plain(f"A is measured on prompt A, B on prompt B.{ablations}"))
        st.caption(
            "A single prompt has no confidence interval, so no head gets a label. Close B to measure over the whole "
            "list."
        )
        return
    count = f"{len(a.sequences):,} prompt{'' if len(a.sequences) == 1 else 's'}"
    st.caption(plain(f"Measured on {count} of the list, each once.{ablations}"))
    if len(a.sequences) == 1:
        st.caption("A single prompt has no confidence interval, so no head gets a label: add more on the page Prompts.")


def _spelled(subject: Subject, chosen: Selection) -> str:
    """Describe the random repeats; empty where there are none."""
    if subject.half == 0:
        return ""
    behind = ", behind the beginning-of-sequence token" if is_begun(subject.run.bos) else ""
    fewer = f" (the context holds no more of the {chosen.finder_half})" if subject.half < chosen.finder_half else ""
    tokens = f"{subject.half} different random tokens{fewer}, each twice{behind}"
    return f"{len(subject.repeats)} sequences of {tokens}; seed {chosen.finder_seed:,}"


def _listed(heads: Sequence[Head]) -> str:
    """Heads by name, as many as a line holds."""
    more = f" and {len(heads) - MAX_LISTED} more" if len(heads) > MAX_LISTED else ""
    return ", ".join(map(head_name, heads[:MAX_LISTED])) + more


def _doubts(rankings: Mapping[str, HeadRanking]) -> None:
    """The heads that have no label, or one which their ablation does not support."""
    for side, each in rankings.items():
        prefix = f"{side}: " if len(rankings) > 1 else ""
        if not each.labels:
            st.text(f"{prefix}No head has a label.")
        if each.doubted:
            st.caption(
                plain(
                    f"{prefix}{len(each.doubted)} labelled by pattern only; ablation has no significant effect on the "
                    f"loss of the repeated half: {_listed(each.doubted)}."
                )
            )


def _alone(ranking: HeadRanking, now: Selection) -> DeltaGenerator:
    """The map of A and, beside it or a deep model's under it, the table; returns the room below these."""
    heading(ranking.sentence(), caption=HOW_TO_READ, level=1, key="finding")
    shape = ranking.subject.shape
    shares = [3, 2] if grid.is_broad(shape) else [1, 2]
    left, right = (st.container(), st.container()) if grid.is_deep(shape) else st.columns(shares, gap="medium")
    with left:
        clicked = _map(head_map(ranking, now, limit_of([ranking])), "finder")
        if clicked != (now.heads or ()):
            selection.update(heads=clicked)
        _open(clicked)
        _say_over_corpus(ranking, clicked, now)
    with right:
        _table(ranking, now)
        return st.container()


def _map(drawn: HeadGrid, name: str) -> tuple[Head, ...]:
    """Show a map; returns the heads that are chosen in it."""
    chosen, key = selection.current().heads or (), selection.widget_key(name)
    return head_grid(
        drawn,
        selected=chosen,
        epoch=selection.epoch(),
        key=key,
        group="finder",
        choose_role=lambda role: selection.update(Choices, finder_role=role),
    )


def _say_over_corpus(ranking: HeadRanking, clicked: tuple[Head, ...], now: Selection) -> None:
    """Compare the first chosen head here with the same head over a corpus, where its model has a scan."""
    head = next(iter(clicked or ranking.order()), None)
    if head is None:
        return
    here = float(ranking.values[head])
    elsewhere = (
        {"on_the_random_repeats": here}
        if now.choices_of(Choices).finder_data == "repeats"
        else {"on_your_prompts": here}
    )
    said = over_corpus.beside(ranking.subject.run, head, ranking.score, now, **elsewhere)
    with st.container(key="headlight-said-corpus"):
        if said:
            st.text(said)


def _compared(a: HeadRanking, b: HeadRanking, now: Selection) -> DeltaGenerator:
    """The maps of A, of B and of the change, and the heads that change most; returns the room under these."""
    change = changed(a, b)
    limit, chosen = limit_of([a, b]), now.heads or ()
    maps: list[tuple[str, Ranking, float]] = [
        ("A", a, limit),
        ("B", b, limit),
        (DIFFERENCE, change, limit_of([change])),
    ]
    clicked = list[tuple[Head, ...]]()
    for column, (side, scored, scale) in zip(st.columns(3, gap="large"), maps, strict=True):
        with column:
            heads = _map(head_map(scored, now, scale, side), f"finder_{side}")
            n_layers, n_heads = change.values.shape  # only what both have can be chosen
            clicked.append(tuple(head for head in heads if head[0] < n_layers and head[1] < n_heads))
    if new := [heads for heads in clicked if heads != chosen]:
        selection.choose(heads=new[0])  # the other maps have to learn of it
        st.rerun()
    if a.values.shape != b.values.shape:
        st.caption(f"{DIFFERENCE} covers the layers and heads that both models have.")
    if a.score == "copying" and b.subject.edits:
        st.caption("Copying is computed from the weights, which edits do not change: A and B are the same.")
    _open(chosen)
    _changes(change, now)
    return st.container()


def _say_what_has_none(rankings: Mapping[str, HeadRanking]) -> None:
    """A sentence for a score that no head of a side has."""
    for side, each in rankings.items():
        if each.n_ranked == 0:
            where = f" in {side}" if len(rankings) > 1 else ""
            st.info(plain(_NOT_ABLATED if each.score == "effect" else f"No head has this score{where}: {_NONE_HAS}"))


_NOT_ABLATED = "No head has been ablated yet. Switch “Ablate all heads” on."
_NONE_HAS = "no sequence has the tokens that it needs. Choose another score, or other prompts."


def _open(clicked: tuple[Head, ...]) -> None:
    """The way from the map to where the chosen heads look."""
    names = ", ".join(head_name(head) for head in clicked[:4]) + ("…" if len(clicked) > 4 else "")
    st.button(
        plain(f"Open {names} on Attention" if clicked else "Click a head to open it on Attention"),
        disabled=not clicked,
        on_click=lambda: selection.ask(selection.current(), SHOWS_HEADS),
        key=selection.widget_key("finder_open"),
    )


def _table(ranking: HeadRanking, chosen: Selection) -> None:
    explained = (
        {SCORES[ranking.score].title: "With its 95% interval."}
        | {"label": TERMS["head_label"]}
        | {f"{done} (nats)": TERMS["effect"] for done in ABLATIONS.values()}
    )
    own = chosen.choices_of(Choices)
    cells = table(ranking, own.finder_top or FIRST, own.finder_role)
    score, ends = SCORES[ranking.score].title, cells.pop("95% interval")
    cells[score] = [_with_interval(*each, ".3f") for each in zip(cells[score], ends, strict=True)]
    cells.pop("evidence")  # a label without support has a question mark, and the numbers of ablation stand beside it
    for done in ABLATIONS.values():  # the mean and its interval in one cell
        means, intervals = cells[f"{done} (nats)"], cells.pop(f"{done} 95%")
        cells[f"{done} (nats)"] = [_with_interval(*each) for each in zip(means, intervals, strict=True)]
    row_table(
        Table(
            _columns(cells, ranking.n_ranked, explained, []),
            title="Top heads by the score, with its 95% interval, rank, label and the effects of ablation",
        ),
        key=selection.widget_key("finder_table"),
        choosable=False,
    )


def _with_interval(mean: Cell, interval: Cell, form: str = "+.2f") -> str | None:
    if mean is None:
        return None
    return f"{mean:{form}}{f' ({interval})' if interval else ''}".replace("-", "−")


def _changes(change: Change, chosen: Selection) -> None:
    signed = [DIFFERENCE]
    row_table(
        Table(
            _columns(
                changes_table(change, chosen.choices_of(Choices).finder_top or FIRST),
                change.n_ranked,
                dict.fromkeys([DIFFERENCE, f"{DIFFERENCE} 95%", "rank"], TERMS["finder_change"]),
                signed,
            ),
            title=f"The heads whose score changes most: A, B and {DIFFERENCE} with intervals, rank and labels",
        ),
        key=selection.widget_key("finder_changes"),
        choosable=False,
    )


def _columns(
    cells: Mapping[str, Sequence[Cell]], n_ranked: int, explained: Mapping[str, str], signed: Sequence[str]
) -> list[Column]:
    """The table's columns: scores with three decimals, the rank with how many there are."""
    return [
        Column(called, each, 0, explained.get(called, ""), after=f" of {n_ranked:,}")
        if called == "rank"
        else Column(called, each, _decimals(called, each, signed), explained.get(called, ""), called in signed)
        for called, each in cells.items()
    ]


def _decimals(called: str, cells: Sequence[Cell], signed: Sequence[str]) -> int | None:
    """Number of decimals: three for measures, also for unknown ones; none for text."""
    return 3 if called in signed or any(isinstance(cell, float) for cell in cells) else None

"""The page *Directions*: what is compared, how well the direction predicts, what lies along it, and what it causes."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import zip_longest

import streamlit as st

from headlight.app import selection
from headlight.app.components import Column, Listed, Option, Suggested, Text, row_table, token_values
from headlight.app.components import Table as RowTable
from headlight.app.figures import Plot
from headlight.app.frame import notices, progress
from headlight.app.pages.directions import acting, charts, files
from headlight.app.pages.directions.choices import Choices
from headlight.app.pages.directions.direction_view import (
    DirectionView,
    chosen_set,
    classes_of,
    columns_of,
    dose_question,
    find,
    kept_direction,
    layers_of,
    name_of,
    pair_of,
    positions_of,
    study_question,
)
from headlight.app.parts import options, tables
from headlight.app.parts.charts import alone
from headlight.app.parts.markdown import plain
from headlight.app.parts.parts import heading, title_row
from headlight.app.runs import direction_studies, directions, jobs, models
from headlight.app.runs.direction_studies import Question
from headlight.app.server import boundary
from headlight.model.directions.finding import METHODS
from headlight.model.directions.reading import fitting_sides
from headlight.model.directions.study import DirectionStudy
from headlight.model.directions.tables import conclusion, nearest_title
from headlight.model.runs.comparison import Comparison
from headlight.model.runs.tables import Table, columns

OPEN = "directions_open"
JOBS = "directions"
WAYS = ("raised", "lowered")
AT_ONCE = 10.0  # seconds by estimate: a page that is opened shows something
ON_CLICK = -1.0  # an experiment is begun by who wants it


def render(comparison: Comparison) -> None:
    """The options, the study or the opened direction, and what can be done with it."""
    reasons = list[str]()
    work, now = jobs.get_jobs(JOBS), selection.current()
    view: DirectionView | None = None
    with boundary.guard(reasons.append):
        view = find(comparison, now)
    name = chosen_set(comparison, now)
    is_set = bool(name) and not reasons and kept_direction(now) is None
    with title_row("Directions", "dir_page", level=1, key="directions"):
        _options(comparison, view, name, is_set)
        files.draw(view)
    files.say_what_was_taken()
    st.session_state[OPEN] = view is not None
    for reason in reasons:
        notices.refused(reason, "directions")
    if not name:
        _say_how(comparison)
    if is_set and (view is None or view.study is None):
        _work(work, "Find the direction", study_question(comparison, now), comparison, AT_ONCE)
    if view is not None:
        _draw(view, work)
    progress.go_on(work, direction_studies.answer)


def _say_how(comparison: Comparison) -> None:
    with st.container(key="headlight-missing"):
        st.info(
            plain(
                f"The sets of prompts that come with Headlight cannot be used with {comparison.a.source.name}: their "
                "words are not in its vocabulary, or their answers are no single tokens of it. Upload labelled prompts "
                "in its own words, or open a direction that was found in it."
            )
        )


def is_open() -> bool:
    """Whether the page as it was drawn last has a direction, of which there is something to take along."""
    return bool(st.session_state.get(OPEN))


def _work(work: jobs.Jobs, label: str, question: Question, comparison: Comparison, at_once: float) -> None:
    """Find the direction, or measure what it causes: at once where that is quick, else on a click."""
    work.keep_to([question])
    if question in work.refused:
        notices.refused(work.refused[question], "direction_study")
    progress.bar(work, "steps done", JOBS)
    is_missing = direction_studies.answer_or_none(question) is None and question not in work.refused
    seconds = direction_studies.seconds(question, comparison.a)
    if progress.offer(work, [question] if is_missing else [], label, JOBS, seconds, at_once):
        st.caption(plain(f"{label}…"))


def _options(comparison: Comparison, view: DirectionView | None, name: str, is_set: bool) -> None:
    listed: list[Option | None] = [_named(name)]
    if is_set:
        listed += _of_set(name, selection.current().choices_of(Choices))
    if view is not None:
        listed += [_layer(view), _place(view)]
    options.row(*listed, replace(options.as_tables(), folded=True))


def _named(name: str) -> Option:
    """A set or a kept direction, or any other set's file, folder or hub name where that is allowed."""
    offered = direction_studies.offered()
    offered |= {each: f"kept: {name_of(each)}" for each in directions.kept()}
    label = offered.get(name, name_of(name))

    def change(text: str) -> None:
        files.choose(next((each for each, called in offered.items() if called == text), text))

    tied = "dir_set", "Prompts or direction", label, change
    if models.any_model_allowed():
        hint = "Choose, or type a file, folder or hub name"
        return options.tie(Suggested, *tied, offered=tuple(offered.values()), placeholder=hint, width=190)
    return options.tie(Listed, *tied, options={each: each for each in offered.values()}, width=190)


def _of_set(name: str, own: Choices) -> list[Option | None]:
    prompts = direction_studies.set_of(name).prompt_set
    columns, positions = columns_of(prompts), positions_of(prompts)
    if not columns:
        return []
    column = own.dir_column if own.dir_column in columns else next(iter(columns))

    def choose_column(new: str) -> None:
        selection.update(Choices, dir_column=new, dir_toward="", dir_away="")

    listed: list[Option | None] = []
    if len(columns) > 1:
        listed.append(options.tie(Listed, "dir_column", "Column", column, choose_column, options=columns, width=140))
    if column:
        toward, away = pair_of(prompts, column, own)
        classes = {each: each for each in classes_of(prompts, column)}
        others = {each: each for each in classes if each != toward}

        def turn(new: str) -> None:
            selection.update(Choices, dir_toward=new, dir_away=toward if new == away else away)

        listed += [
            options.tie(Listed, "dir_toward", "Towards", toward, turn, options=classes, width=120),
            options.bind(Listed, "dir_away", "away from", away, page=Choices, options=others, width=120)
            if len(others) > 1
            else None,
        ]
    listed += [
        options.bind(Listed, "dir_method", "Method", page=Choices, options=METHODS, width=210, folded=True),
        options.bind(Listed, "dir_position", "Read at", page=Choices, options=positions, width=150, folded=True)
        if own.dir_position in positions
        else None,
        options.bind(Text, "dir_up", "Measure by", page=Choices, placeholder="the set's answers", folded=True),
        options.bind(Text, "dir_down", "less", page=Choices, placeholder="the set's wrong answers", folded=True),
        options.bind(Text, "dir_neutral", "Neutral text", page=Choices, placeholder="two plain sentences", folded=True),
    ]
    return listed


def _layer(view: DirectionView) -> Option:
    return options.tie(
        Listed,
        "dir_layer",
        "After",
        view.layer,
        lambda new: selection.update(Choices, dir_layer=new),
        options=layers_of(view.comparison, view.direction.layers),
        width=90,
    )


def _place(view: DirectionView) -> Option:
    def change(place: int) -> None:
        selection.choose(position=place)

    labels, turns = view.comparison.labels, view.comparison.turns
    return options.place("dir_token", "Token", labels, view.place, change, width=140, folded=True, groups=turns)


def _draw(view: DirectionView, work: jobs.Jobs) -> None:
    if selection.current().table:
        for name, table in view.tables.items():
            st.caption(plain(name.capitalize()))
            tables.draw(table, f"Direction: {name}")
        acting.draw(view)
        return
    if view.study is not None:
        _plots(
            charts.by_layer(view.study, view.comparison.a.layer_labels),
            "by layer, beside shuffled labels and random vectors",
            "direction_told",
        )
        st.caption(plain(said_of_study(view)))
    heading("The prompt along the direction", "dir_projection", key="dir_projection")
    if len(fitting_sides(view.comparison, view.direction)) < len(view.comparison.sides):
        st.caption("B's model has streams of another width, or fewer layers: the direction is none of its own.")
    strip = token_values(
        charts.projected(view), chosen=view.place, epoch=selection.epoch(), key=selection.widget_key("direction_strip")
    )
    if strip is not None and strip != view.place:
        selection.choose(position=strip)
        st.rerun()
    if view.study is not None:
        _effect(view, view.study, work)
    acting.draw(view)
    _near(view)


def _plots(plots: Sequence[Plot], alt: str, name: str) -> None:
    """Plots side by side, and below each other on a phone."""
    for slot, (column, plot) in enumerate(zip(st.columns(len(plots)), plots, strict=True)):
        with column:
            alone([[plot]], f"{plot.title}, {alt}", f"{name}_{slot}")


def said_of_study(view: DirectionView) -> str:
    """What the direction was found in, and how it was tested."""
    assert view.study is not None
    study, examples = view.study, view.study.examples
    left_out = f" {len(study.tokens.refused)} rows cannot be used." if study.tokens.refused else ""
    by = "templates" if examples.are_grouped else "rows"
    return (
        f"{view.direction.method.capitalize()}: {examples.classes[0]} less {examples.classes[1]}, "
        f"{len(examples.rows)} prompts in {study.settings.folds} folds; no fold shares {by} with what its "
        f"direction was found in.{left_out}"
    )


def _effect(view: DirectionView, study: DirectionStudy, work: jobs.Jobs) -> None:
    """The dose curve and what it comes to, a button that measures it, or why there is none."""
    heading("Does it cause what it predicts?", "dir_dose", key="dir_dose")
    if not study.examples.has_answers:
        st.info(
            "These prompts have no answers, so there is nothing to measure. Name a token for each class as Measure by "
            "and less, or add the columns answer and wrong_answer to the file."
        )
        return
    question = dose_question(view.comparison, selection.current(), view.layer)
    _work(work, "Measure what it causes", question, view.comparison, ON_CLICK)
    if view.curve is not None:
        for line in conclusion(view.curve, study.examples, study.accuracies[view.layer]):
            st.text(line)
        _plots(charts.dose(view.curve, study.examples.classes[0]), "with 95% intervals", "direction_dose")


def _near(view: DirectionView) -> None:
    """The nearest tokens by each lens, and the cosines."""
    left, right = st.columns(2, gap="large")
    with left:
        heading("Nearest tokens", "dir_nearest", key="dir_nearest")
        if nearest := _nearest(view):
            _listed(nearest, "Tokens that the direction raises and lowers, by each lens", "dir_nearest_rows")
        else:
            st.caption(
                "This model's logits are no sums over what wrote to the stream, so no token is raised by a part."
            )
    with right:
        heading("Cosines", "dir_cosines", key="dir_cosines")
        title = "Cosines with other directions, heads, MLPs, tokens and features"
        _listed(view.tables["cosines"], title, "dir_cosine_rows")


def _listed(table: Table, title: str, key: str) -> None:
    """A table whose numbers have signs and whose heads have their menu."""
    listed = [Column(name.strip(), cells, signed=name != "rank") for name, cells in table.items()]
    row_table(RowTable(listed, title=title), key=selection.widget_key(key), choosable=False)


def _nearest(view: DirectionView) -> Table:
    """The one lens's table with its numbers, or the tokens of several lenses side by side."""
    tables_of = ((lens.title, view.tables.get(nearest_title(lens))) for lens in view.lenses)
    by_lens = {title: table for title, table in tables_of if table}
    if len(by_lens) < 2:
        table = next(iter(by_lens.values()), {})
        return {name.replace(" (logits)", ""): cells for name, cells in table.items() if name != "rank"}
    token_columns = [
        (table[way], f"{way} ({title.removesuffix(' lens')})") for title, table in by_lens.items() for way in WAYS
    ]
    rows = zip_longest(*(tokens for tokens, _ in token_columns))  # a lens may raise fewer tokens than another
    return columns(("rank", *(name for _, name in token_columns)), ((rank, *row) for rank, row in enumerate(rows, 1)))

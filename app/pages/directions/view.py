"""The page *Directions*: what is compared, how well the direction predicts, what lies along it, and what it causes."""

from collections.abc import Sequence

import streamlit as st

from headlight.app import selection
from headlight.app.components import Listed, Option, Text, token_values
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
    pair_of,
    positions_of,
    study_question,
)
from headlight.app.parts import options, tables
from headlight.app.parts.charts import alone
from headlight.app.parts.markdown import plain
from headlight.app.parts.parts import heading, title_row
from headlight.app.runs import direction_studies, directions, jobs
from headlight.app.runs.direction_studies import Question
from headlight.app.server import boundary
from headlight.model.directions.finding import METHODS
from headlight.model.directions.tables import conclusion
from headlight.model.runs.comparison import Comparison
from headlight.model.runs.direction import MARK

OPEN = "directions_open"
JOBS = "directions"
AT_ONCE = 10.0  # seconds by estimate: a page that is opened shows something
ON_CLICK = -1.0  # an experiment is begun by who wants it


def render(comparison: Comparison) -> None:
    """The options, the study or the opened direction, and what can be done with it."""
    with title_row("Directions", "dir_page", level=1, key="directions"):
        row = st.container()
    found, reasons = list[DirectionView](), list[str]()
    work = jobs.get_jobs(JOBS)
    files.draw_refused()

    with boundary.guard(reasons.append):
        found += filter(None, [find(comparison, selection.current())])
    view = found[0] if found else None
    with row:
        _options(comparison, view, has_set=not reasons and kept_direction(selection.current()) is None)
    with st.container(horizontal=True, key="headlight-direction-actions"):
        files.draw(view)
        if not reasons and kept_direction(selection.current()) is None:
            _work(work, comparison, view)
    st.session_state[OPEN] = view is not None
    for reason in reasons:
        notices.refused(reason, "directions")
    if view is not None:
        _draw(view)
    progress.go_on(work, direction_studies.answer)


def is_open() -> bool:
    """Whether the page as it was drawn last has a direction, of which there is something to take along."""
    return bool(st.session_state.get(OPEN))


def _work(work: jobs.Jobs, comparison: Comparison, view: DirectionView | None) -> None:
    """Find the direction, and then measure what it causes: at once where that is quick, else on a click."""
    now = selection.current()
    wanted: list[Question] = [study_question(comparison, now)]
    label, at_once = "Find the direction", AT_ONCE
    if view is not None and view.study is not None and view.study.examples.has_answers:
        wanted = [dose_question(comparison, now, view.layer)]
        label, at_once = "Measure what it causes", ON_CLICK
    work.keep_to(wanted)
    for question in wanted:
        if question in work.refused:
            notices.refused(work.refused[question], "direction_study")
    missing = [each for each in wanted if direction_studies.answer_or_none(each) is None and each not in work.refused]
    progress.bar(work, "steps done", JOBS)
    seconds = sum(direction_studies.seconds(each, comparison.a) for each in missing)
    if progress.offer(work, missing, label, JOBS, seconds, at_once):
        st.caption(plain(f"{label}…"))


def _options(comparison: Comparison, view: DirectionView | None, has_set: bool) -> None:
    now = selection.current()
    own, name = now.choices_of(Choices), chosen_set(now)
    offered = {each: each.partition(MARK)[0] for each in direction_studies.sets()}
    offered |= {each: f"kept: {each.partition(MARK)[0]}" for each in directions.kept()}
    listed: list[Option | None] = [
        options.tie(
            Listed,
            "dir_set",
            "Prompts or direction",
            name,
            lambda new: selection.update(
                Choices, dir_set=new, dir_column="", dir_toward="", dir_away="", dir_position="end", dir_layer=None
            ),
            options=offered if name in offered else {**offered, name: name.partition(MARK)[0]},
            width=190,
        )
    ]
    if has_set:
        listed += _of_set(name, own)
    if view is not None:
        listed += [_layer(view), _place(view)]
    options.row(*listed, options.as_tables())


def _of_set(name: str, own: Choices) -> list[Option | None]:
    prompts = direction_studies.set_of(name)
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
        options.bind(Listed, "dir_method", "Method", page=Choices, options=METHODS, width=210),
        options.bind(Listed, "dir_position", "Read at", page=Choices, options=positions, width=150)
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

    return options.place("dir_token", "Token", view.comparison.labels, view.place, change, width=140)


def _draw(view: DirectionView) -> None:
    if selection.current().table:
        for name, table in view.tables.items():
            st.caption(plain(name.capitalize()))
            tables.draw(table, f"Direction: {name}")
        acting.draw(view)
        return
    if view.study is not None:
        _plots(
            charts.told(view.study, view.comparison.a.layer_labels),
            "by layer, beside shuffled labels and random vectors",
            "direction_told",
        )
        st.caption(plain(said_of_study(view)))
    heading("The prompt along the direction", "dir_projection", key="dir_projection")
    strip = token_values(
        charts.projected(view), chosen=view.place, epoch=selection.epoch(), key=selection.widget_key("direction_strip")
    )
    if strip is not None and strip != view.place:
        selection.choose(position=strip)
        st.rerun()
    if view.study is not None:
        _effect(view)
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


def _effect(view: DirectionView) -> None:
    """The dose curve and what it comes to; or why there is none."""
    assert view.study is not None
    heading("Does it cause what it predicts?", "dir_dose", key="dir_dose")
    if not view.study.examples.has_answers:
        st.info(
            "These prompts have no answers, so there is nothing to measure. Name a token for each class as Measure by "
            "and less, or add the columns answer and wrong_answer to the file."
        )
    elif view.curve is None:
        st.caption("Not measured yet in this layer.")
    else:
        for line in conclusion(view.curve, view.study.examples, view.study.accuracies[view.layer]):
            st.text(line)
        _plots(charts.dose(view.curve, view.study.examples.classes[0]), "with 95% intervals", "direction_dose")


def _near(view: DirectionView) -> None:
    """The nearest tokens and the cosines."""
    own = view.tables
    left, right = st.columns(2, gap="large")
    with left:
        heading("Nearest tokens", "dir_nearest", key="dir_nearest")
        if "nearest tokens" in own:
            tables.draw(own["nearest tokens"], "Tokens that the direction raises and lowers, by the logit lens")
        else:
            st.caption(
                "This model's logits are no sums over what wrote to the stream, so no token is raised by a part."
            )
    with right:
        heading("Cosines", "dir_cosines", key="dir_cosines")
        tables.draw(own["cosines"], "Cosines with other directions, with what heads and MLPs write, and tokens")

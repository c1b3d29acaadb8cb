"""Page *Features*: activations by token, the reconstruction error, and one feature in full."""

import streamlit as st

from headlight.app import selection
from headlight.app.components import Choice, Listed, MapCell, Option, Suggested, bars_once, cell_map, chosen_cell
from headlight.app.frame import notices
from headlight.app.pages.features import maps, one
from headlight.app.pages.features.feature_view import FeatureView, find
from headlight.app.parts import needs, options, tables
from headlight.app.parts.labels import nats, number, quoted
from headlight.app.parts.markdown import plain
from headlight.app.parts.parts import preview, title_row
from headlight.app.runs import dictionaries, models
from headlight.app.selection.chosen import FeaturesBy
from headlight.app.server import boundary
from headlight.model.attribution.logits import CONSTANTS, Question, logit_attribution
from headlight.model.base.commands import make
from headlight.model.features.effects import layer_after
from headlight.model.features.tables import carried_by, feature_tables, summary
from headlight.model.runs.comparison import Comparison
from headlight.model.runs.run import Run

MAX_CARRIED = 5
OPEN = "features_open"
HOW = (
    "No dictionary comes with this model. A dictionary is a sparse autoencoder or a transcoder, trained on one of the "
    "model's activations. Type the folder of one as the dictionary (SAELens's, Gemma Scope's or circuit-tracer's), or "
    "train one:"
)


def render(comparison: Comparison) -> None:
    """Draw the options, the strongest features by token with the error, and the chosen feature."""
    views: list[FeatureView] = []
    with title_row("Features", "features", level=1, key="features"):
        row = st.container()
    with boundary.guard(_refused):
        views += filter(None, [find(comparison, selection.current())])
        if views:
            _take_click(views[0])
    with row:
        _options(comparison, *views)
    st.session_state[OPEN] = bool(views)
    if views:
        _draw(views[0])
    elif not dictionaries.named(selection.current().dictionary, comparison.a.source.name):
        left, right = st.columns([2, 3], gap="large")
        with left, st.container(key="headlight-missing-dictionary"):
            st.info(HOW)
            hook = f"blocks.{comparison.a.cfg.n_layers // 2}.hook_resid_pre"
            command = make("train-dictionary", MODEL=models.opened_by(comparison.a.source), HOOK=hook)
            st.code(command, "bash", wrap_lines=True)
        with right:
            preview("features")


def _refused(reason: str) -> None:
    """Why there is no dictionary: an error for a chosen one, a hint where none was chosen."""
    if selection.current().dictionary:
        notices.refused(reason, "dictionary")
    else:
        with st.container(key="headlight-missing-dictionary"):
            st.info(plain(f"{reason} Enter the folder of a dictionary that fits A and B."))


def is_open() -> bool:
    """Whether the page as it was drawn last has a dictionary, of which there is something to take along."""
    return bool(st.session_state.get(OPEN))


def _draw(view: FeatureView) -> None:
    if selection.current().table:
        _say(view)
        subject = view.comparison, view.opened, view.layer, view.feature, view.order
        for name, table in feature_tables(*subject).items():
            st.caption(plain(name.capitalize()))
            tables.draw(table, f"Features: {name}")
        return
    _maps(view)
    _say(view)
    one.draw(view)


def _say(view: FeatureView) -> None:
    """The dictionary's description, its fit on these runs and, on demand, the features behind the prediction."""
    st.caption(plain(view.description))
    with st.container(key="headlight-said-dictionary"):
        for line in (*worth(view), *carries(view)):
            st.text(line)


def worth(view: FeatureView) -> list[str]:
    """Quality of the dictionary on each run, always stated beside its results."""
    lines = []
    for side, run in view.comparison.sides.items():
        measures = summary(run, view.opened, view.layer)
        value = {name: each for name, (each, _) in measures.items()}
        loss, put = value["loss"], value["loss with the dictionary in place"]
        parts = [
            f"explained variance {value['explained variance']:.1%}",
            f"{value['active features']:.1f} active features per token",
            *([f"loss {number(loss)} → {number(put)} nats with the dictionary spliced in"] if loss == loss else []),
            f"KL {nats(value['KL with the dictionary in place'])} nats",
        ]
        lines.append(f"{'' if view.comparison.b is None else f'{side}: '}{'; '.join(parts)}".replace("-", "−"))
    return lines


def carries(view: FeatureView) -> list[str]:
    """Direct effects of each run's first features on the prediction, with the sums of all, of bias and of error."""
    lines, order = [], view.order
    for side, run in view.comparison.sides.items():
        position = view.comparison.positions(run)[order.place]
        question = None if position is None else order.question(position)
        its = carried_by(run, view.opened, view.layer, question)
        if its is None or question is None:
            continue
        parts = sorted(zip(its.parts, its.values.values.tolist(), strict=True), key=lambda each: -abs(each[1]))
        first = [f"{part.name} {value:+.3f}" for part, value in parts[:MAX_CARRIED]]
        rest = f"; the other {len(parts) - MAX_CARRIED} {sum(value for _, value in parts[MAX_CARRIED:]):+.3f}"
        pair = run.outputs.labels([question.target, question.distractor])
        total = float(its.values.values.sum())
        sentence = f"{', '.join(first)}{rest if len(parts) > MAX_CARRIED else ''}: together {total:+.3f} logits"
        sentence = f"{sentence} to {quoted(pair[0])} − {quoted(pair[1])}{_constants(run, view, question, total)}"
        lines.append(f"{'' if view.comparison.b is None else f'{side}: '}{sentence}".replace("-", "−"))
    return lines


def _constants(run: Run, view: FeatureView, question: Question, total: float) -> str:
    """Biases behind the last stream, which no feature has; with them the parts sum to the model's difference."""
    if layer_after(view.dictionary) != run.cfg.n_layers:
        return ", directly"
    effects = logit_attribution(run, question)
    difference, has_bias = float(effects.difference.values), any(name in CONSTANTS for name in effects.names)
    biases = f"with the biases behind the stream, {difference - total:+.3f}, " if has_bias else ""
    return f"; {biases}the model's logit difference {difference:+.3f}"


def _key(side: str) -> str:
    return selection.widget_key(f"features_map {side}" if side != "A" else "features_map")


def _cell(view: FeatureView) -> MapCell:
    return MapCell(view.listed.index(view.feature), view.place)


def _take_click(view: FeatureView) -> None:
    """The feature and the token that were clicked in a map, before anything is drawn of them."""
    for side in ("A", "B", "B − A"):
        clicked = chosen_cell(_cell(view), selection.epoch(), _key(side))
        if clicked and clicked != _cell(view) and clicked.row < len(view.listed):
            selection.choose(feature=(view.layer, view.listed[clicked.row]), position=clicked.column)
            st.rerun()


def _maps(view: FeatureView) -> None:
    sides = maps.active(view)
    drawn = bars_once([maps.feature_map(view, sides, side) for side in sides])
    for side, feature_map in zip(sides, drawn, strict=True):
        cell_map(
            feature_map,
            choosable=True,
            chosen=_cell(view),
            epoch=selection.epoch(),
            group=maps.GROUP,
            key=_key(side),
        )
    cell_map(maps.missed_map(view), group=maps.GROUP, key=selection.widget_key("features_missed"))


def _options(comparison: Comparison, view: FeatureView | None = None) -> None:
    row: list[Option | None] = [_dictionary(comparison)]
    if view is not None:
        row += [_layer(view), _place(view), _by(view)]
    options.row(*row, options.as_tables())


def _dictionary(comparison: Comparison) -> Option:
    """A dictionary on offer, or any other's folder or hub name where that is allowed."""
    value = dictionaries.named(selection.current().dictionary, comparison.a.source.name)
    offered = tuple(dictionaries.offered())

    def change(name: str) -> None:
        selection.choose(dictionary=name, feature=None)

    if models.any_model_allowed():
        look = {"offered": offered, "placeholder": "Choose or type a folder", "width": 150}
        return options.tie(Suggested, "dictionary", "Dictionary", value, change, **look)
    names = {each: each for each in (*offered, *([] if value in offered else [value]))}
    return options.tie(Listed, "dictionary", "Dictionary", value, change, options=names, width=150)


def _layer(view: FeatureView) -> Option | None:
    if len(view.opened) < 2:
        return None
    named = {layer: each.hook_in for layer, each in view.opened.items()}

    def change(layer: int) -> None:
        strongest = find(view.comparison, selection.current().updated(feature=(layer, view.opened[layer].n_features)))
        selection.choose(feature=(layer, strongest.feature if strongest else 0))

    return options.tie(Listed, "features_layer", "Layer", view.layer, change, options=named, width=150)


def _by(view: FeatureView) -> Option | None:
    """Option of the order of the list, where the model's logits are sums; the first feature is then the chosen one."""
    if needs.sums(view.comparison):
        return None
    ways = {"activation": "activation", "effect": "effect"}

    def change(by: FeaturesBy) -> None:
        listed = find(view.comparison, selection.current().updated(feature=_none_of(view), features_by=by))
        selection.choose(features_by=by, feature=(view.layer, listed.feature if listed else 0))

    value = selection.current().features_by
    return options.tie(Choice, "features_by", "Rank by", value, change, options=ways)


def _none_of(view: FeatureView) -> tuple[int, int]:
    """A feature that the dictionary does not have, for which its first one stands."""
    return view.layer, view.dictionary.n_features


def _place(view: FeatureView) -> Option:
    def change(place: int) -> None:
        selection.choose(position=place)

    labels, turns = view.comparison.labels, view.comparison.turns
    return options.place("features_token", "Token", labels, view.place, change, width=140, groups=turns)

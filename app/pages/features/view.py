"""The page *Features*: which are active where, what the dictionary misses, and one feature in full."""

import streamlit as st

from headlight.app import selection
from headlight.app.components import Choice, Listed, MapCell, Option, Suggested, chosen_cell
from headlight.app.frame import notices
from headlight.app.pages.features import maps, one
from headlight.app.pages.features.found import Found, find
from headlight.app.parts import needs, options, tables
from headlight.app.parts.labels import number, quoted
from headlight.app.parts.markdown import plain
from headlight.app.parts.parts import title_row
from headlight.app.runs import dictionaries, models
from headlight.app.selection.chosen import FeaturesBy
from headlight.app.server import boundary
from headlight.model.attribution.logits import CONSTANTS, Question, logit_attribution
from headlight.model.base.commands import make
from headlight.model.features.effects import layer_after
from headlight.model.features.tables import carried_by, feature_tables, summary
from headlight.model.runs.comparison import Comparison
from headlight.model.runs.run import Run

MOST_CARRIED = 5
OPEN = "features_open"
HOW = (
    "No dictionary comes with this model. A dictionary is a sparse autoencoder or a transcoder, trained on one of the "
    "model's activations. Type the folder of one as the dictionary (SAELens's, Gemma Scope's or circuit-tracer's), or "
    "train one:"
)


def render(comparison: Comparison) -> None:
    """The options, the strongest features by token with what is missed, and the chosen feature."""
    found: list[Found] = []
    with title_row("Features", "features", key="features"):
        row = st.container()
    with boundary.guard(_refused):
        found += filter(None, [find(comparison, selection.current())])
        if found:
            _take_click(found[0])
    with row:
        _options(comparison, *found)
    st.session_state[OPEN] = bool(found)
    if found:
        _draw(found[0])
    elif not dictionaries.named(selection.current().dictionary, comparison.a.source.name):
        with st.container(key="headlight-lacking-dictionary"):
            st.info(HOW)
            hook = f"blocks.{comparison.a.cfg.n_layers // 2}.hook_resid_pre"
            st.code(make("train-dictionary", MODEL=models.opened_by(comparison.a.source), HOOK=hook), "bash")


def _refused(reason: str) -> None:
    """Why there is no dictionary: said of one that was asked for, told of one that only stands for none."""
    if selection.current().dictionary:
        notices.refused(reason, "dictionary")
    else:
        with st.container(key="headlight-lacking-dictionary"):
            st.info(plain(f"{reason} Type the folder of a dictionary that fits A and B."))


def is_open() -> bool:
    """Whether the page as it was drawn last has a dictionary, of which there is something to take along."""
    return bool(st.session_state.get(OPEN))


def _draw(found: Found) -> None:
    if selection.current().table:
        _say(found)
        of = found.comparison, found.opened, found.layer, found.feature, found.order
        for name, table in feature_tables(*of).items():
            st.caption(plain(name.capitalize()))
            tables.draw(table, f"Features: {name}")
        return
    _maps(found)
    _say(found)
    one.draw(found)


def _say(found: Found) -> None:
    """What the dictionary is, what it is worth on these runs and, where that is asked, what its features carry."""
    st.caption(plain(found.told))
    with st.container(key="headlight-said-dictionary"):
        for line in (*worth(found), *carries(found)):
            st.text(line)


def worth(found: Found) -> list[str]:
    """What the dictionary is worth on each run, always said beside what it shows."""
    lines = []
    for side, run in found.comparison.sides.items():
        told = summary(run, found.opened, found.layer)
        value = {name: each for name, (each, _) in told.items()}
        loss, put = value["loss"], value["loss with the dictionary in place"]
        parts = [
            f"explains {value['explained variance']:.1%} of the variance",
            f"{value['active features']:.1f} features active at a token",
            *([f"loss {number(loss)} → {number(put)} nats with it in the activation's place"] if loss == loss else []),
            f"KL {number(value['KL with the dictionary in place'])} nats",
        ]
        lines.append(f"{'' if found.comparison.b is None else f'{side}: '}{'; '.join(parts)}".replace("-", "−"))
    return lines


def carries(found: Found) -> list[str]:
    """What of the prediction each run's first features carry, with what all of them, bias and error come to."""
    lines, order = [], found.order
    for side, run in found.comparison.sides.items():
        position = found.comparison.positions(run)[order.place]
        question = None if position is None else order.question(position)
        its = carried_by(run, found.opened, found.layer, question)
        if its is None or question is None:
            continue
        parts = sorted(zip(its.parts, its.values.values.tolist(), strict=True), key=lambda each: -abs(each[1]))
        first = [f"{part.name} {value:+.3f}" for part, value in parts[:MOST_CARRIED]]
        rest = f"; the other {len(parts) - MOST_CARRIED} {sum(value for _, value in parts[MOST_CARRIED:]):+.3f}"
        pair = run.tokenizer.labels([question.target, question.distractor])
        total = float(its.values.values.sum())
        told = f"{', '.join(first)}{rest if len(parts) > MOST_CARRIED else ''}: together {total:+.3f} logits"
        told = f"{told} to {quoted(pair[0])} − {quoted(pair[1])}{_constants(run, found, question, total)}"
        lines.append(f"{'' if found.comparison.b is None else f'{side}: '}{told}".replace("-", "−"))
    return lines


def _constants(run: Run, found: Found, question: Question, total: float) -> str:
    """What no feature of the last stream is: the biases behind it, with which all add up to the model's difference."""
    if layer_after(found.dictionary) != run.cfg.n_layers:
        return ", directly"
    effects = logit_attribution(run, question)
    difference, has_bias = float(effects.difference.values), any(name in CONSTANTS for name in effects.names)
    biases = f"with the biases behind the stream, {difference - total:+.3f}, " if has_bias else ""
    return f"; {biases}the model's own difference {difference:+.3f}"


def _key(side: str) -> str:
    return selection.widget_key(f"features_map {side}" if side != "A" else "features_map")


def _cell(found: Found) -> MapCell:
    return MapCell(found.listed.index(found.feature), found.place)


def _take_click(found: Found) -> None:
    """The feature and the token that were clicked in a map, before anything is drawn of them."""
    for side in ("A", "B", "B − A"):
        clicked = chosen_cell(_cell(found), selection.epoch(), _key(side))
        if clicked and clicked != _cell(found) and clicked.row < len(found.listed):
            selection.choose(feature=(found.layer, found.listed[clicked.row]), position=clicked.column)
            st.rerun()


def _maps(found: Found) -> None:
    sides = maps.active(found)
    for side in sides:
        maps.feature_map(found, sides, side, _key(side), _cell(found), selection.epoch())
    maps.missed_map(found, selection.widget_key("features_missed"))


def _options(comparison: Comparison, found: Found | None = None) -> None:
    row: list[Option | None] = [_dictionary(comparison)]
    if found is not None:
        row += [_layer(found), _place(found), _by(found)]
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


def _layer(found: Found) -> Option | None:
    if len(found.opened) < 2:
        return None
    named = {layer: each.hook_in for layer, each in found.opened.items()}

    def change(layer: int) -> None:
        strongest = find(found.comparison, selection.current().updated(feature=(layer, found.opened[layer].n_features)))
        selection.choose(feature=(layer, strongest.feature if strongest else 0))

    return options.tie(Listed, "features_layer", "Layer", found.layer, change, options=named, width=150)


def _by(found: Found) -> Option | None:
    """By what features are listed, where the model's logits are sums; the first one there is then the chosen one."""
    if needs.sums(found.comparison):
        return None
    ways = {"activation": "activation", "effect": "effect"}

    def change(by: FeaturesBy) -> None:
        listed = find(found.comparison, selection.current().updated(feature=_none_of(found), features_by=by))
        selection.choose(features_by=by, feature=(found.layer, listed.feature if listed else 0))

    value = selection.current().features_by
    return options.tie(Choice, "features_by", "List by", value, change, options=ways)


def _none_of(found: Found) -> tuple[int, int]:
    """A feature that the dictionary does not have, for which its first one stands."""
    return found.layer, found.dictionary.n_features


def _place(found: Found) -> Option:
    def change(place: int) -> None:
        selection.choose(position=place)

    return options.place("features_token", "Token", found.comparison.labels, found.place, change, width=140)

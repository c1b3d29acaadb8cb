"""Section *Patchscope*: the model's continuation of another prompt with the chosen state inserted."""

from collections.abc import Mapping

import numpy as np
import streamlit as st

from headlight.app import selection
from headlight.app.components import LensPin, Listed, Number, Text
from headlight.app.figures import Plot, likeliest
from headlight.app.frame import notices
from headlight.app.pages.lens import asking
from headlight.app.pages.lens.choices import Choices
from headlight.app.parts import charts, options, tables
from headlight.app.parts.markdown import plain
from headlight.app.parts.parts import heading
from headlight.app.parts.sides import named, positions_at
from headlight.app.server import boundary
from headlight.model.base.errors import HeadlightError
from headlight.model.lens.patchscope import IDENTITY, MAX_TOKENS, Patchscopes, Scope, no_scope, patchscopes
from headlight.model.measure.best import best
from headlight.model.runs.comparison import Comparison
from headlight.model.runs.run import Run

BEST = 10
SAME = -1  # the layer that the state is from
ScopesBySide = Mapping[str, tuple[Run, Patchscopes]]


def draw(comparison: Comparison, pin: LensPin) -> None:
    """Draw the prompt's options, its continuations with and without the state, and those for all other states."""
    heading("Patchscope", "patchscope", key="patchscope")
    if why := next(filter(None, map(no_scope, comparison.runs)), ""):
        st.caption(plain(why))
        return
    _options(comparison)
    with boundary.guard(_refused):
        _answer(comparison, pin, selection.current().choices_of(Choices).scope)


def _refused(reason: str) -> None:
    """Error in the prompt; a default prompt that does not fit is no error."""
    if selection.current().choices_of(Choices).scope_prompt == IDENTITY:
        st.caption(plain(f"The default prompt does not suit this model. {reason}"))
    else:
        notices.refused(reason, "patchscope")


def _options(comparison: Comparison) -> None:
    own, labels = (
        selection.current().choices_of(Choices),
        _labels(comparison.a, selection.current().choices_of(Choices).scope),
    )
    last = len(labels) - 1

    def ask(prompt: str) -> None:
        selection.choose(Choices, scope_prompt=prompt or IDENTITY, scope_position=None)

    def into(layer: int) -> None:
        selection.choose(Choices, scope_layer=None if layer == SAME else layer)

    def at(position: int) -> None:
        selection.choose(Choices, scope_position=None if position == last else position)

    layers = {SAME: "the same", **dict(enumerate(comparison.a.layer_labels[: comparison.n_layers + 1]))}
    position = own.scope_position if own.scope_position is not None and own.scope_position <= last else last
    options.row(
        options.tie(Text, "scope_prompt", "Target prompt", own.scope_prompt, ask, placeholder=IDENTITY, width=330),
        options.place("scope_position", "At token", labels, position, at) if labels else None,
        options.tie(
            Listed,
            "scope_layer",
            "After layer",
            SAME if own.scope_layer is None else own.scope_layer,
            into,
            options=layers,
            width=110,
        ),
        options.bind(
            Number, "scope_tokens", "Tokens to generate", page=Choices, least=0, most=MAX_TOKENS, step=1, width=110
        ),
        name="patchscope",
    )


def _labels(run: Run, scope: Scope) -> list[str]:
    """The tokens of the prompt; none where it is refused."""
    try:
        return run.tokenizer.labels(run.tokenizer.to_tokens(scope.prompt, run.bos)[0])
    except HeadlightError:
        return []


def _answer(comparison: Comparison, pin: LensPin, scope: Scope) -> None:
    if not asking.is_answered(comparison, pin.position, scope):
        return
    answers = _scopes(comparison, pin.position, scope)
    _, example = next(iter(answers.values()))
    into = pin.layer if scope.layer is None else scope.layer
    st.caption(
        plain(
            f"T{_state(comparison, pin.layer)[1:]} at position {pin.position} replaces {_state(comparison, into)} at "
            f"position {example.position} of this prompt. Next tokens with the state, and unpatched:"
        )
    )
    if not selection.current().table:
        for side, plots in _plots(comparison, pin, scope).items():
            columns = st.columns(len(plots))
            for number, (column, plot) in enumerate(zip(columns, plots, strict=True)):
                with column:
                    charts.alone([[plot]], plot.title, f"patchscope{side}{number}")
    for side, (run, scopes) in named(comparison, answers, "").items():
        st.caption(plain(f"Every state of the position, patched into the same place{side and f': {side}'}"))
        tables.draw(_table(run, scopes), f"Predictions with each state patched in{side and f' in {side}'}")


def _state(comparison: Comparison, layer: int) -> str:
    return "the embedding" if layer == 0 else f"the state after {comparison.layer_labels[layer]}"


def rows(comparison: Comparison, pin: LensPin, scope: Scope | None) -> charts.Rows:
    """The likeliest next tokens of the prompt with the chosen state and untouched, a row a run."""
    return [] if scope is None else list(_plots(comparison, pin, scope).values())


def _scopes(comparison: Comparison, place: int, scope: Scope) -> ScopesBySide:
    here = positions_at(comparison, place)
    return {side: (run, patchscopes(run, here[side], scope)) for side, run in comparison.sides.items() if side in here}


def _plots(comparison: Comparison, pin: LensPin, scope: Scope) -> dict[str, list[Plot]]:
    """On one scale."""
    lists: dict[str, list[tuple[str, list[str], np.ndarray]]] = {}
    for side, (run, scopes) in named(comparison, _scopes(comparison, pin.position, scope), "").items():
        where = f" in {side}" if side else ""
        states = {f"With the state{where}": min(pin.layer, run.cfg.n_layers), f"Unpatched{where}": -1}
        tops = {title: best(scopes.logits[row].softmax(-1), BEST) for title, row in states.items()}
        lists[side] = [(title, run.tokenizer.labels(top.indices), top.values.numpy()) for title, top in tops.items()]
    reach = max(float(values.max()) for plots in lists.values() for *_, values in plots)
    return {
        side: [likeliest(labels, values, title, reach) for title, labels, values in plots]
        for side, plots in lists.items()
    }


def _table(run: Run, scopes: Patchscopes) -> tables.Columns:
    """One row a state, the untouched prompt last."""
    probabilities, tokens = scopes.logits.softmax(-1).max(-1)
    return {
        "State after": [*run.layer_labels, "untouched"],
        "Next token": run.tokenizer.labels(tokens),
        "Probability": probabilities.numpy(),
        "Written": [run.tokenizer.label_together(written) for written in scopes.written],
    }

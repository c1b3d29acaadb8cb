"""Tap that edits a feature: its write is changed, and the dictionary's reconstruction error stays."""

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from headlight.model.base.errors import InputError
from headlight.model.nn.hooks import Look, Tap
from headlight.model.runs.dictionary import Dictionaries, Dictionary
from headlight.model.runs.edits.edited import Opened
from headlight.model.runs.edits.kinds import EditFeature

Change = Float[Tensor, "batch pos"]


def feature_tap(edit: EditFeature, by_name: Opened, passed: Callable[[str], str]) -> Tap:
    """Return the tap of an edit of a feature of one of these dictionaries, which have to fit the model.

    `passed` says under which name a pass is edited where an activation is.

    Raises:
        InputError: its dictionary is missing, or has no such feature.
    """
    dictionary = _dictionary(edit, by_name)
    if not 0 <= edit.feature < dictionary.n_features:
        raise InputError(
            f"There is no feature {edit.feature}: the dictionary of {edit.hook} has features 0 to "
            f"{dictionary.n_features - 1:,}. Choose one of these."
        )
    rows = [dictionary.decoder_rows([edit.feature], out)[0] for out in range(len(dictionary.outputs))]
    writes = dict(zip(map(passed, dictionary.hooks_out), rows, strict=True))
    return FeatureTap(_Feature(edit, dictionary), passed(dictionary.hook_in), writes)


def _dictionary(edit: EditFeature, by_name: Opened) -> Dictionary:
    if not isinstance(opened := by_name.get(edit.dictionary), Dictionaries):
        raise InputError(
            f"The edited feature is one of {edit.dictionary!r}, which is not open. Open it, and give it to the run by "
            "that name, as one of its dictionaries."
        )
    dictionary = next((each for each in opened.values() if each.hook_in == edit.hook), None)
    if dictionary is None:
        hooks = ", ".join(each.hook_in for each in opened.values())
        raise InputError(f"The dictionary of the edit is of {hooks}, not of {edit.hook}. Choose a feature of these.")
    return dictionary


@dataclass(frozen=True, eq=False)
class _Feature:
    """The feature that an edit names, in its dictionary."""

    edit: EditFeature
    dictionary: Dictionary

    def change(self, activation: Float[Tensor, "batch pos *width"]) -> Change:
        """Change of the feature's activation where the dictionary reads this input."""
        edit = self.edit
        if edit.how == "add":
            change = torch.full(activation.shape[:2], edit.factor)
        else:
            active = self.dictionary.encode(activation.flatten(2).float().cpu())[..., edit.feature]
            change = (edit.factor if edit.how == "clamp" else 0.0) - active
        if edit.positions:
            elsewhere = torch.ones(change.shape[1], dtype=torch.bool)
            elsewhere[list(edit.positions)] = False
            change[:, elsewhere] = 0.0
        return change


class FeatureTap(Tap):
    """Adds a feature's change of activation times its decoder row to each activation that its dictionary stands for.

    A transcoder reads one activation and stands for a later one. What it read waits between the two, apart for each
    thread: one tap serves the passes of several.
    """

    def __init__(self, feature: _Feature, reads: str, writes: Mapping[str, Float[Tensor, " d_out"]]) -> None:
        self._feature, self._reads, self._writes = feature, reads, writes
        self._last = list(writes)[-1]
        self._waiting = threading.local()

    def __call__(self, name: str, activation: Tensor) -> Tensor:
        if name == self._reads:
            self._waiting.change = self._feature.change(activation)
        if name in self._writes:
            added = (self._change()[..., None] * self._writes[name]).reshape(-1, *activation.shape[1:])
            activation = activation + added.to(activation)
        if name == self._last:
            del self._waiting.change
        return activation

    def _change(self) -> Change:
        if not hasattr(self._waiting, "change"):
            raise InputError(
                f"This pass begins behind {self._reads}, which the feature is read from. Switch the edit of it off."
            )
        return self._waiting.change

    def look(self, name: str) -> Look:
        return Look.WHOLE if name == self._reads or name in self._writes else Look.NEVER

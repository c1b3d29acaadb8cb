"""How well a direction tells two classes apart in prompts that it was not found in, beside two controls.

Groups, such as the rows of one template, are never parted: what a fold is tested on has no template in common with what
it was found in. The controls are found and tested in the same way: with labels shuffled among the examples, which shows
what the method can make of nothing, and with random vectors, oriented by the training examples.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from headlight.model.base.errors import InputError
from headlight.model.base.importing import IMPORTING
from headlight.model.directions.examples import Examples
from headlight.model.directions.finding import Classes, Method, Pairs, Rows, fit, oriented
from headlight.model.directions.streams import Streams
from headlight.model.runs.host import HERE, Host, Steps

FOLDS = 5
DRAWS = 5  # shuffles, and random vectors
Folds = Int[Tensor, " row"]


@dataclass(frozen=True, eq=False)
class Told:
    """How well examples were told apart: the share on the right side, and the area under the ROC curve."""

    accuracy: float
    auroc: float


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Held-out accuracy and AUROC by state, of a method, of shuffled labels and of random vectors.

    The two controls have one value for each draw. NaN where the classes give the same stream.
    """

    accuracy: Float[Tensor, " state"]
    auroc: Float[Tensor, " state"]
    shuffled: Float[Tensor, "state draw"]
    shuffled_auroc: Float[Tensor, "state draw"]
    random: Float[Tensor, "state draw"]
    random_auroc: Float[Tensor, "state draw"]

    @property
    def best(self) -> int:
        """The first state whose AUROC is the largest."""
        return int(self.auroc.nan_to_num(-1.0).argmax())


def folds_of(examples: Examples, folds: int = FOLDS, seed: int = 0) -> Folds:
    """In which fold each example is tested; groups stay together, and classes are spread as evenly as these allow.

    Raises:
        InputError: there are fewer groups than folds, or a class has too few for each fold to be trained without it.
    """
    with IMPORTING:
        from sklearn.model_selection import StratifiedGroupKFold

    groups = [row.group for row in examples.rows]
    what = "groups" if examples.are_grouped else "rows"
    advice = f"Give more {what}{', or split by rows' if examples.are_grouped else ''}, or take fewer folds."
    if folds < 2:
        raise InputError(f"{folds} folds were asked for; at least 2 are needed.")
    if len(set(groups)) < folds:
        raise InputError(
            f"The set {examples.name} has {len(set(groups))} {what} and is to be split into {folds} folds. {advice}"
        )
    is_positive = torch.tensor([row.is_positive for row in examples.rows])
    splits = StratifiedGroupKFold(folds, shuffle=True, random_state=seed)
    fold_of = torch.empty(len(groups), dtype=torch.long)
    for fold, (_, tested) in enumerate(splits.split(groups, is_positive.numpy(), groups)):
        fold_of[torch.from_numpy(tested)] = fold
    for fold in range(folds):
        training = is_positive[fold_of != fold]
        for first, name in zip((True, False), examples.classes, strict=True):
            if int((training == first).sum()) == 0 or not (fold_of == fold).any():
                raise InputError(
                    f"All prompts of the class {name!r} fall into one of the {folds} folds, because they are of so few "
                    f"{what}. {advice}"
                )
    return fold_of


def held_out(
    streams: Streams,
    examples: Examples,
    method: Method = "difference",
    folds: int = FOLDS,
    draws: int = DRAWS,
    seed: int = 0,
    host: Host = HERE,
) -> HeldOut:
    """Measure how well a method's directions tell the classes apart in the examples that they were not found in.

    Args:
        streams: what `read_streams` gave.
        examples: the examples.
        method: how a direction is found.
        folds: into how many parts the groups are split.
        draws: how many shuffles of the labels, and how many random vectors.
        seed: of the split, the shuffles and the vectors.
        host: hears the progress, in layers.

    Raises:
        InputError: as `folds_of`.
    """
    fold_of, steps = folds_of(examples, folds, seed), Steps(host, len(streams))
    values = []
    for stream in streams:
        values.append(_state(stream, examples, fold_of, method, draws, seed))
        steps.add()
    own, shuffled, random = (list(each) for each in zip(*values, strict=True))
    return HeldOut(
        torch.tensor([each.accuracy for each in own]),
        torch.tensor([each.auroc for each in own]),
        torch.tensor([[each.accuracy for each in row] for row in shuffled]),
        torch.tensor([[each.auroc for each in row] for row in shuffled]),
        torch.tensor([[each.accuracy for each in row] for row in random]),
        torch.tensor([[each.auroc for each in row] for row in random]),
    )


def _state(
    rows: Rows, examples: Examples, fold_of: Folds, method: Method, draws: int, seed: int
) -> tuple[Told, list[Told], list[Told]]:
    """What one layer's streams tell: by the method, with shuffled labels, along random vectors."""
    is_positive = torch.tensor([row.is_positive for row in examples.rows])
    generator = torch.Generator().manual_seed(seed)
    shuffles = [is_positive[torch.randperm(len(rows), generator=generator)] for _ in range(draws)]
    vectors = [torch.randn(rows.shape[1], generator=generator) for _ in range(draws)]
    return (
        _told(rows, is_positive, examples.pairs, fold_of, method),
        [_told(rows, labels, examples.pairs, fold_of, method) for labels in shuffles],
        [_told(rows, is_positive, examples.pairs, fold_of, vector) for vector in vectors],
    )


def _told(rows: Rows, is_positive: Classes, pairs: Pairs, fold_of: Folds, by: Method | Tensor) -> Told:
    """Every example scored by what was found in the other folds."""
    scores = torch.empty(len(rows), dtype=torch.float64)
    try:
        for fold in fold_of.unique().tolist():
            train = fold_of != fold
            if isinstance(by, Tensor):
                direction = oriented(by, rows[train], is_positive[train])
            else:
                direction = fit(rows[train], is_positive[train], _within(pairs, train), by)
            scores[~train] = direction.score(rows[~train])
    except InputError:  # nothing to tell them apart by
        return Told(torch.nan, torch.nan)
    return Told(float(((scores > 0) == is_positive).double().mean()), auroc(scores, is_positive))


def _within(pairs: Pairs, train: Bool[Tensor, " row"]) -> Sequence[tuple[int, int]]:
    """The pairs that lie in the training examples, by their places among these."""
    place = (train.cumsum(0) - 1).tolist()
    return [(place[first], place[second]) for first, second in pairs if train[first] and train[second]]


def auroc(scores: Float[Tensor, " row"], is_positive: Classes) -> float:
    """The chance that an example of the first class scores above one of the second, ties counted half."""
    with IMPORTING:
        from sklearn.metrics import roc_auc_score

    return float(roc_auc_score(is_positive.numpy(), scores.numpy()))

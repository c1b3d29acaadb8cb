"""A direction between two classes in one layer's streams, by one of three methods."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from headlight.model.base.checks import check_choice
from headlight.model.base.errors import InputError
from headlight.model.base.importing import IMPORTING
from headlight.model.directions.examples import Examples
from headlight.model.directions.streams import Streams, read_streams
from headlight.model.nn.transformer import Transformer
from headlight.model.runs.direction import Direction
from headlight.model.runs.host import HERE, Host

Method = Literal["difference", "pca", "logistic"]
METHODS: dict[Method, str] = {
    "difference": "difference of means",
    "pca": "first component of paired differences",
    "logistic": "logistic regression",
}
MAX_ITERATIONS = 1000
SAME = 1e-9  # of a stream's length: nearer to each other two means are the same but for rounding
Rows = Float[Tensor, "row d_model"]
Classes = Bool[Tensor, " row"]
Pairs = Sequence[tuple[int, int]]


@dataclass(frozen=True, eq=False)
class Fit:
    """A unit vector, and how a stream is told by it: above `middle` along it, the first class is expected.

    `half` is half the distance between the classes' means along it, by which projections of several fits compare.
    """

    unit: Float[Tensor, " d_model"]
    middle: float
    half: float

    def score(self, rows: Rows) -> Float[Tensor, " row"]:
        """How far streams lie on the first class's side: about 1 at its mean, -1 at the other's."""
        return (rows.double() @ self.unit - self.middle) / self.half


def fit(rows: Rows, is_positive: Classes, pairs: Pairs, method: Method) -> Fit:
    """Find the direction that tells the first class from the second.

    "difference" is the first class's mean less the second's. "pca" is the first principal component of the pairs'
    differences, taken with both signs, so that their mean counts. "logistic" is scikit-learn's logistic regression
    (L2, C = 1) on centred streams divided by one number, so that no coordinate counts more than another.

    Raises:
        InputError: there is nothing to tell the classes apart by, or no pairs.
    """
    check_choice("The method", method, get_args(Method))
    rows, middle = rows.double(), None
    if method == "logistic":
        vector, middle = _logistic(rows, is_positive)
    elif method == "pca":
        if not pairs:
            raise InputError("There are no pairs to take differences of. Choose difference of means instead.")
        first, second = (list(side) for side in zip(*pairs, strict=True))
        vector = torch.linalg.svd(rows[first] - rows[second], full_matrices=False).Vh[0]
    else:
        vector = rows[is_positive].mean(0) - rows[~is_positive].mean(0)
    return oriented(vector, rows, is_positive, middle)


def oriented(vector: Float[Tensor, " d_model"], rows: Rows, is_positive: Classes, middle: float | None = None) -> Fit:
    """A vector at length 1, pointing to the first class; by default its middle lies between the classes' means.

    Raises:
        InputError: it is zero, or the classes' means are the same along it.
    """
    unit = vector.double() / vector.double().norm().clamp(min=1e-300)
    along = rows.double() @ unit
    means = along[is_positive].mean(), along[~is_positive].mean()
    half = float(means[0] - means[1]) / 2
    if not abs(half) > SAME * float(rows.norm(dim=-1).mean()):  # also of NaN
        raise InputError(
            "The two classes give the same stream where they are read, so there is no direction between them. Read "
            "them at another position or in a later layer."
        )
    sign = 1 if half > 0 else -1
    return Fit(sign * unit, sign * float(sum(means)) / 2 if middle is None else sign * middle, abs(half))


def _logistic(rows: Rows, is_positive: Classes) -> tuple[Float[Tensor, " d_model"], float]:
    """The vector, and where along it, at length 1, both classes are as likely."""
    with IMPORTING:
        from sklearn.exceptions import ConvergenceWarning
        from sklearn.linear_model import LogisticRegression

    centre = rows.mean(0)
    size = (rows - centre).square().mean().sqrt().clamp(min=1e-300)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # of classes that nothing tells apart
        model = LogisticRegression(max_iter=MAX_ITERATIONS).fit(((rows - centre) / size).numpy(), is_positive.numpy())
    vector = torch.from_numpy(model.coef_[0])
    length = vector.norm().clamp(min=1e-300)
    return vector, float((centre @ vector - size * float(model.intercept_[0])) / length)


def find_directions(
    model: Transformer,
    examples: Examples,
    method: Method = "difference",
    name: str = "",
    streams: Streams | None = None,
    host: Host = HERE,
) -> Direction:
    """Find the direction between two classes before every layer and after the last.

    A layer where the classes cannot be told apart at all, such as an embedding of the same last token, has none.

    Args:
        model: the model.
        examples: prompts of the two classes.
        method: "difference", "pca" or "logistic".
        name: what to call it; by default as the class that it points to.
        streams: what `read_streams` gave, if it is known.
        host: where the model is run.

    Raises:
        InputError: the classes give the same streams everywhere.
    """
    streams = read_streams(model, examples, host) if streams is None else streams
    source = "" if model.source is None else model.source.name
    return direction_in(streams, examples, method, name or examples.classes[0], source)


def direction_in(
    streams: Streams,
    examples: Examples,
    method: Method,
    name: str = "",
    model: str = "",
    rows: Sequence[int] | None = None,
) -> Direction:
    """The direction in known streams, of these rows alone if they are named.

    Raises:
        InputError: as `find_directions`.
    """
    chosen = list(range(len(examples.rows)) if rows is None else rows)
    is_positive = torch.tensor([examples.rows[row].is_positive for row in chosen])
    slot = {row: place for place, row in enumerate(chosen)}
    pairs = [(slot[first], slot[second]) for first, second in examples.pairs if first in slot and second in slot]
    vectors, refused = {}, ""
    for layer, stream in enumerate(streams):
        try:
            direction = fit(stream[chosen], is_positive, pairs, method)
        except InputError as error:
            refused = str(error)
            continue
        vectors[layer] = (direction.unit * stream[chosen].double().norm(dim=-1).mean()).float()
    if not vectors:
        raise InputError(refused)
    return Direction(name, vectors, examples.position, METHODS[method], model)

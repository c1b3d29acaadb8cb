"""Two baselines for classification that ignore word order."""

import re
from collections import Counter
from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional as F

from headlight.model.training.labelled import Example

PENALTY = 1e-3  # on half the squared weights, against learning rare words by heart
MAX_ITERATIONS = 200


def majority_accuracy(train: Sequence[Example], held_out: Sequence[Example]) -> float:
    """Share of the held-out texts that have the label which is most frequent in training."""
    (most, _), *_ = Counter(label for _, label in train).most_common()
    return sum(label == most for _, label in held_out) / len(held_out)


def bag_of_words_accuracy(train: Sequence[Example], held_out: Sequence[Example]) -> float:
    """Share of the held-out texts whose label multinomial logistic regression on counts of words gets right.

    Words that training lacks do not count.
    """
    words = sorted({word for text, _ in train for word in _words(text)})
    classes = sorted({label for _, label in train})
    labels = torch.tensor([classes.index(label) for _, label in train])
    weights = _fit(_counts(train, words), labels, len(classes))
    guessed = (_counts(held_out, words) @ weights).argmax(1).tolist()
    return sum(classes[guess] == label for guess, (_, label) in zip(guessed, held_out, strict=True)) / len(held_out)


def _words(text: str) -> list[str]:
    return re.findall(r"\w+|[^\w\s]", text.lower())


def _counts(examples: Sequence[Example], words: Sequence[str]) -> Float[Tensor, "text word"]:
    """Count of each word in each text, and a last column of ones for the bias."""
    column = {word: index for index, word in enumerate(words)}
    counts = torch.zeros(len(examples), len(words) + 1)
    counts[:, -1] = 1
    for row, (text, _) in enumerate(examples):
        for word in _words(text):
            if word in column:
                counts[row, column[word]] += 1
    return counts


def _fit(counts: Float[Tensor, "text word"], labels: Tensor, n_classes: int) -> Float[Tensor, "word class"]:
    weights = torch.zeros(counts.shape[1], n_classes, requires_grad=True)
    optimizer = torch.optim.LBFGS([weights], max_iter=MAX_ITERATIONS, line_search_fn="strong_wolfe")

    def loss() -> Tensor:
        optimizer.zero_grad()
        value = F.cross_entropy(counts @ weights, labels) + PENALTY / 2 * weights.square().sum()
        value.backward()
        return value

    optimizer.step(loss)
    return weights.detach()

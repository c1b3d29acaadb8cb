"""The manual's table of architectures: how far each is from transformers' own models. `make architectures` writes it.

An architecture has a row if it has a module of configs in `architectures`. The differences are of this machine's
sums: on another they come out a little different, but as small.
"""

import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from headlight.model import load, load_seq2seq
from tests.bench.table import put_into
from tests.model.checkpoints import architectures, seq2seq_twins
from tests.model.checkpoints.architectures import Case
from tests.model.checkpoints.twins import differences, noisy
from tests.places import DOCS

ARCHITECTURES = DOCS / "reference" / "architectures.md"
BEGIN, END = "<!-- architectures: make architectures -->", "<!-- end of architectures -->"
KINDS = ("logit", "stream", "pattern")


@dataclass(frozen=True)
class Row:
    """An architecture, how many of its variants were compared, and the largest difference of each kind over them."""

    name: str
    n_variants: int
    largest: tuple[float, ...]

    def __str__(self) -> str:
        return " | ".join([f"| {self.name}", str(self.n_variants), *(f"{each:.0e}" for each in self.largest)]) + " |"


def largest(case: Case) -> tuple[float, ...]:
    """The largest difference of each kind between a case's model and transformers'."""
    theirs = noisy(case)
    with tempfile.TemporaryDirectory() as folder:
        theirs.save_pretrained(folder)
        return _by_kind(differences(case, load(folder), theirs))


def largest_of_seq2seq(name: str) -> tuple[float, ...]:
    """The same of an encoder-decoder, by the name of its config."""
    theirs = seq2seq_twins.noisy(seq2seq_twins.CONFIGS[name], "untied" in name)
    with tempfile.TemporaryDirectory() as folder:
        theirs.save_pretrained(folder)
        return _by_kind(seq2seq_twins.differences(load_seq2seq(folder), theirs))


def _by_kind(differences: Iterable[tuple[str, float]]) -> tuple[float, ...]:
    pairs = list(differences)
    return tuple(max(difference for what, difference in pairs if kind in what) for kind in KINDS)


def rows() -> Iterator[Row]:
    """A row for each architecture, in the order of their names."""
    by_family: dict[str, list[tuple[float, ...]]] = {}
    for name, case in architectures.every():
        by_family.setdefault(name.partition(":")[0], []).append(largest(case))
    for name in seq2seq_twins.CONFIGS:
        by_family.setdefault(name.partition(":")[0], []).append(largest_of_seq2seq(name))
    for name in sorted(by_family):
        yield Row(name, len(by_family[name]), tuple(max(of_kind) for of_kind in zip(*by_family[name], strict=True)))


def markdown() -> str:
    head = ["| architecture | variants | logits | residual streams | patterns |", "|---|---|---|---|---|"]
    return "\n".join([*head, *map(str, rows())])


def main(page: Path = ARCHITECTURES) -> None:
    put_into(page, markdown(), BEGIN, END)


if __name__ == "__main__":
    main()

"""Model cards: measured figures with their bounds."""

import argparse
import statistics
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from string import Template
from typing import Generic, TypeVar

import numpy as np

from headlight.model.base.errors import TrainingError, exit_on_error
from headlight.model.base.files import write_text
from headlight.model.nn.seq2seq import Seq2SeqTransformer
from headlight.model.nn.transformer import Transformer

Model = TypeVar("Model", bound=Transformer | Seq2SeqTransformer)

CARD = "README.md"
SEEDS = (1, 2, 3)


@dataclass(frozen=True)
class Figure(Generic[Model]):
    """One line of a card: the measured quantity, its bound, and the measurement for a seed."""

    meaning: str
    measure: Callable[[Model, int], float]
    at_least: float = -np.inf
    at_most: float = np.inf

    def holds(self, value: float) -> bool:
        """Whether a value keeps the bound."""
        return self.at_least <= value <= self.at_most

    @property
    def goal(self) -> str:
        """The bound in words."""
        return f"at least {self.at_least:g}" if self.at_most == np.inf else f"at most {self.at_most:g}"


@dataclass(frozen=True)
class Card(Generic[Model]):
    """An embedded model's card: its figures, and the template that they and other facts are put into.

    `module` is the one whose command prints a figure; `facts` gives what the template names besides `$table`. Values
    have `digits` digits.
    """

    model: str
    module: str
    figures: Mapping[str, Figure[Model]]
    load: Callable[[str], Model]
    template: Path
    facts: Callable[[Model, Path], Mapping[str, object]]
    digits: int = 3

    def measure(self, model: Model, name: str) -> list[float]:
        """A figure's value for each evaluation seed."""
        return [self.figures[name].measure(model, seed) for seed in SEEDS]

    def row(self, name: str, values: Sequence[float]) -> str:
        """A line of the table: what, goal, mean and range over the seeds, whether all keep it, and the command."""
        figure = self.figures[name]
        summary = statistics.mean(values), min(values), max(values)
        mean, lowest, highest = (f"{value:.{self.digits}g}" for value in summary)
        kept = "yes" if all(map(figure.holds, values)) else "no"
        spread, command = f"{mean} ({lowest} to {highest})", f"`python -m {self.module} {name}`"
        return f"| {figure.meaning} | {figure.goal} | {spread} | {kept} | {command} |"

    def write(self, model: Model, folder: Path, rows: Sequence[str]) -> None:
        """Fill the template."""
        facts = {
            **vars(model.cfg),
            "n_parameters": f"{sum(parameter.numel() for parameter in model.parameters()):,}",
            "seeds": ", ".join(map(str, SEEDS)),
            **self.facts(model, folder),
        }
        fill(self.template, folder, facts | {"table": "\n".join(rows)})


def fill(template: Path, folder: Path, facts: Mapping[str, object]) -> None:
    """Write a folder's card: a template with facts in it.

    Raises:
        TrainingError: there is another README.md, one without the heading of this card.
    """
    card, path = Template(template.read_text(encoding="utf-8")).substitute(facts), folder / CARD
    lines = card.splitlines()
    heading = next((line for line in lines if line.startswith("# ")), lines[0])
    if path.exists() and heading not in path.read_text(encoding="utf-8", errors="replace").splitlines():
        raise TrainingError(f"{path} is not the card {heading!r} and is not replaced. Move it, or name another folder.")
    write_text(path, card)


def folder_of(model: Transformer | Seq2SeqTransformer) -> Path:
    """The folder that a model was loaded from."""
    assert model.source is not None  # loading sets it
    return Path(model.source.path)


def megabytes(model: Transformer | Seq2SeqTransformer, seed: int) -> float:
    """Size of the model's folder in MB (10^6 bytes), whatever the seed."""
    return sum(path.stat().st_size for path in folder_of(model).rglob("*") if path.is_file()) / 1e6


@exit_on_error()
def command_line(card: Card[Model]) -> None:
    """Measure from the command line, write the card with `--write`; exit with 1 where a figure misses its bound."""
    parser = argparse.ArgumentParser(description=f"Measure the figures of the card of {card.model}.")
    parser.add_argument("figures", nargs="*", metavar="NAME", help=f"any of {', '.join(card.figures)}; all if left out")
    parser.add_argument("--model", default=card.model, help="an embedded model's name or a folder")
    parser.add_argument("--write", action="store_true", help="write the card into the model's folder")
    arguments = parser.parse_args()
    if unknown := set(arguments.figures) - set(card.figures):
        parser.error(f"no figure {', '.join(sorted(unknown))}; there are {', '.join(card.figures)}")

    model = card.load(arguments.model)
    values = {name: card.measure(model, name) for name in arguments.figures or card.figures}
    rows = [card.row(name, values[name]) for name in values]
    print("\n".join(rows))
    if arguments.write:
        card.write(model, folder_of(model), rows)
    missed = [name for name in values if not all(map(card.figures[name].holds, values[name]))]
    if missed:
        sys.exit(f"Not kept: {', '.join(missed)}")

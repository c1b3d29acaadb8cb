"""The csv log of a run: one row a measurement."""

import csv
from collections import defaultdict
from pathlib import Path
from time import perf_counter

from tqdm import tqdm

LOG = "log.csv"
TRAINING_LOG = "training_log.csv"  # beside the weights that the run ended in

Row = dict[str, int | float]


class Interval:
    """What is summed between two measurements: the loss and the recipe's counts, as means a step, and the time."""

    def __init__(self) -> None:
        self._sums: defaultdict[str, float] = defaultdict(float)
        self._steps, self._began = 0, perf_counter()

    def add(self, loss: float, counts: Row) -> None:
        """One step."""
        self._steps += 1
        for name, value in {**counts, "loss": loss}.items():
            self._sums[name] += value

    @property
    def summary(self) -> str:
        """Loss and speed so far, for the progress bar."""
        return f"loss {self._sums['loss'] / self._steps:.3f}, {self._tokens_per_second:,.0f} tokens/s"

    @property
    def row(self) -> Row:
        """The means, in the order in which a step gives them, and the speed."""
        means: Row = {name: total / self._steps for name, total in self._sums.items()}
        return means | {"tokens_per_second": self._tokens_per_second}

    @property
    def _tokens_per_second(self) -> float:
        return self._sums["tokens_per_step"] / (perf_counter() - self._began)


def append_row(folder: Path, row: Row) -> None:
    """Write a row into the log, under a head if it is the first, and on the screen."""
    path = folder / LOG
    new = not path.exists() or path.stat().st_size == 0
    with path.open("a", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, fieldnames=list(row))
        if new:
            writer.writeheader()
        writer.writerow({name: f"{value:.6g}" for name, value in row.items()})
    tqdm.write("  ".join(f"{name} {value:.4g}" for name, value in row.items()))


def read_rows(path: Path) -> list[dict[str, float]]:
    """The rows of a log."""
    with path.open(encoding="utf-8") as file:
        return [{name: float(value) for name, value in line.items()} for line in csv.DictReader(file)]


def drop_rows_after(folder: Path, step: int) -> None:
    """Forget what a killed run logged after its last checkpoint, which will be logged again, half a line included."""
    path = folder / LOG
    if not path.exists():
        return
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    kept = [line for line in lines[1:] if line.endswith("\n") and float(line.partition(",")[0]) <= step]
    partial = path.with_suffix(".new")
    partial.write_text("".join(lines[:1] + kept if kept else []), encoding="utf-8")
    partial.replace(path)

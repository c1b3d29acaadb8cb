"""The csv log of a run: one row a measurement."""

import csv
import io
from collections import defaultdict
from pathlib import Path
from time import perf_counter

from tqdm import tqdm

from headlight.model.base.errors import TrainingError
from headlight.model.base.files import write_bytes, write_text

LOG = "log.csv"
TRAINING_LOG = "training_log.csv"  # beside the weights that the run ended in

COUNTED, MOVED = "tokens_per_step", "moved_L"  # columns of every log of steps, and of one of prompts
MAX_HEAD = 2**16  # characters

Row = dict[str, int | float]


class Interval:
    """Sums between two measurements: the loss and the recipe's counts, as means per step, and the time."""

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
        return self._sums[COUNTED] / (perf_counter() - self._began)


def append_row(folder: Path, row: Row) -> None:
    """Write a row into the log, under a head if it is the first, and on the screen.

    Raises:
        WriteError: the disk is full, or the folder cannot be written to.
    """
    path = folder / LOG
    lines = path.read_text(encoding="utf-8") if path.exists() else ""
    file = io.StringIO()
    writer = csv.DictWriter(file, fieldnames=list(row), lineterminator="\n")
    if not lines:
        writer.writeheader()
    writer.writerow({name: f"{value:.6g}" for name, value in row.items()})
    write_text(path, lines + file.getvalue())
    tqdm.write("  ".join(f"{name} {value:.4g}" for name, value in row.items()))


def read_rows(path: Path) -> list[dict[str, float]]:
    """The rows of a log."""
    with path.open(encoding="utf-8") as file:
        return [{name: float(value) for name, value in line.items()} for line in csv.DictReader(file)]


def is_log(path: Path) -> bool:
    """Whether a file is the log of a run of ours, by the columns that its head names."""
    if not path.is_file():
        return False
    with path.open(encoding="utf-8", errors="replace") as file:
        columns = file.readline(MAX_HEAD).rstrip("\n").split(",")
    of_prompts = columns[0] == "prompts" and all(name.startswith(MOVED) for name in columns[1:])
    return of_prompts or (columns[0] == "step" and COUNTED in columns)


def drop_rows_after(folder: Path, step: int) -> None:
    """Remove rows logged after the last checkpoint, which will be logged again, a partial line included.

    Raises:
        TrainingError: the folder's log is another program's.
    """
    path = folder / LOG
    if not path.exists() or not path.stat().st_size:
        return
    if not is_log(path):
        raise TrainingError(f"{path} is no log of a run of Headlight and is left as it is. Give another --run.")
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    kept = [line for line in lines[1:] if line.endswith("\n") and float(line.partition(",")[0]) <= step]
    write_text(path, "".join(lines[:1] + kept if kept else []))


def keep_log(run: Path, folder: Path) -> None:
    """Copy a run's log to what it made, where it tells whose the folder is; so it comes before all else there."""
    write_bytes(folder / TRAINING_LOG, (run / LOG).read_bytes())

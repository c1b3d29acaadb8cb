"""Curves from a training log: measurements by step, grouped by unit."""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from headlight.model.training.log import TRAINING_LOG, read_rows

# Columns of a log by unit; the others do not measure learning.
MEASURED = {
    "share or probability": {
        "held_out_accuracy": "right tokens, held out",
        "repeat_accuracy": "accuracy on repeats",
        "best_induction_score": "best induction score",
        "best_previous_token_score": "best previous-token score",
        "mirrored": "strongest source mirrored",
    },
    "nats a token": {"loss": "loss", "held_out_loss": "loss, held out"},
}


@dataclass(frozen=True)
class Curves:
    """Values after each of the steps, by unit and name, and the steps after which repeats were over more tokens."""

    steps: list[float]
    by_unit: Mapping[str, Mapping[str, list[float]]]
    harder: list[float]


def read_curves(folder: Path) -> Curves | None:
    """The curves of the log beside a model's weights; None where there is none."""
    if not (folder / TRAINING_LOG).is_file():
        return None
    rows = read_rows(folder / TRAINING_LOG)
    by_unit = {
        unit: {name: [row[column] for row in rows] for column, name in columns.items() if column in rows[0]}
        for unit, columns in MEASURED.items()
    }
    pairs = pairwise(rows) if "n_symbols" in rows[0] else ()
    harder = [later["step"] for earlier, later in pairs if later["n_symbols"] > earlier["n_symbols"]]
    return Curves([row["step"] for row in rows], by_unit, harder)

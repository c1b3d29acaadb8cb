"""Texts with labels: read from a csv file and split into what is trained on and what is held out."""

import csv
import io
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from numpy.random import default_rng

from headlight.model.errors import TrainingError, nearest

HELD_OUT_SHARE = 0.1

Example = tuple[str, str]  # a text and its label


def read_labelled(path: Path, text: str = "text", label: str = "label") -> list[Example]:
    """The different texts of a UTF-8 csv file with a header line, each with its label, in their order.

    Raises:
        TrainingError: the file cannot be read, is not UTF-8 or lacks a column, a cell is empty, a text has two labels,
            all labels are the same, or a label has only one text.
    """
    rows = csv.DictReader(io.StringIO(_decoded(path), newline=""))
    try:
        columns = rows.fieldnames or ()
        for column in (text, label):
            if column not in columns:
                raise TrainingError(
                    f"{path.name} has no column {column!r}.{nearest(column, columns)} Its columns are "
                    f"{', '.join(columns) or 'none: it is empty'}. Name yours by --text and --label."
                )
        examples = list(_different(path.name, rows, text, label))
    except csv.Error as error:
        raise TrainingError(f"{path.name} is not csv after line {rows.line_num}: {error}. Save it as csv.") from error
    _check_labels(path.name, examples)
    return examples


def _decoded(path: Path) -> str:
    try:
        return path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise TrainingError(f"{path} cannot be read ({error.strerror}). Give a csv file.") from error
    except UnicodeDecodeError as error:
        raise TrainingError(f"{path.name} is not UTF-8 (byte {error.start + 1}). Save the file as UTF-8.") from error


def _different(name: str, rows: "csv.DictReader[str]", text: str, label: str) -> Iterator[Example]:
    seen: dict[str, tuple[str, int]] = {}
    for row in rows:
        example = tuple((row[column] or "").strip() for column in (text, label))
        for column, cell in zip((text, label), example, strict=True):
            if not cell:
                raise TrainingError(f"{name}, line {rows.line_num} has no {column}. Write one, or remove the line.")
        line = rows.line_num
        other, first = seen.setdefault(example[0], (example[1], line))
        if other != example[1]:
            raise TrainingError(
                f"{name}, line {line} has the text of line {first}, as {example[1]!r} here and {other!r} there. "
                "Remove one of them."
            )
        if first == line:
            yield example[0], example[1]


def _check_labels(name: str, examples: Sequence[Example]) -> None:
    counts = Counter(label for _, label in examples)
    if len(counts) < 2:
        only = f"one label, {next(iter(counts))!r}" if counts else "no texts"
        raise TrainingError(f"{name} has {only}. To tell classes apart, there have to be texts of at least two.")
    if single := [label for label, count in counts.items() if count < 2]:
        raise TrainingError(
            f"{name} has only one text labelled {single[0]!r}. Each label needs two or more, so that one can be held "
            "out: add another, or remove it."
        )


def split(examples: Sequence[Example], seed: int) -> tuple[list[Example], list[Example]]:
    """What to train on and what to hold out: of each label a random tenth, at least one text."""
    by_label: dict[str, list[Example]] = {}
    for example in examples:
        by_label.setdefault(example[1], []).append(example)
    rng = default_rng(seed)
    held_out = set[Example]()
    for of_label in by_label.values():
        count = max(1, int(HELD_OUT_SHARE * len(of_label)))
        held_out |= {of_label[index] for index in rng.permutation(len(of_label))[:count]}
    return [each for each in examples if each not in held_out], [each for each in examples if each in held_out]

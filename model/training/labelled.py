"""Labelled texts: read from a table and split into training and held-out data."""

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from numpy.random import default_rng

from headlight.model.base.errors import InputError, TrainingError, nearest
from headlight.model.text.records import READERS, Record, as_text, place_of, read_records

HELD_OUT_SHARE = 0.1

Example = tuple[str, str]  # a text and its label


def read_labelled(path: Path, text: str = "text", label: str = "label") -> list[Example]:
    """The different texts of a table in UTF-8, each with its label, in their order; rows of empty cells are left out.

    Raises:
        TrainingError: the file cannot be read, is not UTF-8 or lacks a column, a cell is empty, a text has two labels,
            all labels are the same, or a label has only one text.
    """
    suffix = path.suffix.lower() if path.suffix.lower() in READERS else ".csv"
    try:
        examples = list(_different(path.name, read_records(path, suffix, text), text, label))
    except OSError as error:
        raise TrainingError(f"{path} cannot be read ({error.strerror}). Give a csv file.") from error
    except InputError as error:
        raise TrainingError(f"{path.name}: {error}") from error
    _check_labels(path.name, examples)
    return examples


def _different(name: str, records: Iterator[Record], text: str, label: str) -> Iterator[Example]:
    seen: dict[str, tuple[str, str]] = {}
    record = Record("Line 1", 1)
    for record in records:
        if record.fault:
            raise TrainingError(f"{name}: {record.fault}")
        places = [_place(name, record, column) for column in (text, label)]
        if record.is_header or record.is_blank:
            continue
        example = as_text(record.values[places[0]]).strip(), as_text(record.values[places[1]]).strip()
        where = record.where.lower()
        for column, cell in zip((text, label), example, strict=True):
            if not cell:
                raise TrainingError(f"{name}, {where} has no {column}. Write one, or remove the line.")
        other, first = seen.setdefault(example[0], (example[1], where))
        if other != example[1]:
            raise TrainingError(
                f"{name}, {where} has the text of {first}, as {example[1]!r} here and {other!r} there. "
                "Remove one of them."
            )
        if first == where:
            yield example
    if not record.names:
        _place(name, record, text)


def _place(name: str, record: Record, column: str) -> int:
    place = place_of(record.names, column)
    if place is None:
        raise TrainingError(
            f"{name} has no column {column!r}.{nearest(column, record.names)} Its columns are "
            f"{', '.join(record.names) or 'none: it is empty'}. Name yours by --text and --label."
        )
    return place


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
    """Split texts into training and held-out sets: of each label a random tenth is held out, at least one text."""
    by_label: dict[str, list[Example]] = {}
    for example in examples:
        by_label.setdefault(example[1], []).append(example)
    rng = default_rng(seed)
    held_out = set[Example]()
    for of_label in by_label.values():
        count = max(1, int(HELD_OUT_SHARE * len(of_label)))
        held_out |= {of_label[index] for index in rng.permutation(len(of_label))[:count]}
    return [each for each in examples if each not in held_out], [each for each in examples if each in held_out]

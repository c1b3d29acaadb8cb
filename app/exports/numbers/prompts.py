"""The page of prompts in numbers: a statistic of each prompt of the list, and of every head over all of them."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from app import runs
from app.csv_files import Cell
from app.exports.numbers.data import Count, Data, Table
from app.exports.numbers.sides import columns, number
from app.runs import HeadStatistics
from app.selection.chosen import Head, Selection
from app.shown import Shown
from app.views import prompt_statistics, prompts
from app.views.parts import name
from app.views.prompts import Listed, Row
from app.views.scores import SCORES
from model.analysis import Measure
from model.analysis.spread import Spread

HEADS = ("head", "mean", "standard deviation", "prompts")


@dataclass(frozen=True, eq=False)
class Found:
    """The prompts with their statistics, the head that is listed, and every head over the prompts that were run."""

    rows: tuple[Row, ...]
    head: Head
    n_prompts: int
    spread: Spread

    @property
    def over(self) -> str:
        """What the spread is over."""
        return f"over {self.n_prompts:,} prompt{'' if self.n_prompts == 1 else 's'}"


def found_of(listed: Sequence[Listed], shown: Shown, chosen: Selection) -> Found:
    """The statistics of A's model; those that the cache has lost in the meantime are taken again."""
    rows = tuple(Row(each.prompt, _statistics(each, chosen) if each.run else None, each.refused) for each in listed)
    known = prompts.distinct(rows)
    head = prompt_statistics.listed_head(shown.a, known, chosen)
    return Found(rows, head, len(known), prompt_statistics.over(known, chosen.statistic))


def _statistics(each: Listed, chosen: Selection) -> HeadStatistics:
    inputs = chosen.model, each.prompt.text, chosen.bos
    return runs.known_head_statistics(*inputs) or runs.head_statistics(*inputs)


def data(listed: Sequence[Listed], shown: Shown, chosen: Selection) -> Data:
    """The list with its statistic, every head's mean and deviation, and every prompt's heads as an array."""
    found = found_of(listed, shown, chosen)
    spread = found.spread
    tables = {"prompts": prompts_table(found, chosen), "heads": heads_table(spread)}
    arrays: dict[str, Measure | Count] = {
        "statistic": _statistic(found, chosen),
        "mean": spread.mean,
        "standard deviation": spread.sd,
        "count": Count("prompts that have a value", "prompts", spread.mean.axes, spread.count),
    }
    shows = {
        "statistic": SCORES[chosen.statistic].title,
        "unit": spread.mean.unit,
        "head listed in prompts.csv": name(found.head),
        "model": "A's; every prompt begins as A's does",
        "prompts run": found.n_prompts,
        "prompt axis": "the rows of prompts.csv; NaN where one was not run",
    }
    return Data("prompts", shows, tables, arrays)


def prompts_table(found: Found, chosen: Selection) -> Table:
    """Every prompt of the list with its labels, run or not."""
    return prompts.columns(found.rows, found.head, chosen.statistic)


def heads_table(spread: Spread) -> Table:
    """Every head's mean and standard deviation, and over how many prompts they are."""
    rows: list[tuple[Cell, ...]] = []
    n_heads = spread.count.shape[1]
    values = (each.flatten().tolist() for each in (spread.mean.values, spread.sd.values, spread.count))
    for place, (mean, sd, count) in enumerate(zip(*values, strict=True)):
        rows.append((name(divmod(place, n_heads)), number(mean), number(sd), count))
    return columns(HEADS, rows)


def _statistic(found: Found, chosen: Selection) -> Measure:
    mean = found.spread.mean
    absent = torch.full_like(mean.values, torch.nan)
    measures = [row.known.scores[chosen.statistic] if row.known else None for row in found.rows]
    first = next(filter(None, measures))
    values = torch.stack([absent if measure is None else measure.values for measure in measures])
    return Measure(first.name, first.unit, ("prompt", *first.axes), values)

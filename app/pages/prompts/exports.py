"""Exports of the page *Prompts*: its script, its numbers, and a file of its maps and tables."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import get_args

import torch

from headlight.app.exports.data import Count, Data, Table
from headlight.app.exports.drawings import Drawing, Drawings, table
from headlight.app.exports.script import loading, printing
from headlight.app.pages.prompts import prompt_statistics
from headlight.app.pages.prompts import view as prompts
from headlight.app.pages.prompts.choices import Choices
from headlight.app.pages.prompts.view import Listed, Row, cut
from headlight.app.parts.scores import SCORES
from headlight.app.runs import runs
from headlight.app.selection.chosen import Selection
from headlight.model.measure import Measure
from headlight.model.measure.spread import Spread
from headlight.model.roles.prompt_tables import heads_table
from headlight.model.roles.statistics import HeadStatistics
from headlight.model.runs.comparison import Comparison
from headlight.model.runs.edits import Head, head_name


def script(listed: Sequence[Listed], comparison: Comparison, chosen: Selection) -> str:
    """A script that prints a statistic of each prompt that was run, and of every head over all of them."""
    statistics, statistic = statistics_of(listed, comparison, chosen), chosen.choices_of(Choices).statistic
    literals = "".join(f"    {row.prompt.text!r},\n" for row in statistics.rows if row.known)
    options = {"head": statistics.head, "statistic": statistic, "prepend_bos": comparison.a.bos}
    lines = [f"model = {loading(comparison.a)}", f"prompts = [\n{literals}]"]
    purpose = f"{SCORES[statistic].title} of every head {statistics.over}."
    return printing(purpose, {"load"}, lines, "prompt_tables", "model", "prompts", **options)


@dataclass(frozen=True, eq=False)
class PromptStatistics:
    """The prompts with their statistics, the head that is listed, and every head over the prompts that were run."""

    rows: tuple[Row, ...]
    head: Head
    n_prompts: int
    spread: Spread

    @property
    def over(self) -> str:
        """Prompts over which the spread is taken."""
        return f"over {self.n_prompts:,} prompt{'' if self.n_prompts == 1 else 's'}"


def statistics_of(listed: Sequence[Listed], comparison: Comparison, chosen: Selection) -> PromptStatistics:
    """Statistics of A's model; those that the cache has evicted are computed again."""
    rows = tuple(Row(each.prompt, _statistics(each, chosen) if each.run else None, each.refused) for each in listed)
    known = prompts.distinct(rows)
    head = prompt_statistics.listed_head(comparison.a, known, chosen)
    return PromptStatistics(rows, head, len(known), prompt_statistics.over(known, chosen.choices_of(Choices).statistic))


def _statistics(each: Listed, chosen: Selection) -> HeadStatistics:
    inputs = chosen.model, each.prompt.text, chosen.bos
    return runs.head_statistics_or_none(*inputs) or runs.head_statistics(*inputs)


def data(listed: Sequence[Listed], comparison: Comparison, chosen: Selection) -> Data:
    """The list with its statistic, every head's mean and deviation, and every prompt's heads as an array."""
    statistics = statistics_of(listed, comparison, chosen)
    spread = statistics.spread
    tables = {"prompts": prompts_table(statistics, chosen), "heads": heads_table(spread)}
    arrays: dict[str, Measure | Count] = {
        "statistic": _statistic(statistics, chosen),
        "mean": spread.mean,
        "standard deviation": spread.sd,
        "count": Count("prompts that have a value", "prompts", spread.mean.axes, spread.count),
    }
    shows = {
        "statistic": SCORES[chosen.choices_of(Choices).statistic].title,
        "unit": spread.mean.unit,
        "head listed in prompts.csv": head_name(statistics.head),
        "model": "A's; every prompt begins as A's does",
        "prompts run": statistics.n_prompts,
        "prompt axis": "the rows of prompts.csv; NaN where one was not run",
    }
    return Data("prompts", shows, tables, arrays)


def prompts_table(statistics: PromptStatistics, chosen: Selection) -> Table:
    """Every prompt of the list with its labels, run or not."""
    return prompts.columns(statistics.rows, statistics.head, chosen.choices_of(Choices).statistic)


def _statistic(statistics: PromptStatistics, chosen: Selection) -> Measure:
    mean = statistics.spread.mean
    absent = torch.full_like(mean.values, torch.nan)
    measures = [
        row.known.scores[chosen.choices_of(Choices).statistic] if row.known else None for row in statistics.rows
    ]
    first = next(filter(None, measures))
    values = torch.stack([absent if measure is None else measure.values for measure in measures])
    return Measure(first.name, first.unit, ("prompt", *first.axes), values)


def drawings(listed: Sequence[Listed], comparison: Comparison, chosen: Selection) -> Drawings:
    """Every head's two numbers, the prompts that were run as plots, and tables; long prompts are cut as on the page."""
    statistics, statistic = statistics_of(listed, comparison, chosen), chosen.choices_of(Choices).statistic
    cut_prompts = {name: list(map(cut, cells)) for name, cells in prompts_table(statistics, chosen).items()}
    maps = [
        Drawing(prompt_statistics.head_map(statistics.spread, which), group=prompt_statistics.GROUP)
        for which in get_args(prompt_statistics.Measured)
    ]
    plots = prompt_statistics.rows(prompts.distinct(statistics.rows), statistics.head, statistic)
    tables = [table("Heads", prompt_statistics.by_mean(statistics.spread)), table("Prompts", cut_prompts)]
    title = f"Prompts, {SCORES[statistic].title} {statistics.over},"
    rows = [maps, *([Drawing(plot) for plot in row] for row in plots), tables]
    return Drawings(title, Comparison(comparison.a), rows, tokens=False)

"""One statistic of every head over many prompts: mean and standard deviation, as maps, as a table and as plots."""

from collections.abc import Callable, Mapping, Sequence
from typing import Literal, get_args

import numpy as np
import streamlit as st
from jaxtyping import Shaped

from headlight.app import selection
from headlight.app.components import CellMap, Column, Listed, Table, cell_map, row_table
from headlight.app.exports.csv_files import Cell, csv_bytes
from headlight.app.figures import several
from headlight.app.glossary import TERMS
from headlight.app.pages.prompts import ready_sets
from headlight.app.pages.prompts.choices import Choices, Statistic
from headlight.app.parts import options
from headlight.app.parts.charts import Rows
from headlight.app.parts.grid import head_axes
from headlight.app.parts.markdown import plain
from headlight.app.parts.parts import heading
from headlight.app.parts.scores import SCORES
from headlight.app.selection.chosen import Selection
from headlight.model.measure.spread import Spread, spread
from headlight.model.roles.statistics import HeadStatistics
from headlight.model.runs.edits import Head, head_name
from headlight.model.runs.run import Run

PerHead = Shaped[np.ndarray, "layer head"]
Measured = Literal["mean", "standard deviation"]
GROUP = "statistic"


def choose(run: Run, known: Sequence[HeadStatistics]) -> None:
    """The boxes that choose a statistic, and the head whose values the table of prompts lists."""
    now = selection.current().choices_of(Choices).statistic
    titles = {each: SCORES[each].title for each in get_args(Statistic)}
    heads = options.heads(range(run.cfg.n_layers), run.cfg.n_heads)
    options.row(
        options.bind(
            Listed, "statistic", "Statistic", page=Choices, options=titles, help=TERMS[SCORES[now].term], width=220
        ),
        options.bind(
            Listed,
            "statistic_head",
            "Head listed in the table",
            strongest(run, known, now),
            page=Choices,
            options=heads,
            help=TERMS["head"],
        ),
    )


def listed_head(run: Run, known: Sequence[HeadStatistics], chosen: Selection) -> Head:
    """The head whose values the table of prompts lists."""
    own = chosen.choices_of(Choices)
    return own.statistic_head or strongest(run, known, own.statistic)


def strongest(run: Run, known: Sequence[HeadStatistics], name: Statistic) -> Head:
    """The head with the largest mean over the prompts; of run A where none has been run."""
    values = over(known, name).mean.values if known else run.scores[name].values
    return divmod(int(values.nan_to_num(-1.0).argmax()), run.cfg.n_heads)


def over(known: Sequence[HeadStatistics], name: str) -> Spread:
    """A statistic's mean and standard deviation over prompts."""
    return spread([each.scores[name] for each in known])


def draw(run: Run, known: Sequence[HeadStatistics]) -> None:
    """The maps of all heads and the table sorted by mean."""
    own = selection.current().choices_of(Choices)
    over_prompts = over(known, own.statistic)
    title = SCORES[own.statistic].title
    many = "1 prompt" if len(known) == 1 else f"{len(known):,} different prompts"
    heading(f"{title} over {many}", "over_prompts", key="over")
    left, right = st.columns(2, gap="large")
    with left:
        _draw_map(over_prompts, "mean")
    with right:
        if over_prompts.sd.values.isnan().all():
            ready_sets.draw()
        else:
            _draw_map(over_prompts, "standard deviation")
    _table(by_mean(over_prompts))


def _draw_map(over_prompts: Spread, which: Measured) -> None:
    cell_map(head_map(over_prompts, which), group=GROUP, key=selection.widget_key(f"statistic {which}"))


def head_map(over_prompts: Spread, which: Measured) -> CellMap:
    """One of a statistic's two numbers of every head, which tells the other one too."""
    numbers = _numbers(over_prompts)
    values = numbers.pop(which)
    return CellMap(
        values,
        *head_axes(values.shape),
        title=f"{which} ({over_prompts.mean.unit})",
        lacks="in no prompt so far",
        details=numbers,
    )


def _numbers(over_prompts: Spread) -> dict[str, PerHead]:
    return {
        "mean": over_prompts.mean.values.numpy(),
        "standard deviation": over_prompts.sd.values.numpy(),
        "prompts": over_prompts.count.numpy(),
    }


def by_mean(over_prompts: Spread) -> dict[str, list[Cell]]:
    """Every head with its numbers, one row a head, the largest mean first."""
    numbers = _numbers(over_prompts)
    order = np.argsort(-np.nan_to_num(numbers["mean"], nan=-1.0), axis=None, kind="stable")
    n_heads = over_prompts.count.shape[1]
    known = {name: values.ravel()[order].tolist() for name, values in numbers.items()}
    return {
        "head": [head_name(divmod(int(place), n_heads)) for place in order],
        **{name: [None if value != value else value for value in values] for name, values in known.items()},
    }


def _table(columns: Mapping[str, Sequence[Cell]]) -> None:
    row_table(
        Table(
            [
                Column(name, cells, decimals=None if name in ("head", "prompts") else 3)
                for name, cells in columns.items()
            ],
            title="Every head's mean and standard deviation over the prompts, the largest mean first",
        ),
        key=selection.widget_key("heads_table"),
        choosable=False,
    )
    download("Download heads", "heads.csv", lambda: csv_bytes(columns))


def rows(known: Sequence[HeadStatistics], head: Head, statistic: Statistic) -> Rows:
    """Number of prompts with each value, and every head's mean with one standard deviation."""
    over_prompts, own = (
        over(known, statistic),
        np.stack([each.scores[statistic].values[head].numpy() for each in known]),
    )
    mean, sd = over_prompts.mean.values.numpy(), over_prompts.sd.values.numpy()
    title, unit = SCORES[statistic].title, over_prompts.mean.unit
    return [several.prompts(own, mean, sd, head=head_name(head), title=title, unit=unit)]


def download(label: str, name: str, make: Callable[[], bytes]) -> None:
    """A button that makes a csv file when it is pressed."""
    key = selection.widget_key(f"download.{name}")
    st.download_button(plain(label), make, file_name=name, mime="text/csv", on_click="ignore", key=key)

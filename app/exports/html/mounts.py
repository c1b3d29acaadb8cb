"""Each kind of description as a component of an html file."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from headlight.app.components import (
    CellMap,
    FlowChoice,
    FlowGraph,
    Followed,
    HeadGrid,
    HeadPanels,
    HeadSteps,
    LensGrid,
    LensPin,
    SampledTexts,
    Table,
    TokenBars,
    TokenStrip,
    TokenValues,
    cell_map,
    flow_graph,
    head_grid,
    head_steps,
    heads,
    lens_grid,
    row_table,
    sampled_texts,
    token_bars,
    token_strip,
    token_values,
)
from headlight.app.exports import pictures, style
from headlight.app.exports.drawings import BarList, BarsByPlace, Drawing, OpenableHeads
from headlight.app.exports.html.signed_bars import bars_by_place, signed_bars
from headlight.app.exports.html.still import still
from headlight.app.exports.style import DARK, LIGHT
from headlight.app.figures import Plot

Mount = Callable[[Any, Drawing, str], object]


def mount(drawing: Drawing, key: str) -> None:
    """Mount a drawing's components for an html file, with its subject chosen in them."""
    if drawing.description is not None:
        MOUNTS[type(drawing.description)](drawing.description, drawing, key)


def _cell_map(cells: CellMap, at: Drawing, key: str) -> None:
    cell_map(cells, choosable=at.chosen is not None, chosen=at.chosen, group=at.group, key=key)


def _flow_graph(graph: FlowGraph, at: Drawing, key: str) -> None:
    choice: FlowChoice = at.chosen
    flow_graph(graph, choice=choice, startable=False, key=key)


def _head_steps(steps: HeadSteps, at: Drawing, key: str) -> None:
    value: Followed = at.chosen
    head_steps(steps, value=value, epoch=0, key=key)


def _lens_grid(lens: LensGrid, at: Drawing, key: str) -> None:
    pinned: LensPin | None = at.chosen
    lens_grid(lens, pinned=pinned, epoch=0, key=key)


def _openable(heads_of: OpenableHeads, at: Drawing, key: str) -> None:
    head_grid(heads_of.grid, selected=heads_of.selected, epoch=0, key=f"{key} grid", group=at.group)
    token_strip(heads_of.strip, key=f"{key} strip", group=at.group)
    heads(heads_of.panels, pinned=at.chosen, epoch=0, key=f"{key} heads", group=at.group)


def _plot(plot: Plot, at: Drawing, key: str) -> None:
    light, dark = (style.file(partial(pictures.alone, plot, palette), palette, "svg") for palette in (LIGHT, DARK))
    still(light, dark, title=plot.title, key=key)


MOUNTS: Mapping[type, Mount] = {
    BarList: lambda bars, at, key: signed_bars(bars, key=key),
    BarsByPlace: lambda bars, at, key: bars_by_place(bars, place=at.chosen, group=at.group, key=key),
    CellMap: _cell_map,
    FlowGraph: _flow_graph,
    HeadGrid: lambda grid, at, key: head_grid(grid, selected=at.chosen or (), epoch=0, key=key, group=at.group),
    HeadPanels: lambda panels, at, key: heads(panels, pinned=at.chosen, epoch=0, key=key, group=at.group),
    HeadSteps: _head_steps,
    LensGrid: _lens_grid,
    OpenableHeads: _openable,
    Plot: _plot,
    SampledTexts: lambda texts, at, key: sampled_texts(texts, key=key),
    Table: lambda table, at, key: row_table(table, key=key, choosable=False, in_file=True),
    TokenBars: lambda bars, at, key: token_bars(bars, epoch=0, key=key, group=at.group, in_file=True),
    TokenStrip: lambda strip, at, key: token_strip(strip, key=key, group=at.group),
    TokenValues: lambda lines, at, key: token_values(lines, chosen=at.chosen, key=key),
}

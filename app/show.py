"""Headlight's pictures in a notebook, of anybody's arrays or of a run.

    from headlight import show

    show.attention(outputs.attentions, tokens)

Each call returns a picture that Jupyter, JupyterLab, VS Code and Colab show below the cell, with the hover, the pin and
the keys of the page. It is one html document in a frame of its own, so an exported notebook has it too, and it asks no
server for anything.
"""

import html
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any, ClassVar

import numpy as np
import torch
from jaxtyping import Float

from headlight.app.components import (
    CellMap,
    HeadPanel,
    HeadPattern,
    LensCells,
    LensColours,
    LensGrid,
    TokenAxis,
    TokenValues,
    encode_weights,
)
from headlight.app.exports import pictures, style
from headlight.app.exports.drawings import Drawing, Drawings
from headlight.app.exports.export import Export
from headlight.app.exports.html.document import document
from headlight.app.exports.openable_heads import openable_heads, pattern_maps
from headlight.app.pages.attention import EXPORT as ATTENTION
from headlight.app.pages.features import EXPORT as FEATURES
from headlight.app.pages.flow import EXPORT as FLOW
from headlight.app.pages.inside import EXPORT as INSIDE
from headlight.app.pages.lens import EXPORT as LENS
from headlight.app.pages.mlp import EXPORT as MLP
from headlight.app.pages.residual import EXPORT as RESIDUAL
from headlight.app.pages.why import EXPORT as WHY
from headlight.app.parts.grid import head_axes
from headlight.app.runs.thumbnails import Thumbnails, largest
from headlight.app.selection import Selection
from headlight.model.attention.fields import How
from headlight.model.base.errors import InputError
from headlight.model.base.files import write_bytes
from headlight.model.runs.comparison import Comparison
from headlight.model.runs.edits import Head
from headlight.model.runs.run import Run

HEIGHT = 640  # pixels of the frame, which scrolls
TOP = 10  # tokens that a cell of the lens lists
PATTERN = "blocks.{}.attn.hook_pattern"  # TransformerLens's name
SUMS_TO_ONE = 1e-2  # how far a row of half precision may be off
WRITERS: dict[str, style.Kind] = {".svg": "svg", ".pdf": "pdf", ".png": "png"}


@dataclass(frozen=True, eq=False, repr=False)
class Shown:
    """A picture in a notebook; `save` writes it as html, svg, pdf or png, by the file's ending."""

    drawings: Drawings
    height: int = HEIGHT

    @property
    def page(self) -> bytes:
        """The html document."""
        return document(self.drawings)

    def __repr__(self) -> str:
        """Text that a console prints, where nothing is drawn."""
        return f'{self.drawings.title} (a picture: a notebook draws it, and .save("picture.html") writes it)'

    def _repr_html_(self) -> str:
        text = html.escape(self.page.decode(), quote=True)
        return f'<iframe srcdoc="{text}" style="width: 100%; height: {self.height}px; border: 0"></iframe>'

    def save(self, path: str | Path, dark: bool = False, inches: float | None = None) -> Path:
        """Write the picture; html follows its reader's theme and window, whatever `dark` and `inches` are.

        Args:
            path: the file, which ends in .html, .svg, .pdf or .png.
            dark: whether the background is dark.
            inches: the width: papers' columns have about 3.25, their pages 6.75. As wide as its parts where it is None.

        Raises:
            InputError: the file's ending is none of these.
            WriteError: the file cannot be written.
        """
        path = Path(path)
        if path.suffix == ".html":
            write_bytes(path, self.page)
        elif (kind := WRITERS.get(path.suffix)) is not None:
            palette = style.DARK if dark else style.LIGHT
            draw = partial(pictures.picture, self.drawings, palette, inches=inches)
            write_bytes(path, style.file(draw, palette, kind))
        else:
            raise InputError(f"{path.name} ends in none of .html, .svg, .pdf and .png. Choose one of these endings.")
        return path


def attention(
    patterns: Any,
    tokens: Sequence[str],
    keys: Sequence[str] | None = None,
    *,
    heads: Sequence[Head] = ((0, 0),),
    title: str = "Attention",
    height: int = HEIGHT,
) -> Shown:
    """All heads' attention patterns (row = query, column = key), each to be opened from the grid of all.

    Args:
        patterns: probabilities as `[layer, head, query, key]`, `[head, query, key]` or `[query, key]`, a list of layers
            with or without a batch of one (`outputs.attentions` of transformers), or a cache of TransformerLens.
        tokens: the queries' tokens, as texts.
        keys: the keys' tokens, where they are other ones, as in cross-attention.
        heads: (layer, head) of those that are open at first.
        title: what stands above.
        height: pixels of the frame.

    Raises:
        InputError: the shapes do not fit, or the numbers are no probabilities.
    """
    cells = _patterns(patterns)
    own = list(tokens) if keys is None else list(keys)
    n_layers, n_heads, *shape = cells.shape
    if shape != [len(tokens), len(own)]:
        raise InputError(
            f"The patterns are of {shape[0]} queries and {shape[1]} keys, but there are {len(tokens)} tokens"
            f"{'' if keys is None else f' and {len(own)} keys'}. Give one text for each."
        )
    for layer, head in heads:
        if not (0 <= layer < n_layers and 0 <= head < n_heads):
            raise InputError(f"There is no L{layer}H{head} among {n_layers} layers of {n_heads} heads.")
    rows, columns = _axis(tokens), None if keys is None else _axis(own)
    others = (head for head in np.ndindex(n_layers, n_heads) if head not in heads)
    panels = [_panel(cells, head) for head in (*heads, *others)]
    pooled = Thumbnails(largest(torch.from_numpy(cells)).numpy(), 1.0, signed=False)
    name = "attention weight"
    openable = openable_heads(
        pooled, panels, rows, columns, Selection(), selected=tuple(heads), title=name, side="a", how=How()
    )
    on_paper = pattern_maps(
        list(heads),
        {"A": np.stack([cells[head] for head in heads])} if heads else {},
        rows.labels,
        own,
        title=name,
        unit_limit=True,
        signed=False,
        root=True,
        own_scale=False,
    )
    return Shown(Drawings(title, None, [[openable], *(on_paper if heads else [])]), height)


def _axis(tokens: Sequence[str]) -> TokenAxis:
    return TokenAxis(list(tokens), ["both"] * len(tokens))


def _panel(cells: Float[np.ndarray, "layer head query key"], head: Head) -> HeadPanel:
    pattern = cells[head]
    unknown = np.full(pattern.shape[0], np.nan, np.float32), np.full(pattern.shape[1], np.nan, np.float32)
    return HeadPanel(HeadPattern(*head, encode_weights(pattern), *unknown))


def _patterns(patterns: Any) -> Float[np.ndarray, "layer head query key"]:
    """The patterns as one array, with NaN where a causal mask hides a cell."""
    if isinstance(patterns, Mapping) or hasattr(patterns, "cache_dict"):
        patterns = _of_cache(patterns)
    layers = [_array(layer) for layer in patterns] if isinstance(patterns, list | tuple) else _array(patterns)
    if isinstance(layers, list):
        layers = [layer[0] if layer.ndim == 4 and len(layer) == 1 else layer for layer in layers]
        if not layers or len({layer.shape for layer in layers}) > 1:
            raise InputError("The layers' patterns have different shapes, or there are none. Give layers of one shape.")
        cells = np.stack(layers)
    else:
        cells = layers
    if not 2 <= cells.ndim <= 4:
        raise InputError(f"Patterns are [layer, head, query, key]; these have {cells.ndim} axes. Choose one prompt.")
    cells = cells.reshape((1,) * (4 - cells.ndim) + cells.shape)
    sums = np.nansum(cells, axis=-1)
    if (np.nan_to_num(cells) < 0).any() or (sums > 1 + SUMS_TO_ONE).any():
        raise InputError("These are no attention probabilities: some are negative, or a row sums to more than 1.")
    above = np.triu(np.ones(cells.shape[-2:], bool), 1)
    is_causal = cells.shape[-2] == cells.shape[-1] > 1 and not cells[..., above].any()
    return np.where(above, np.nan, cells) if is_causal else cells


def _of_cache(cache: Any) -> list[Any]:
    """The patterns of each layer in a cache of TransformerLens."""
    n_layers = 0
    while PATTERN.format(n_layers) in cache:
        n_layers += 1
    if not n_layers:
        raise InputError(f"The cache holds no {PATTERN.format(0)}. Run the model with that hook cached.")
    return [cache[PATTERN.format(layer)] for layer in range(n_layers)]


def _array(values: Any) -> Float[np.ndarray, "..."]:
    """A tensor of torch, wherever it lies, or whatever numpy reads, as float32."""
    if isinstance(values, torch.Tensor):
        values = values.detach().to("cpu", torch.float32).numpy()
    return np.asarray(values, dtype=np.float32)


def heads(values: Any, *, title: str = "score", signed: bool | None = None, height: int = 420) -> Shown:
    """Number of every head `[layer, head]` as a map; `title` names the measure, with its unit."""
    cells = _array(values)
    if cells.ndim != 2:
        raise InputError(f"Give a number for each head as [layer, head]; this has {cells.ndim} axes.")
    is_signed = bool((np.nan_to_num(cells) < 0).any()) if signed is None else signed
    drawn = CellMap(cells, *head_axes(cells.shape), title=title, scale="signed" if is_signed else "linear")
    return Shown(Drawings("Heads", None, [[Drawing(drawn)]]), height)


def tokens(labels: Sequence[str], values: Any, *, title: str = "value", height: int = 260) -> Shown:
    """Tokens coloured by a number each `[pos]`, or lines of them, by name; `title` names the measure."""
    named = values if isinstance(values, Mapping) else {"": values}
    lines = {str(name): _array(line) for name, line in named.items()}
    for name, line in lines.items():
        if line.shape != (len(labels),):
            raise InputError(f"There are {len(labels)} tokens, but {name or 'the values'} have the shape {line.shape}.")
    signed = any((np.nan_to_num(line) < 0).any() for line in lines.values())
    return Shown(Drawings(title, None, [[Drawing(TokenValues(list(labels), lines, title, signed=signed))]]), height)


def lens(
    logits: Any,
    tokens: Sequence[str],
    label: Callable[[int], str] | Sequence[str],
    *,
    layers: Sequence[str] | None = None,
    title: str = "Logit lens",
    height: int = 420,
) -> Shown:
    """The top tokens after each layer at each position, coloured by the best one's probability.

    Args:
        logits: `[layer, pos, d_vocab]`, from the first layer to the last, before the softmax.
        tokens: the input tokens, as texts.
        label: a token's text by its id, or the texts of all ids.
        layers: what the layers are called.
        title: what stands above.
        height: pixels of the frame.
    """
    values = torch.from_numpy(_array(logits))
    if values.ndim != 3 or values.shape[1] != len(tokens):
        raise InputError(f"Give logits as [layer, {len(tokens)} tokens, d_vocab]; these are {list(values.shape)}.")
    best = values.softmax(-1).topk(min(TOP, values.shape[-1]))
    ids, which = np.unique(best.indices.numpy(), return_inverse=True)
    say = label if callable(label) else label.__getitem__
    names = list(layers) if layers is not None else [f"L{layer}" for layer in range(len(values))]
    shape = best.indices.shape
    cells = LensCells(names, which.reshape(shape).astype(np.int32), best.values.numpy(), best.values[..., 0].numpy())
    colours = LensColours("probability of the top token", "", (0.0, 1.0), title)
    vocabulary = [str(say(int(each))) for each in ids]
    grid = LensGrid(cells, labels=list(tokens), vocabulary=vocabulary, colours=colours)
    return Shown(Drawings(title, None, [[Drawing(grid)]]), height)


class OfRun:
    """The pages of a run, by name: `show(run).attention()`, `show(run, b).residual(position=3)`."""

    PAGES: ClassVar[Mapping[str, Export]] = {
        "attention": ATTENTION,
        "features": FEATURES,
        "flow": FLOW,
        "inside": INSIDE,
        "lens": LENS,
        "mlp": MLP,
        "residual": RESIDUAL,
        "why": WHY,
    }

    def __init__(self, comparison: Comparison) -> None:
        self.comparison = comparison

    def __getattr__(self, page: str) -> Callable[..., Shown]:
        """The page of that name, with its choices as keywords."""
        if page not in self.PAGES:
            raise AttributeError(f"There is no page {page!r} of a run: there are {', '.join(self.PAGES)}.")
        return partial(self._show, self.PAGES[page])

    def _show(self, export: Export, *, height: int = HEIGHT, **chosen: Any) -> Shown:
        return Shown(export.drawings(self.comparison, Selection(**chosen)), height)


def pages(run: Run | Comparison) -> OfRun:
    """The pages of a run, or of two that are compared; `show(run)` is the same."""
    return OfRun(run if isinstance(run, Comparison) else Comparison(run))


class _Callable(ModuleType):
    """This module, which is called for the pages of a run."""

    def __call__(self, run: Run | Comparison) -> OfRun:
        return pages(run)


sys.modules[__name__].__class__ = _Callable

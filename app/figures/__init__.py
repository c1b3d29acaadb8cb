"""Plotly figures of `headlight.model`'s results, in one line each: arrays or results and labels in, figures out.

    from headlight.app.figures import residual_norms
    residual_norms(stream_norms(streams), labels)

A result is anything that has `values`, `unit` and `axes`, or an array. Where several are compared, a mapping of their
names (A, B, B − A) stands in its place, and all are in one figure, with a legend that switches them. No model is run
here, and no text is read as markup. `dark` figures are for dark pages.

Plotly is imported when the first figure is made: a page without one does not wait for it.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from headlight.app.figures import bar_list, plots, several
from headlight.app.figures.bar_list import Row
from headlight.app.figures.layout import Axis, Plot, beside, figure
from headlight.app.figures.plots import Bars
from headlight.app.figures.text import alike, token_name, token_names

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

__all__ = [
    "CONFIG",
    "Axis",
    "Bars",
    "Plot",
    "Row",
    "attention",
    "attribution",
    "bar_list",
    "beside",
    "components",
    "cosine",
    "figure",
    "followed_token",
    "generated",
    "head_scatter",
    "head_statistics",
    "logit_lens",
    "next_tokens",
    "patching_map",
    "plots",
    "prompt_statistics",
    "residual_norms",
    "several",
    "training_curves",
]

# Plotly's options: no links to its website, and downloads that are drawn by the browser.
CONFIG: Mapping[str, Any] = {
    "displaylogo": False,
    "displayModeBar": "hover",
    "plotlyServerURL": "",
    "topojsonURL": "",
    "typesetMath": False,
    "responsive": True,
    "modeBarButtonsToRemove": ["lasso2d", "select2d", "autoScale2d"],
    "toImageButtonOptions": {"format": "svg", "filename": "headlight"},
}


def array(result: Any) -> np.ndarray:
    """The numbers of a result, or an array as it is."""
    return np.asarray(result.values if hasattr(result, "axes") else result, dtype=np.float64)


def _unit(result: Any, otherwise: str) -> str:
    return str(getattr(result, "unit", otherwise))


def _sides(results: Any) -> dict[str, Any]:
    return dict(results) if isinstance(results, Mapping) else {"": results}


def _arrays(results: Any) -> dict[str, np.ndarray]:
    return {name: array(each) for name, each in _sides(results).items()}


def _layers(n_rows: int) -> list[str]:
    """Names of a residual stream's states, the embedding first."""
    return ["embed", *(f"L{layer}" for layer in range(n_rows - 1))]


def attention(
    pattern: Any,
    queries: Sequence[str],
    keys: Sequence[str] | None = None,
    *,
    titles: Sequence[str] = (),
    dark: bool = False,
) -> "Figure":
    """Attention of a head [query, key]; of a result [head, query, key], or a mapping, one map a head or name."""
    own = keys if keys is not None else queries
    if not isinstance(pattern, Mapping) and array(pattern).ndim == 3:
        pattern = {titles[at] if titles else f"H{at}": each for at, each in enumerate(array(pattern))}
    maps = [
        plots.cells(
            array(each),
            Axis("query", token_names(queries), down=True),
            Axis("key", token_names(own)),
            title=name,
            unit=_unit(each, "probability"),
            what="change of attention" if name == "B − A" else "attention",
            scale="diverging" if name == "B − A" else "linear",
            ends=None if name == "B − A" else (0.0, 1.0),
        )
        for name, each in _sides(pattern).items()
    ]
    return figure([maps[at : at + 3] for at in range(0, len(maps), 3)], dark)


def residual_norms(norms: Any, tokens: Sequence[str], position: int = -1, *, dark: bool = False) -> "Figure":
    """The residual stream's norm [layer, pos] by layer: one token's as a strong line over those of all."""
    sides = _arrays(norms)
    layers = _layers(max(map(len, sides.values())))
    own = {name: values[:, position] for name, values in sides.items()}
    every = np.concatenate(
        [np.pad(each.T, ((0, 0), (0, len(layers) - len(each))), constant_values=np.nan) for each in sides.values()]
    )
    plot = plots.lines(
        own,
        layers,
        title="Residual stream norm",
        unit="L2 norm",
        alone=tokens[position],
        faint=every,
        faint_name="every token",
        log=True,
    )
    return figure([[plot]], dark)


def components(result: Any, position: int = -1, *, dark: bool = False) -> "Figure":
    """Write of each component at a position, of a `Decomposition`: its norm, and its share of the final stream."""
    panels = [
        plots.bars(
            [Bars("", array(measure)[:, position], "blue")],
            result.components,
            title=title,
            unit=measure.unit,
            along="component",
        )
        for title, measure in [("Component norms", result.norms), ("Share of the final stream", result.shares)]
    ]
    return figure([panels], dark)


def cosine(values: Any, layers: Sequence[str] | None = None, *, dark: bool = False) -> "Figure":
    """The cosine between the residual stream after every two layers [layer, layer]."""
    sides = _arrays(values)
    return figure([[cosines(each, layers or _layers(len(each)), name) for name, each in sides.items()]], dark)


MAX_WRITTEN = 12  # layers of a map of cosines that has its numbers


def cosines(values: np.ndarray, layers: Sequence[str], name: str = "") -> Plot:
    """A plot of the cosines of A, of B, or of how they change."""
    change = name == "B − A"
    return plots.cells(
        values,
        Axis("after layer", layers[: len(values)], down=True),
        Axis("and after", layers[: len(values)]),
        title=f"Cosine between layers{name and f', {name}'}",
        unit="cosine",
        what="change" if change else "",
        scale="diverging" if change else "linear",
        ends=None if change else (0.0, 1.0),
        written=len(values) <= MAX_WRITTEN,
        height=240,
    )


def logit_lens(
    values: Any, tokens: Sequence[str], top: Sequence[Sequence[str]] | None = None, *, dark: bool = False
) -> "Figure":
    """A measure of the lens [layer, pos], with the top token [layer][pos] in each cell; the last layer on top."""
    grid = array(values)
    layers = _layers(len(grid))
    unit = _unit(values, "probability")
    ends = (0.0, 1.0) if unit == "probability" else None
    rows, columns = Axis("after layer", layers), Axis("token", token_names(tokens))
    plot = plots.cells(grid, rows, columns, title="Logit lens", unit=unit, ends=ends, words=top, written=True)
    return figure([[plot]], dark)


def followed_token(probabilities: Any, token: str, *, dark: bool = False) -> "Figure":
    """A token's probability after every layer [layer]."""
    sides = _arrays(probabilities)
    layers = _layers(max(map(len, sides.values())))
    return figure([[plots.lines(sides, layers, title=token, unit="probability", alone=token)]], dark)


def next_tokens(
    tokens: Sequence[str], probabilities: Any, *, title: str = "Next-token prediction", dark: bool = False
) -> "Figure":
    """The likeliest next tokens, with their probabilities [token]."""
    return figure([[likeliest(tokens, array(probabilities), title)]], dark)


def likeliest(tokens: Sequence[str], probabilities: np.ndarray, title: str, reach: float = 0.0) -> Plot:
    """A plot of the likeliest tokens, whose scale goes as far as `reach`, so that several plots share one."""
    names = (token_name(token, 1) for token in tokens)
    listed = [Row(name, [(0.0, p)], f"{p:.2%}") for name, p in zip(names, probabilities.tolist(), strict=True)]
    return bar_list.rows(listed, title=title, unit="probability", reach=reach)


def attribution(
    parts: Sequence[str], effects: Any, *, most: int = 14, total: str = "target − distractor", dark: bool = False
) -> "Figure":
    """Direct logit attribution [part]: the strongest parts, each from where the one before it ended, to their sum."""
    values = array(effects)
    order = np.argsort(-np.abs(values), kind="stable")
    kept = [(parts[at], float(values[at])) for at in order[:most]]
    if len(order) > most:
        kept.append((f"the other {len(order) - most}", float(values[order[most:]].sum())))
    ends = np.cumsum([0.0, *(value for _, value in kept)]).tolist()
    steps = [(name, *ends[at : at + 2]) for at, (name, _) in enumerate(kept)]
    return figure([[waterfall(steps, total, _unit(effects, "logits"))]], dark)


def waterfall(steps: Sequence[tuple[str, float, float]], total: str, unit: str = "logits") -> Plot:
    """A plot of direct effects, each part with the sum before and after it."""
    end = steps[-1][2]
    *texts, last = alike([*(end - start for _, start, end in steps), end], signed=True)
    listed = [
        Row(name, [(start, end)], text, "rest" if name.startswith("the other ") else "")
        for (name, start, end), text in zip(steps, texts, strict=True)
    ]
    return bar_list.rows(
        [*listed, Row(total, [(0.0, end)], last, "sum")],
        title="Direct logit attribution",
        unit=unit,
        what="direct effect",  # on what the last bar is called
    )


def patching_map(
    values: Any, columns: Sequence[str], rows: Sequence[str] | None = None, *, along: str = "token", dark: bool = False
) -> "Figure":
    """Effect of activation patching [layer, place]: blue towards the patched-in run, orange away from it."""
    cells = array(values)
    names = rows or [f"L{layer}" for layer in range(len(cells))]
    unit = _unit(values, "logits")
    y, x = Axis("layer", names), Axis(along, token_names(columns))
    return figure([[plots.cells(cells, y, x, title="Activation patching", unit=unit, scale="diverging")]], dark)


def head_scatter(
    scores: Any, low: Any = None, high: Any = None, *, title: str = "Scores of heads", dark: bool = False
) -> "Figure":
    """A score of every head [layer, head] as a point above its layer, with its interval if both ends are passed."""
    unit = _unit(next(iter(_sides(scores).values())), "score")
    low, high = (None if each is None else _arrays(each) for each in (low, high))
    drawn = plots.points(_arrays(scores), title=title, unit=unit, low=low, high=high, interval_name="interval")
    return figure([[drawn]], dark)


def head_statistics(mean: Any, sd: Any, *, title: str = "", dark: bool = False) -> "Figure":
    """Mean and standard deviation of every head's statistic over prompts [layer, head]."""
    unit = _unit(mean, "score")
    return figure(
        [[heads(array(mean), f"{title} mean".strip(), unit), heads(array(sd), "standard deviation", unit)]], dark
    )


def prompt_statistics(
    values: Any, mean: Any, sd: Any, *, head: str, title: str = "Score", dark: bool = False
) -> "Figure":
    """A head's statistic over prompts [prompt], and every head's mean with one standard deviation [layer, head]."""
    unit = _unit(mean, "score")
    panels = several.prompts(array(values), array(mean), array(sd), head=head, title=title, unit=unit)
    return figure([panels], dark)


def generated(probabilities: Any, entropies: Any, tokens: Sequence[str], *, dark: bool = False) -> "Figure":
    """Probability of each generated token [step], and entropy of the distribution it was drawn from [step], in nats."""
    return figure([several.steps(_arrays(probabilities), _arrays(entropies), tokens)], dark)


def heads(values: np.ndarray, title: str, unit: str, words: Sequence[Sequence[str]] | None = None) -> Plot:
    """A number of every head [layer, head] as a map."""
    n_layers, n_heads = values.shape
    rows = Axis("layer", [f"L{layer}" for layer in range(n_layers)], down=True)
    columns = Axis("head", [f"H{head}" for head in range(n_heads)])
    return plots.cells(values, rows, columns, title=title, unit=unit, words=words)


def training_curves(
    curves: Mapping[str, tuple[Any, Any]], unit: str, *, title: str = "Training", log: bool = False, dark: bool = False
) -> "Figure":
    """Curves of training runs: by name, the steps and the values at them."""
    lines = {name: (array(steps), array(values)) for name, (steps, values) in curves.items()}
    return figure([[plots.curves(lines, title=title, unit=unit, log=log)]], dark)

"""What an experiment says, in a sentence with its numbers."""

import numpy as np

from headlight.app.pages.experiments import maps
from headlight.app.parts.labels import isolated
from headlight.model.experiments.intervals import MIN_ROWS, Summary
from headlight.model.experiments.measurement import Measurement
from headlight.model.experiments.settings import ExperimentSettings

PARTS = {
    "all": "components",
    "z": "output",
    "q": "queries",
    "k": "keys",
    "v": "values",
    "pattern": "pattern",
    "resid_pre": "residual stream",
    "attn_out": "attention output",
    "mlp_out": "MLP output",
}
READ = {"q": "query", "k": "key", "v": "value"}
REPLACED = {"zero": "zeros", "mean": "its mean over the set", "resample": "its value in another row"}
METRICS = {"logit_diff": "logit difference", "prob_diff": "probability difference"}


def sentence(measurement: Measurement, summary: Summary, settings: ExperimentSettings) -> str:
    """The largest certain cell with its mean, its interval and the rows that agree; or why there is none."""
    n_rows = len(measurement.rows)
    what = "row" if measurement.corrupted is None else "pair"
    over = f"Over {n_rows:,} {what}{'' if n_rows == 1 else 's'}"
    if n_rows < MIN_ROWS:
        return f"{over} there is no interval: it needs at least {MIN_ROWS}. Add rows to the set."
    cells = maps.order(summary, 1)
    if not cells:
        return f"{over} no cell has a value."
    if bool(maps.uncertain(summary)[cells[0]]):
        return f"{over} every cell's 95% interval includes 0: this set shows no effect. More rows narrow intervals."
    if settings.measure == "lens" and measurement.cell_axes == ("layer",):
        return f"{over} {_of_lens(measurement, summary)}"
    return f"{over} {of_cell(measurement, summary, settings, cells[0])}"


def of_difference(measurement: Measurement, summary: Summary) -> str:
    """The cell in which B certainly differs most from A; or that there is none."""
    cells = maps.order(summary, 1)
    if not cells or bool(maps.uncertain(summary)[cells[0]]):
        return "every cell's 95% interval includes 0: no difference is certain."
    (cell,), unit = cells, measurement.measure.unit
    value = numbers(float(summary.mean[cell]), float(summary.low[cell]), float(summary.high[cell]), f" {unit}")
    count, share = int(summary.count[cell]), float(summary.share_of_sign[cell])
    agree = f"; {round(share * count):,} of {count:,} rows agree" if np.isfinite(share) else ""
    return f"{isolated(maps.name_of(measurement, cell))} differs most, by {value}{agree}."


def of_cell(measurement: Measurement, summary: Summary, settings: ExperimentSettings, cell: tuple[int, ...]) -> str:
    """What one cell does, with its numbers; not yet a sentence's beginning."""
    mean = float(summary.mean[cell])
    count = int(summary.count[cell])
    agree = round(float(summary.share_of_sign[cell]) * count)
    what = _what(measurement, settings, isolated(maps.name_of(measurement, cell)), mean)
    unit = measurement.measure.unit
    said = "" if unit in ("share", "probability") else f" {unit}"
    signed = settings.measure in ("ablation",)
    value = numbers(mean if signed else abs(mean), *_ends(summary, cell, mean if not signed else 1.0), said)
    return f"{what.format(value)}; {agree:,} of {count:,} rows agree."


def _ends(summary: Summary, cell: tuple[int, ...], sign: float) -> tuple[float, float]:
    low, high = float(summary.low[cell]), float(summary.high[cell])
    return (low, high) if sign >= 0 else (-high, -low)


def _what(measurement: Measurement, settings: ExperimentSettings, name: str, mean: float) -> str:
    """The sentence around the number, whose sign its words have."""
    metric, part = METRICS[settings.metric], PARTS[settings.part]
    match settings.measure:
        case "dla":
            return f"{name} adds {{}} to the answer" if mean >= 0 else f"{name} takes {{}} from the answer"
        case "patching" | "attribution":
            place = (
                f"the {part} of {name}" if settings.part in ("z", "q", "k", "v", "pattern") else f"the {part} {name}"
            )
            how = "estimated by gradients, " if settings.measure == "attribution" else ""
            into = (
                "clean {} into the corrupted run"
                if settings.direction == "denoise"
                else "corrupted {} into the clean run"
            )
            done = (
                ("restores" if mean >= 0 else "worsens by")
                if settings.direction == "denoise"
                else ("undoes" if mean >= 0 else "strengthens by")
            )
            return f"{how}patching {place} ({into.format('activations')}) {done} {{}} of the {metric}"
        case "path":
            read = READ[settings.read]
            return f"the path from {name} into {settings.receiver}'s {read} carries {{}} of the {metric}"
        case "ablation":
            return f"replacing the {part} of {name} by {REPLACED[settings.ablation]} changes the {metric} by {{}}"
        case "patterns":
            head, _, pair = name.partition(" ")
            query, _, key = pair.partition("→")
            return f"{head} attends from {query} to {key} with a weight of {{}}"
        case _:
            return f"the logit lens reads {{}} of the answer {_layer(name)}"


def _of_lens(measurement: Measurement, summary: Summary) -> str:
    """From which layer on the lens prefers the answer for good."""
    labels, unit = measurement.axis_labels("layer"), measurement.measure.unit
    above = (summary.low > 0).tolist()
    first = next((place for place in range(len(above)) if all(above[place:])), None)
    mean, low, high = (measure.tolist() for measure in (summary.mean, summary.low, summary.high))
    ends = f"{numbers(mean[-1], low[-1], high[-1], f' {unit}')} {_layer(labels[-1])}"
    if first is None:
        return f"the logit lens does not prefer the answer {_layer(labels[-1])}: {ends}."
    value = numbers(mean[first], low[first], high[first], f" {unit}")
    then = f", {ends}" if first < len(above) - 1 else ""
    return f"the logit lens prefers the answer for good {_layer(labels[first])}: {value}{then}."


def _layer(label: str) -> str:
    """When the stream of a row of the lens is read."""
    return "after the last layer" if label == "final" else f"before {label}"


def numbers(mean: float, low: float, high: float, unit: str) -> str:
    """A mean with its interval, to the second digit of the interval's half width."""
    half = (high - low) / 2
    if not (np.isfinite(half) and half > 0):
        return f"{mean:.3g}{unit}".replace("-", "−")
    decimals = min(6, max(0, 1 - int(np.floor(np.log10(half)))))
    return f"{mean:.{decimals}f}{unit} [{low:.{decimals}f}, {high:.{decimals}f}]".replace("-", "−")

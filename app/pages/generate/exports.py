"""Exports of the page *Generate*: its script, its numbers, and a file of every step."""

import numpy as np
import torch

from headlight.app.exports.data import Data
from headlight.app.exports.drawings import Drawing, Drawings, on_paper, on_screen
from headlight.app.exports.openable_heads import pattern_maps
from headlight.app.exports.script import report
from headlight.app.pages.generate import charts, generation, heads, steps
from headlight.app.pages.generate.choices import Choices
from headlight.app.pages.generate.written import GROUP, axis, heads_of, panel, step_of
from headlight.app.parts.first_heads import clearest
from headlight.app.selection.chosen import Selection
from headlight.model.attention import fields
from headlight.model.attention import fields as cells
from headlight.model.attention.fields import How
from headlight.model.decoding.compared import Continuations
from headlight.model.decoding.generate_tables import step_tables
from headlight.model.measure import Measure
from headlight.model.measure.difference import sides_of
from headlight.model.runs.comparison import Comparison
from headlight.model.runs.edits import head_name

PURPOSE = "What a model writes behind a prompt, and what each token was drawn from."


def script(comparison: Comparison, chosen: Selection) -> str:
    """A script that writes the same tokens, and prints every step, one step's choices and where heads looked for it."""
    own, continuations = chosen.choices_of(Choices), generation.both(comparison, chosen)
    options: dict[str, object] = {
        "n_new": own.n_new,
        "temperature": own.temperature,
        "top_k": own.top_k,
        "top_p": own.top_p,
        "seed": own.seed,
        "prefix": own.written,
        "stop": own.stop,
        "step": step_of(continuations, chosen),
        "heads": heads_of(continuations, chosen),
    }
    if comparison.b is not None:
        options["b_writes"] = own.b_writes
    return report(PURPOSE, comparison, chosen.align, "generate_tables", **options)


def data(comparison: Comparison, chosen: Selection) -> Data:
    """All steps, the likeliest tokens of the one looked at, and the chosen heads' rows where it was written."""
    continuations = generation.both(comparison, chosen)
    step, own = step_of(continuations, chosen), chosen.choices_of(Choices)
    shows: dict[str, object] = {
        "new tokens": own.n_new,
        "temperature": continuations.a.sampling.temperature,
        "top-k": continuations.a.sampling.top_k,
        "top-p": continuations.a.sampling.top_p,
        "seed": own.seed,
        "stops at the end of the text": own.stop,
        "ended by": continuations.a.reason,
        "written token ids": continuations.a.tokens.tolist(),
        "of these put there by the user": continuations.a.n_given,
        "step looked at, from 0": step,
        "heads": [head_name(head) for head in heads_of(continuations, chosen)],
    }
    if continuations.own is not None:
        shows["B writes"] = "its own tokens" if continuations.b is continuations.own else "the tokens of A"
        shows["token ids that B writes by itself"] = continuations.own.tokens.tolist()
    return Data(
        "generate",
        shows,
        step_tables(continuations, step, heads_of(continuations, chosen)),
        _arrays(continuations, chosen, step),
    )


def _arrays(continuations: Continuations, chosen: Selection, step: int) -> dict[str, Measure]:
    """The log-probabilities and entropies of every step; of the one looked at both whole distributions; heads' rows."""
    arrays: dict[str, Measure] = {}
    for side, each in continuations.sides.items():
        log_probs = Measure("log-probability of the written token", "nats", ("step",), each.log_probs)
        own, drawn = (Measure("entropy", "nats", ("step",), entropy) for entropy in each.entropies)
        arrays |= {
            f"{side} log-probabilities": log_probs,
            f"{side} entropies": own,
            f"{side} entropies of what is drawn from": drawn,
        }
        if 0 <= step < len(each.labels):
            for when, values in vars(each.chances(step)).items():
                called = f"probability {when} the cuts"
                arrays[f"{side} probabilities {when}"] = Measure(called, "probability", ("token",), values)
    if continuations.b is not None:
        divergence = continuations.divergence()
        arrays["divergence"] = Measure("Jensen-Shannon divergence", "nats", ("distribution", "step"), divergence)
    if (looking := heads_of(continuations, chosen)) and continuations.a.labels:
        places = [continuations.place(each) for each in range(len(continuations.a.labels))]
        for called, side in sides_of(continuations.b is not None).items():
            aligned = [
                cells.on_axis(continuations.comparison, side, head, How(), axis(continuations))[places]
                for head in looking
            ]
            measure = Measure("attention weight", "probability", ("head", "step", "place"), torch.stack(aligned))
            arrays[f"{called.replace(' ', '')} attention"] = measure
    return arrays


def drawings(comparison: Comparison, chosen: Selection) -> Drawings:
    """Steps to browse, and the attention of the chosen heads; a file generates nothing anew."""
    continuations, title = generation.both(comparison, chosen), "What follows a prompt, step by step,"
    bars = Drawing(steps.described(continuations, chosen), group=GROUP)
    if not continuations.a.labels:
        return Drawings(title, comparison, [[on_paper(*bars.for_paper)]])
    rows = [[bars], *([Drawing(plot) for plot in row] for row in charts.rows(continuations))]
    if panels := [panel(continuations, head) for head in heads_of(continuations, chosen)]:
        large, pin = heads.large(continuations, panels, chosen)
        rows.append([on_screen(heads.tokens(continuations, panels, chosen), group=GROUP), on_screen(large, pin, GROUP)])
    return Drawings(title, comparison, [*rows, *_looked(continuations, chosen)])


def _looked(continuations: Continuations, chosen: Selection) -> list[list[Drawing]]:
    """Attention of each head when each token was generated: a row a token."""
    places, listed = (
        [continuations.place(step) for step in range(len(continuations.a.labels))],
        heads_of(continuations, chosen),
    )
    listed = listed or clearest(continuations.comparison)
    cells = {
        name: np.stack(
            [
                fields.on_axis(continuations.comparison, side, head, How(), axis(continuations))[places].numpy()
                for head in listed
            ]
        )
        for name, side in sides_of(continuations.b is not None).items()
    }
    title = "attention weight when each token was written"
    return pattern_maps(
        listed,
        cells,
        continuations.a.labels,
        continuations.comparison.labels,
        title=title,
        unit_limit=True,
        signed=False,
        root=True,
        own_scale=False,
    )

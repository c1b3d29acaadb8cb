"""What is taken along of the page *Generate*: its script, its numbers, and a file of every step."""

import torch

from headlight.app.components.shared.mount import recorded
from headlight.app.exports.data import Data
from headlight.app.exports.html.document import document
from headlight.app.exports.script import report
from headlight.app.pages.generate import generation, heads, steps
from headlight.app.pages.generate.choices import Choices
from headlight.app.pages.generate.written import axis, heads_of, panel, step_of
from headlight.app.selection.chosen import Selection
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
    own, found = chosen.of(Choices), generation.both(comparison, chosen)
    options: dict[str, object] = {
        "n_new": own.n_new,
        "temperature": own.temperature,
        "top_k": own.top_k,
        "top_p": own.top_p,
        "seed": own.seed,
        "given": own.written,
        "stop": own.stop,
        "step": step_of(found, chosen),
        "heads": heads_of(found, chosen),
    }
    if comparison.b is not None:
        options["b_writes"] = own.b_writes
    return report(PURPOSE, comparison, chosen.align, "generate_tables", **options)


def data(comparison: Comparison, chosen: Selection) -> Data:
    """All steps, the likeliest tokens of the one looked at, and the chosen heads' rows where it was written."""
    found = generation.both(comparison, chosen)
    step, asked = step_of(found, chosen), chosen.of(Choices)
    shows: dict[str, object] = {
        "new tokens": asked.n_new,
        "temperature": found.a.sampling.temperature,
        "top-k": found.a.sampling.top_k,
        "top-p": found.a.sampling.top_p,
        "seed": asked.seed,
        "stops at the end of the text": asked.stop,
        "ended by": found.a.reason,
        "written token ids": found.a.tokens.tolist(),
        "of these put there by the user": found.a.n_given,
        "step looked at, from 0": step,
        "heads": [head_name(head) for head in heads_of(found, chosen)],
    }
    if found.own is not None:
        shows["B writes"] = "its own tokens" if found.b is found.own else "the tokens of A"
        shows["token ids that B writes by itself"] = found.own.tokens.tolist()
    return Data("generate", shows, step_tables(found, step, heads_of(found, chosen)), _arrays(found, chosen, step))


def _arrays(found: Continuations, chosen: Selection, step: int) -> dict[str, Measure]:
    """The log-probabilities and entropies of every step; of the one looked at both whole distributions; heads' rows."""
    arrays: dict[str, Measure] = {}
    for side, each in found.sides.items():
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
    if found.b is not None:
        divergence = found.divergence()
        arrays["divergence"] = Measure("Jensen-Shannon divergence", "nats", ("distribution", "step"), divergence)
    if (looking := heads_of(found, chosen)) and found.a.labels:
        places = [found.place(each) for each in range(len(found.a.labels))]
        for called, side in sides_of(found.b is not None).items():
            aligned = [cells.on_axis(found.comparison, side, head, How(), axis(found))[places] for head in looking]
            measure = Measure("attention weight", "probability", ("head", "step", "place"), torch.stack(aligned))
            arrays[f"{called.replace(' ', '')} attention"] = measure
    return arrays


def page(comparison: Comparison, chosen: Selection) -> bytes:
    """A file in which the steps can be gone through; nothing is written anew there."""
    found = generation.both(comparison, chosen)
    with recorded() as mounted:
        if found.a.labels:
            steps.bars(found, chosen, in_file=True)
            if panels := [panel(found, head) for head in heads_of(found, chosen)]:
                heads.draw_strip(found, panels, chosen, "strip")
                heads.draw_large(found, panels, chosen, 0, "heads")
    return document("What follows a prompt, step by step,", comparison, mounted, "plain")

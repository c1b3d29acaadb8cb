"""Tables of a continuation: every step, one step's candidates, and where heads attended."""

from collections.abc import Sequence

import torch

from headlight.model.attention.axis import axis_of
from headlight.model.attention.fields import How, on_axis
from headlight.model.decoding.compared import BWrites, Continuations, generate_steps
from headlight.model.decoding.continued import Writing
from headlight.model.decoding.distributions import Sampling
from headlight.model.former_names import former_keywords
from headlight.model.measure.difference import sides_of, with_difference
from headlight.model.runs.comparison import Comparison
from headlight.model.runs.edits import Head, head_name
from headlight.model.runs.tables import Rows, Tables, columns, finite, tokens_of

STEPS = [
    "run",
    "step",
    "token",
    "given",
    "log-probability (nats)",
    "entropy (nats)",
    "entropy of what is drawn from (nats)",
]
CHOICES = ["run", "rank", "token", "probability", "drawn with"]
WEIGHTS = ["head", "run", "place", "attention weight"]
OWN = ["step", "token B writes by itself", "its log-probability (nats)"]
APART = ["step", "A and B apart (nats)", "what they draw from apart (nats)"]


@former_keywords(given="prefix")
def generate_tables(
    comparison: Comparison,
    n_new: int = 20,
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float = 1.0,
    seed: int = 0,
    prefix: Sequence[int] = (),
    stop: bool = True,
    step: int | None = None,
    heads: Sequence[Head] = (),
    b_writes: BWrites = "same",
) -> Tables:
    """Generate a continuation of each prompt, and tabulate its tokens and the distributions they were sampled from.

    Args:
        comparison: one run, or two to compare.
        n_new: number of tokens to generate.
        temperature: divides the logits; 0 takes the most likely token.
        top_k: sample from this many most likely tokens.
        top_p: sample from the smallest set of tokens with this probability.
        seed: of the random generator.
        prefix: token ids that the continuation begins with.
        stop: whether to stop at a token that ends a text.
        step: the step whose candidates and attention rows are listed, by default the last.
        heads: (layer, head) pairs whose attention rows are listed.
        b_writes: whether B is fed A's tokens ("same") or generates its own ("own").

    Raises:
        HeadlightError: a setting or a token that a model does not allow.
    """
    how = Writing(n_new, Sampling(temperature=temperature, top_k=top_k, top_p=top_p), seed, tuple(prefix), stop)
    continuations = generate_steps(comparison, how, b_writes)
    return step_tables(continuations, len(continuations.a.labels) - 1 if step is None else step, heads)


def step_tables(continuations: Continuations, step: int, heads: Sequence[Head]) -> Tables:
    """Tables of the generated tokens."""
    tables = {
        "tokens": tokens_of(continuations.comparison),
        "steps": columns(STEPS, _steps(continuations)),
        "choices": columns(CHOICES, _choices(continuations, step)),
        "heads": columns(WEIGHTS, _heads(continuations, heads, step)),
    }
    if continuations.own is not None:
        own = zip(continuations.own.labels, continuations.own.log_probs.tolist(), strict=True)
        tables["own"] = columns(OWN, ((place, *each) for place, each in enumerate(own)))
        tables["apart"] = columns(
            APART, ((place, *each) for place, each in enumerate(continuations.divergence().T.tolist()))
        )
    return tables


def _steps(continuations: Continuations) -> Rows:
    rows = Rows()
    numbers = {side: torch.stack([each.log_probs, *each.entropies], -1) for side, each in continuations.sides.items()}
    for side, by_step in with_difference(numbers).items():
        each = continuations.sides.get(side)
        for step, values in enumerate(by_step.tolist()):
            named = (each.labels[step], int(step < each.n_given)) if each else (None, None)
            rows.append((side, step, *named, *values))
    return rows


def _choices(continuations: Continuations, step: int) -> Rows:
    listed = {side: each for side, each in continuations.candidates().items() if 0 <= step < len(each.tokens)}
    shares = {side: torch.stack([each.before[step], each.after[step]], -1) for side, each in listed.items()}
    rows = Rows()
    for side, by_token in with_difference(shares).items():
        each = listed.get(side, listed["A"])
        labels = continuations.a.run.tokenizer.labels(each.tokens[step].tolist())
        ranks = each.ranks[step].tolist() if side in listed else [None] * len(labels)
        rows += [(side, *row[:2], *row[2]) for row in zip(ranks, labels, by_token.tolist(), strict=True)]
    return rows


def _heads(continuations: Continuations, heads: Sequence[Head], step: int) -> Rows:
    """The rows of heads where the step's token was written."""
    rows = Rows()
    axis = axis_of(continuations.comparison, "token", continuations.align)
    for layer, head in heads if continuations.a.labels else ():
        for called, side in sides_of(continuations.b is not None).items():
            weights = on_axis(continuations.comparison, side, (layer, head), How(), axis)[continuations.place(step)]
            rows += [(head_name((layer, head)), called, key, weight) for (key,), weight in finite(weights)]
    return rows

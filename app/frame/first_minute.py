"""Attention in 45 seconds: what the first visitor is shown on the live picture, every number read from the run."""

from dataclasses import replace
from typing import Any

import torch

from headlight.app.parts.first_heads import clearest
from headlight.app.parts.labels import percent
from headlight.app.runs import comparisons, prompts
from headlight.app.selection import Selection
from headlight.model.measure.best import best
from headlight.model.runs.comparison import Comparison
from headlight.model.runs.edits import AblateHeads, Head, head_name
from headlight.model.runs.head import attend
from headlight.model.runs.run import Run

FOUND = 0.3  # weight on the token after the earlier copy, from which it counts as found
KIND = 0.3  # score from which a head is counted as one of a kind
LIKE_BEST = 0.5  # share of the best head's score from which others copy too
DOES = {"previous_token": "look one step back", "first_token": "rest on the first token"}  # by score
N_EXAMPLES, N_RUNNERS_UP = 3, 3


def is_told_by(comparison: Comparison) -> bool:
    """Whether there is something to tell: one run of a language model with a head that copies at its last token."""
    run = comparison.a
    if comparison.b is not None or run.cfg.output != "tokens" or run.cfg.attention_dir != "causal":
        return False
    head = clearest(comparison)[0]
    score = float(run.scores["induction"].values[head])
    return score >= KIND and _row(run, head, len(run.tokens) - 1)["found"]


def read(chosen: Selection) -> dict[str, Any] | None:
    """What is told of the run on the page; None where there is nothing to tell."""
    comparison = comparisons.for_selection(chosen)
    if not is_told_by(comparison):
        return None
    run, (head, *_) = comparison.a, clearest(comparison)
    copying = _copying(run)
    without = comparisons.for_selection(replace(chosen, edits=(AblateHeads(copying),), edits_off=())).b
    assert without is not None  # as there is an edit
    return {
        "tokens": len(run.tokens),
        "layers": run.cfg.n_layers,
        "heads": run.cfg.n_layers * run.cfg.n_heads,
        "guesses": _likely(run),
        "head": head_name(head),
        "rows": [_row(run, head, query) for query in _repeated(run)],
        "copying": [head_name(each) for each in copying],
        "kinds": _kinds(run, copying),
        "after": {"chance": _chance(without, int(run.next_logits.argmax())), "guesses": _likely(without)},
        "examples": [(each.title, each.name) for each in prompts.examples()[1 : N_EXAMPLES + 1]],
    }


def _likely(run: Run) -> list[tuple[str, float, str]]:
    """The likeliest next tokens, each with its probability, and this in words."""
    tokens = best(run.next_logits, N_RUNNERS_UP + 1).indices.tolist()
    labels = run.outputs.labels(tokens)
    chances = run.next_logits.softmax(-1)[tokens].tolist()
    return [(label, chance, percent(chance)) for label, chance in zip(labels, chances, strict=True)]


def _chance(run: Run, token: int) -> tuple[float, str]:
    chance = float(run.next_logits.softmax(-1)[token])
    return chance, percent(chance) if chance >= 0.01 else f"{100 * chance:.1f}%"


def _copying(run: Run) -> tuple[Head, ...]:
    """The heads whose induction score comes near the best one's."""
    scores = run.scores["induction"].values
    heads = torch.nonzero(scores >= LIKE_BEST * scores.max()).tolist()
    return tuple((layer, head) for layer, head in heads)


def _kinds(run: Run, copying: tuple[Head, ...]) -> list[tuple[str, list[str]]]:
    """What heads do on this text, and the names of those that do it: each head once."""
    kinds, counted = [("find an earlier copy", list(copying))], set(copying)
    for score, does in DOES.items():
        heads = [(layer, head) for layer, head in torch.nonzero(run.scores[score].values >= KIND).tolist()]
        kinds.append((does, [head for head in heads if head not in counted]))
        counted.update(heads)
    return [(does, [head_name(head) for head in heads]) for does, heads in kinds if heads]


def _repeated(run: Run) -> list[int]:
    """Places of tokens that have stood before."""
    tokens = run.tokens.tolist()
    return [place for place, token in enumerate(tokens) if token in tokens[:place]]


def _row(run: Run, head: Head, query: int) -> dict[str, Any]:
    """Where the head looks from a token, and whether that is the token after an earlier copy."""
    weights, tokens = attend(run, *head).pattern[query], run.tokens.tolist()
    key = int(weights.argmax())
    is_copy = 0 < key <= query and tokens[key - 1] == tokens[query] and float(weights[key]) >= FOUND
    labels = run.labels[query], run.labels[key]
    return {"query": query, "key": key, "weight": float(weights[key]), "found": is_copy, "labels": labels}

"""From dot products to weights, as equations: all that the model does with scores."""

from collections.abc import Callable, Iterator
from typing import cast

import numpy as np
from jaxtyping import Float

from headlight.app.components import HeadStep, StepMatrix
from headlight.app.pages.inside.chosen import Inside
from headlight.app.pages.inside.writer import Writer, row, scalar
from headlight.app.parts.labels import number


def attending(write: Writer) -> Iterator[HeadStep]:
    """The steps between query, keys and weights."""
    at, steps, window = write.at, write.at.steps, list(write.at.window)

    def over_keys(name: str, values: Float[np.ndarray, " key"]) -> StepMatrix:
        return row(name, "key", values[window], cells=True)

    dots, scores, masked = (
        over_keys(name, each.values.numpy())
        for name, each in (("q · k", steps.dots), ("score", steps.scores), ("masked", steps.masked))
    )
    yield write.step(
        "Dot products",
        "dot_product",
        ("q Kᵀ: q · k for each key", "Kᵀ q: q · k for each key"),
        "How well each key answers the query.",
        write.product(
            row("q", "d_head", steps.q.values.numpy()),
            StepMatrix("Kᵀ", "d_head", "key", steps.k.values.numpy()[window].T),
            "=",
            dots,
        ),
    )
    d_head, divisor = len(steps.q.values), at.weights.attn_scale
    why = f"√d_head = √{d_head}" if abs(divisor - d_head**0.5) < 1e-6 else "this model's own attn_scale"
    yield write.step(
        "Scale",
        "attn_scale",
        (f"score = q · k / {number(divisor)}",) * 2,
        f"Divided by {number(divisor)}, {why}, so that wide heads do not saturate the softmax.",
        write.line(dots, "/", scalar("scale", divisor), "=", scores),
    )
    for score_step in _beyond_dots(write, scores, over_keys):
        yield score_step
        scores = cast(StepMatrix, score_step.equations[0][-1])
    yield write.step("Mask", "mask", *_mask(at), write.line(scores, "→", masked))
    largest, total = float(steps.largest.values), float(steps.total.values)
    exponentials = over_keys("exp(score − max)", steps.exponentials.values.numpy())
    weights = over_keys("a", steps.weights.values.numpy())
    yield write.step(
        "Softmax",
        "softmax",
        ("a = exp(score − max) / Σ exp(score − max)",) * 2,
        "Taking the largest score off every score changes no weight, and keeps exp from overflowing. The sum is over "
        + ("all keys." if steps.sink is None else "all keys and the head's sink, a learned score that no key has."),
        write.line("exp (", masked, "−", scalar("max", largest), ") =", exponentials),
        write.line("divided by", scalar("Σ", total), "=", weights),
    )


def _beyond_dots(
    write: Writer, scores: StepMatrix, over_keys: Callable[[str, Float[np.ndarray, " key"]], StepMatrix]
) -> Iterator[HeadStep]:
    """What the model does with scaled dot products before it masks them."""
    steps, cap = write.at.steps, write.at.run.cfg.attn_scores_soft_cap
    if steps.biased is not None:
        added = over_keys("bias", (steps.biased.values - steps.scores.values).numpy())
        biased = over_keys("score", steps.biased.values.numpy())
        note = "What is added to each score for how far away its key stands."
        yield write.step(
            "Position's bias", "position_bias", ("score + bias",) * 2, note, write.line(scores, "+", added, "=", biased)
        )
        scores = biased
    if steps.capped is not None:
        capped = over_keys("score", steps.capped.values.numpy())
        formula = f"{number(cap or 0)} tanh(score / {number(cap or 0)})"
        yield write.step(
            "Soft cap", "soft_cap", (formula,) * 2, "No score gets beyond the cap.", write.line(scores, "→", capped)
        )


def _mask(at: Inside) -> tuple[tuple[str, str], str]:
    """The mask as a formula, in both conventions, and in words."""
    causal, window = at.run.cfg.attention_dir == "causal", at.run.cfg.window(at.head[0])
    seen = "A token may look at itself and at what came before it" if causal else "This model looks both ways"
    if window is None:
        return ("score = −∞ where key > query" if causal else "no mask",) * 2, f"{seen}."
    formula = f"score = −∞ outside a window of {window}"
    near = f"the {window} tokens that end with itself" if causal else f"{window // 2} tokens to both sides"
    return (formula,) * 2, f"{seen}, in this layer no farther than {near}."

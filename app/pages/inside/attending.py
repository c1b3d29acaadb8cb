"""From dot products to weights, as equations: all that the model does with scores."""

from collections.abc import Iterator
from typing import cast

from jaxtyping import Float
from torch import Tensor

from headlight.app.components import HeadStep, StepMatrix
from headlight.app.pages.inside.choices import Inside
from headlight.app.pages.inside.writer import Writer, row, scalar
from headlight.app.parts.labels import number


def attending(write: Writer) -> Iterator[HeadStep]:
    """The steps between query, keys and weights."""
    at, steps = write.at, write.at.steps
    dots, scores, masked = (
        _over_keys(at, name, each.values)
        for name, each in (("q · k", steps.dots), ("score", steps.scores), ("masked", steps.masked))
    )
    yield _dot_products(write, dots)
    yield _scale(write, dots, scores)
    for score_step in _beyond_dots(write, scores):
        yield score_step
        scores = cast(StepMatrix, score_step.equations[0][-1])
    yield write.step("Mask", "mask", *_mask(at), write.line(scores, "→", masked))
    yield _softmax(write, masked)


def _over_keys(at: Inside, name: str, values: Float[Tensor, " key"]) -> StepMatrix:
    return row(name, "key", values.numpy()[list(at.window)], cells=True)


def _dot_products(write: Writer, dots: StepMatrix) -> HeadStep:
    steps, window = write.at.steps, list(write.at.window)
    return write.step(
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


def _scale(write: Writer, dots: StepMatrix, scores: StepMatrix) -> HeadStep:
    d_head, divisor = len(write.at.steps.q.values), write.at.weights.attn_scale
    why = f"√d_head = √{d_head}" if abs(divisor - d_head**0.5) < 1e-6 else "this model's own attn_scale"
    return write.step(
        "Scale",
        "attn_scale",
        (f"score = q · k / {number(divisor)}",) * 2,
        f"Divided by {number(divisor)}, {why}, so that wide heads do not saturate the softmax.",
        write.line(dots, "/", scalar("scale", divisor), "=", scores),
    )


def _beyond_dots(write: Writer, scores: StepMatrix) -> Iterator[HeadStep]:
    """Terms that the model adds to scaled dot products before it masks them."""
    at, steps, cap = write.at, write.at.steps, write.at.run.cfg.attn_scores_soft_cap
    if steps.biased is not None:
        added = _over_keys(at, "bias", steps.biased.values - steps.scores.values)
        biased = _over_keys(at, "score", steps.biased.values)
        note = "What is added to each score for how far away its key stands."
        yield write.step(
            "Position's bias", "position_bias", ("score + bias",) * 2, note, write.line(scores, "+", added, "=", biased)
        )
        scores = biased
    if steps.capped is not None:
        capped = _over_keys(at, "score", steps.capped.values)
        formula = f"{number(cap or 0)} tanh(score / {number(cap or 0)})"
        yield write.step(
            "Soft cap", "soft_cap", (formula,) * 2, "No score gets beyond the cap.", write.line(scores, "→", capped)
        )


def _softmax(write: Writer, masked: StepMatrix) -> HeadStep:
    at, steps = write.at, write.at.steps
    largest, total = float(steps.largest.values), float(steps.total.values)
    exponentials = _over_keys(at, "exp(score − max)", steps.exponentials.values)
    weights = _over_keys(at, "a", steps.weights.values)
    return write.step(
        "Softmax",
        "softmax",
        ("a = exp(score − max) / Σ exp(score − max)",) * 2,
        "Taking the largest score off every score changes no weight, and keeps exp from overflowing. The sum is over "
        + ("all keys." if steps.sink is None else "all keys and the head's sink, a learned score that no key has."),
        write.line("exp (", masked, "−", scalar("max", largest), ") =", exponentials),
        write.line("divided by", scalar("Σ", total), "=", weights),
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

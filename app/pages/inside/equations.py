"""The steps of a head as equations of matrices, one token a row (q = x̂ W_Q) or one token a column (q = W_Qᵀ x̂)."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from jaxtyping import Float

from headlight.app.components import HeadStep, StepMatrix
from headlight.app.components.head_steps import Axis, Term
from headlight.app.glossary import TERMS
from headlight.app.pages.inside import spelled
from headlight.app.pages.inside.choices import Convention
from headlight.app.pages.inside.chosen import Inside
from headlight.app.parts.labels import number
from headlight.model.analysis.difference import subtract

Cells = Float[np.ndarray, "row column"]


@dataclass(frozen=True, eq=False)
class Writer:
    """Writes equations about one run's head in one convention."""

    at: Inside
    convention: Convention

    def step(
        self, title: str, term: str, formula: tuple[str, str], note: str, *equations: tuple[Term, ...]
    ) -> HeadStep:
        """A step whose numbers `spelled` has under its term; `formula` is for rows and for columns."""
        chosen = formula[self.convention == "column"]
        return HeadStep(title, term, TERMS[term], chosen, note, equations, tuple(SPELLED[term](self.at)))

    def line(self, *terms: Term) -> tuple[Term, ...]:
        """Element by element: in either convention in the same order."""
        if self.convention == "row":
            return terms
        return tuple(replace(term.turned, name=term.name) if isinstance(term, StepMatrix) else term for term in terms)

    def product(self, left: StepMatrix, right: StepMatrix, *rest: Term) -> tuple[Term, ...]:
        """A product of matrices and what follows it."""
        if self.convention == "row":
            return left, "·", right, *rest
        return right.turned, "·", left.turned, *self.line(*rest)


SPELLED = {
    "residual": spelled.stream,
    "layer_norm": spelled.norm,
    "query": spelled.query,
    "key": spelled.key,
    "dot_product": spelled.dots,
    "attn_scale": spelled.scale,
    "mask": spelled.mask,
    "softmax": spelled.softmax,
    "value": spelled.value,
    "weighted_sum": spelled.weighted,
    "head_output": spelled.output,
}


def steps_of(at: Inside, convention: Convention) -> list[HeadStep]:
    """All steps of one head at one query, in the order in which the model takes them."""
    write = Writer(at, convention)
    return [*_reading(write), *_projecting(write), *_attending(write), *_writing(write)]


def row(
    name: str, columns: Axis, values: Float[np.ndarray, " column"], rows: Axis = "query", cells: bool = False
) -> StepMatrix:
    """A vector as a matrix of one row."""
    return StepMatrix(name, rows, columns, values[None], cells)


def scalar(name: str, value: float) -> StepMatrix:
    """A number as a matrix of one cell."""
    return StepMatrix(name, "one", "one", np.array([[value]], np.float32), cells=True)


def _reading(write: Writer) -> Iterator[HeadStep]:
    at, steps, window = write.at, write.at.steps, list(write.at.window)
    stream = steps.stream.values.numpy()
    below = "" if at.head[0] == 0 else ", and what every layer below wrote"
    yield write.step(
        "Residual stream",
        "residual",
        ("X: a row for each token", "X: a column for each token"),
        f"What layer {at.head[0]} reads: the sum of the token's embedding and its position's{below}. x is the "
        "query's part of X.",
        write.line(row("x", "d_model", stream[at.query]), "in", StepMatrix("X", "key", "d_model", stream[window])),
    )
    if steps.normalized is None or at.weights.norm is None:
        return
    mean, sd = (float(each.values[at.query]) for each in (steps.normalized.mean, steps.normalized.sd))
    normalized, norm = steps.normalized.values.values.numpy(), at.weights.norm
    terms: list[Term] = ["(", row("x", "d_model", stream[at.query]), "−", scalar("mean", mean), ") /", scalar("sd", sd)]
    if norm.w is not None and norm.b is not None:
        terms += ["⊙", row("w", "d_model", norm.w.numpy(), "one"), "+", row("b", "d_model", norm.b.numpy(), "one")]
    yield write.step(
        "LayerNorm",
        "layer_norm",
        ("x̂ = (x − mean) / sd" + (" ⊙ w + b" if norm.w is not None else ""),) * 2,
        f"sd is the root of the mean square of x − mean, with {norm.eps:g} added under the root. Every token's x "
        "is treated alike, which gives X̂.",
        write.line(*terms, "=", row("x̂", "d_model", normalized[at.query])),
        write.line(StepMatrix("X̂", "key", "d_model", normalized[window])),
    )


def _projecting(write: Writer) -> Iterator[HeadStep]:
    at, steps, weights = write.at, write.at.steps, write.at.weights
    read = steps.read.values.numpy()
    yield write.step(
        "Query",
        "query",
        ("q = x̂ W_Q + b_Q", "q = W_Qᵀ x̂ + b_Q"),
        "What this token asks for.",
        write.product(
            row("x̂", "d_model", read[at.query]),
            StepMatrix("W_Q", "d_model", "d_head", weights.W_Q.numpy(), transposed="W_Qᵀ"),
            "+",
            row("b_Q", "d_head", weights.b_Q.numpy(), "one"),
            "=",
            row("q", "d_head", steps.q.values.numpy()),
        ),
    )
    yield _projected(write, "Keys", "key", "K", weights.W_K.numpy(), weights.b_K.numpy(), steps.k.values.numpy())


def _projected(
    write: Writer,
    title: str,
    term: str,
    name: Literal["K", "V"],
    W: Cells,
    b: Float[np.ndarray, " column"],
    result: Cells,
) -> HeadStep:
    """Keys or values of all tokens."""
    at, window, W_name = write.at, list(write.at.window), f"W_{name}"
    columns: Axis = "d_head" if name == "K" else "d_value"
    offered = {"K": "What each token can be found by.", "V": "What each token passes on if it is attended to."}
    return write.step(
        title,
        term,
        (f"{name} = X̂ {W_name} + b_{name}", f"{name} = {W_name}ᵀ X̂ + b_{name}"),
        f"{offered[name]} The bias is added to every token.",
        write.product(
            StepMatrix("X̂", "key", "d_model", at.steps.read.values.numpy()[window]),
            StepMatrix(W_name, "d_model", columns, W, transposed=f"{W_name}ᵀ"),
            "+",
            row(f"b_{name}", columns, b, "one"),
            "=",
            StepMatrix(name, "key", columns, result[window]),
        ),
    )


def _attending(write: Writer) -> Iterator[HeadStep]:
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
    causal = at.run.cfg.attention_dir == "causal"
    yield write.step(
        "Mask",
        "mask",
        ("score = −∞ where key > query" if causal else "no mask",) * 2,
        "A token may look at itself and at what came before it." if causal else "This model looks both ways.",
        write.line(scores, "→", masked),
    )
    largest, total = float(steps.largest.values), float(steps.total.values)
    exponentials = over_keys("exp(score − max)", steps.exponentials.values.numpy())
    weights = over_keys("a", steps.weights.values.numpy())
    yield write.step(
        "Softmax",
        "softmax",
        ("a = exp(score − max) / Σ exp(score − max)",) * 2,
        "Taking the largest score off every score changes no weight, and keeps exp from overflowing. The sum is over "
        "all keys.",
        write.line("exp (", masked, "−", scalar("max", largest), ") =", exponentials),
        write.line("divided by", scalar("Σ", total), "=", weights),
    )


def _writing(write: Writer) -> Iterator[HeadStep]:
    at, steps, weights = write.at, write.at.steps, write.at.weights
    window, v = list(at.window), steps.v.values.numpy()
    yield _projected(write, "Values", "value", "V", weights.W_V.numpy(), weights.b_V.numpy(), v)
    yield write.step(
        "Weighted sum",
        "weighted_sum",
        ("z = a V", "z = V a"),
        "The values, mixed by the weights. The sum is over all keys.",
        write.product(
            row("a", "key", steps.weights.values.numpy()[window], cells=True),
            StepMatrix("V", "key", "d_value", v[window]),
            "=",
            row("z", "d_value", steps.z.values.numpy()),
        ),
    )
    yield write.step(
        "Output",
        "head_output",
        ("out = z W_O", "out = W_Oᵀ z"),
        "What this head adds to the query's residual stream. The bias b_O belongs to all heads of the layer together.",
        write.product(
            row("z", "d_value", steps.z.values.numpy()),
            StepMatrix("W_O", "d_value", "d_model", weights.W_O.numpy(), transposed="W_Oᵀ"),
            "=",
            row("out", "d_model", steps.output.values.numpy()),
        ),
    )


def difference(a: list[HeadStep], b: list[HeadStep]) -> list[HeadStep]:
    """The result of each step that both take, B less A; their windows are of the same keys."""
    paired = {step.term: step for step in b}
    return [_change(step, paired[step.term]) for step in a if step.term in paired]


def _change(a: HeadStep, b: HeadStep) -> HeadStep:
    one, other = (step.equations[-1][-1] for step in (a, b))
    assert isinstance(one, StepMatrix)  # every equation ends with its result
    assert isinstance(other, StepMatrix)
    if one.values.shape != other.values.shape:
        shapes = (" × ".join(map(str, matrix.values.shape)) for matrix in (one, other))
        note = "{} in A and {} in B: there is nothing to subtract.".format(*shapes)
        return replace(a, formula="", note=note, equations=(), spelled=())
    with np.errstate(invalid="ignore"):  # masked in both: no difference
        changed = replace(one, name=f"B − A of {one.name}", values=subtract(one.values, other.values))
    return replace(a, formula="", note="", equations=((changed,),), spelled=())

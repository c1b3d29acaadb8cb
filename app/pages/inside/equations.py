"""The steps of a head as equations of matrices, one token a row (q = x̂ W_Q) or one token a column (q = W_Qᵀ x̂)."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Literal

import numpy as np
from jaxtyping import Float

from headlight.app.components import HeadStep, StepMatrix
from headlight.app.components.head_steps import Axis, Term
from headlight.app.pages.inside.attending import attending
from headlight.app.pages.inside.choices import Convention, Inside
from headlight.app.pages.inside.writer import BIASES, Writer, row, scalar
from headlight.app.parts.labels import number
from headlight.model.measure.difference import subtract

Cells = Float[np.ndarray, "row column"]


def steps_of(at: Inside, convention: Convention) -> list[HeadStep]:
    """All steps of one head at one query, in the order in which the model takes them."""
    write = Writer(at, convention)
    return [*_reading(write), *_projecting(write), *attending(write), *_writing(write)]


def _reading(write: Writer) -> Iterator[HeadStep]:
    at, steps, window = write.at, write.at.steps, list(write.at.window)
    stream = steps.stream.values.numpy()
    below = "" if at.head[0] == 0 else ", and what every layer below wrote"
    yield write.step(
        "Residual stream",
        "residual",
        ("X: a row for each token", "X: a column for each token"),
        f"What layer {at.head[0]} reads: {_begun(at)}{below}. x is the query's part of X.",
        write.line(row("x", "d_model", stream[at.query]), "in", StepMatrix("X", "token", "d_model", stream[window])),
    )
    if steps.normalized is None or at.weights.norm is None:
        return
    mean, sd = (float(each.values[at.query]) for each in (steps.normalized.mean, steps.normalized.sd))
    normalized, norm = steps.normalized.values.values.numpy(), at.weights.norm
    x = row("x", "d_model", stream[at.query])
    terms: list[Term] = ["(", x, "−", scalar("mean", mean), ") /", scalar("sd", sd)]
    formula, meaning = "x̂ = (x − mean) / sd", "sd is the root of the mean square of x − mean"
    if not norm.centred:
        terms, formula, meaning = [x, "/", scalar("rms", sd)], "x̂ = x / rms", "rms is the root of the mean square of x"
    for name, symbol, own in (("w", "⊙", norm.w), ("b", "+", norm.b)):
        if own is not None:
            terms += [symbol, row(name, "d_model", own.numpy(), "one")]
            formula += f" {symbol} {name}"
    yield write.step(
        norm.name,
        "layer_norm" if norm.centred else "rms_norm",
        (formula,) * 2,
        f"{meaning}, with {norm.eps:g} added under the root. Every token's x is treated alike, which gives X̂.",
        write.line(*terms, "=", row("x̂", "d_model", normalized[at.query])),
        write.line(StepMatrix("X̂", "token", "d_model", normalized[window])),
    )


def _begun(at: Inside) -> str:
    """Beginning of the stream, in words."""
    names = ["embedding" if name == "token embedding" else name for name, _ in at.run.embeddings()]
    if names == ["embedding", "position embedding"]:
        return "the sum of the token's embedding and its position's"
    return f"the token's {names[0]}" if len(names) == 1 else f"the sum of {', '.join(names)}"


def _projecting(write: Writer) -> Iterator[HeadStep]:
    at, steps, weights = write.at, write.at.steps, write.at.weights
    read = steps.read.values.numpy()
    q, k = steps.first_q or steps.q, steps.first_k or steps.k
    yield write.step(
        "Query",
        "query",
        write.projection("q", "x̂", "Q"),
        "What this token asks for.",
        write.product(
            row("x̂", "d_model", read[at.query]),
            StepMatrix("W_Q", "d_model", "d_head", weights.W_Q.numpy(), transposed="W_Qᵀ"),
            *write.bias("Q", "d_head", weights.b_Q.numpy()),
            "=",
            row("q", "d_head", q.values.numpy()),
        ),
    )
    yield _projected(write, "Keys", "key", "K", weights.W_K.numpy(), weights.b_K.numpy(), k.values.numpy())
    if steps.first_q is not None:
        yield _compared(write)


def _compared(write: Writer) -> HeadStep:
    """Steps between reading query and keys and comparing them."""
    at, steps, window = write.at, write.at.steps, list(write.at.window)
    turns = at.run.model.block(at.head[0]).attn.rotary is not None
    cfg = at.run.cfg
    steps_taken = (("normalised", cfg.use_qk_norm), ("clipped", cfg.clip_qkv is not None), ("turned", turns))
    done = [name for name, is_taken in steps_taken if is_taken]
    done = done[::-1] if cfg.qk_norm_after_rotary else done
    return write.step(
        f"{' and '.join(done).capitalize()}",
        "compared",
        (f"q and K, {' and '.join(done)}",) * 2,
        f"What is compared: every query and key {_by(cfg.clip_qkv, turns)}. From here on q and k are these.",
        write.line(
            row("q", "d_head", steps.first_q.values.numpy() if steps.first_q else steps.q.values.numpy()),
            "→",
            row("q", "d_head", steps.q.values.numpy()),
        ),
        write.line(StepMatrix("K", "key", "d_head", steps.k.values.numpy()[window])),
    )


def _by(limit: float | None, turns: bool) -> str:
    """The last step on a query or a key, in words."""
    if turns:
        return "by the angles of its own position"
    return "by its own norm" if limit is None else f"clipped at ±{number(limit)}"


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
    limit = at.run.cfg.clip_qkv if name == "V" else None
    clip = "" if limit is None else f" Components beyond ±{number(limit)} are clipped to it."
    return write.step(
        title,
        term,
        write.projection(name, "X̂", name),
        offered[name] + (" The bias is added to every token." if at.has_bias(BIASES[name]) else "") + clip,
        write.product(
            StepMatrix("X̂", "key", "d_model", at.steps.read.values.numpy()[window]),
            StepMatrix(W_name, "d_model", columns, W, transposed=f"{W_name}ᵀ"),
            *write.bias(name, columns, b),
            "=",
            StepMatrix(name, "key", columns, result[window]),
        ),
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
        _written(at),
        write.product(
            row("z", "d_value", steps.z.values.numpy()),
            StepMatrix("W_O", "d_value", "d_model", weights.W_O.numpy(), transposed="W_Oᵀ"),
            "=",
            row("out", "d_model", steps.output.values.numpy()),
        ),
    )


def _written(at: Inside) -> str:
    """Steps after a head's output, in words."""
    cfg, has_bias = at.run.cfg, at.has_bias("b_O")
    scaled = "" if cfg.residual_scale == 1.0 else f", times {number(cfg.residual_scale)},"
    if cfg.use_normalization_before_and_after:
        return (
            f"What this head gives. All heads of the layer{' and the bias b_O' if has_bias else ''} are added up and "
            f"normalised together{scaled} before they join the query's residual stream."
        )
    after = ", which is normalised then" if cfg.post_norm else ""
    bias = " The bias b_O belongs to all heads of the layer together." if has_bias else ""
    return f"What this head adds{scaled} to the query's residual stream{after}.{bias}"


def difference(a: list[HeadStep], b: list[HeadStep]) -> list[HeadStep]:
    """B minus A of the result of each step that both have; their windows have the same keys."""
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

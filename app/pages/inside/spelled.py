"""One number followed through a head: each step's arithmetic, written out with the model's own numbers."""

import math
from collections.abc import Sequence
from typing import SupportsFloat

import numpy as np
from jaxtyping import Float

from headlight.app.pages.inside.choices import Inside
from headlight.app.parts.labels import number
from headlight.model.measure.head_steps import Terms, terms

TERMS_SHOWN = 3


def summed(products: Terms, index: str, numbers: Sequence[int] | None = None) -> str:
    """Largest products of a sum, and the rest in one number; `numbers` names its indices."""
    called = [at if numbers is None else numbers[at] for at, _, _ in products.largest]
    parts = [
        f"{_factor(one)} × {_factor(other)} ({index} = {name})"
        for name, (_, one, other) in zip(called, products.largest, strict=True)
    ]
    if products.n_rest:
        parts.append(f"{_factor(products.rest)} (the other {products.n_rest:,})")
    return " + ".join(parts)


def _factor(value: float) -> str:
    return number(value) if value >= 0 else f"({number(value)})"


def stream(at: Inside) -> list[str]:
    """The entry of the stream that is followed."""
    value = number(float(at.steps.stream.values[at.query, at.entry]))
    return [f"x[{at.entry}] = {value}, the entry that adds most to q[{at.component}] below"]


def norm(at: Inside) -> list[str]:
    """That entry after LayerNorm."""
    normalized, m = at.steps.normalized, at.entry
    if normalized is None:
        return []
    x, mean, sd = (
        float(each[at.query]) for each in (at.steps.stream.values[:, m], normalized.mean.values, normalized.sd.values)
    )
    parameters = at.weights.norm
    assert parameters is not None  # what was normalised was normalised by it
    text = f"x̂[{m}] = ({number(x)} − {_factor(mean)})" if parameters.centred else f"x̂[{m}] = {number(x)}"
    text += f" / {number(sd)}"
    for symbol, own in (("×", parameters.w), ("+", parameters.b)):
        text += "" if own is None else f" {symbol} {_factor(float(own[m]))}"
    return [f"{text} = {number(float(normalized.values.values[at.query, m]))}"]


def query(at: Inside) -> list[str]:
    """A component of the query's vector."""
    products = terms(at.steps.read.values[at.query], at.weights.W_Q[:, at.component], TERMS_SHOWN)
    q = at.steps.first_q or at.steps.q
    bias = at.weights.b_Q.numpy() if at.has_bias("b_Q") else None
    return [_projected("q", at.component, products, "Q", bias, q.values[at.component])]


def key(at: Inside) -> list[str]:
    """That component of the followed key's vector."""
    products = terms(at.steps.read.values[at.key], at.weights.W_K[:, at.component], TERMS_SHOWN)
    value = (at.steps.first_k or at.steps.k).values[at.key, at.component]
    bias = at.weights.b_K.numpy() if at.has_bias("b_K") else None
    return [f"Key {at.key_place}: " + _projected("k", at.component, products, "K", bias, value)]


def value(at: Inside) -> list[str]:
    """That component of the followed key's value."""
    i = at.value_component
    products = terms(at.steps.read.values[at.key], at.weights.W_V[:, i], TERMS_SHOWN)
    bias = at.weights.b_V.numpy() if at.has_bias("b_V") else None
    return [f"Key {at.key_place}: " + _projected("v", i, products, "V", bias, at.steps.v.values[at.key, i])]


def _projected(
    name: str, i: int, products: Terms, matrix: str, bias: Float[np.ndarray, " component"] | None, result: SupportsFloat
) -> str:
    head, sums = f"{name}[{i}] = Σ x̂[m] W_{matrix}[m, {i}]", summed(products, "m")
    if bias is not None:
        head, sums = f"{head} + b_{matrix}[{i}]", f"{sums} + {_factor(float(bias[i]))} (b_{matrix})"
    return f"{head} = {sums} = {number(float(result))}"


def compared(at: Inside) -> list[str]:
    """Steps on that component of query and key before they are compared."""
    steps, i = at.steps, at.component
    if steps.first_q is None or steps.first_k is None:
        return []
    q, k = (number(float(each[i])) for each in (steps.first_q.values, steps.first_k.values[at.key]))
    return [
        f"q[{i}] = {q} becomes {number(float(steps.q.values[i]))} at place {at.query_place}",
        f"k[{i}] = {k} of key {at.key_place} becomes {number(float(steps.k.values[at.key, i]))} at its place",
    ]


def bias(at: Inside) -> list[str]:
    """Bias of the followed key's score."""
    steps = at.steps
    if steps.biased is None:
        return []
    before, after = (float(each.values[at.key]) for each in (steps.scores, steps.biased))
    return [f"Key {at.key_place}: {number(before)} + {_factor(after - before)} = {number(after)}"]


def cap(at: Inside) -> list[str]:
    """Soft cap of the followed key's score."""
    steps, at_most = at.steps, at.run.cfg.attn_scores_soft_cap
    if steps.capped is None or at_most is None:
        return []
    before, after = (float(each.values[at.key]) for each in (steps.biased or steps.scores, steps.capped))
    cap_text = number(at_most)
    return [f"Key {at.key_place}: {cap_text} tanh({number(before)} / {cap_text}) = {number(after)}"]


def dots(at: Inside) -> list[str]:
    """The one dot product."""
    products = terms(at.steps.q.values, at.steps.k.values[at.key], TERMS_SHOWN)
    i = at.component
    own = [number(float(each)) for each in (at.steps.q.values[i], at.steps.k.values[at.key, i])]
    product = number(float(at.steps.q.values[i] * at.steps.k.values[at.key, i]))
    dot = number(float(at.steps.dots.values[at.key]))
    return [
        f"Key {at.key_place}: q · k = Σ q[i] k[i] = {summed(products, 'i')} = {dot}",
        f"of which i = {i} gives {own[0]} × {_bracketed(own[1])} = {product}",
    ]


def _bracketed(text: str) -> str:
    return f"({text})" if text.startswith("−") else text


def scale(at: Inside) -> list[str]:
    """The dot product divided."""
    dot, score = (float(each.values[at.key]) for each in (at.steps.dots, at.steps.scores))
    return [f"Key {at.key_place}: {number(dot)} / {number(at.weights.attn_scale)} = {number(score)}"]


def mask(at: Inside) -> list[str]:
    """Mask of a key that the query must not see."""
    score, window = number(float(at.steps.masked.values[at.key])), at.run.cfg.window(at.head[0])
    if at.steps.masked.values[at.key].isneginf() and (at.key <= at.query or at.run.cfg.attention_dir != "causal"):
        where = f"outside the window of {window} tokens around query {at.query_place}"
        return [f"Key {at.key_place} is {where}: its score becomes −∞"]
    if at.run.cfg.attention_dir != "causal":
        return [f"Key {at.key_place}: this model looks both ways, so the score stays {score}"]
    if at.key > at.query:
        return [f"Key {at.key_place} comes after query {at.query_place}: its score becomes −∞"]
    return [f"Key {at.key_place} does not come after query {at.query_place}: its score stays {score}"]


def softmax(at: Inside) -> list[str]:
    """The score's exponential as a share of all."""
    steps = at.steps
    score, exponential, weight = (
        float(each.values[at.key]) for each in (steps.masked, steps.exponentials, steps.weights)
    )
    largest, total = float(steps.largest.values), float(steps.total.values)
    return [
        f"Key {at.key_place}: exp({number(score)} − {_factor(largest)}) = {number(exponential)}",
        f"{number(exponential)} / {number(total)} = {number(weight)}, the attention weight",
        *_sink(at, largest, total),
    ]


def _sink(at: Inside, largest: float, total: float) -> list[str]:
    """Weight of the row on the head's sink, if it has one."""
    if at.steps.sink is None:
        return []
    score = float(at.steps.sink.values)
    share = number(math.exp(score - largest) / total)
    formula = f"exp({number(score)} − {_factor(largest)}) / {number(total)} = {share}"
    return [f"The sink takes {formula}, so that the weights of all keys sum to 1 less that"]


def weighted(at: Inside) -> list[str]:
    """A component of the weighted sum."""
    i = at.value_component
    products = terms(at.steps.weights.values, at.steps.v.values[:, i], TERMS_SHOWN)
    own = float(at.steps.weights.values[at.key]), float(at.steps.v.values[at.key, i])
    return [
        f"z[{i}] = Σ a[j] v[j, {i}] = {summed(products, 'key', at.places)} = {number(float(at.steps.z.values[i]))}",
        f"of which key {at.key_place} gives {number(own[0])} × {_factor(own[1])} = {number(own[0] * own[1])}",
    ]


def output(at: Inside) -> list[str]:
    """The entry of the stream that the head changes most, and how long its whole output is."""
    written = at.steps.output.values
    m = int(written.abs().argmax())
    products = terms(at.steps.z.values, at.weights.W_O[:, m], TERMS_SHOWN)
    length = (
        f"‖out‖ = {number(float(written.norm()))}; the stream here has length "
        f"{number(float(at.steps.stream.values[at.query].norm()))}"
    )
    if at.has_bias("b_O"):
        bias = number(float(at.weights.b_O.norm()))
        length += f". b_O, of length {bias}, is added once for all heads of the layer and is not in it"
    return [
        f"out[{m}] = Σ z[i] W_O[i, {m}] = {summed(products, 'i')} = {number(float(written[m]))}, its largest entry",
        length,
    ]

"""A head's two circuits from tokens to tokens, never multiplied out: each is kept as the two thin factors of a product.

QK says how high a token that looks scores a token that is looked at, OV how far a token that is attended to raises the
logit of every token. Both are vocabulary x vocabulary (10 GB for GPT-2) and of rank d_head, so that the factors
[vocabulary, d_head] and [d_head, vocabulary] hold all of it (26 MB).

A reading of the weights, not of a run: token embeddings alone, without positions, earlier layers and biases, at a
LayerNorm scale of 1. With a `gain` the LayerNorm before is counted by its centring and its gain.

Source: Elhage et al. 2021, "A Mathematical Framework for Transformer Circuits".
"""

from dataclasses import dataclass, replace

import torch
from jaxtyping import Float, Int
from torch import Tensor

from model.analysis import Measure, Unit
from model.analysis.ov import reading, writing

BLOCK_ROWS, BLOCK_COLUMNS = 256, 2048  # of a product at once: 2 MiB in float32; 8 MiB take twice as long
SLACK = 1e-5  # by which a bound in float32 may be too low, in shares of the norms it is made of; 64 products round less

Gain = Float[Tensor, " d_model"]


@dataclass(frozen=True, eq=False)
class Circuit:
    """The matrix A B, whose entry [i, j] is what the row token i does to the column token j, in `unit`."""

    name: str
    unit: Unit
    axes: tuple[str, str]
    A: Float[Tensor, "row d_head"]
    B: Float[Tensor, "d_head column"]

    @property
    def T(self) -> "Circuit":
        """The same from the columns' side."""
        return Circuit(self.name, self.unit, (self.axes[1], self.axes[0]), self.B.T, self.A.T)


def qk_circuit(
    W_E: Float[Tensor, "d_vocab d_model"],
    W_Q: Float[Tensor, "d_model d_head"],
    W_K: Float[Tensor, "d_model d_head"],
    attn_scale: float,
    gain: Gain | None = None,
) -> Circuit:
    """The score of every query token with every key token: W_E W_Q W_Kᵀ W_Eᵀ / attn_scale (nats)."""
    if gain is not None:
        W_Q, W_K = reading(W_Q, gain), reading(W_K, gain)
    return Circuit(
        "score by the QK circuit", "nats", ("query token", "key token"), W_E @ W_Q, (W_E @ W_K / attn_scale).T
    )


def ov_circuit(
    W_E: Float[Tensor, "d_vocab d_model"],
    W_V: Float[Tensor, "d_model d_value"],
    W_O: Float[Tensor, "d_value d_model"],
    W_U: Float[Tensor, "d_model d_vocab_out"],
    gain: Gain | None = None,
    final_gain: Gain | None = None,
) -> Circuit:
    """What attending to a source token adds to every token's logit: W_E W_V W_O W_U (logits).

    `final_gain` counts the LayerNorm before the unembedding, as `gain` does the one before the head.
    """
    W_V = W_V if gain is None else reading(W_V, gain)
    W_O = W_O if final_gain is None else writing(W_O, final_gain)
    return Circuit("logit by the OV circuit", "logits", ("source token", "promoted token"), W_E @ W_V, W_O @ W_U)


def balanced(circuit: Circuit) -> Circuit:
    """The same matrix from factors that share its strengths alike, with which `top_pairs` finds most to leave out."""
    left, right, strengths = _singular(circuit)
    roots = strengths.sqrt()
    return replace(circuit, A=(left * roots).to(circuit.A), B=(right * roots).to(circuit.B).T)


@dataclass(frozen=True, eq=False)
class Pairs:
    """Entries of a circuit, the outermost first: their row and column tokens and their values [pair]."""

    rows: Measure
    columns: Measure
    values: Measure


def _pairs(circuit: Circuit, values: Tensor, rows: Tensor, columns: Tensor) -> Pairs:
    first, second = circuit.axes
    return Pairs(
        Measure(first, "token id", ("pair",), rows),
        Measure(second, "token id", ("pair",), columns),
        Measure(circuit.name, circuit.unit, ("pair",), values),
    )


def top_pairs(circuit: Circuit, k: int, lowest: bool = False) -> Pairs:
    """The k largest entries of all, or the k lowest: exact, by blocks, with one product of 2 MiB at a time.

    A block of rows is a ball around their mean m with a radius r, so that no entry of column b is above m·b + r‖b‖:
    the columns whose bound is below the k-th entry found so far are left out. Longest rows come first, since they make
    the bar high at once. Of entries that tie for the last place any may be given.
    """
    rows, columns = circuit.A * (-1 if lowest else 1), circuit.B.T.contiguous()
    lengths, order = columns.norm(dim=1), rows.norm(dim=1).argsort(descending=True)
    best, where = rows.new_empty(0), order.new_empty(0, 2)
    for block in order.split(BLOCK_ROWS):
        own, bar = rows[block], _bar(best, k)
        mean = own.mean(0)
        radius = (own - mean).norm(dim=1).max()
        bound = columns @ mean + lengths * (radius + SLACK * (radius + mean.norm()))
        for part in (bound >= bar).nonzero()[:, 0].split(BLOCK_COLUMNS):
            product = own @ columns[part].T
            if len(part) and product.max() > _bar(best, k):
                found, at = product.flatten().topk(min(k, product.numel()))
                places = torch.stack([block[at // len(part)], part[at % len(part)]], 1)
                best, kept = torch.cat([best, found]).topk(min(k, len(best) + len(found)))
                where = torch.cat([where, places])[kept]
    return _pairs(circuit, -best if lowest else best, where[:, 0], where[:, 1])


def _bar(best: Float[Tensor, " pair"], k: int) -> float:
    """What an entry must exceed to be among the k largest."""
    return float(best[-1]) if len(best) == k else -torch.inf


def partners(circuit: Circuit, row: int, k: int, lowest: bool = False) -> Pairs:
    """The k largest entries of one row, or the k lowest; of a column by `circuit.T`."""
    values = circuit.A[row] @ circuit.B
    found, columns = values.topk(min(k, len(values)), largest=not lowest)
    return _pairs(circuit, found, torch.full_like(columns, row), columns)


@dataclass(frozen=True, eq=False)
class End:
    """The tokens at both ends of each direction, the outermost first, and their entries there.

    Axis `end`: 0 is the direction itself, 1 its opposite.
    """

    tokens: Measure
    loads: Measure


@dataclass(frozen=True, eq=False)
class Directions:
    """The strongest singular directions: strengths in the circuit's unit [direction], and who stands at their ends.

    Entry [i, j] of the circuit is the sum over directions of strength x load of i x load of j, the loads of a direction
    having length 1 over the vocabulary. So row tokens at one end act up on column tokens at the same end, and down on
    those at the other. `shares` are of the squared Frobenius norm.
    """

    strengths: Measure
    shares: Measure
    rows: End
    columns: End


def directions(circuit: Circuit, n: int, k: int) -> Directions:
    """The n strongest singular directions of a circuit, with k tokens at each end, by QR of its factors.

    A direction's sign is its own to choose: its longest load on the rows' side is positive.
    """
    left, right, strengths = _singular(circuit)
    n = min(n, len(strengths))
    left, right = left[:, :n], right[:, :n]
    signs = left.gather(0, left.abs().argmax(0, keepdim=True)).sign()
    squares = strengths.square()
    return Directions(
        Measure("singular value", circuit.unit, ("direction",), strengths[:n].float()),
        Measure("share of the circuit", "share", ("direction",), (squares / squares.sum())[:n].float()),
        _ends(circuit.axes[0], left * signs, k),
        _ends(circuit.axes[1], right * signs, k),
    )


def _singular(
    circuit: Circuit,
) -> tuple[Float[Tensor, "row rank"], Float[Tensor, "column rank"], Float[Tensor, " rank"]]:
    Q_A, R_A = torch.linalg.qr(circuit.A.double())
    Q_B, R_B = torch.linalg.qr(circuit.B.T.double())
    U, strengths, V = torch.linalg.svd(R_A @ R_B.T, full_matrices=False)
    return Q_A @ U, Q_B @ V.T, strengths


def _ends(axis: str, loads: Float[Tensor, "token direction"], k: int) -> End:
    k = min(k, len(loads))
    ends = [(sign * loads).topk(k, dim=0) for sign in (1, -1)]
    tokens: Int[Tensor, "direction end token"] = torch.stack([at.indices.T for at in ends], 1)
    values = torch.stack([ends[0].values.T, -ends[1].values.T], 1)
    axes = ("direction", "end", "token")
    return End(
        Measure(axis, "token id", axes, tokens), Measure(f"load of the {axis}", "activation", axes, values.float())
    )

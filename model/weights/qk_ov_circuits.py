"""A head's two circuits from tokens to tokens, never multiplied out: each is kept as the two thin factors of a product.

QK says how high a token that looks scores a token that is looked at, OV how far a token that is attended to raises the
logit of every token. Both are vocabulary x vocabulary (10 GB for GPT-2) and of rank d_head, so that the factors
[vocabulary, d_head] and [d_head, vocabulary] hold all of it (26 MB).

A reading of the weights, not of a run: token embeddings alone, without positions, earlier layers and biases, at a
scale of 1 of every norm. A `norm` is counted by its centring and its gain. With rotary positions the score depends on
how far apart query and key stand, so that a head has a QK circuit for each distance.

Source: Elhage et al. 2021, "A Mathematical Framework for Transformer Circuits".
"""

from dataclasses import dataclass, replace

import torch
from jaxtyping import Float, Int
from torch import Tensor

from headlight.model.measure import Measure, Unit
from headlight.model.measure.best import best
from headlight.model.measure.head_steps import Norm
from headlight.model.measure.ov import reading, writing


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
        """The circuit transposed: its columns are the rows."""
        return Circuit(self.name, self.unit, (self.axes[1], self.axes[0]), self.B.T, self.A.T)


def qk_circuit(
    W_E: Float[Tensor, "d_vocab d_model"],
    W_Q: Float[Tensor, "d_model d_head"],
    W_K: Float[Tensor, "d_model d_head"],
    attn_scale: float,
    norm: Norm | None = None,
    turn: Float[Tensor, "d_head d_head"] | None = None,
) -> Circuit:
    """The score of every query token with every key token: W_E W_Q W_Kᵀ W_Eᵀ / attn_scale.

    `turn` is what rotary positions do to a query as a key some tokens before it sees it: W_Q R W_Kᵀ.
    """
    W_Q, W_K = reading(W_Q, norm), reading(W_K, norm)
    if turn is not None:
        W_Q = W_Q @ turn.to(W_Q)
    return Circuit(
        "score by the QK circuit", "score", ("query token", "key token"), W_E @ W_Q, (W_E @ W_K / attn_scale).T
    )


def ov_circuit(
    W_E: Float[Tensor, "d_vocab d_model"],
    W_V: Float[Tensor, "d_model d_value"],
    W_O: Float[Tensor, "d_value d_model"],
    W_U: Float[Tensor, "d_model d_vocab_out"],
    norm: Norm | None = None,
    final_norm: Norm | None = None,
) -> Circuit:
    """The OV circuit, the effect of attending to a token on every logit: W_E W_V W_O W_U (logits).

    `final_norm` is the one before the unembedding, `norm` the one before the head.
    """
    W_V, W_O = reading(W_V, norm), writing(W_O, final_norm)
    return Circuit("logit by the OV circuit", "logits", ("source token", "promoted token"), W_E @ W_V, W_O @ W_U)


def balanced(circuit: Circuit) -> Circuit:
    """The circuit's matrix as two factors that share its strengths alike, the strongest parts first."""
    left, right, strengths = _singular(circuit)
    roots = strengths.sqrt()
    return replace(circuit, A=(left * roots).to(circuit.A), B=(right * roots).to(circuit.B).T)


@dataclass(frozen=True, eq=False)
class Pairs:
    """Entries of a circuit, the outermost first: their row and column tokens and their values [pair]."""

    rows: Measure
    columns: Measure
    values: Measure

    @property
    def turned(self) -> "Pairs":
        """These pairs in the transposed circuit."""
        return Pairs(self.columns, self.rows, self.values)


def pairs_of(circuit: Circuit, values: Tensor, rows: Tensor, columns: Tensor) -> Pairs:
    """Entries of a circuit as pairs."""
    first, second = circuit.axes
    return Pairs(
        Measure(first, "token id", ("pair",), rows),
        Measure(second, "token id", ("pair",), columns),
        Measure(circuit.name, circuit.unit, ("pair",), values),
    )


def difference(a: Circuit, b: Circuit) -> Circuit:
    """B − A, entry by entry, for the tokens that both have: a circuit of their ranks together."""
    rows, columns = (min(len(x), len(y)) for x, y in ((a.A, b.A), (a.B.T, b.B.T)))
    A = torch.cat([b.A[:rows], -a.A[:rows]], 1)
    return replace(a, name=f"difference in {a.name}", A=A, B=torch.cat([b.B[:, :columns], a.B[:, :columns]]))


def entries(circuit: Circuit, rows: Int[Tensor, " pair"], columns: Int[Tensor, " pair"]) -> Measure:
    """The entries at some pairs of tokens."""
    values = torch.einsum("pr,rp->p", circuit.A[rows], circuit.B[:, columns])
    return Measure(circuit.name, circuit.unit, ("pair",), values)


def partners(circuit: Circuit, row: int, k: int, lowest: bool = False) -> Pairs:
    """The k largest entries of one row, or the k lowest; of a column by `circuit.T`."""
    values = circuit.A[row] @ circuit.B
    entries, columns = best(values, k, lowest=lowest)
    return pairs_of(circuit, entries, torch.full_like(columns, row), columns)


@dataclass(frozen=True, eq=False)
class End:
    """The tokens at both ends of each direction, the outermost first, and their entries there.

    Axis `end`: 0 is the direction itself, 1 its opposite.
    """

    tokens: Measure
    loads: Measure


@dataclass(frozen=True, eq=False)
class Directions:
    """Strongest singular directions: strengths in the circuit's unit [direction], and the tokens at their ends.

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
    ends = [best(sign * loads, k, dim=0) for sign in (1, -1)]
    tokens: Int[Tensor, "direction end token"] = torch.stack([at.indices.T for at in ends], 1)
    values = torch.stack([ends[0].values.T, -ends[1].values.T], 1)
    axes = ("direction", "end", "token")
    return End(
        Measure(axis, "token id", axes, tokens), Measure(f"load of the {axis}", "activation", axes, values.float())
    )

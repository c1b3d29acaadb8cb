"""A head's QK and OV circuits over the vocabulary, and its composition with earlier heads.

The search for the outermost pairs of a whole vocabulary is made in pieces: it reports progress and can be stopped.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

import torch
from jaxtyping import Float
from torch import Tensor

from headlight.model.measure import Measure, ov
from headlight.model.nn.layers.parameters import widened
from headlight.model.nn.transformer import Transformer
from headlight.model.runs.edits import Head
from headlight.model.runs.host import HERE, Host, Steps
from headlight.model.runs.linear import (
    check_reading,
    embedded_tokens,
    head_norm,
    norm_before,
    norm_of,
    turning,
    writes_at_unit_scale,
)
from headlight.model.weights import composition, pair_search, qk_ov_circuits
from headlight.model.weights.composition import Baseline, Product, Through
from headlight.model.weights.pair_search import BLOCK_ROWS, Ends, Extremes, PairSearch
from headlight.model.weights.qk_ov_circuits import Circuit, Directions, Pairs

CircuitKind = Literal["qk", "ov"]

N_PAIRS, N_DIRECTIONS, N_TOKENS = 20, 8, 6
THROUGH: tuple[Through, ...] = ("query", "key", "value")
PIECE_BLOCKS = 8  # blocks of rows that are searched at once: about a third of a second for GPT-2's vocabulary


@dataclass(frozen=True, eq=False)
class HeadCircuit:
    """One circuit of one head, from tokens to tokens; that of the model `less`, if there is one, is taken away from it.

    The norms' centring and gain count, where the model has them. With rotary positions a QK circuit is that of a query
    and a key `distance` tokens before it. The host may cache its results.
    """

    model: Transformer
    head: Head
    kind: CircuitKind
    less: Transformer | None = None
    host: Host = HERE
    distance: int = 0

    @property
    def key(self) -> tuple[object, ...]:
        """A hashable identity."""
        less = "" if self.less is None else _name(self.less)
        return "circuit", _name(self.model), self.head, self.kind, less, self.distance

    @cached_property
    def matrix(self) -> Circuit:
        """The circuit, as two thin factors."""
        return self.host.keep(self.key, self._made if self.less is None else self._difference)

    def _difference(self) -> Circuit:
        assert self.less is not None
        a, b = (replace(self, model=model, less=None).matrix for model in (self.less, self.model))
        with self.host.turn(), torch.inference_mode():
            return qk_ov_circuits.balanced(qk_ov_circuits.difference(a, b))

    def _made(self) -> Circuit:
        """The factors of the product, of which an OV circuit needs logits that are linear in what is written."""
        if self.kind == "ov":
            check_reading(self.model)
        model, (layer, index) = self.model, self.head
        with self.host.turn(), torch.inference_mode():
            W_E, norm = embedded_tokens(model), norm_before(model, layer)
            if self.kind == "qk":
                W_Q, W_K = _query_and_key(model, self.head, not model.cfg.qk_norm_after_rotary)
                turn, scale = turning(model, layer, self.distance), model.block(layer).attn.attn_scale
                made = qk_ov_circuits.qk_circuit(W_E, W_Q, W_K, scale, norm, turn)
            else:
                W_U = widened(model.unembed.W_U) * model.cfg.logits_scale
                W_V, W_O = (each[index] for each in value_and_output(model, layer))
                made = qk_ov_circuits.ov_circuit(W_E, W_V, W_O, W_U, norm, norm_of(model.ln_final))
            return qk_ov_circuits.balanced(made)

    @property
    def n_pieces(self) -> int:
        """Number of chunks of the search for the outermost pairs."""
        n_rows = min(model.cfg.d_vocab for model in (self.model, self.less) if model)
        return -(-n_rows // (PIECE_BLOCKS * BLOCK_ROWS))

    def piece_key(self, number: int) -> tuple[object, ...]:
        """The host's cache key of the search after a piece."""
        return *self.key, "pairs so far", number

    def look(self, number: int) -> Extremes:
        """Return the extremes after this piece of the search and those before it."""
        return self.host.keep(self.piece_key(number), lambda: self._look(number))

    def _look(self, number: int) -> Extremes:
        search = self._search
        extremes = self.look(number - 1) if number else search.empty
        start = number * PIECE_BLOCKS
        with self.host.turn(), torch.inference_mode():
            for block in range(start, min(start + PIECE_BLOCKS, search.n_blocks)):
                extremes = search.look(extremes, block)
        return extremes

    @cached_property
    def _search(self) -> PairSearch:
        matrix = self.matrix
        with torch.inference_mode():
            return self.host.keep((*self.key, "pair search"), lambda: pair_search.pair_search(matrix, N_PAIRS))

    def pairs(self) -> Ends:
        """The highest and the lowest entries of all; pieces that were not looked at are looked at."""
        extremes = self.look(self.n_pieces - 1)
        return self._search.ends(extremes)

    def entries(self, pairs: Pairs) -> Measure:
        """The circuit's entries at pairs of tokens."""
        with torch.inference_mode():
            return qk_ov_circuits.entries(self.matrix, pairs.rows.values, pairs.columns.values)

    def over_distances(self, pairs: Pairs, n: int) -> Measure:
        """The scores of pairs of tokens at each distance from 0 to n - 1 [pair, distance], by the QK circuit."""
        values = _scores_apart(self.model, self.head, pairs, n)
        if self.less is not None:
            values = values - _scores_apart(self.less, self.head, pairs, n)
        return Measure("score by the QK circuit", "score", ("pair", "distance"), values)

    def partners(self, token: int) -> tuple[Ends, Ends]:
        """One token's highest and lowest entries, as the row of the circuit and as its column."""
        with torch.inference_mode():
            row, column = (
                Ends(*(qk_ov_circuits.partners(each, token, N_PAIRS // 2, lowest) for lowest in (False, True)))
                for each in (self.matrix, self.matrix.T)
            )
        return row, column

    def directions(self) -> Directions:
        """The strongest singular directions, with the tokens at their ends."""
        return self.host.keep((*self.key, "directions"), self._directions)

    def _directions(self) -> Directions:
        matrix = self.matrix
        with self.host.turn(), torch.inference_mode():
            return qk_ov_circuits.directions(matrix, N_DIRECTIONS, N_TOKENS)


def _name(model: Transformer) -> str:
    return model.source.name if model.source else ""


def heads_of(model: Transformer, layer: int) -> dict[Through, Product]:
    """The circuits of all heads of a layer, each with the side first by which a head reads."""
    norm, (W_V, W_O) = norm_before(model, layer), value_and_output(model, layer)
    both = [_query_and_key(model, (layer, head)) for head in range(model.cfg.n_heads)]
    W_Q, W_K = (torch.stack(each) for each in zip(*both, strict=True))
    return {through: composition.reader(through, W_Q, W_K, W_V, W_O, norm) for through in THROUGH}


def _query_and_key(model: Transformer, head: Head, normalized: bool = True) -> tuple[Tensor, Tensor]:
    """W_Q and W_K of a head, with the norms of its queries and keys, or as they are."""
    (layer, index), d_head = head, model.cfg.d_head
    attn, group = model.block(layer).attn, model.cfg.group_of(index)
    W_Q, W_K = widened(attn.W_Q[index]), widened(attn.keys_and_values()[0][0][group])
    if not normalized:
        return W_Q, W_K
    norms = head_norm(attn.q_norm, index, d_head), head_norm(attn.k_norm, group, d_head)
    return ov.writing(W_Q, norms[0]), ov.writing(W_K, norms[1])


@torch.inference_mode()
def _scores_apart(model: Transformer, head: Head, pairs: Pairs, n: int) -> Float[Tensor, "pair distance"]:
    (W_Q, W_K), norm = _query_and_key(model, head, not model.cfg.qk_norm_after_rotary), norm_before(model, head[0])
    tokens = torch.stack([pairs.rows.values, pairs.columns.values]).to(model.embed.W_E.device)
    queries, keys = model.begun(model.embed(tokens))
    q, k = queries @ ov.reading(W_Q, norm) / model.block(head[0]).attn.attn_scale, keys @ ov.reading(W_K, norm)
    turns = (turning(model, head[0], distance) for distance in range(n))
    return torch.stack([((q if turn is None else q @ turn) * k).sum(-1) for turn in turns], -1).cpu()


def value_and_output(model: Transformer, layer: int) -> tuple[Tensor, Tensor]:
    """W_V and W_O of a layer's heads, with the norms between them and the stream."""
    attn = model.block(layer).attn
    return widened(attn.W_V), writes_at_unit_scale(model, layer, widened(attn.W_O))


@dataclass(frozen=True, eq=False)
class Composed:
    """Composition of a head with each earlier head [layer, head], and of random heads."""

    scores: dict[Through, Measure]
    random: dict[Through, Baseline]


def compositions(model: Transformer, head: Head, host: Host = HERE) -> Composed:
    """A head's composition with every head of the layers before its own; no layer where it is in the first."""
    return host.keep(("compositions", _name(model), head), lambda: _compositions(model, head, host))


def _compositions(model: Transformer, head: Head, host: Host) -> Composed:
    cfg, (layer, index) = model.cfg, head
    norm, d_value = norm_before(model, layer), cfg.d_value or cfg.d_head
    (W_Q, W_K), (W_V, W_O) = _query_and_key(model, head), (each[index] for each in value_and_output(model, layer))
    scores, random, steps = {}, {}, Steps(host, layer * len(THROUGH))
    with host.turn(), torch.inference_mode():
        for through in THROUGH:
            later = composition.reader(through, W_Q, W_K, W_V, W_O, norm)
            values = torch.empty(layer, cfg.n_heads)
            for earlier in range(layer):
                values[earlier] = composition.composition(_written(model, earlier), later)
                steps.add()
            scores[through] = Measure(f"{through} composition", "share", ("layer", "head"), values)
            random[through] = composition.random_composition(through, cfg.d_model, cfg.d_head, d_value, norm)
    return Composed(scores, random)


def _written(model: Transformer, layer: int) -> Product:
    W_V, W_O = value_and_output(model, layer)
    return Product(ov.reading(W_V, norm_before(model, layer)), W_O)

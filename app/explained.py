"""What a cell of a run is made of: the parts of a stream, of a score, of a write and of a difference of logits.

Everything is computed from what the run kept; nothing is run again.
"""

from dataclasses import dataclass
from itertools import islice

import torch
from jaxtyping import Float
from torch import Tensor

from app import runs
from app.run import Run, attend, head_weights
from app.selection.chosen import Head
from model.analysis import Measure, attribution, score_parts
from model.analysis.attribution import Promoted
from model.analysis.head_steps import Norm
from model.analysis.score_parts import ScoreParts
from model.hooks import Tap
from model.interventions import check_cell, check_head
from model.layers import attention_pattern, attention_scale, attention_scores, visible_keys

MOST_PROMOTED = 10
NORM_BIAS = "LayerNorm's bias"
EDITS = "the run's edits"
CONSTANTS = ("final LayerNorm's bias", "unembedding's bias")


@dataclass(frozen=True)
class Part:
    """One of those who wrote to a stream; `head` is None for a layer's attention bias and its MLP."""

    name: str
    layer: int | None = None
    head: int | None = None


@dataclass(frozen=True, eq=False)
class Parts:
    """Who wrote to the stream at one position, in the order of writing, what they wrote, and the stream itself."""

    parts: tuple[Part, ...]
    vectors: Float[Tensor, "part d_model"]
    stream: Float[Tensor, " d_model"]


@dataclass(frozen=True)
class Cell:
    """One head's query and key, all of them indices."""

    layer: int
    head: int
    query: int
    key: int


@dataclass(frozen=True)
class Question:
    """Target and distractor (token ids), and the position at which the logit of one less the other's is measured."""

    target: int
    distractor: int
    position: int


def check(run: Run, cell: Cell) -> None:
    """Refuse a cell that the run does not have.

    Raises:
        InputError: it says why, and what there is.
    """
    check_head(run.cfg, cell.layer, cell.head)
    check_cell(run.cfg, len(run.tokens), cell.query, cell.key)


def logits_at(run: Run, position: int) -> Float[Tensor, " d_vocab"]:
    """What the model says comes after a position."""
    return runs.kept(run, ("logits", position), lambda: _logits_at(run, position))


@torch.inference_mode()
def _logits_at(run: Run, position: int) -> Float[Tensor, " d_vocab"]:
    stream = parts_at(run, position).stream
    return run.model.unembed(run.model.ln_final(stream[None, None], Tap()))[0, 0]


def parts_at(run: Run, position: int, layer: int | None = None) -> Parts:
    """What was written to the stream at a position before a layer, or by all of them.

    Of a run with edits one more part is what these have changed beside what is written.
    """
    n_layers = run.cfg.n_layers if layer is None else layer
    parts, vectors = _written_before(run, position, n_layers)
    stream = next(islice(run.streams(), n_layers, None))[position]
    if run.edits:
        parts, vectors = (*parts, Part(EDITS)), torch.cat([vectors, (stream - vectors.sum(0))[None]])
    return Parts(parts, vectors, stream)


def names_at(run: Run, position: int, layer: int) -> tuple[Part, ...]:
    """The same parts without their vectors, nor what edits have changed."""
    return _written_before(run, position, layer)[0]


def _written_before(run: Run, position: int, layer: int) -> tuple[tuple[Part, ...], Float[Tensor, "part d_model"]]:
    parts, vectors = runs.kept(run, ("parts", position), lambda: _all_parts(run, position))
    n_parts = 2 + layer * (run.cfg.n_heads + (1 if run.cfg.attn_only else 2))
    return parts[:n_parts], vectors[:n_parts]


def _all_parts(run: Run, position: int) -> tuple[tuple[Part, ...], Float[Tensor, "part d_model"]]:
    parts = [Part("token embedding"), Part("position embedding")]
    vectors = [run.cache["embed"][position], run.cache["pos_embed"][position]]
    for layer in range(run.cfg.n_layers):
        parts += [Part(f"L{layer}H{head}", layer, head) for head in range(run.cfg.n_heads)]
        W_O = run.model.get_parameter(f"blocks.{layer}.attn.W_O").detach()
        vectors += torch.einsum("hd,hdm->hm", z_of(run, layer, [position])[0], W_O)
        parts.append(Part(f"L{layer} attention bias", layer))
        vectors.append(run.model.get_parameter(f"blocks.{layer}.attn.b_O").detach())
        if not run.cfg.attn_only:
            parts.append(Part(f"L{layer} MLP", layer))
            vectors.append(run.cache["mlp_out", layer][position])
    return tuple(parts), torch.stack(vectors)


@torch.inference_mode()
def z_of(run: Run, layer: int, queries: list[int]) -> Float[Tensor, "query head d_value"]:
    """The weighted sum of values of every head of a layer, as it was in the run, at these positions."""
    names = {name: f"blocks.{layer}.attn.hook_{name}" for name in ("attn_scores", "pattern", "z")}
    edited = any(map(run.tap.wants, names.values()))
    rows = list(range(len(run.tokens))) if edited else queries  # an edit finds a query by its place among all
    q, k, v = (run.cache[name, layer][None] for name in ("q", "k", "v"))
    visible = visible_keys(run.cfg.attention_dir, None, len(run.tokens), q.device)[:, :, rows]
    scores = attention_scores(q[:, rows], k, visible, attention_scale(run.cfg, layer))
    if not edited:
        return torch.einsum("hqk,khd->qhd", attention_pattern(scores, visible)[0], v[0])
    pattern = run.tap(names["pattern"], attention_pattern(run.tap(names["attn_scores"], scores), visible))
    return run.tap(names["z"], torch.einsum("bhqk,bkhd->bqhd", pattern, v))[0, queries]


@dataclass(frozen=True, eq=False)
class Why:
    """A cell's score in parts, with the names of the query's rows and the key's columns, and its weight."""

    query_names: tuple[str, ...]
    key_names: tuple[str, ...]
    found: ScoreParts
    weight: float


def why(run: Run, cell: Cell) -> Why:
    """The score of a cell, part by part."""
    return runs.kept(run, ("why", cell), lambda: _why(run, cell))


def _why(run: Run, cell: Cell) -> Why:
    weights, attended = head_weights(run, cell.layer, cell.head), attend(run, cell.layer, cell.head)
    query, key = (parts_at(run, position, cell.layer) for position in (cell.query, cell.key))
    q, k = (run.cache[name, cell.layer][:, cell.head] for name in ("q", "k"))
    with torch.inference_mode():
        rows = score_parts.projected(query.vectors, query.stream, weights.norm, weights.W_Q, weights.b_Q)
        columns = score_parts.projected(key.vectors, key.stream, weights.norm, weights.W_K, weights.b_K)
        if run.edits:  # of the query or the key itself
            rows, columns = (
                torch.cat([parts, (whole.double() - parts.sum(0))[None]])
                for parts, whole in ((rows, q[cell.query]), (columns, k[cell.key]))
            )
        score = float(attended.scores[cell.query, cell.key])
        found = score_parts.score_parts(rows, columns, weights.attn_scale, score)
    names = (*(each.name for each in query.parts), NORM_BIAS)
    edits = (f"{EDITS} of it",) if run.edits else ()
    weight = float(attended.pattern[cell.query, cell.key])
    return Why((*names, "query's bias b_Q", *edits), (*names, "key's bias b_K", *edits), found, weight)


@dataclass(frozen=True, eq=False)
class Read:
    """How the target's logit less the distractor's is read off a stream: final LayerNorm, direction and bias."""

    norm: Norm | None
    direction: Float[Tensor, " d_model"]
    bias: float


def read_of(run: Run, question: Question) -> Read:
    """The final LayerNorm, and the target's column of the unembedding less the distractor's."""
    unembed, pair = run.model.unembed, [question.target, question.distractor]
    columns, biases = unembed.W_U[:, pair].detach(), unembed.b_U[pair].detach().double()
    return Read(final_norm(run), columns[:, 0] - columns[:, 1], float(biases[0] - biases[1]))


def final_norm(run: Run) -> Norm | None:
    """What the last LayerNorm does; None where there is none."""
    if run.cfg.normalization_type is None:
        return None
    gain, bias = (getattr(run.model.ln_final, name, None) for name in "wb")
    return Norm(run.cfg.eps, *(None if each is None else each.detach() for each in (gain, bias)))


@dataclass(frozen=True, eq=False)
class Effects:
    """What everything that wrote to the final stream adds to target minus distractor (logits).

    `names` and `values` [part] are all of it, the two constants last; `difference` [] is what the run has, and
    `residual` [] how far the sum is from it. `accumulated` and `lens` [layer] run from the embedding to the last layer:
    what had been added up to there at the final scale, and what the layer itself would say at its own scale.
    """

    parts: tuple[Part, ...]
    values: Measure
    difference: Measure
    residual: Measure
    accumulated: Measure
    lens: Measure

    @property
    def names(self) -> tuple[str, ...]:
        """What each value is of."""
        return tuple(part.name for part in self.parts)


def effects(run: Run, question: Question) -> Effects:
    """Who made the difference of two logits at a position."""
    return runs.kept(run, ("effects", question), lambda: _effects(run, question))


@torch.inference_mode()
def _effects(run: Run, question: Question) -> Effects:
    read, final = read_of(run, question), parts_at(run, question.position)
    direct = attribution.direct_effects(final.vectors, final.stream, read.norm, read.direction).values
    constants = attribution.constant_effects(read.norm, read.direction, read.bias).values
    values = torch.cat([direct, constants])
    difference = attribution.difference_of(final.stream, read.norm, read.direction, read.bias)
    layers = torch.tensor([-1 if part.layer is None else part.layer for part in final.parts])
    so_far = [constants.sum() + direct[layers < layer].sum() for layer in range(run.cfg.n_layers + 1)]
    streams = (stream[question.position] for stream in run.streams())
    return Effects(
        parts=(*final.parts, *map(Part, CONSTANTS)),
        values=Measure("direct effect", "logits", ("part",), values),
        difference=difference,
        residual=Measure("sum of the parts − difference", "logits", (), values.sum() - difference.values),
        accumulated=Measure("accumulated direct effect", "logits", ("layer",), torch.stack(so_far)),
        lens=attribution.lens_differences(streams, read.norm, read.direction, read.bias),
    )


def effects_by_source(run: Run, head: Head, question: Question) -> Measure:
    """What a head adds to target minus distractor at the position, by the token that it took it from [key]."""
    return runs.kept(run, ("effects by source", head, question), lambda: _effects_by_source(run, head, question))


@torch.inference_mode()
def _effects_by_source(run: Run, head: Head, question: Question) -> Measure:
    read, stream = read_of(run, question), parts_at(run, question.position).stream
    effect = attribution.direct_effects(writes_of(run, head, question.position), stream, read.norm, read.direction)
    return Measure(effect.name, effect.unit, ("key",), effect.values)


def writes_of(run: Run, head: Head, query: int) -> Float[Tensor, "key d_model"]:
    """What a query takes from each key through a head."""
    layer, index = head
    weights = head_weights(run, layer, index)
    pattern = attend(run, layer, index).pattern[query]
    with torch.inference_mode():
        return attribution.edge_writes(pattern, run.cache["v", layer][:, index], weights.W_O).values


@dataclass(frozen=True, eq=False)
class Written:
    """What an edge writes: its length, the tokens that it promotes, and its direct effect at the query's position.

    The effect (logits) is on target minus distractor as they are read off that position's own final stream.
    """

    norm: Measure
    tokens: Promoted
    effect: Measure


def written(run: Run, cell: Cell, question: Question) -> Written:
    """What the query of a cell takes from its key."""
    return runs.kept(run, ("written", cell, question), lambda: _written(run, cell, question))


@torch.inference_mode()
def _written(run: Run, cell: Cell, question: Question) -> Written:
    write = writes_of(run, (cell.layer, cell.head), cell.query)[cell.key]
    read, stream = read_of(run, question), parts_at(run, cell.query).stream
    effect = attribution.direct_effects(write[None], stream, read.norm, read.direction)
    W_U = run.model.unembed.W_U.detach()
    return Written(
        norm=Measure("L2 norm of the write", "L2 norm", (), write.norm()),
        tokens=attribution.promoted(write, stream, read.norm, W_U, min(MOST_PROMOTED, W_U.shape[1])),
        effect=Measure(effect.name, effect.unit, (), effect.values[0]),
    )


def written_apart(a: tuple[Run, Cell], b: tuple[Run, Cell]) -> Promoted:
    """What B's edge does to the tokens' logits that A's does not: the largest and lowest of B's effects less A's.

    Each is read at the scale of its own run.
    """
    key = ("written apart", *((run.key, cell) for run, cell in (a, b)))
    return runs.remembered(key, lambda: _written_apart(a, b))


@torch.inference_mode()
def _written_apart(a: tuple[Run, Cell], b: tuple[Run, Cell]) -> Promoted:
    apart = _token_effects(*b) - _token_effects(*a)
    return attribution.most_moved(apart, min(MOST_PROMOTED, len(apart)))


def _token_effects(run: Run, cell: Cell) -> Float[Tensor, " d_vocab"]:
    write = writes_of(run, (cell.layer, cell.head), cell.query)[cell.key]
    return attribution.token_effects(write, parts_at(run, cell.query).stream, final_norm(run), run.model.unembed.W_U)

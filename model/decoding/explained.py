"""Why an encoder-decoder wrote a token, and why one of its heads looks where it does.

The direct effects of all components of the decoder on a written token's logit, a head's score as a sum over pairs of
components, what the head writes, and what changes when the head is taken away. The encoder's components have no direct
effect on a logit: they act through cross-attention, whose keys and values they make.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from headlight.model.attribution import direct_effects
from headlight.model.attribution.ablation import CUTS, MEAN, ZERO, Outcomes
from headlight.model.attribution.direct_effects import Promoted
from headlight.model.attribution.logits import FINAL_NORM_BIAS, UNEMBEDDING_BIAS
from headlight.model.attribution.parts import Parts
from headlight.model.attribution.score import NORM_BIAS, Why
from headlight.model.attribution.write import MAX_PROMOTED
from headlight.model.base.errors import InputError
from headlight.model.decoding.stack_parts import (
    Pass,
    Stack,
    StackPart,
    Stage,
    Write,
    carried,
    parts_before,
    parts_of_memory,
    read_back_to,
)
from headlight.model.decoding.translation import Attends
from headlight.model.measure import Measure
from headlight.model.measure.contrast import contrast
from headlight.model.measure.head_steps import Norm
from headlight.model.measure.likelihood import kl_divergence
from headlight.model.measure.score_parts import Rows, projected, score_parts
from headlight.model.nn.hooks import HookPoint
from headlight.model.nn.layers.parameters import widened
from headlight.model.nn.layers.positions import place
from headlight.model.nn.layers.unembeddings import BiasedTiedUnembed, TiedUnembed, Unembed

WRITERS: dict[Attends, tuple[Stack, Write]] = {
    "cross": ("decoder", "cross_attn"),
    "decoder": ("decoder", "attn"),
    "encoder": ("encoder", "attn"),
}
RELATIVE_BIAS = "relative position bias"


@dataclass(frozen=True)
class AttendedCell:
    """One head's query and key; of cross-attention the query is a target token that is read, the key a source token."""

    attends: Attends
    layer: int
    head: int
    query: int
    key: int


@dataclass(frozen=True)
class WrittenToken:
    """The logit of a token (id) that the decoder could write at a position, less the distractor's if there is one."""

    position: int
    target: int
    distractor: int | None = None

    @property
    def outputs(self) -> list[int]:
        """The outputs that are measured."""
        return [self.target] if self.distractor is None else [self.target, self.distractor]


@dataclass(frozen=True, eq=False)
class TokenEffects:
    """Direct effects (logits) of all components of the decoder on a written token's logit, less the distractor's.

    `values` [part] are all of them, biases last; `difference` [] is the model's own, and `residual` [] how far their
    sum is from it. `by_source` [part, source] are those of every head of cross-attention by the source token that it
    reads, `heads` their names.
    """

    parts: tuple[StackPart, ...]
    values: Measure
    difference: Measure
    residual: Measure
    heads: tuple[StackPart, ...]
    by_source: Measure

    @property
    def by_name(self) -> dict[str, float]:
        """Every component's effect, the biases last."""
        return dict(zip((part.name for part in self.parts), self.values.values.tolist(), strict=True))


@dataclass(frozen=True, eq=False)
class HeadWrite:
    """What a head writes from one key: its norm, the tokens that it promotes and its direct effect at its query.

    `by_key` [key] is the head's direct effect on the written token, at the position where that is written.
    """

    norm: Measure
    tokens: Promoted
    effect: Measure
    by_key: Measure


def stage_of(run: Pass, cell: AttendedCell) -> Stage:
    """The addition of the layer's heads to their stack's stream."""
    stack, write = WRITERS[cell.attends]
    return run.stages[stack][run.index(stack, cell.layer, write)]


def check_cell(run: Pass, cell: AttendedCell) -> None:
    """Refuse a cell that the model does not have.

    Raises:
        InputError: it says why, and what there is.
    """
    stack, write = WRITERS[cell.attends]
    stages = [stage for stage in run.stages[stack] if stage.write == write]
    masked = run.kept(f"{stages[0].module}.hook_attn_scores")[0].isneginf()
    check_among(cell, len(stages), run.model.cfg.n_heads, masked)


def check_among(cell: AttendedCell, n_layers: int, n_heads: int, masked: Bool[Tensor, "query key"]) -> None:
    """Refuse a cell beyond these layers, heads, queries and keys, or one that is masked.

    Raises:
        InputError: it says why, and what there is.
    """
    if not (0 <= cell.layer < n_layers and 0 <= cell.head < n_heads):
        raise InputError(
            f"There is no head L{cell.layer}H{cell.head}: this side has layers 0 to {n_layers - 1} of heads 0 to "
            f"{n_heads - 1}. Choose one of these."
        )
    n_query, n_key = masked.shape
    if not (0 <= cell.query < n_query and 0 <= cell.key < n_key):
        raise InputError(
            f"There is no query {cell.query} with a key {cell.key}: queries are 0 to {n_query - 1}, keys 0 to "
            f"{n_key - 1}. Choose among these."
        )
    if masked[cell.query, cell.key]:
        raise InputError(
            f"Query {cell.query} cannot look at key {cell.key}, which comes after it. Choose an earlier key."
        )


def _scores(run: Pass, cell: AttendedCell) -> Float[Tensor, "query key"]:
    return run.kept(f"{stage_of(run, cell).module}.hook_attn_scores")[cell.head]


def pattern_of(run: Pass, cell: AttendedCell) -> Float[Tensor, "query key"]:
    """The head's pattern."""
    return run.kept(f"{stage_of(run, cell).module}.hook_pattern")[cell.head]


@torch.inference_mode()
def explain_score(run: Pass, cell: AttendedCell) -> Why:
    """A cell's score by pairs of components, one of the query's stream and one of the key's.

    The keys of cross-attention are made of the encoder's output. A bias for the distance is a part of its own.
    """
    check_cell(run, cell)
    stage = stage_of(run, cell)
    attention, norm, index = run.attention(stage), run.norm_before(stage), run.index(*_place(stage))
    W_Q, b_Q, W_K, b_K = (
        widened(each.detach()[cell.head]) for each in (attention.W_Q, attention.b_Q, attention.W_K, attention.b_K)
    )
    query_names, query = _side(parts_before(run, stage.stack, cell.query, index), norm, W_Q, b_Q, "query's bias b_Q")
    if cell.attends == "cross":
        of_key, norm = parts_of_memory(run, cell.key), None
    else:
        of_key = parts_before(run, stage.stack, cell.key, index)
    key_names, key = _side(of_key, norm, W_K, b_K, "key's bias b_K")
    score, bias = float(_scores(run, cell)[cell.query, cell.key]), _bias(run, cell)
    names = () if bias is None else (RELATIVE_BIAS,)
    weight = float(pattern_of(run, cell)[cell.query, cell.key])
    parts = score_parts(query, key, attention.attn_scale, score, bias)
    return Why((*query_names, *names), (*key_names, *names), parts, weight)


def _place(stage: Stage) -> tuple[Stack, int, Write]:
    return stage.stack, stage.layer, stage.write


def _side(
    parts: Parts,
    norm: Norm | None,
    W: Float[Tensor, "d_model d_head"],
    b: Float[Tensor, " d_head"],
    bias: str,
) -> tuple[tuple[str, ...], Rows]:
    """The parts of a query or a key, and their names; biases that a model does not have are no parts."""
    rows = projected(parts.vectors, parts.stream, norm, W, b)
    present = [*[True] * len(parts.parts), norm is not None and norm.b is not None, bool(b.any())]
    names = [*(part.name for part in parts.parts), NORM_BIAS, bias]
    return tuple(name for name, is_there in zip(names, present, strict=True) if is_there), rows[present]


def _bias(run: Pass, cell: AttendedCell) -> float | None:
    """What the head adds to a score for the distance of query and key; None where it adds nothing."""
    bias = run.attention(stage_of(run, cell)).rel_pos_bias
    if bias is None:
        return None
    n_pos = len(_scores(run, cell))
    direction = "bidirectional" if cell.attends == "encoder" else "causal"
    positions = place(direction, None, n_pos, run.read.device)
    return float(bias(positions)[0, cell.head, cell.query, cell.key])


@torch.inference_mode()
def token_effects(run: Pass, written: WrittenToken) -> TokenEffects:
    """Attribute a written token's logit, less the distractor's, to the components of the decoder.

    Raises:
        InputError: the model writes no tokens.
    """
    check_writes(run)
    final = parts_before(run, "decoder", written.position)
    norm, (direction, bias) = run.final_norm("decoder"), _direction(run, written)
    direct = direct_effects.direct_effects(final.vectors, final.stream, norm, direction).values
    of_norm, of_unembedding = direct_effects.constant_effects(norm, direction, bias).values.tolist()
    constants = {
        FINAL_NORM_BIAS: of_norm if norm is not None and norm.b is not None else None,
        UNEMBEDDING_BIAS: of_unembedding if _unembed(run).b_U.any() else None,
    }
    present = {name: value for name, value in constants.items() if value is not None}
    values = torch.cat([direct, torch.tensor([*present.values()], dtype=direct.dtype)])
    difference = contrast(run.logits[written.position, written.outputs].double())
    parts = tuple(part for part in final.parts if isinstance(part, StackPart))
    heads, by_source = _by_source(run, written, parts)
    return TokenEffects(
        parts=(*parts, *map(StackPart, present)),
        values=Measure("direct effect", "logits", ("part",), values),
        difference=Measure("logit difference", "logits", (), difference),
        residual=Measure("sum of the parts − difference", "logits", (), values.sum() - difference),
        heads=heads,
        by_source=Measure("direct effect", "logits", ("part", "source"), by_source),
    )


def check_writes(run: Pass) -> None:
    """Refuse a model that writes no tokens.

    Raises:
        InputError: always for such a model.
    """
    if run.model.cfg.output != "tokens":
        raise InputError("This model writes no tokens, so there is no written token to explain.")


def _direction(run: Pass, written: WrittenToken) -> tuple[Float[Tensor, " d_model"], float]:
    """What the unembedding reads the measured logit along, and its bias."""
    unembed, outputs = _unembed(run), written.outputs
    columns = widened(unembed.W_U[:, outputs].detach()) * run.model.cfg.logits_scale
    return contrast(columns.double()), float(contrast(unembed.b_U[outputs].detach().double()))


def _unembed(run: Pass) -> Unembed | TiedUnembed | BiasedTiedUnembed:
    """The unembedding of a model that writes tokens."""
    unembed = run.model.unembed
    assert isinstance(unembed, Unembed | TiedUnembed | BiasedTiedUnembed)  # check_writes
    return unembed


def _read_along(run: Pass, written: WrittenToken) -> Float[Tensor, " d_model"]:
    """The vector whose product with a part of the decoder's final stream is its direct effect on the written token."""
    stream, (direction, _) = parts_before(run, "decoder", written.position).stream, _direction(run, written)
    return direct_effects.towards(stream, run.final_norm("decoder"), direction)


def _by_source(
    run: Pass, written: WrittenToken, parts: Sequence[StackPart]
) -> tuple[tuple[StackPart, ...], Float[Tensor, "part source"]]:
    """The direct effect of every head of cross-attention by source token."""
    heads = tuple(part for part in parts if part.write == "cross_attn")
    along = _read_along(run, written)
    stages = [stage for stage in run.stages["decoder"] if stage.write == "cross_attn"]
    return heads, torch.cat([_effects_by_key(run, stage, along, written.position) for stage in stages])


def _effects_by_key(
    run: Pass, stage: Stage, along: Float[Tensor, " d_model"], position: int
) -> Float[Tensor, "head key"]:
    """The direct effect of every head that writes at a stage by key: weight times value, through W_O."""
    W_O = widened(run.attention(stage).W_O.detach()).double()
    of_value = W_O @ read_back_to(run, stage, along, position)
    v = run.kept(f"{stage.module}.hook_v").double()
    weights = run.kept(f"{stage.module}.hook_pattern")[:, position].double()
    return weights * torch.einsum("khd,hd->hk", v, of_value)


def _writes(run: Pass, cell: AttendedCell) -> Float[Tensor, "key d_model"]:
    """A head's writes at its query by key, as they are in the final stream of its stack."""
    stage = stage_of(run, cell)
    v = run.kept(f"{stage.module}.hook_v")[:, cell.head].double()
    W_O = widened(run.attention(stage).W_O.detach()[cell.head]).double()
    writes = direct_effects.edge_writes(pattern_of(run, cell)[cell.query].double(), v, W_O).values
    return carried(run, stage.stack, writes, cell.query, run.index(*_place(stage)))


@torch.inference_mode()
def explain_head_write(run: Pass, cell: AttendedCell, written: WrittenToken) -> HeadWrite | None:
    """What a head of the decoder writes from a key; None for a head of the encoder, which no logit is read from."""
    check_writes(run)
    check_cell(run, cell)
    if cell.attends == "encoder":
        return None
    stream, norm = parts_before(run, "decoder", cell.query).stream, run.final_norm("decoder")
    writes = _writes(run, cell)
    W_U = widened(_unembed(run).W_U.detach()) * run.model.cfg.logits_scale
    effects = direct_effects.token_effects(writes[cell.key], stream, norm, W_U)
    along = _read_along(run, written)
    by_key = _effects_by_key(run, stage_of(run, cell), along, written.position)[cell.head]
    return HeadWrite(
        norm=Measure("L2 norm of the write", "L2 norm", (), writes[cell.key].norm()),
        tokens=direct_effects.most_moved(effects, MAX_PROMOTED),
        effect=Measure("direct effect", "logits", (), contrast(effects[written.outputs].double())),
        by_key=Measure("direct effect", "logits", ("key",), by_key),
    )


@torch.inference_mode()
def ablate_cell(run: Pass, cell: AttendedCell, written: WrittenToken) -> Outcomes:
    """Measure how cutting the edge or ablating the head changes the written token's logit, by running the model.

    Each variant is a row of one batch. `direct` is 0 for heads of the encoder: they change logits through others.
    """
    check_writes(run)
    check_cell(run, cell)
    module, at = stage_of(run, cell).module, (cell.query, cell.key)

    def cut(pattern: Float[Tensor, "batch head query key"], hook: HookPoint) -> None:
        pattern[:2, cell.head, *at] = 0
        row = pattern[1, cell.head, cell.query]
        row /= torch.where(row.sum() > 0, row.sum(), 1)

    def ablate(z: Float[Tensor, "batch pos head d_value"], hook: HookPoint) -> None:
        z[2, :, cell.head] = 0
        z[3, :, cell.head] = z[3, :, cell.head].mean(0)

    names = (*CUTS, ZERO, MEAN)
    logits = run.model.run_with_hooks(
        run.source_tokens.expand(len(names), -1),
        run.read.expand(len(names), -1),
        [(f"{module}.hook_pattern", cut), (f"{module}.hook_z", ablate)],
    )[:, written.position]
    own, axes = run.logits[written.position], ("variant",)
    change = contrast(logits[:, written.outputs].double() - own[written.outputs].double())
    return Outcomes(
        names,
        direct=Measure("direct effect", "logits", axes, _direct(run, cell, written)),
        total=Measure("total effect", "logits", axes, change),
        kl=kl_divergence(own, logits),
        top=Measure("top token", "token id", axes, logits.argmax(-1)),
    )


def _direct(run: Pass, cell: AttendedCell, written: WrittenToken) -> Float[Tensor, " variant"]:
    """The change of the head's write where the token is written, through the final norm alone."""
    if cell.attends == "encoder":
        return torch.zeros(len(CUTS) + 2, dtype=torch.float64)
    stage, position = stage_of(run, cell), written.position
    z = run.z(stage)[:, cell.head].double()
    own, weight = z[position], pattern_of(run, cell)[cell.query, cell.key].double()
    cut = [own, own]
    if cell.query == position:
        without = own - weight * run.kept(f"{stage.module}.hook_v")[cell.key, cell.head].double()
        rest = 1 - weight
        cut = [without, without / rest if rest > 0 else torch.zeros_like(own)]
    changed = torch.stack([*cut, torch.zeros_like(own), z.mean(0)]) - own
    W_O = widened(run.attention(stage).W_O.detach()[cell.head]).double()
    return changed @ W_O @ read_back_to(run, stage, _read_along(run, written), position)

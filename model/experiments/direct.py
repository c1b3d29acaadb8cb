"""Direct logit attribution over rows: what each part of the final stream adds to the metric.

The parts, with the constants of norm and unembedding, add up to each row's logit difference (before any soft cap).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from headlight.model.attribution.direct_effects import constant_effects, direct_effects, towards
from headlight.model.attribution.logits import CONSTANTS, final_norm, unembedding
from headlight.model.attribution.parts import Part, Parts, parts_at
from headlight.model.nn.layers.parameters import widened
from headlight.model.prompt_sets.encoding import TokenRow
from headlight.model.runs.edits import head_name
from headlight.model.runs.head import patterns
from headlight.model.runs.linear import check_reading, written
from headlight.model.runs.run import Run


@dataclass(frozen=True, eq=False)
class Effects:
    """The direct effects of one run's parts on a row's logit difference.

    Attributes:
        heads: of each head.
        attention: of each layer's attention, its biases included.
        mlps: of each layer's MLP, all of its experts; nothing of a model without MLPs.
        others: of the embeddings and constants, by name.
    """

    heads: Float[Tensor, "layer head"]
    attention: Float[Tensor, " layer"]
    mlps: Float[Tensor, " layer"]
    others: dict[str, float]

    def components(self) -> dict[str, float]:
        """Every part, in the order of writing; they add up to the logit difference."""
        values = {name: value for name, value in self.others.items() if name not in CONSTANTS}
        biases = self.attention - self.heads.sum(1)
        for layer, of_heads in enumerate(self.heads.tolist()):
            values |= {head_name((layer, head)): value for head, value in enumerate(of_heads)}
            values[f"L{layer} attention bias"] = float(biases[layer])
            values |= {f"L{layer} MLP": float(self.mlps[layer])} if len(self.mlps) else {}
        return values | {name: self.others[name] for name in CONSTANTS}


@torch.inference_mode()
def row_effects(run: Run, row: TokenRow) -> Effects:
    """Attribute a row's logit difference at the last token of a run to the model's parts.

    Raises:
        InputError: the model's logits are no sums over what was written.
    """
    direction, bias = direction_of(run, row)
    final, norm = parts_at(run, len(run.tokens) - 1), final_norm(run)
    direct = direct_effects(final.vectors, final.stream, norm, direction).values
    return _effects(run, final.parts, direct, constant_effects(norm, direction, bias).values.tolist())


def _effects(run: Run, parts: Sequence[Part], direct: Float[Tensor, " part"], constants: Sequence[float]) -> Effects:
    cfg = run.cfg
    heads = direct.new_zeros(cfg.n_layers, cfg.n_heads)
    attention = direct.new_zeros(cfg.n_layers)
    mlps = direct.new_zeros(0 if cfg.attn_only else cfg.n_layers)
    others = dict[str, float]()
    for part, value in zip(parts, direct, strict=True):
        if part.layer is None:
            others[part.name] = float(value)
        elif part.head is not None:
            heads[part.layer, part.head] = value
        elif part.name == f"L{part.layer} attention bias":
            attention[part.layer] += value
        else:
            mlps[part.layer] += value
    return Effects(heads, attention + heads.sum(1), mlps, others | dict(zip(CONSTANTS, constants, strict=True)))


@torch.inference_mode()
def head_effects_by_position(run: Run, row: TokenRow) -> Float[Tensor, "layer head pos"]:
    """Each head's direct effect by the token that it attends to from the last one; they add up to the head's."""
    direction, _ = direction_of(run, row)
    end, norm = len(run.tokens) - 1, final_norm(run)
    final: Parts = parts_at(run, end)
    read = towards(final.stream, norm, direction)
    layers = []
    for layer in range(run.cfg.n_layers):
        weights = patterns(run, layer, [end])[:, 0]
        values = run.values(layer)[:, [run.cfg.group_of(head) for head in range(run.cfg.n_heads)]]
        writes = torch.einsum("hk,khd,hdm->hkm", weights, values, widened(run.model.block(layer).attn.W_O.detach()))
        layers.append(written(run, layer, writes, end).double() @ read)
    return torch.stack(layers)


def direction_of(run: Run, row: TokenRow) -> tuple[Float[Tensor, " d_model"], float]:
    """What a normalised final stream is multiplied with for a row's logit difference, and the bias.

    Raises:
        InputError: the model's logits are no sums over what was written.
    """
    check_reading(run.model)
    W_U, b_U = unembedding(run), run.model.unembed.b_U.detach().double()
    wrong = list(row.wrong_answers) or list(range(len(b_U)))
    right = list(row.answers)
    return W_U[:, right].mean(1) - W_U[:, wrong].mean(1), float(b_U[right].mean() - b_U[wrong].mean())

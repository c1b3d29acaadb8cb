"""Attribution patching: the effects of patching, estimated from one run's gradients."""

import torch
from jaxtyping import Float
from torch import Tensor

from headlight.model.measure import Measure
from headlight.model.nn.cache import ActivationCache
from headlight.model.nn.hooks import Chain, Collect, WithGradient
from headlight.model.patching.grids import Kind, Variant, grid
from headlight.model.patching.runs import Patching


def attribution_map(patching: Patching, kind: Kind, layer: int | None = None) -> Measure:
    """An estimate of `patching_map`: each change times the gradient at the run that is patched, as a share.

    It is exact where the logit difference depends linearly on what is patched.

    Source: Nanda 2023, "Attribution Patching: Activation Patching At Industrial Scale".

    Raises:
        InputError: the model has no such part.
    """
    cells = grid(kind, patching.model.cfg, patching.reach, layer)
    gradients = _gradients(patching)
    unpatched = patching.a if patching.into == "A" else patching.b
    estimates = torch.stack([unpatched + _effect(patching, gradients, variant) for variant in cells.variants])
    shares = patching.share(estimates).reshape(cells.shape).cpu()
    return Measure("patched, estimated", "share", cells.axes, patching.only_matched(shares, cells.axes))


def _gradients(patching: Patching) -> ActivationCache:
    """The gradient of the logit difference for every activation that can be patched."""
    keep, model = Collect(patching.names), patching.model
    with torch.inference_mode(False), torch.enable_grad():
        tokens = patching.tokens.clone().to(model.embed.W_E.device)
        resid = model(tokens, tap=Chain(WithGradient(), patching.tap, keep), stop_at_layer=model.cfg.n_layers)
        activations = list(keep.kept.values())  # an edit can cut some of them off from what is measured
        gradients = torch.autograd.grad(
            patching.read(resid).sum(), activations, allow_unused=True, materialize_grads=True
        )
    return ActivationCache({name: one[0] for name, one in zip(keep.kept, gradients, strict=True)}, model.cfg.n_layers)


@torch.inference_mode()
def _effect(patching: Patching, gradients: ActivationCache, variant: Variant) -> Float[Tensor, ""]:
    product = gradients[variant.part, variant.layer] * patching.change(variant.part, variant.layer)
    if variant.part == "z" and variant.head is not None:
        product = product[:, variant.head]
    return (product if variant.position is None else product[variant.position]).sum()


def rank_correlation(x: Float[Tensor, "..."], y: Float[Tensor, "..."]) -> float:
    """Spearman's rank correlation of as many numbers, equal ones sharing the mean of their ranks.

    Pairs of which one is NaN do not count. NaN where all numbers of one are equal.
    """
    numbers = ~(x.isnan() | y.isnan())
    ranks = torch.stack([_ranks(x[numbers]), _ranks(y[numbers])])
    centred = ranks - ranks.mean(-1, keepdim=True)
    product, squares = (centred[0] * centred[1]).sum(), centred.square().sum(-1)
    return float(product / squares.prod().sqrt())


def _ranks(values: Float[Tensor, " n"]) -> Float[Tensor, " n"]:
    _, group, counts = values.double().unique(return_inverse=True, return_counts=True)
    return (counts.cumsum(0) - (counts - 1) / 2)[group].double()

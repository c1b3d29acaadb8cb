"""Patching on a tiny model of each kind of architecture, against hooks that put the other run in place."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from headlight.model import Transformer
from headlight.model.nn.cache import ActivationCache
from headlight.model.patching import LogitDifference, Patching, Variant
from headlight.model.patching.attribution import attribution_map
from headlight.model.patching.paths import path_differences
from tests.tiny import KINDS, tiny

A, B = (torch.randint(4096, (1, 8), generator=torch.Generator().manual_seed(seed)) for seed in (1, 2))
ASKED = LogitDifference(40, 90, 7)
ATOL = 2e-3  # logits of size 10 in float32, through three layers in another order

pytestmark = [
    pytest.mark.parametrize("kind", KINDS),
    pytest.mark.usefixtures("unchecked"),  # a batch grows where variants join
]


def cache_of(model: Transformer, tokens: Tensor) -> ActivationCache:
    with torch.inference_mode():
        return model.run_with_cache(tokens, lambda name: True)[1]


@torch.inference_mode()
def difference(model: Transformer, hooks: list[tuple[str, Callable[..., Tensor | None]]], tokens: Tensor = A) -> float:
    """Target less distractor before any soft cap."""
    outputs: list[Tensor] = []

    def keep(logits: Tensor, hook: object) -> None:
        outputs.append(logits[0, 7])

    model.run_with_hooks(tokens, [*hooks, ("unembed.hook_out", keep)])
    return float(outputs[0][40] - outputs[0][90])


def put(other: Tensor, *at: object) -> Callable[..., None]:
    def hook(activation: Tensor, hook: object) -> None:
        activation[at] = other[at]

    return hook


def test_a_patched_part_is_as_if_it_were_put_in_place(kind: str) -> None:
    model = tiny(kind)
    patching, other = Patching(model, A, B, ASKED), cache_of(model, B)
    every = slice(None)
    variants = {
        Variant("resid_pre", 0): ("blocks.0.hook_resid_pre", (every,)),
        Variant("resid_pre", 2, None, 5): ("blocks.2.hook_resid_pre", (every, 5)),
        Variant("attn_out", 1): ("blocks.1.hook_attn_out", (every,)),
        Variant("mlp_out", 1): ("blocks.1.hook_mlp_out", (every,)),
        Variant("mlp_out", 2, None, 7): ("blocks.2.hook_mlp_out", (every, 7)),
        Variant("z", 1): ("blocks.1.attn.hook_z", (every,)),
        Variant("z", 0, 2): ("blocks.0.attn.hook_z", (every, every, 2)),
        Variant("z", 2, 3, 7): ("blocks.2.attn.hook_z", (every, 7, 3)),
    }
    differences = patching.differences(list(variants)).tolist()
    expected = [difference(model, [(name, put(other[name], *at))]) for name, at in variants.values()]
    assert differences == pytest.approx(expected, abs=ATOL)
    assert patching.a == pytest.approx(difference(model, []), abs=ATOL)
    assert differences[0] == pytest.approx(difference(model, [], B), abs=ATOL)
    assert differences[0] == pytest.approx(patching.b, abs=ATOL)


@pytest.mark.parametrize("through_mlps", [False, True])
@pytest.mark.parametrize("read", ["q", "k", "v"])
def test_a_path_is_one_on_which_all_else_is_held(kind: str, read: str, through_mlps: bool) -> None:
    model, sender, receiver = tiny(kind), (0, 1), (2, 3)
    patching, own, other = Patching(model, A, B, ASKED), cache_of(model, A), cache_of(model, B)
    slot = receiver[1] if read == "q" else model.cfg.group_of(receiver[1])
    reached: list[Tensor] = []

    def keep(activation: Tensor, hook: object) -> None:
        reached.append(activation.clone())

    frozen = [f"blocks.{layer}.attn.hook_z" for layer in range(2)]
    frozen += [] if through_mlps else [f"blocks.{layer}.hook_mlp_out" for layer in range(2)]
    hooks: list[tuple[str, Callable[..., Tensor | None]]] = [(name, put(own[name], ...)) for name in frozen]
    name = f"blocks.2.attn.hook_{read}"
    hooks += [("blocks.0.attn.hook_z", put(other["z", 0], slice(None), slice(None), 1)), (name, keep)]
    difference(model, hooks)
    expected = difference(model, [(name, put(reached[0], slice(None), slice(None), slot))])
    (effect,) = path_differences(patching, [sender], receiver, read, through_mlps).tolist()
    assert effect == pytest.approx(expected, abs=ATOL)


def test_an_estimate_is_the_gradient_times_the_change(kind: str) -> None:
    """Held against a patch of so small a change that the logits are as good as linear in it."""
    model = tiny(kind)
    patching, small = Patching(model, A, B, ASKED), 0.01
    own, other = cache_of(model, A), cache_of(model, B)
    estimate = patching.a + (patching.b - patching.a) * float(attribution_map(patching, "z").values[1, 2])
    z = own["z", 1] + small * (other["z", 1] - own["z", 1])
    moved = difference(model, [("blocks.1.attn.hook_z", put(z, slice(None), slice(None), 2))])
    slope = (moved - difference(model, [])) / small
    assert estimate - patching.a == pytest.approx(slope, rel=0.1, abs=0.05)

"""Hook functions as TransformerLens runs them, edits that stay where they are made, and threads that do not mix."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import pytest
import torch
from torch import Tensor

from headlight.model import Transformer
from headlight.model.base.errors import HookError
from headlight.model.nn.hooks import NO_TAP, Chain, Collect, Edit, HookPoint, Look, Tap, select_names
from tests.model.lens.lens_twin import lens_twin
from tests.model.oracles import ATOL, RTOL, VARIANTS, random_model, random_tokens


@pytest.fixture(params=VARIANTS.values(), ids=VARIANTS.keys())
def model(request: pytest.FixtureRequest) -> Transformer:
    return random_model(**request.param)


def everything(name: str) -> bool:
    return True


def test_an_identity_edit_at_every_name_changes_no_bit(model: Transformer) -> None:
    tokens = random_tokens()
    plain = model(tokens)
    for name in model.hook_names:
        # With hook_result named, a layer's heads are summed from their outputs: that run is the one to compare with.
        expected = model(tokens, tap=Collect([name])) if name.endswith("hook_result") else plain
        edited = model.run_with_hooks(tokens, [(name, lambda activation, hook: activation.clone())])
        assert torch.equal(edited, expected), name


def test_an_edit_in_place_reaches_no_weight_and_no_other_activation(model: Transformer) -> None:
    """With copies left out, an edit of hook_embed, hook_resid_pre or hook_attn_out wrote into what others had kept."""
    tokens = random_tokens()
    _, clean = model.run_with_cache(tokens, everything)
    weights = {name: parameter.clone() for name, parameter in model.named_parameters()}
    for edited in model.hook_names:
        before, after = Collect(model.hook_names), Collect(model.hook_names)
        fill = model.edit([(edited, lambda activation, hook: activation.fill_(0.25))])
        model(tokens, tap=Chain(before, fill, after))
        assert bool((after.kept[edited] == 0.25).all())
        upstream = model.hook_names[: model.hook_names.index(edited) + 1]
        assert all(torch.equal(before.kept[name], clean[name]) for name in upstream), edited
        assert all(torch.equal(weights[name], parameter) for name, parameter in model.named_parameters()), edited


def zero_in_place(activation: Tensor, hook: HookPoint) -> None:
    activation[:, -1] = 0.0


def scale(activation: Tensor, hook: HookPoint, factor: float) -> Tensor:
    return activation * factor


def by_layer(activation: Tensor, hook: HookPoint) -> Tensor:
    return activation * (hook.layer() + 2)


def remember(activation: Tensor, hook: HookPoint) -> None:
    hook.ctx["mean"] = activation.mean()


def use_what_was_remembered(activation: Tensor, hook: HookPoint) -> Tensor:
    return activation * hook.ctx["mean"]


def ends_in(suffix: str) -> Callable[[str], bool]:
    return lambda name: name.endswith(suffix)


HOOKS: dict[str, list[tuple[Any, Any]]] = {
    "in place": [("blocks.1.hook_resid_pre", zero_in_place)],
    "returned": [("blocks.0.attn.hook_z", lambda activation, hook: activation.flip(1))],
    "partial": [("hook_embed", partial(scale, factor=1.5))],
    "predicate": [(ends_in("hook_v"), partial(scale, factor=0.5))],
    "layer": [(ends_in("hook_mlp_out"), by_layer)],
    "context": [("blocks.0.hook_attn_out", remember), ("blocks.0.hook_attn_out", use_what_was_remembered)],
    "two in order": [("blocks.0.mlp.hook_post", by_layer), ("blocks.0.mlp.hook_post", partial(scale, factor=2.0))],
    "pattern": [("blocks.1.attn.hook_pattern", lambda activation, hook: activation.roll(1, dims=-1))],
    "scores": [("blocks.0.attn.hook_attn_scores", lambda activation, hook: activation * 0.5)],
    "heads": [("blocks.1.attn.hook_result", zero_in_place)],
    "queries": [("blocks.0.attn.hook_q", zero_in_place), ("blocks.1.attn.hook_k", partial(scale, factor=-1.0))],
    "before gain": [
        ("ln_final.hook_normalized", zero_in_place),
        ("blocks.0.ln2.hook_scale", partial(scale, factor=2.0)),
    ],
}


@pytest.mark.parametrize("fwd_hooks", HOOKS.values(), ids=HOOKS.keys())
def test_hook_functions_give_what_they_give_in_transformer_lens(fwd_hooks: list[tuple[Any, Any]]) -> None:
    model, tokens = random_model(), random_tokens()
    expected = lens_twin(model).run_with_hooks(tokens, fwd_hooks=fwd_hooks)
    ours = model.run_with_hooks(tokens, fwd_hooks)
    torch.testing.assert_close(ours, expected, rtol=RTOL, atol=ATOL)
    assert not torch.allclose(ours, model(tokens), rtol=RTOL, atol=ATOL)


def test_a_hook_may_be_given_to_a_list_of_names() -> None:
    model, tokens = random_model(), random_tokens()
    names = ["blocks.0.attn.hook_z", "blocks.1.attn.hook_z"]
    apart = model.run_with_hooks(tokens, [(name, zero_in_place) for name in names])
    assert torch.equal(model.run_with_hooks(tokens, [(names, zero_in_place)]), apart)


def test_a_run_starts_with_an_empty_context() -> None:
    seen: list[dict[str, Any]] = []

    def count(activation: Tensor, hook: HookPoint) -> None:
        seen.append(dict(hook.ctx))
        hook.ctx["been here"] = True

    model = random_model()
    for _ in range(2):
        model.run_with_hooks(random_tokens(), [("hook_embed", count)])
    assert seen == [{}, {}]


def test_a_hook_is_told_its_name_and_layer() -> None:
    assert HookPoint("blocks.11.attn.hook_z").layer() == 11
    with pytest.raises(HookError, match="hook_embed belongs to no layer"):
        HookPoint("hook_embed").layer()


def test_two_threads_with_different_edits_never_mix() -> None:
    model, tokens = random_model(), random_tokens()

    def run(factor: float) -> Tensor:
        return model.run_with_hooks(tokens, [(ends_in("hook_z"), partial(scale, factor=factor))])

    factors = [0.0, 1.0, -2.0, 3.0] * 25
    expected = {factor: run(factor) for factor in set(factors)}
    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(run, factors))
    assert all(torch.equal(result, expected[factor]) for result, factor in zip(results, factors, strict=True))


def test_unknown_names_are_refused_before_the_run() -> None:
    model, ran = random_model(), []
    hooks = [
        ("hook_embed", lambda activation, hook: ran.append(hook.name)),
        ("blocks.0.attn.hook_patern", zero_in_place),
    ]
    with pytest.raises(
        HookError, match=r"no activation 'blocks\.0\.attn\.hook_patern'\. Nearest: blocks\.0\.attn\.hook_patt"
    ):
        model.run_with_hooks(random_tokens(), hooks)
    assert not ran
    with pytest.raises(HookError, match=r"blocks\.2\.hook_resid_pre"):
        model.run_with_cache(random_tokens(), ["hook_embed", "blocks.2.hook_resid_pre"])


@pytest.mark.parametrize(
    ("returned", "message"),
    [
        (3.0, "returned float"),
        (torch.zeros(2, 7, 11), r"shape \[2, 7, 11\]; the activation's shape is \[2, 7, 12\]"),
        (torch.zeros(3, 7, 12), r"shape \[3, 7, 12\]; the activation's shape is \[2, 7, 12\]"),
        (torch.tensor(0.0), r"shape \[\]"),
    ],
)
def test_a_hook_that_returns_the_wrong_thing_is_refused(returned: object, message: str, unchecked: None) -> None:
    with pytest.raises(HookError, match=message):
        random_model().run_with_hooks(random_tokens(), [("hook_embed", lambda activation, hook: returned)])


@pytest.mark.usefixtures("unchecked")
def test_an_edit_may_try_several_values_at_once() -> None:
    """A batch of one becomes as many rows as the hook returns, each as if it were run alone."""
    model, tokens, factors = random_model(), random_tokens(1), torch.tensor([0.25, 0.5, 2.0])
    for name in model.hook_names:
        together = model.run_with_hooks(
            tokens, [(name, lambda activation, hook: torch.cat([activation * f for f in factors]))]
        )
        apart = [model.run_with_hooks(tokens, [(name, partial(scale, factor=f))]) for f in factors]
        torch.testing.assert_close(together, torch.cat(apart), rtol=RTOL, atol=ATOL)


def test_names_are_chosen_by_name_list_or_predicate_in_forward_order() -> None:
    names = ("hook_embed", "blocks.0.hook_resid_pre", "blocks.0.attn.hook_q")
    assert select_names("hook_embed", names) == ["hook_embed"]
    assert select_names(["blocks.0.attn.hook_q", "hook_embed"], names) == ["hook_embed", "blocks.0.attn.hook_q"]
    assert select_names(ends_in("q"), names) == ["blocks.0.attn.hook_q"]
    assert select_names(ends_in("nothing"), names) == []


def test_collect_keeps_what_reduce_makes_of_an_activation() -> None:
    model, tokens = random_model(), random_tokens()
    _, cache = model.run_with_cache(tokens)
    keep = Collect(["blocks.0.attn.hook_pattern"], reduce=lambda pattern: pattern.amax(-1))
    model(tokens, tap=keep)
    assert list(keep.kept) == ["blocks.0.attn.hook_pattern"]
    assert torch.equal(keep.kept["blocks.0.attn.hook_pattern"], cache["pattern", 0].amax(-1))


def test_heads_are_computed_apart_only_where_a_tap_wants_them() -> None:
    model = random_model()
    met: list[str] = []

    class Meet(Tap):
        def __call__(self, name: str, activation: Tensor) -> Tensor:
            met.append(name)
            return activation

    model(random_tokens(), tap=Chain(Meet(), Collect(["blocks.1.attn.hook_result"])))
    assert [name for name in met if name.endswith("hook_result")] == ["blocks.1.attn.hook_result"]
    assert NO_TAP.look("blocks.1.attn.hook_result") is Look.NEVER
    assert Chain(Collect([]), Edit([(["a"], zero_in_place)])).look("a") is Look.WHOLE


def test_what_a_tap_never_looks_at_it_gives_back_unseen() -> None:
    """A pass may leave out what nobody looks at: a tap that says so wrongly would be shown nothing."""
    name, other = "blocks.0.attn.hook_pattern", "blocks.0.attn.hook_z"
    seen: list[str] = []
    edit = Edit([([name], lambda activation, hook: seen.append(hook.name))])
    collect = Collect([name])
    for tap in (edit, collect, Chain(edit, collect), Chain(NO_TAP, edit)):
        for inside in (tap, Chain(tap)):
            assert inside.look(name) is Look.WHOLE
            assert inside.look(other) is Look.NEVER
        part = tap.within("blocks.0").within("attn")
        assert part.look("hook_pattern") is Look.WHOLE
        assert part.look("hook_z") is Look.NEVER
        z = torch.ones(1)
        assert part("hook_z", z) is z
    assert not seen
    assert not collect.kept
    assert NO_TAP.look(name) is Look.NEVER
    assert NO_TAP.within("blocks.0").look("attn.hook_pattern") is Look.NEVER
    assert Tap().look(other) is Look.WHOLE  # a tap that says nothing may look at anything

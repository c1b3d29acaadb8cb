"""Steps with the cache against one full run, whose activations have to be the same."""

import pytest
import torch
from torch import Tensor

from headlight.model import Transformer
from headlight.model.decoding import KeyValueCache
from headlight.model.nn.hooks import NO_TAP, Chain, Collect
from tests.model.decoding.oracles import random_seq2seq
from tests.model.oracles import ATOL, RTOL, random_model, random_tokens

# Where the new positions are: the axis of queries, which for patterns comes after that of heads.
QUERY_AXIS = {"hook_q": 1, "hook_z": 1, "hook_pattern": 2, "hook_resid_post": 1}
KEYS = ("hook_k", "hook_v")  # of the new positions; across, of the source's, which are all new at the first step

STEPS = [4, 1, 2, 1]


def compare(step: dict[str, Tensor], full: dict[str, Tensor], past: int, end: int) -> None:
    """What one step saw is the part of the full run that belongs to its positions."""
    for name, activation in step.items():
        kind, expected = name.rsplit(".")[-1], full[name]
        if kind in KEYS:
            first, last = (0, 0 if past else None) if "cross_attn" in name else (past, end)
            expected = expected[:, first:last]
        else:
            expected = expected.narrow(QUERY_AXIS[kind], past, end - past)
            if kind == "hook_pattern" and "cross_attn" not in name:
                expected = expected[..., :end]
        torch.testing.assert_close(activation, expected, rtol=RTOL, atol=ATOL, msg=lambda m, n=name: f"{n}: {m}")


def names_of(hook_names: tuple[str, ...]) -> list[str]:
    kinds = (*QUERY_AXIS, *KEYS)
    names = [name for name in hook_names if name.endswith(kinds) and not name.startswith("encoder.")]
    assert len({name.rsplit(".")[-1] for name in names}) == len(kinds)
    return names


@pytest.mark.parametrize("padded", [False, True])
def test_steps_of_a_decoder_have_the_activations_of_one_run(padded: bool) -> None:
    model, tokens, cache = random_model(), random_tokens(3, sum(STEPS)), KeyValueCache()
    mask = torch.ones_like(tokens)
    mask[1, :2], mask[2, 2:4] = 0, 0  # left and right of a prompt of four
    names = names_of(model.hook_names)
    logits, full = model.run_with_cache(tokens, names, mask if padded else None)
    past = 0
    for n_new in STEPS:
        collect, end = Collect(names), past + n_new
        step_mask = mask[:, :end] if padded else None
        step = model(tokens[:, past:end], step_mask, tap=Chain(cache, collect), n_past=past)
        torch.testing.assert_close(step, logits[:, past:end], rtol=RTOL, atol=ATOL)
        compare(collect.kept, dict(full), past, end)
        past = end


@pytest.mark.parametrize("norm_first", [True, False])
@pytest.mark.parametrize("padded", [False, True])
def test_steps_of_an_encoder_decoder_have_the_activations_of_one_run(norm_first: bool, padded: bool) -> None:
    model, cache = random_seq2seq(norm_first=norm_first), KeyValueCache()
    source, target = random_tokens(2, 5, d_vocab=11), random_tokens(2, sum(STEPS), seed=1, d_vocab=7)
    mask = torch.tensor([[1, 1, 1, 0, 0], [1, 1, 1, 1, 1]]) if padded else None
    names = names_of(model.hook_names)
    logits, full = model.run_with_cache(source, target, names, mask)
    encoder_out, past = model.encode(source, mask), 0
    for n_new in STEPS:
        collect, end = Collect(names), past + n_new
        step = model.decode(target[:, past:end], encoder_out, mask, tap=Chain(cache, collect), n_past=past)
        torch.testing.assert_close(step, logits[:, past:end], rtol=RTOL, atol=ATOL)
        compare(collect.kept, dict(full), past, end)
        past = end


def test_what_the_cache_gave_is_never_written_to_afterwards() -> None:
    cache, views, copies = KeyValueCache(), [], []
    for _ in range(9):
        keys, _ = cache.with_past(torch.randn(2, 1, 3, 5), torch.randn(2, 1, 3, 5), "blocks.0.attn")
        views.append(keys)
        copies.append(keys.clone())
        cache.select(torch.tensor([1, 0]))
    assert [keys.shape[1] for keys in views] == list(range(1, 10))
    assert all(map(torch.equal, views, copies))


def test_rows_can_be_reordered_repeated_and_dropped() -> None:
    cache, first, second = KeyValueCache(), torch.randn(3, 2, 3, 5), torch.randn(4, 1, 3, 5)
    cache.with_past(2 * first, first, "blocks.0.attn")
    cache.select(rows := torch.tensor([2, 0, 0, 2]))
    for tensor, factor in zip(cache.with_past(2 * second, second, "blocks.0.attn"), (2, 1), strict=True):
        assert torch.equal(tensor, factor * torch.cat([first[rows], second], dim=1))


def test_each_attention_has_a_past_of_its_own_and_what_passes_stays_as_it_is() -> None:
    cache, k = KeyValueCache(), torch.randn(1, 2, 3, 5)
    cache.within("blocks.0").within("attn").with_past(k, k)
    assert torch.equal(cache.within("blocks.1").within("attn").with_past(k, k)[0], k)
    assert torch.equal(cache.within("blocks.1").within("attn").with_past(k, k)[1], torch.cat([k, k], 1))
    assert cache("blocks.0.attn.hook_k", k) is k


def test_one_cache_keeps_layers_and_kinds_of_attention_apart() -> None:
    cache = KeyValueCache()
    for name in ("blocks.0.attn.hook_k", "blocks.1.attn.hook_k", "blocks.0.cross_attn.hook_k"):
        assert cache(name, torch.ones(1, 2, 3, 5)).shape[1] == 2


def test_without_a_cache_the_new_positions_cannot_be_run_alone() -> None:
    """Guards the test above: the steps only agree because the cache gives the keys and values before them."""
    model, tokens = random_model(), random_tokens(1, 5)
    with pytest.raises(Exception):  # noqa: B017, PT011 (torch's own, about shapes)
        Transformer.forward(model, tokens[:, 4:], tap=NO_TAP, n_past=4)

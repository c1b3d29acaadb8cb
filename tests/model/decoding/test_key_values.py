"""Steps with the cache against one full run, whose activations have to be the same."""

import pytest
import torch
from torch import Tensor

from headlight.model import Transformer
from headlight.model.decoding import KeyValueCache
from headlight.model.hooks import NO_TAP, Chain, Collect
from tests.model.decoding.oracles import random_seq2seq
from tests.model.oracles import ATOL, RTOL, random_model, random_tokens

# Where the new positions are: the axis of queries, which for patterns comes after that of heads.
QUERY_AXIS = {"hook_q": 1, "hook_z": 1, "hook_pattern": 2, "hook_resid_post": 1}
WHOLE = ("hook_k", "hook_v")  # after the cache, of all positions so far

STEPS = [4, 1, 2, 1]


def compare(step: dict[str, Tensor], full: dict[str, Tensor], past: int, end: int) -> None:
    """What one step saw is the part of the full run that belongs to its positions."""
    for name, activation in step.items():
        kind, expected = name.rsplit(".")[-1], full[name]
        if kind in WHOLE:
            expected = expected if "cross_attn" in name else expected[:, :end]
        else:
            expected = expected.narrow(QUERY_AXIS[kind], past, end - past)
            if kind == "hook_pattern" and "cross_attn" not in name:
                expected = expected[..., :end]
        torch.testing.assert_close(activation, expected, rtol=RTOL, atol=ATOL, msg=lambda m, n=name: f"{n}: {m}")


def names_of(hook_names: tuple[str, ...]) -> list[str]:
    kinds = (*QUERY_AXIS, *WHOLE)
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
        given = mask[:, :end] if padded else None
        step = model(tokens[:, past:end], given, tap=Chain(cache, collect), n_past=past)
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
    cache, given, copies = KeyValueCache(), [], []
    for _ in range(9):
        keys = cache("blocks.0.attn.hook_k", torch.randn(2, 1, 3, 5))
        given.append(keys)
        copies.append(keys.clone())
        cache.select(torch.tensor([1, 0]))
    assert [keys.shape[1] for keys in given] == list(range(1, 10))
    assert all(map(torch.equal, given, copies))


def test_rows_can_be_reordered_repeated_and_dropped() -> None:
    cache, first, second = KeyValueCache(), torch.randn(3, 2, 3, 5), torch.randn(4, 1, 3, 5)
    cache("blocks.0.attn.hook_v", first)
    cache.select(rows := torch.tensor([2, 0, 0, 2]))
    assert torch.equal(cache("blocks.0.attn.hook_v", second), torch.cat([first[rows], second], dim=1))


def test_other_activations_pass_by() -> None:
    q = torch.randn(1, 2, 3, 5)
    assert KeyValueCache()("blocks.0.attn.hook_q", q) is q


def test_one_cache_keeps_layers_and_kinds_of_attention_apart() -> None:
    cache = KeyValueCache()
    for name in ("blocks.0.attn.hook_k", "blocks.1.attn.hook_k", "blocks.0.cross_attn.hook_k"):
        assert cache(name, torch.ones(1, 2, 3, 5)).shape[1] == 2


def test_without_a_cache_the_new_positions_cannot_be_run_alone() -> None:
    """Guards the test above: the steps only agree because the cache gives the keys and values before them."""
    model, tokens = random_model(), random_tokens(1, 5)
    with pytest.raises(Exception):  # noqa: B017, PT011 (torch's own, about shapes)
        Transformer.forward(model, tokens[:, 4:], tap=NO_TAP, n_past=4)

"""Attention a head at a time, against the einsums in double precision and torch's own, whatever the tap looks at."""

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

from headlight.model.nn import attention_kernel as taken
from headlight.model.nn.attention_kernel import attend, attention_scores
from headlight.model.nn.hooks import NO_TAP, Collect, Edit, Tap
from headlight.model.nn.layers import place
from tests.model.oracles import random_model

N_POS, N_HEADS, D_HEAD, SCALE = 9, 3, 4, 2.5


@pytest.fixture(autouse=True)
def long(monkeypatch: pytest.MonkeyPatch) -> None:
    """A prompt of few tokens goes the way of a long one."""
    monkeypatch.setattr(taken, "LONG", 2)


def normal(*shape: int) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(sum(shape)))


def inputs(batch: int = 2) -> tuple[Tensor, Tensor, Tensor]:
    """Queries, keys and values as slices of one tensor, as the product with the fused matrix gives them."""
    q, k, v = normal(batch, N_POS, 3, N_HEADS, D_HEAD).unbind(2)
    return q, k, v


def visible(batch: int = 2) -> Tensor:
    """Causal, the last row's last two tokens padding."""
    mask = torch.ones(batch, N_POS, dtype=torch.bool)
    mask[-1, -2:] = False
    return place("causal", mask, N_POS, torch.device("cpu")).mask


def expected(q: Tensor, k: Tensor, v: Tensor, may_see: Tensor) -> dict[str, Tensor]:
    """The same in double precision."""
    scores = torch.einsum("bqhd,bkhd->bhqk", q.double(), k.double()) / SCALE
    scores = scores.masked_fill(~may_see, -torch.inf)
    pattern = scores.softmax(-1)
    return {
        "hook_attn_scores": scores,
        "hook_pattern": pattern,
        "z": torch.einsum("bhqk,bkhd->bqhd", pattern, v.double()),
    }


@pytest.mark.parametrize(
    "looks_at", [(), ("hook_pattern",), ("hook_attn_scores",), ("hook_attn_scores", "hook_pattern")]
)
def test_it_is_the_einsums_whatever_the_tap_looks_at(looks_at: tuple[str, ...]) -> None:
    tap = Collect(looks_at)
    with torch.inference_mode():
        q, k, v = inputs()
        z = attend(q, k, v, visible, SCALE, tap)
        exact = expected(q, k, v, visible())
    assert list(tap.kept) == list(looks_at)
    for name, activation in [*tap.kept.items(), ("z", z)]:
        # Sums of a few terms of size 1.
        torch.testing.assert_close(activation.double(), exact[name], rtol=1e-5, atol=1e-5)


def test_it_is_torchs_own_attention() -> None:
    with torch.inference_mode():
        q, k, v = inputs(batch=1)
        may_see = place("causal", None, N_POS, torch.device("cpu")).mask
        ours = attend(q, k, v, lambda: may_see, D_HEAD**0.5, NO_TAP)
        q, k, v = q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2)
        theirs = F.scaled_dot_product_attention(q, k, v, is_causal=True)
    torch.testing.assert_close(ours, theirs.transpose(1, 2), rtol=1e-5, atol=1e-5)  # as above


def test_what_the_tap_makes_of_scores_and_pattern_is_gone_on_with() -> None:
    def double(activation: Tensor, hook: object) -> Tensor:
        return 2 * activation

    tap = Edit([(["hook_attn_scores"], double), (["hook_pattern"], double)])
    with torch.inference_mode():
        q, k, v = inputs()
        z = attend(q, k, v, visible, SCALE, tap)
        pattern = 2 * (2 * expected(q, k, v, visible())["hook_attn_scores"]).softmax(-1)
        exact = torch.einsum("bhqk,bkhd->bqhd", pattern, v.double())
    torch.testing.assert_close(z.double(), exact, rtol=1e-5, atol=1e-5)  # as above


def test_an_edit_may_make_a_larger_batch_of_one() -> None:
    tap = Edit([(["hook_pattern"], lambda pattern, hook: pattern.expand(3, -1, -1, -1).clone())])
    with torch.inference_mode():
        q, k, v = inputs(batch=1)
        one = attend(q, k, v, lambda: visible(1), SCALE, NO_TAP)
        three = attend(q, k, v, lambda: visible(1), SCALE, tap)
    torch.testing.assert_close(three, one.expand(3, -1, -1, -1), rtol=1e-5, atol=1e-5)  # as above


def test_only_long_prompts_without_derivatives_that_see_something_go_this_way(monkeypatch: pytest.MonkeyPatch) -> None:
    q, k, v = inputs()
    may_see = visible()

    def goes(q: Tensor = q, k: Tensor = k, v: Tensor = v, may_see: Tensor = may_see) -> bool:
        return attend(q, k, v, lambda: may_see, SCALE, NO_TAP) is not None

    with torch.inference_mode():
        assert goes()
        torch.testing.assert_close(
            attention_scores(q, k, may_see, SCALE).double(), expected(q, k, v, may_see)["hook_attn_scores"]
        )
        assert not goes(q=q.double())
        assert not goes(v=v.double())
        assert not goes(k=k[:1])
        assert not goes(v=v[:1])
        assert not goes(may_see=torch.zeros_like(may_see))  # blind queries need zeros, not NaN
        monkeypatch.setattr(taken, "LONG", N_POS + 1)
        assert not goes()
        assert attention_scores(q, k, may_see, SCALE) is None
        monkeypatch.undo()
    assert not goes()


@pytest.mark.parametrize("tap", [NO_TAP, Tap()])
def test_a_model_gives_the_same_logits_either_way(tap: Tap, monkeypatch: pytest.MonkeyPatch) -> None:
    model = random_model()
    tokens = torch.arange(7)[None]
    with torch.inference_mode():
        by_head = model(tokens, tap=tap)
        monkeypatch.setattr(taken, "LONG", 8)
        # Logits of about 1 after two layers of float32 sums in another order.
        torch.testing.assert_close(by_head, model(tokens, tap=tap), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("way", ["causal", "window", "bidirectional"])
def test_some_rows_at_a_time_are_all_of_them(way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(taken, "ROWS", 4)  # of 9
    positions = place("bidirectional" if way == "bidirectional" else "causal", None, N_POS, torch.device("cpu"))
    may_see = positions.mask_within(3 if way == "window" else None)
    assert taken.is_causal(may_see) == (way == "causal")
    with torch.inference_mode():
        q, k, v = inputs(batch=1)
        exact = expected(q, k, v, may_see)
        z = attend(q, k, v, lambda: may_see, SCALE, NO_TAP)
        if way == "causal":
            fused = attend(q, k, v, lambda: may_see, SCALE, NO_TAP, causal=True)
            torch.testing.assert_close(fused.double(), exact["z"], rtol=1e-5, atol=1e-5)  # as below
    # Sums of a few terms of size 1.
    torch.testing.assert_close(z.double(), exact["z"], rtol=1e-5, atol=1e-5)


def test_one_cell_far_down_makes_a_mask_another_than_causal() -> None:
    """It is gone through some queries at a time."""
    mask = place("causal", None, 300, torch.device("cpu")).mask
    assert torch.equal(mask[0, 0], torch.ones(300, 300).tril().bool())
    assert taken.is_causal(mask)
    assert not taken.is_causal(mask[:, :, 1:])
    for query, key in ((299, 5), (130, 131)):
        other = mask.clone()
        other[0, 0, query, key] ^= True
        assert not taken.is_causal(other)

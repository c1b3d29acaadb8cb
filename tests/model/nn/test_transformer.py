"""The forward pass against TransformerLens, sums that must agree, padding, gradients and refused input."""

from typing import Any

import pytest
import torch
from torch import Tensor

from headlight.model import ActivationCache, Transformer
from headlight.model.base.errors import HeadlightError, InputError
from tests.model.lens.lens_twin import lens_twin
from tests.model.oracles import ATOL, RTOL, VARIANTS, random_model, random_tokens


@pytest.fixture(params=VARIANTS.values(), ids=VARIANTS.keys())
def model(request: pytest.FixtureRequest) -> Transformer:
    return random_model(**request.param)


def with_everything(model: Transformer, tokens: Tensor) -> tuple[Tensor, ActivationCache]:
    """The logits and every activation, hook_result included."""
    return model.run_with_cache(tokens, names_filter=lambda name: True)


def test_every_activation_is_that_of_transformer_lens(model: Transformer) -> None:
    tokens = random_tokens()
    expected_logits, expected = lens_twin(model).run_with_cache(tokens)
    logits, cache = with_everything(model, tokens)
    torch.testing.assert_close(logits, expected_logits, rtol=RTOL, atol=ATOL)
    assert list(cache) == list(expected)
    for name in expected:
        torch.testing.assert_close(cache[name], expected[name], rtol=RTOL, atol=ATOL, msg=lambda m, n=name: f"{n}: {m}")


def test_activation_names_in_forward_order() -> None:
    block = [
        "hook_resid_pre",
        "ln1.hook_scale",
        "ln1.hook_normalized",
        "attn.hook_q",
        "attn.hook_k",
        "attn.hook_v",
        "attn.hook_attn_scores",
        "attn.hook_pattern",
        "attn.hook_z",
        "attn.hook_result",
        "hook_attn_out",
        "hook_resid_mid",
        "ln2.hook_scale",
        "ln2.hook_normalized",
        "mlp.hook_pre",
        "mlp.hook_post",
        "hook_mlp_out",
        "hook_resid_post",
    ]
    assert random_model().hook_names == (
        "hook_embed",
        "hook_pos_embed",
        *(f"blocks.0.{name}" for name in block),
        *(f"blocks.1.{name}" for name in block),
        "ln_final.hook_scale",
        "ln_final.hook_normalized",
        "unembed.hook_in",
        "unembed.hook_out",
    )


def test_heads_sum_to_the_attention_output(model: Transformer) -> None:
    _, cache = with_everything(model, random_tokens())
    for layer, block in enumerate(model.blocks):
        summed = cache["result", layer].sum(2) + block.attn.b_O
        torch.testing.assert_close(summed, cache["attn_out", layer], rtol=RTOL, atol=ATOL)


def test_components_sum_to_the_final_residual(model: Transformer) -> None:
    _, cache = with_everything(model, random_tokens())
    outputs = [cache[name] for name in cache if name.endswith(("embed", "attn_out", "mlp_out"))]
    assert len(outputs) == 2 + model.cfg.n_layers * (1 if model.cfg.attn_only else 2)
    torch.testing.assert_close(sum(outputs), cache["resid_post", -1], rtol=RTOL, atol=ATOL)


def test_results_are_the_same_with_and_without_heads_apart(model: Transformer) -> None:
    tokens = random_tokens()
    torch.testing.assert_close(with_everything(model, tokens)[0], model(tokens), rtol=RTOL, atol=ATOL)


@pytest.mark.parametrize("side", ["left", "right"])
def test_padded_rows_get_the_result_that_they_get_alone(model: Transformer, side: str) -> None:
    rows = [random_tokens(1, length, seed=length) for length in (7, 4, 1)]
    tokens, mask = torch.zeros(3, 7, dtype=torch.long), torch.zeros(3, 7, dtype=torch.long)
    spans = [slice(7 - row.shape[1], 7) if side == "left" else slice(0, row.shape[1]) for row in rows]
    for index, (row, span) in enumerate(zip(rows, spans, strict=True)):
        tokens[index, span], mask[index, span] = row[0], 1
    padded_logits, padded = model.run_with_cache(tokens, attention_mask=mask)
    for index, (row, span) in enumerate(zip(rows, spans, strict=True)):
        logits, cache = model.run_with_cache(row)
        torch.testing.assert_close(padded_logits[index, span], logits[0], rtol=RTOL, atol=ATOL)
        for layer in range(model.cfg.n_layers):
            pattern = padded["pattern", layer][index][:, span, span]
            torch.testing.assert_close(pattern, cache["pattern", layer][0], rtol=RTOL, atol=ATOL)
            torch.testing.assert_close(padded["resid_post", layer][index, span], cache["resid_post", layer][0])


def test_a_query_that_sees_no_key_has_a_row_of_zeros(model: Transformer) -> None:
    mask = torch.tensor([[0, 0, 1, 1], [0, 0, 0, 0]])
    logits, cache = model.run_with_cache(random_tokens(2, 4), attention_mask=mask)
    blind = cache["pattern", 0][1]
    assert torch.equal(blind, torch.zeros_like(blind))
    assert all(activation.isfinite().all() for name, activation in cache.items() if "scores" not in name)
    assert logits.isfinite().all()
    sighted = cache["pattern", 0][0][:, 2:]
    # A softmax row is a sum of at most four rounded quotients.
    torch.testing.assert_close(sighted.sum(-1), torch.ones_like(sighted.sum(-1)), rtol=0, atol=1e-6)


def test_padding_is_never_attended_to(model: Transformer) -> None:
    mask = torch.tensor([[1, 1, 0, 1, 0]])
    _, cache = model.run_with_cache(random_tokens(1, 5), attention_mask=mask)
    padding = cache["pattern", -1][..., mask[0] == 0]
    assert torch.equal(padding, torch.zeros_like(padding))


def test_causal_and_bidirectional_attention_differ_in_the_keys_after_the_query() -> None:
    after = torch.ones(7, 7).triu(1).bool()
    for direction in ("causal", "bidirectional"):
        _, cache = random_model(attention_dir=direction).run_with_cache(random_tokens())
        assert bool((cache["pattern", 0][..., after] > 0).any()) == (direction == "bidirectional")


def test_stopping_early_gives_the_residual_stream_before_that_block() -> None:
    model, tokens = random_model(), random_tokens()
    _, cache = model.run_with_cache(tokens)
    for layer in range(model.cfg.n_layers):
        resid, kept = model.run_with_cache(tokens, stop_at_layer=layer)
        assert torch.equal(resid, cache["resid_pre", layer])
        assert not [name for name in kept if name.startswith((f"blocks.{layer}", "ln_final"))]
    assert torch.equal(model(tokens, stop_at_layer=model.cfg.n_layers), cache["resid_post", -1])
    assert torch.equal(model(tokens, stop_at_layer=-1), cache["resid_pre", -1])


def test_gradients_are_those_of_transformer_lens(model: Transformer) -> None:
    tokens, twin = random_tokens(), lens_twin(model)
    for either in (model, twin):
        either(tokens).log_softmax(-1)[..., 3].sum().backward()
    theirs = dict(twin.named_parameters())
    compared = [name for name, _ in model.named_parameters() if not (model.cfg.tie_word_embeddings and "W_E" in name)]
    for name in compared:  # a tied W_E has two gradients in TransformerLens, one of them in W_U
        ours = model.get_parameter(name).grad
        # Gradients add up over all positions and layers, so their rounding is some times that of an activation.
        torch.testing.assert_close(ours, theirs[name].grad, rtol=1e-4, atol=1e-4, msg=lambda m, n=name: f"{n}: {m}")
    assert len(compared) > 10


def test_a_tied_embedding_has_the_gradients_of_both_its_uses() -> None:
    model, tokens = random_model(tie_word_embeddings=True), random_tokens()
    twin = lens_twin(model)
    for either in (model, twin):
        either(tokens).log_softmax(-1)[..., 3].sum().backward()
    expected = twin.embed.W_E.grad + twin.unembed.W_U.grad.T
    torch.testing.assert_close(model.embed.W_E.grad, expected, rtol=1e-4, atol=1e-4)  # as above


def test_gradients_reach_a_kept_activation() -> None:
    model, tokens = random_model(), random_tokens()
    logits, cache = model.run_with_cache(tokens, ["blocks.0.hook_resid_post"])
    (gradient,) = torch.autograd.grad(logits[0, -1, 3], cache["resid_post", 0])
    step = 1e-2 * torch.nn.functional.normalize(gradient, dim=-1)[0, -1]

    def logit(shift: Tensor) -> float:
        def nudge(resid: Tensor, hook: object) -> None:
            resid[0, -1] += shift

        return model.run_with_hooks(tokens, [("blocks.0.hook_resid_post", nudge)])[0, -1, 3].item()

    slope = (logit(step) - logit(-step)) / 2
    # The central difference's cubic term is of relative size step squared, 1e-4, and rounding adds 1e-6 / 1e-2.
    assert slope == pytest.approx((gradient[0, -1] @ step).item(), rel=5e-3)


def test_gradients_reach_an_activation_of_a_model_whose_weights_take_none() -> None:
    model, tokens = random_model(), random_tokens()
    (expected,) = torch.autograd.grad(model(tokens)[0, -1, 3], model.embed.W_E)
    model.requires_grad_(False)
    leaves: list[Tensor] = []

    def watch(embed: Tensor, hook: object) -> Tensor:
        leaves.append(embed.requires_grad_())
        return embed

    model.run_with_hooks(tokens, [("hook_embed", watch)])[0, -1, 3].backward()
    summed = torch.zeros_like(expected).index_add(0, tokens.flatten(), leaves[0].grad.flatten(0, 1))
    torch.testing.assert_close(summed, expected, rtol=1e-4, atol=1e-5)  # the same terms, added in another order


@pytest.mark.parametrize(
    ("tokens", "mask", "message"),
    [
        (torch.zeros(1, 0, dtype=torch.long), None, "at least one token"),
        (torch.zeros(1, 11, dtype=torch.long), None, "11 tokens; this model's context holds 10"),
        (torch.tensor([[3, 19]]), None, "19 of the prompt is not in the vocabulary, whose ids go from 0 to 18"),
        (torch.tensor([[3, -1]]), None, "-1 of the prompt is not in the vocabulary"),
        (torch.zeros(1, 3, dtype=torch.long), torch.ones(1, 2, dtype=torch.long), r"\[1, 2\], the tokens \[1, 3\]"),
    ],
)
@pytest.mark.usefixtures("unchecked")
def test_tokens_that_the_model_cannot_take_are_refused(tokens: Tensor, mask: Tensor | None, message: str) -> None:
    with pytest.raises(InputError, match=message):
        random_model()(tokens, mask)
    assert issubclass(InputError, HeadlightError)


def test_text_needs_a_tokenizer() -> None:
    with pytest.raises(InputError, match="without a tokenizer"):
        random_model().to_tokens("a")


ROTARY = {"positional_embedding_type": "rotary", "rotary_dim": 4}
PLACES: dict[str, dict[str, Any]] = {
    "learned": {},
    "bidirectional": {"attention_dir": "bidirectional"},
    "rotary": ROTARY,
    "rotary in a window": ROTARY | {"window_size": 5, "attn_types": ("local", "global")},
    "alibi": {"positional_embedding_type": "alibi"},
    "relative bias": {"positional_embedding_type": "relative_positional_bias"},
}


@pytest.mark.parametrize("settings", PLACES.values(), ids=PLACES.keys())
def test_tokens_at_their_positions_are_those_whose_attention_to_the_others_is_masked(settings: dict[str, Any]) -> None:
    model, tokens, there = random_model(**settings), random_tokens()[:, :7], [0, 1, 4, 5, 6]

    def hide(scores: Tensor, hook: object) -> None:
        for query in there:
            scores[..., query, 2:4] = -torch.inf

    hooks = [(f"blocks.{layer}.attn.hook_attn_scores", hide) for layer in range(model.cfg.n_layers)]
    masked = model.run_with_hooks(tokens, fwd_hooks=hooks)
    alone = model(tokens[:, there], position_ids=torch.tensor(there).expand(len(tokens), -1))
    torch.testing.assert_close(alone, masked[:, there], rtol=RTOL, atol=ATOL)


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize("positions", [[0, 1], [0, 2, 2], [-1, 0, 1], [0, 1, 10_000]])
def test_positions_that_do_not_ascend_in_the_context_are_refused(positions: list[int]) -> None:
    with pytest.raises(InputError, match="Positions"):
        random_model()(random_tokens()[:1, :3], position_ids=torch.tensor([positions]))

"""The encoder-decoder, held against torch's own nn.Transformer with the same weights."""

import math
import warnings
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from headlight.model import Seq2SeqConfig, Seq2SeqTransformer
from headlight.model.base.errors import ConfigError, HookError, InputError
from headlight.model.nn.hooks import Collect
from headlight.model.nn.layers.attention import Attention

# Two float32 implementations of four layers; 1e-5 is what the issue of parity leaves to the order of summation.
RTOL, ATOL = 0.0, 1e-5
SOURCES, TARGETS = 7, 5
PADDED_SOURCE = torch.tensor([[1, 1, 1, 1, 1, 1, 1], [1, 1, 1, 1, 0, 0, 0]])
PADDED_TARGET = torch.tensor([[1, 1, 1, 1, 1], [1, 1, 1, 0, 0]])


SIZES: dict[str, Any] = {
    "n_encoder_layers": 2,
    "n_decoder_layers": 2,
    "d_model": 16,
    "n_ctx": 12,
    "n_heads": 4,
    "d_head": 4,
    "d_mlp": 24,
    "d_vocab": 19,
    "d_vocab_out": 23,
    "start_token": 1,
    "end_token": 2,
}


def config(**changes: Any) -> Seq2SeqConfig:
    return Seq2SeqConfig(**(SIZES | changes))


def random_model(cfg: Seq2SeqConfig) -> Seq2SeqTransformer:
    """Every parameter random, gains and biases too, and large enough for an error to show."""
    torch.manual_seed(0)
    model = Seq2SeqTransformer(cfg).eval().requires_grad_(False)
    for parameter in model.parameters():
        parameter.normal_(std=0.3)
    return model


def torch_model(model: Seq2SeqTransformer) -> nn.Transformer:
    """torch's model with the same weights."""
    cfg = model.cfg
    sizes = (cfg.d_model, cfg.n_heads, cfg.n_encoder_layers, cfg.n_decoder_layers, cfg.d_mlp or 0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # that norm_first has no fast path
        theirs = nn.Transformer(*sizes, 0.0, cfg.act_fn, batch_first=True, norm_first=cfg.norm_first).eval()
    theirs.encoder.use_nested_tensor = False  # a prototype of torch's that warns of itself
    for side in ("encoder", "decoder"):
        ours, stack = getattr(model, side), getattr(theirs, side)
        for block, layer in zip(ours.blocks, stack.layers, strict=True):
            copy_attention(block.attn, layer.self_attn)
            if side == "decoder":
                copy_attention(block.cross_attn, layer.multihead_attn)
            for name in ("1", "2", "3"):
                if hasattr(layer, f"norm{name}"):
                    copy_norm(getattr(block, f"ln{name}"), getattr(layer, f"norm{name}"))
            layer.linear1.weight.data, layer.linear1.bias.data = block.mlp.W_in.T, block.mlp.b_in
            layer.linear2.weight.data, layer.linear2.bias.data = block.mlp.W_out.T, block.mlp.b_out
        copy_norm(ours.ln_final, stack.norm)
    return theirs


def copy_norm(ours: nn.Module, theirs: nn.LayerNorm) -> None:
    theirs.weight.data, theirs.bias.data = ours.w, ours.b


def copy_attention(ours: Attention, theirs: nn.MultiheadAttention) -> None:
    """Theirs keeps [3 d_model, d_model]: the rows of queries, keys and values, each head by head."""
    d_model = theirs.embed_dim
    matrices = [W.permute(0, 2, 1).reshape(d_model, d_model) for W in (ours.W_Q, ours.W_K, ours.W_V)]
    theirs.in_proj_weight.data = torch.cat(matrices)
    theirs.in_proj_bias.data = torch.cat([b.flatten() for b in (ours.b_Q, ours.b_K, ours.b_V)])
    theirs.out_proj.weight.data, theirs.out_proj.bias.data = ours.W_O.flatten(0, 1).T, ours.b_O


def tokens(model: Seq2SeqTransformer, batch: int = 2) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(1)
    source = torch.randint(model.cfg.d_vocab, (batch, SOURCES), generator=generator)
    return source, torch.randint(model.cfg.decoder.d_vocab, (batch, TARGETS), generator=generator)


def embedded(stack: nn.Module, token_ids: Tensor) -> Tensor:
    """What enters the first block, by plain indexing."""
    positions = stack.pos_embed(torch.arange(token_ids.shape[1])[None])
    return stack.embed.W_E[token_ids] * stack.embed_scale + positions


@pytest.mark.parametrize("norm_first", [True, False])
@pytest.mark.parametrize("act_fn", ["relu", "gelu"])
@pytest.mark.parametrize("padded", [False, True])
def test_the_same_weights_give_what_torch_gives(norm_first: bool, act_fn: str, padded: bool) -> None:
    model = random_model(config(norm_first=norm_first, final_norm=True, act_fn=act_fn))
    theirs, (source, target) = torch_model(model), tokens(model)
    source_mask, target_mask = (PADDED_SOURCE, PADDED_TARGET) if padded else (None, None)
    masks = (
        {
            "src_key_padding_mask": ~PADDED_SOURCE.bool(),
            "memory_key_padding_mask": ~PADDED_SOURCE.bool(),
            "tgt_key_padding_mask": ~PADDED_TARGET.bool(),
        }
        if padded
        else {}
    )
    with torch.no_grad():
        causal = torch.ones(TARGETS, TARGETS, dtype=torch.bool).triu(1)
        resid = theirs(embedded(model.encoder, source), embedded(model.decoder, target), tgt_mask=causal, **masks)
        expected = resid @ model.unembed.W_U + model.unembed.b_U
    logits = model(source, target, source_mask, target_mask)
    real = PADDED_TARGET.bool() if padded else torch.ones_like(target, dtype=torch.bool)
    torch.testing.assert_close(logits[real], expected[real], rtol=RTOL, atol=ATOL)


@pytest.mark.parametrize("norm_first", [True, False])
def test_cross_attention_patterns_are_those_of_torch(norm_first: bool) -> None:
    model = random_model(config(norm_first=norm_first))
    source, target = tokens(model)
    _, cache = model.run_with_cache(source, target)
    block, layer = model.decoder.blocks[1], torch_model(random_model(config(final_norm=True))).decoder.layers[1]
    copy_attention(block.cross_attn, layer.multihead_attn)
    norm, name = (block.ln2, "ln2") if norm_first else (block.ln1, "ln1")
    queries = cache[f"decoder.blocks.1.{name}.hook_normalized"] * norm.w + norm.b
    memory = model.encode(source)
    with torch.no_grad():
        _, expected = layer.multihead_attn(queries, memory, memory, need_weights=True, average_attn_weights=False)
    pattern = cache["decoder.blocks.1.cross_attn.hook_pattern"]
    assert pattern.shape == (2, 4, TARGETS, SOURCES)
    torch.testing.assert_close(pattern, expected, rtol=RTOL, atol=ATOL)


@pytest.mark.parametrize("norm_first", [True, False])
@pytest.mark.parametrize("shared_embeddings", ["none", "target", "all"])
@pytest.mark.parametrize("positions", ["sinusoidal", "learned"])
def test_padding_changes_no_real_token(norm_first: bool, shared_embeddings: str, positions: str) -> None:
    """Right padding and left padding, each against the rows run alone."""
    cfg = config(norm_first=norm_first, shared_embeddings=shared_embeddings, positions=positions, d_vocab_out=19)
    model = random_model(cfg)
    source, target = tokens(model)
    together = model(source, target, PADDED_SOURCE, PADDED_TARGET)
    alone = model(source[1:, :4], target[1:, :3])
    torch.testing.assert_close(together[1:, :3], alone, rtol=RTOL, atol=ATOL)
    flipped = model(source.flip(1), target.flip(1), PADDED_SOURCE.flip(1), PADDED_TARGET.flip(1))
    alone = model(source[1:, :4].flip(1), target[1:, :3].flip(1))
    torch.testing.assert_close(flipped[1:, -3:], alone, rtol=RTOL, atol=ATOL)


def test_a_source_without_real_tokens_is_attended_to_by_nothing() -> None:
    """Neither NaN nor a uniform row: zeros."""
    model = random_model(config())
    source, target = tokens(model)
    logits, cache = model.run_with_cache(source, target, source_mask=torch.zeros_like(source))
    for name in ("encoder.blocks.0.attn.hook_pattern", "decoder.blocks.0.cross_attn.hook_pattern"):
        assert not cache[name].any()
    assert logits.isfinite().all()


def test_sinusoidal_positions_by_hand() -> None:
    model = random_model(config(positions="sinusoidal"))
    waves = model.encoder.pos_embed(torch.tensor([[0, 3]]))[0]
    assert waves[0].tolist() == [0.0, 1.0] * 8
    expected = [f(3 / 10000 ** (2 * pair / 16)) for pair in range(8) for f in (math.sin, math.cos)]
    torch.testing.assert_close(waves[1], torch.tensor(expected), rtol=0, atol=1e-7)  # float32's rounding


def test_value_width_may_differ_from_query_width() -> None:
    model = random_model(config(d_head=3, d_value=5))
    source, target = tokens(model)
    logits, cache = model.run_with_cache(source, target, lambda name: True)
    assert model.decoder.blocks[0].cross_attn.W_Q.shape == (4, 16, 3)
    assert model.decoder.blocks[0].cross_attn.W_O.shape == (4, 5, 16)
    z, result = (cache[f"decoder.blocks.1.cross_attn.hook_{name}"] for name in ("z", "result"))
    attn = model.decoder.blocks[1].cross_attn
    torch.testing.assert_close(result, torch.einsum("bphv,hvd->bphd", z, attn.W_O), rtol=RTOL, atol=ATOL)
    expected = result.sum(2) + attn.b_O
    torch.testing.assert_close(cache["decoder.blocks.1.hook_cross_attn_out"], expected, rtol=RTOL, atol=ATOL)
    assert attn.attn_scale == 3**0.5
    assert logits.shape == (2, TARGETS, 23)


def test_the_streams_additions_add_up() -> None:
    model = random_model(config())
    _, cache = model.run_with_cache(*tokens(model))
    for layer in range(2):
        parts = ("resid_pre", "attn_out", "cross_attn_out", "mlp_out")
        total = sum(cache[f"decoder.blocks.{layer}.hook_{part}"] for part in parts)
        torch.testing.assert_close(cache[f"decoder.blocks.{layer}.hook_resid_post"], total, rtol=RTOL, atol=ATOL)


@pytest.mark.parametrize(("shared", "own"), [("none", 3), ("target", 2), ("all", 1)])
def test_shared_embeddings_are_one_parameter(shared: str, own: int) -> None:
    model = random_model(config(shared_embeddings=shared, d_vocab_out=19))
    matrices = {model.encoder.embed.W_E.data_ptr(), model.decoder.embed.W_E.data_ptr(), model.unembed.W_U.data_ptr()}
    assert len(matrices) == own
    assert sum(name.endswith(("W_E", "W_U")) for name in model.state_dict()) == own


def test_dropout_is_for_training_alone() -> None:
    model = random_model(config(dropout=0.5))
    inputs = tokens(model)
    assert torch.equal(model(*inputs), model(*inputs))
    assert torch.equal(model(*inputs), random_model(config())(*inputs))
    model.train()
    assert not torch.equal(model(*inputs), model(*inputs))


def test_hooks_reach_every_part_and_names_are_checked_first() -> None:
    model = random_model(config())
    source, target = tokens(model)

    def cut(pattern: Tensor, hook: object) -> Tensor:
        return torch.zeros_like(pattern)

    name = "decoder.blocks.1.cross_attn.hook_pattern"
    edited = model.run_with_hooks(source, target, [(name, cut)])
    assert not torch.allclose(edited, model(source, target))
    _, cache = model.run_with_cache(source, target, name)
    assert list(cache) == [name]
    with pytest.raises(HookError, match=r"decoder\.blocks\.1\.cross_attn\.hook_pattern"):
        model.run_with_hooks(source, target, [("blocks.1.cross_attn.hook_pattern", cut)])


def test_encoding_once_and_decoding_is_the_forward_pass() -> None:
    model = random_model(config())
    source, target = tokens(model)
    keep = Collect(model.hook_names)
    whole = model(source, target, PADDED_SOURCE, PADDED_TARGET)
    encoder_out = model.encode(source, PADDED_SOURCE, tap=keep)
    apart = model.decode(target, encoder_out, PADDED_SOURCE, PADDED_TARGET, tap=keep)
    torch.testing.assert_close(
        apart, whole, rtol=RTOL, atol=ATOL
    )  # heads are summed in another order where all are kept
    assert set(keep.kept) == set(model.hook_names)


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(
    ("source", "target", "message"),
    [
        (torch.zeros(1, 13, dtype=torch.long), torch.zeros(1, 2, dtype=torch.long), "source has 13 tokens.* holds 12"),
        (torch.zeros(1, 3, dtype=torch.long), torch.zeros(1, 13, dtype=torch.long), "target has 13 tokens.* holds 12"),
        (torch.tensor([[19]]), torch.tensor([[0]]), "19 of the source is not in the vocabulary.* 0 to 18"),
        (torch.tensor([[0]]), torch.tensor([[23]]), "23 of the target is not in the vocabulary.* 0 to 22"),
        (torch.zeros(1, 0, dtype=torch.long), torch.tensor([[0]]), "source have shape .* at least one"),
        (torch.tensor([[0]]), torch.zeros(1, 0, dtype=torch.long), "target have shape .* at least one"),
        (torch.zeros(2, 3, dtype=torch.long), torch.tensor([[0]]), r"shape \[2, 3, 16\].* needs \[1, source, 16\]"),
    ],
)
def test_what_the_model_cannot_take_is_refused(source: Tensor, target: Tensor, message: str) -> None:
    with pytest.raises(InputError, match=message):
        random_model(config())(source, target)


@pytest.mark.usefixtures("unchecked")
def test_masks_of_another_shape_are_refused() -> None:
    model = random_model(config())
    source, target = tokens(model)
    with pytest.raises(InputError, match=r"mask of the source has shape \[2, 6\]"):
        model(source, target, torch.ones(2, 6, dtype=torch.long))
    with pytest.raises(InputError, match=r"mask of the target has shape \[2, 7\]"):
        model(source, target, None, torch.ones(2, 7, dtype=torch.long))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"n_decoder_layers": 0}, "n_decoder_layers is 0"),
        ({"d_value": -1}, "d_value is -1"),
        ({"dropout": 1.0}, "dropout is 1.0"),
        ({"positions": "rotary"}, "positions is 'rotary'; it can be one of 'sinusoidal', 'learned'"),
        ({"shared_embeddings": "all"}, "d_vocab is 19 and d_vocab_out 23"),
        ({"start_token": 23}, "start_token is 23.*0 to 22"),
        ({"source_end_token": 19}, "source_end_token is 19.*0 to 18"),
    ],
)
@pytest.mark.usefixtures("unchecked")
def test_settings_that_contradict_each_other_are_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        config(**changes)

"""An encoder-decoder as transformers has it and as we open it, and how far they are from each other."""

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor, nn
from transformers import (
    AutoModelForSeq2SeqLM,
    BartConfig,
    M2M100Config,
    MBartConfig,
    MT5Config,
    PegasusConfig,
    PreTrainedConfig,
    T5Config,
    UMT5Config,
)

from headlight.model.nn.seq2seq import Seq2SeqTransformer
from tests.model.checkpoints.twins import difference

T5 = {
    "vocab_size": 23,
    "d_model": 20,
    "d_kv": 3,  # five heads of it are not as wide as the stream
    "d_ff": 31,
    "num_layers": 2,
    "num_decoder_layers": 3,
    "num_heads": 5,
    "relative_attention_num_buckets": 8,
    "relative_attention_max_distance": 10,
    "layer_norm_epsilon": 0.01,
    "decoder_start_token_id": 0,
}
OTHER_RANGES = {"relative_attention_num_buckets": 12, "relative_attention_max_distance": 7, "d_kv": 6}
BART = {
    "vocab_size": 23,
    "d_model": 20,
    "encoder_layers": 2,
    "decoder_layers": 3,
    "encoder_attention_heads": 5,
    "decoder_attention_heads": 5,
    "encoder_ffn_dim": 31,
    "decoder_ffn_dim": 31,
    "max_position_embeddings": 20,
    "forced_eos_token_id": None,
}
EVEN = BART | {"d_model": 24, "encoder_attention_heads": 4, "decoder_attention_heads": 4}
CONFIGS: dict[str, PreTrainedConfig] = {
    "t5: tied": T5Config(**T5),
    "t5: version 1.1, not scaled": T5Config(**T5, feed_forward_proj="gated-gelu", tie_word_embeddings=False),
    "t5: untied, other ranges": T5Config(
        **T5 | OTHER_RANGES,
        feed_forward_proj="gated-silu",
    ),
    "mt5: tied": MT5Config(**T5),
    "mt5: untied, another start": MT5Config(**T5 | {"decoder_start_token_id": 4}, feed_forward_proj="gated-silu"),
    "mt5: other ranges, relu": MT5Config(**T5 | OTHER_RANGES, feed_forward_proj="relu"),
    "umt5: tied": UMT5Config(**T5),
    "umt5: untied, another start": UMT5Config(**T5 | {"decoder_start_token_id": 4}, feed_forward_proj="gated-silu"),
    "umt5: other ranges, relu": UMT5Config(**T5 | OTHER_RANGES, feed_forward_proj="relu"),
    "bart: tied": BartConfig(**BART),
    "bart: scaled embedding, another start": BartConfig(**BART, scale_embedding=True, decoder_start_token_id=4),
    "bart: untied, relu": BartConfig(**BART | {"encoder_layers": 3}, activation_function="relu"),
    "mbart: tied": MBartConfig(**BART, decoder_start_token_id=2),
    "mbart: scaled embedding, no start": MBartConfig(**BART, scale_embedding=True, bos_token_id=4),
    "mbart: untied, relu": MBartConfig(**BART | {"encoder_layers": 3}, activation_function="relu"),
    "pegasus: tied": PegasusConfig(**EVEN),
    "pegasus: scaled embedding, another start": PegasusConfig(**EVEN, scale_embedding=True, decoder_start_token_id=4),
    "pegasus: untied, relu": PegasusConfig(**EVEN | {"encoder_layers": 3}, activation_function="relu"),
    "m2m_100: tied": M2M100Config(**EVEN),
    "m2m_100: not scaled, another start and padding": M2M100Config(
        **EVEN, scale_embedding=False, decoder_start_token_id=4, pad_token_id=0
    ),
    "m2m_100: untied, gelu": M2M100Config(**EVEN | {"encoder_layers": 3}, activation_function="gelu"),
}
N_SOURCE, N_TARGET = 14, 12  # longer than the ranges of distances
NOISE = 0.2  # at 0.3 what float32 rounds off grows to 9e-5 of a pattern in T5, which does not scale its scores


def noisy(config: PreTrainedConfig, untied: bool = False) -> Any:
    """transformers' model of a config, with noise on every parameter and on BART's bias of logits."""
    torch.manual_seed(0)
    model = AutoModelForSeq2SeqLM.from_config(config, attn_implementation="eager").eval()
    if untied:
        model.lm_head.weight = nn.Parameter(torch.randn(model.lm_head.weight.shape))
    bias = [buffer for name, buffer in model.named_buffers() if name == "final_logits_bias"]
    with torch.no_grad():
        for parameter in (*(each for each in model.parameters() if each.requires_grad), *bias):  # no computed positions
            parameter += NOISE * torch.randn(parameter.shape)
    return model


def drawn(rows: int, n_pos: int, seed: int) -> Tensor:
    return torch.randint(3, 23, (rows, n_pos), generator=torch.Generator().manual_seed(seed))


@torch.no_grad()
def differences(model: Seq2SeqTransformer, theirs: Any) -> Iterator[tuple[str, float]]:
    """How far each stream, each pattern and the logits are from transformers', by what they are."""
    source, target = drawn(2, N_SOURCE, 1), drawn(2, N_TARGET, 2)
    expected = theirs(source, decoder_input_ids=target, output_hidden_states=True, output_attentions=True)
    logits, cache = model.run_with_cache(source, target)
    for side, streams, patterns in (
        ("encoder", expected.encoder_hidden_states, expected.encoder_attentions),
        ("decoder", expected.decoder_hidden_states, expected.decoder_attentions),
    ):
        for layer, pattern in enumerate(patterns):
            name = f"{side}.blocks.{layer}"
            yield f"the stream before {name}", difference(cache[f"{name}.hook_resid_pre"], streams[layer])
            yield f"the pattern of {name}", difference(cache[f"{name}.attn.hook_pattern"], pattern)
    assert len(expected.cross_attentions) == model.cfg.n_decoder_layers
    for layer, pattern in enumerate(expected.cross_attentions):
        name = f"decoder.blocks.{layer}.cross_attn"
        yield f"the pattern of {name}", difference(cache[f"{name}.hook_pattern"], pattern)
    yield "a logit", difference(logits, expected.logits)

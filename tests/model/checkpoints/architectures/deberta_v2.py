"""DeBERTa versions 2 and 3."""

from transformers import AutoModelForMaskedLM, DebertaV2Config

from tests.model.checkpoints.architectures.bert import SIZES

MODEL = AutoModelForMaskedLM
COPIED = ""
RELATIVE = SIZES | {"relative_attention": True, "position_biased_input": False}

CONFIGS = {
    "buckets, shared": DebertaV2Config(
        **RELATIVE, pos_att_type="p2c|c2p", share_att_key=True, position_buckets=6, norm_rel_ebd="layer_norm"
    ),
    "content to position alone, near, untied": DebertaV2Config(
        **RELATIVE, pos_att_type=["c2p"], max_relative_positions=5, type_vocab_size=2, tie_word_embeddings=False
    ),
    "position to content alone, positions": DebertaV2Config(
        **RELATIVE | {"position_biased_input": True}, pos_att_type=["p2c"], position_buckets=4, max_relative_positions=9
    ),
    "convolution": DebertaV2Config(
        **RELATIVE, pos_att_type=["c2p", "p2c"], position_buckets=4, conv_kernel_size=3, conv_act="gelu"
    ),
    "convolution over five tokens, in groups": DebertaV2Config(
        **RELATIVE | {"position_biased_input": True}, pos_att_type=["c2p"], conv_kernel_size=5, conv_groups=2
    ),
    "convolution over one token, relu, no distances": DebertaV2Config(
        **SIZES, conv_kernel_size=1, conv_act="relu", type_vocab_size=2
    ),
    "no distances": DebertaV2Config(**SIZES, layer_norm_eps=0.01, hidden_act="relu"),
}

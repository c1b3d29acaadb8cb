"""Keys of config.json: those that affect a pass, those that must have a certain value, and those that are ignored."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

from headlight.model.base.errors import ConfigError

# Keys that change no pass of any architecture: of training, of generation, of other heads, of what is returned, of how
# the weights are stored, and of where all of it came from.
WORDS = """
initializer_range initializer_factor initializer_cutoff_factor init_std gradient_checkpointing pretraining_tp
slow_but_exact init_device embedding_fraction router_aux_loss_coef router_jitter_noise output_router_logits
sparse_prediction sparse_pred_ignore_index

attention_dropout hidden_dropout resid_pdrop embd_pdrop emb_pdrop attn_pdrop attention_probs_dropout_prob
hidden_dropout_prob classifier_dropout classifier_dropout_prob dropout dropout_rate activation_dropout layerdrop
encoder_layerdrop decoder_layerdrop qa_dropout seq_classif_dropout mlp_dropout embedding_dropout residual_dropout
resid_dropout embed_dropout summary_last_dropout summary_first_dropout

num_labels id2label label2id problem_type summary_type summary_use_proj summary_activation summary_proj_to_labels
classifier_pooling pooler_dropout pooler_hidden_act task_specific_params finetuning_task

use_cache pad_token_id bos_token_id eos_token_id eod_token_id cls_token_id sep_token_id mask_token_id
decoder_start_token_id tokenizer_class prefix max_length min_length max_new_tokens do_sample early_stopping num_beams
num_beam_groups diversity_penalty temperature top_k top_p typical_p repetition_penalty length_penalty
no_repeat_ngram_size encoder_no_repeat_ngram_size bad_words_ids num_return_sequences forced_bos_token_id
forced_eos_token_id remove_invalid_values exponential_decay_length_penalty suppress_tokens begin_suppress_tokens

output_attentions output_hidden_states output_scores return_dict return_dict_in_generate use_return_dict torchscript
chunk_size_feed_forward tie_last_hidden_states is_encoder_decoder is_decoder

dtype torch_dtype use_bfloat16 attn_implementation experts_implementation attention_softmax_in_fp32
scale_attention_softmax_in_fp32 reorder_and_upcast_attn deterministic_flash_attn reference_compile
quantization_config compression_config quantization

model_type architectures auto_map transformers_version name_or_path
"""
UNUSED = frozenset(WORDS.split())
EVERYWHERE: dict[str, tuple[object, ...]] = {"per_layer_config": (None,)}
DECODER: dict[str, tuple[object, ...]] = {"is_causal": (True, False)}
ENCODER: dict[str, tuple[object, ...]] = {
    "is_decoder": (False,),
    "add_cross_attention": (False,),
    "position_embedding_type": (None, "absolute"),
}
ENCODER_DECODER: dict[str, tuple[object, ...]] = {"is_encoder_decoder": (True,), "is_causal": (True,)}
MAX_VALUE_LENGTH = 60  # characters of a value


@dataclass(frozen=True)
class Keys:
    """The keys of config.json that an architecture's pass goes by.

    `read` are read by the translation, or by transformers' config class, which makes others of them. `allowed` are
    keys that change a pass too, each with the values that are supported.
    """

    read: tuple[str, ...]
    allowed: Mapping[str, tuple[object, ...]] = field(default_factory=lambda: DECODER)

    def select(self, config: Any) -> Any:
        """Return only these keys of a config, None where it has none, so that no translation reads another."""
        names = {*self.read, *self.allowed, "model_type", "architectures"}
        return SimpleNamespace(**{name: getattr(config, name, None) for name in names})

    def check(self, raw_config: Mapping[str, Any]) -> None:
        """Refuse settings in config.json that ask for arithmetic that is not supported.

        Raises:
            ConfigError: a key has none of the values allowed.
        """
        for name, values in {**EVERYWHERE, **self.allowed}.items():
            if name in raw_config and not any(_same(raw_config[name], value) for value in values):
                raise ConfigError(
                    f"config.json sets {name} to {_as_json(raw_config[name])}, which changes what the model "
                    f"computes; supported is {' or '.join(map(_as_json, values))}. Correct config.json if it is wrong; "
                    "else run this model in transformers."
                )

    def unread(self, raw_config: Mapping[str, Any], default: Any = None) -> Iterator[str]:
        """Yield settings in config.json that nothing reads and that differ from `default`, a config of its class."""
        names = getattr(default, "attribute_map", {})
        known = {names.get(name, name) for name in (*self.read, *self.allowed, *EVERYWHERE)} | UNUSED
        for name, value in raw_config.items():
            usual = value is None or value == getattr(default, name, None)
            if not usual and names.get(name, name) not in known and not name.startswith("_"):
                yield f"{name} = {_as_json(value)}"


def _same(one: object, other: object) -> bool:
    """Whether two settings are the same; 0 is not false."""
    return type(one) is type(other) and one == other


def _as_json(value: object) -> str:
    """A value as JSON, cut to `MAX_VALUE_LENGTH` characters."""
    text = json.dumps(value, default=repr)
    return text if len(text) <= MAX_VALUE_LENGTH else f"{text[: MAX_VALUE_LENGTH - 1]}…"

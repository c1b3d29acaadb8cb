"""UMT5 folders: T5 version 1.1 with position biases of each layer's own.

Source: transformers' UMT5Config and modeling_umt5, which scales logits whatever the config says.
"""

from dataclasses import replace
from typing import Any

from headlight.model.checkpoints.families import t5


def settings(config: Any) -> dict[str, Any]:
    """Translate UMT5's config to the fields of `Seq2SeqConfig`."""
    return t5.settings(config) | {"rel_pos_bias_per_layer": True, "logits_scale": config.d_model**-0.5}


FAMILY = replace(t5.ARCHITECTURE, model_type="umt5", settings=settings).family

"""Pegasus folders: Marian with its norms before each sublayer and behind each stack.

Source: transformers' PegasusConfig and modeling_pegasus.
"""

from typing import Any

from headlight.model.checkpoints.encoder_decoder import EncoderDecoder
from headlight.model.checkpoints.families import bart, marian
from headlight.model.checkpoints.keys import ENCODER_DECODER, Keys


def settings(config: Any) -> dict[str, Any]:
    """Translate Pegasus's config to the fields of `Seq2SeqConfig`."""
    return marian.settings(config) | {"norm_first": True}


KEYS = Keys(bart.READ, ENCODER_DECODER)
FAMILY = EncoderDecoder("pegasus", settings, marian.weight_map, KEYS, prefix="model.", ignored=marian.POSITIONS).family

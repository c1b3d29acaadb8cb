"""mBART folders: BART with its norms before each sublayer and behind each stack.

Source: transformers' MBartConfig and modeling_mbart.
"""

from typing import Any

from headlight.model.checkpoints.encoder_decoder import EncoderDecoder
from headlight.model.checkpoints.families import bart
from headlight.model.checkpoints.keys import ENCODER_DECODER, Keys


def settings(config: Any) -> dict[str, Any]:
    """Translate mBART's config to the fields of `Seq2SeqConfig`; where it names no start, a target begins with <s>.

    A classifier's begins with the source's last token, its language's.
    """
    start = config.bos_token_id if config.decoder_start_token_id is None else config.decoder_start_token_id
    return bart.settings(config) | {"norm_first": True, "start_token": start, "starts_with_last": True}


KEYS = Keys((*bart.READ, "bos_token_id"), ENCODER_DECODER)
FAMILY = EncoderDecoder("mbart", settings, bart.weight_map, KEYS, prefix="model.").family

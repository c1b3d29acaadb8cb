"""T5's encoder alone: T5EncoderModel and T5ForTokenClassification, and those of mT5 and UMT5.

Source: transformers' modeling_t5 and modeling_umt5.
"""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from torch import Tensor

from headlight.model.checkpoints.architecture import Architecture, read
from headlight.model.checkpoints.encoder_decoder import SHARED, one_embedding
from headlight.model.checkpoints.families import t5, umt5
from headlight.model.checkpoints.family import Checkpoint, Family, Opening
from headlight.model.checkpoints.folders import T5_ENCODER, model_type, read_folder
from headlight.model.checkpoints.heads import Head
from headlight.model.checkpoints.keys import Keys
from headlight.model.checkpoints.weight_map import WeightMap, table
from headlight.model.nn.config import TransformerConfig
from headlight.model.nn.seq2seq_config import Seq2SeqConfig

SIDE = "encoder."
SETTINGS = {"t5": t5.settings, "mt5": t5.settings, "umt5": umt5.settings}


@dataclass(frozen=True)
class T5Encoder(Architecture):
    """An architecture whose embedding may stand in a folder under two names."""

    def names(self, raw: dict[str, Tensor], is_part: bool = False) -> dict[str, Tensor]:
        return one_embedding(super().names(raw, is_part))

    def head(self, folder: Path, raw_config: dict[str, Any]) -> Head | None:
        is_tagger = any(name.startswith("classifier.") for name in read_folder(folder))
        named = "T5ForTokenClassification" if is_tagger else "T5EncoderModel"
        return super().head(folder, {"architectures": [named]} | raw_config)


def _both_sides(config: Any) -> Seq2SeqConfig:
    """The encoder-decoder that a config would be of, with a decoder of one layer, which nothing reads."""
    return Seq2SeqConfig(**SETTINGS[config.model_type](config) | {"n_decoder_layers": 1})


def settings(config: Any) -> dict[str, Any]:
    """Translate T5's config to the fields of `TransformerConfig`."""
    return asdict(_both_sides(config).encoder)


def weight_map(cfg: TransformerConfig, config: Any) -> WeightMap:
    """Map the tensors of T5's encoder to parameter names."""
    weights = t5.weight_map(_both_sides(config), config)
    embedding = {"embed.W_E": table(SHARED, cfg.d_vocab, cfg.d_model)}
    return embedding | {name.removeprefix(SIDE): each for name, each in weights.items() if name.startswith(SIDE)}


ARCHITECTURES = {
    kind: T5Encoder(kind, settings, weight_map, Keys(t5.KEYS.read), prefix="transformer.", embedding=SHARED)
    for kind in SETTINGS
}


def _read(folder: Path, settings: dict[str, Any], how: Opening) -> Checkpoint[TransformerConfig]:
    return read(ARCHITECTURES[model_type(folder) or ""], folder, settings, how)


FAMILY = Family(T5_ENCODER, _read)

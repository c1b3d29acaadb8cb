"""Heads of encoder-decoders that are no language model's, or the lack of one: of transformers' BART and T5 classes."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from torch import Tensor

from headlight.model.checkpoints.architecture import UNEMBED
from headlight.model.checkpoints.heads import BODY, LANGUAGE, MULTI_LABEL, SPAN, label_names, named_class
from headlight.model.checkpoints.weight_map import WeightMap, linear, vector
from headlight.model.nn.seq2seq_config import Seq2SeqConfig

CLASSIFIER, SPANS = "classification_head.", "qa_outputs."
LANGUAGE_ONLY = (UNEMBED, "final_logits_bias")


@dataclass(frozen=True)
class Seq2SeqHead:
    """A head, by the fields of `Seq2SeqConfig` that it sets and the map of its parameters."""

    settings: dict[str, Any]
    weight_map: Callable[[Seq2SeqConfig], WeightMap] = lambda cfg: {}

    def applied(self, settings: Mapping[str, Any]) -> dict[str, Any]:
        """A language model's settings with this head's in place of its own."""
        shared = "none" if settings["shared_embeddings"] == "none" else "inputs"
        lacks = {"output_bias": False, "logits_scale": 1.0, "shared_embeddings": shared}
        return dict(settings) | lacks | self.settings

    def mapped(self, weights: WeightMap, cfg: Seq2SeqConfig) -> WeightMap:
        """A language model's weight map with this head's parameters in place of its own."""
        body = {name: weight for name, weight in weights.items() if not name.startswith("unembed.")}
        return body | self.weight_map(cfg)


def seq2seq_head(
    raw_config: Mapping[str, Any], tensors: Mapping[str, Tensor], is_bare: bool = False
) -> Seq2SeqHead | None:
    """The head of a folder's model; None for a language model's.

    Args:
        raw_config: the folder's config.json.
        tensors: the folder's tensors, without their body's prefix.
        is_bare: whether none of them had a prefix that those of a model with a head have.
    """
    if any(name.startswith(CLASSIFIER) for name in tensors):
        return _classifier(raw_config, tensors)
    if f"{SPANS}weight" in tensors:
        return Seq2SeqHead({"output": "answer span", "labels": SPAN}, partial(_linear, "qa_outputs"))
    named = named_class(raw_config)
    is_body = named.endswith(BODY) and not named.endswith(LANGUAGE) if named else is_bare
    return Seq2SeqHead({"output": "none"}) if is_body and not any(name in tensors for name in LANGUAGE_ONLY) else None


def has_other_head(names: Mapping[str, Tensor]) -> bool:
    """Whether a folder's tensors, by their names, are those of a classifier, whose body has a prefix in T5."""
    return any(name.startswith((CLASSIFIER, SPANS)) for name in names)


def _classifier(raw_config: Mapping[str, Any], tensors: Mapping[str, Tensor]) -> Seq2SeqHead:
    n_labels = len(tensors[at]) if (at := f"{CLASSIFIER}out_proj.weight") in tensors else 0
    multi_label = raw_config.get("problem_type") == MULTI_LABEL
    labels = label_names(raw_config, n_labels)
    return Seq2SeqHead({"output": "labels", "labels": labels, "multi_label": multi_label}, _dense)


def _dense(cfg: Seq2SeqConfig) -> WeightMap:
    d_model = cfg.d_model
    return {
        "unembed.W": linear(f"{CLASSIFIER}dense.weight", d_model, d_model),
        "unembed.b": vector(f"{CLASSIFIER}dense.bias", d_model),
        **_linear(f"{CLASSIFIER}out_proj", cfg),
    }


def _linear(at: str, cfg: Seq2SeqConfig) -> WeightMap:
    n_labels = len(cfg.labels)
    return {
        "unembed.W_U": linear(f"{at}.weight", cfg.d_model, n_labels),
        "unembed.b_U": vector(f"{at}.bias", n_labels),
    }

"""Output heads on a model's body: that of a language model, another one, or none.

The head follows from the folder's tensors and the class in config.json; none is ever made up.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from torch import Tensor

from headlight.model.base.errors import CheckpointError
from headlight.model.checkpoints.tensors import listed
from headlight.model.checkpoints.weight_map import WeightMap, linear, vector
from headlight.model.nn.config import Output, OutputPosition, TransformerConfig

TWO_HEADS = "DoubleHeadsModel"  # a language model's, and one of several choices
LANGUAGE = (
    *("ForCausalLM", "LMHeadModel", "ForMaskedLM", "ForPreTraining", "ForConditionalGeneration", "MTModel"),
    TWO_HEADS,
)
BODY = ("Model", "EncoderModel", "TextModel")  # how the classes of bodies end
VALUE = "v_head.summary"
READ = (
    "ForSequenceClassification",
    "ForTokenClassification",
    "ForQuestionAnswering",
    "ForNextSentencePrediction",
    "ForMultipleChoice",
    "ForPreTraining",
)
OURS = ("unembed.", "mlm_head.", "pooler.", "value_head.")  # a model's parameters behind its final norm
PREFIXES = {  # which other classes put before the names of a body, by what stands beside it there
    "qa_outputs.": "transformer.",
    "v_head.": "pretrained_model.",
}
LANGUAGE_HEAD = re.compile(r"(cls\.predictions|lm_head|predictions|vocab_transform|generator_predictions|head)\.")
SPAN = ("start", "end")
DISCRIMINATOR = "discriminator_predictions.dense.weight"
REPLACED = ("replaced",)
NEXT_SENTENCE = "cls.seq_relationship.weight"
NEXT = ("is the next sentence", "is a random sentence")
CHOICE = ("score of this choice",)
MULTIPLE_CHOICE = "ForMultipleChoice"
MULTI_LABEL = "multi_label_classification"
OTHER_HEADS = ("score.", "classifier.", "classification_head.", "qa_outputs.")


@dataclass(frozen=True)
class Head:
    """A head that is no language model's, or the lack of one.

    Attributes:
        settings: the fields of `TransformerConfig` that it sets.
        weight_map: maps its parameters to the folder's tensors.
        keeps: what of a language model's head stands in it too: a ModernBERT classifier's dense layer and norm.
    """

    settings: dict[str, Any]
    weight_map: Callable[[TransformerConfig], WeightMap]
    keeps: tuple[str, ...] = ()

    def applied(self, settings: Mapping[str, Any]) -> dict[str, Any]:
        """A language model's settings with this head's in place of its own."""
        lacks = {
            "tie_word_embeddings": False,
            "output_bias": False,
            "output_logits_soft_cap": None,
            "logits_scale": 1.0,
        }
        kept = {} if self.keeps else {"mlm_act_fn": None}
        return dict(settings) | lacks | kept | self.settings

    def mapped(self, weights: WeightMap, cfg: TransformerConfig) -> WeightMap:
        """A language model's weight map with this head's tensors in place of its own."""
        body = {name: weight for name, weight in weights.items() if not name.startswith(OURS)}
        kept = {name: weight for name, weight in weights.items() if self.keeps and name.startswith(self.keeps)}
        return body | kept | self.weight_map(cfg)


def head_of(
    raw_config: Mapping[str, Any],
    tensors: Mapping[str, Tensor],
    unembed: str,
    transform: bool = False,
    is_encoder: bool = False,
) -> Head | None:
    """The head of a folder's model; None for a language model's, with or without a value head.

    Args:
        raw_config: the folder's config.json.
        tensors: the folder's tensors, without their body's prefix.
        unembed: the name of a language model's unembedding.
        is_encoder: whether the folder says that it is a sentence encoder, which has no head whatever its class.
        transform: whether a language model of this kind has layers of its own before the unembedding.

    Raises:
        CheckpointError: a head that is not read.
    """
    if is_encoder:
        return _body(tensors)
    named = named_class(raw_config)
    has_language_head = unembed in tensors or any(LANGUAGE_HEAD.match(name) for name in tensors)
    is_language_model = named.endswith(LANGUAGE) and DISCRIMINATOR not in tensors
    if f"{VALUE}.weight" in tensors or is_language_model or (named.endswith(BODY) and has_language_head):
        return None
    if has_own_heads(raw_config):
        if "auto_map" in raw_config:
            raise CheckpointError(
                f"This is a {named}, a class in the folder's own code (auto_map), which is never run here. Save its "
                "body, if that is transformers' own: model.base_model.save_pretrained(folder)."
            )
        return None if has_language_head else _body(tensors)
    for name, read in KINDS.items():
        if name in tensors and not (name == NEXT_SENTENCE and has_language_head):
            return read(raw_config, tensors)
    if has_language_head:
        return None
    if named.endswith(READ):
        raise CheckpointError(
            f"This is a {named}, and its file holds no head of one. Open the model that it was made from, or save its "
            "body: model.base_model.save_pretrained(folder)."
        )
    return _body(tensors) if named or transform or not raw_config.get("tie_word_embeddings", True) else None


def has_own_heads(raw_config: Mapping[str, Any]) -> bool:
    """Whether config.json names a class of the user's own, or of two heads: it may have heads that nothing reads."""
    named = named_class(raw_config)
    return bool(named) and (named.endswith(TWO_HEADS) or not named.endswith((*LANGUAGE, *BODY, *READ)))


def without_own_heads(
    raw_config: Mapping[str, Any], tensors: dict[str, Tensor], beside: Iterable[str], needed: Iterable[str]
) -> tuple[dict[str, Tensor], str]:
    """The tensors without those of heads that nothing reads, and a note that names these.

    Args:
        raw_config: the folder's config.json.
        tensors: the folder's tensors.
        beside: the names of those outside the body; what is unknown within it changes what is computed.
        needed: the names of those that are read.
    """
    if not has_own_heads(raw_config):
        return tensors, ""
    unread = {*beside} - {*needed}
    heads = sorted({name.rpartition(".")[0] or name for name in tensors if name in unread})
    note = f"of class {named_class(raw_config)}" + (f", whose heads {listed(heads)} are not read" if heads else "")
    return {name: tensor for name, tensor in tensors.items() if name not in unread}, note


def named_class(raw_config: Mapping[str, Any]) -> str:
    """The class that config.json names; empty where it names none."""
    named = raw_config.get("architectures")
    return named[0] if isinstance(named, list) and named and isinstance(named[0], str) else ""


def has_value_head(tensors: Mapping[str, Tensor]) -> bool:
    """Whether trl's value head stands beside a language model's."""
    return f"{VALUE}.weight" in tensors


def value_head(cfg: TransformerConfig, tensors: Mapping[str, Tensor]) -> WeightMap:
    """The parameters of that value head; nothing where there is none."""
    head = {"value_head.W": linear(f"{VALUE}.weight", cfg.d_model, 1), "value_head.b": vector(f"{VALUE}.bias", 1)}
    return {name: weight for name, weight in head.items() if weight.name in tensors}


def without_other_prefix(tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    """The tensors of a folder by the names that they have under a language model's head."""
    for beside, prefix in PREFIXES.items():
        if any(name.startswith(beside) for name in tensors):
            tensors = {name.removeprefix(prefix): tensor for name, tensor in tensors.items()}
    return tensors


def check_language_model(architectures: object, names: Iterable[str], needed: Iterable[str]) -> None:
    """Refuse an encoder-decoder's folder without a language modelling head.

    Raises:
        CheckpointError: the folder has another head, or none.
    """
    present, wanted = set(names), set(needed)
    other = any(name.startswith(OTHER_HEADS) for name in present - wanted)
    named = named_class({"architectures": architectures})
    if other or (named and not named.endswith(LANGUAGE) and not wanted <= present):
        raise CheckpointError(
            f"This is a {named or 'classifier'}, which has no language model's head, and so no logits of tokens to "
            "look at. Open the language model that it was made from, saved by its own class."
        )


def _body(tensors: Mapping[str, Tensor]) -> Head:
    """A body: its output is the last hidden state, with the pooler beside it where it has one."""
    layer = next((name for name in ("pooler.dense", "pooler") if f"{name}.weight" in tensors), None)
    settings = {"output": "none"} | ({} if layer is None else {"pooler_act_fn": "tanh"})
    return Head(settings, lambda cfg: {} if layer is None else _pooler(cfg, layer))


def _pooler(cfg: TransformerConfig, at: str) -> WeightMap:
    return {"pooler.W": linear(f"{at}.weight", cfg.d_model, cfg.d_model), "pooler.b": vector(f"{at}.bias", cfg.d_model)}


def _linear_head(
    at: str,
    output: Output,
    names: tuple[str, ...] | None = None,
    position: OutputPosition = "each",
    pooler: tuple[str, str] = ("", ""),
) -> Callable[[Mapping[str, Any], Mapping[str, Tensor]], Head]:
    """Mapping of a linear layer, with or without a pooler (its name and its activation) before it."""

    def read(raw_config: Mapping[str, Any], tensors: Mapping[str, Tensor]) -> Head:
        rows, (layer, act_fn) = tensors[f"{at}.weight"].shape[0], pooler
        named = CHOICE if named_class(raw_config).endswith(MULTIPLE_CHOICE) else names
        settings = {
            "output": output,
            "output_labels": label_names(raw_config, rows) if named is None or len(named) != rows else named,
            "output_position": position,
            "multi_label": output == "labels" and raw_config.get("problem_type") == MULTI_LABEL,
            "d_vocab_out": rows,
            "pooler_act_fn": act_fn or None,
            "pad_token": pad_token(raw_config) if position == "last" else None,
        }
        return Head(settings, partial(_mapped, at, layer, f"{at}.bias" in tensors))

    return read


def _mapped(at: str, layer: str, has_bias: bool, cfg: TransformerConfig) -> WeightMap:
    n_labels = cfg.d_vocab_out or 0
    weights = {"unembed.W_U": linear(f"{at}.weight", cfg.d_model, n_labels)} | (_pooler(cfg, layer) if layer else {})
    return weights | {"unembed.b_U": vector(f"{at}.bias", n_labels)} if has_bias else weights


def label_names(raw_config: Mapping[str, Any], n_labels: int) -> tuple[str, ...]:
    """The names of a classifier's labels, by config.json; where that does not name as many, LABEL_0 and so on."""
    named = raw_config.get("id2label")
    named = dict(enumerate(named)) if isinstance(named, list) else named if isinstance(named, dict) else {}
    by_id = {str(key): str(name) for key, name in named.items()}
    return tuple(by_id.get(str(label), f"LABEL_{label}") for label in range(n_labels))


def pad_token(raw_config: Mapping[str, Any]) -> int | None:
    """The token that fills a batch, which a classifier on the last token passes over."""
    token = raw_config.get("pad_token_id")
    return token if type(token) is int and token >= 0 else None


def _score(raw_config: Mapping[str, Any], tensors: Mapping[str, Tensor]) -> Head:
    """A decoder's: for the whole text without a bias, for each token with one."""
    if named_class(raw_config).endswith("ForTokenClassification") or "score.bias" in tensors:
        return _linear_head("score", "token labels")(raw_config, tensors)
    return _linear_head("score", "labels", position="last")(raw_config, tensors)


def _dense(raw_config: Mapping[str, Any], tensors: Mapping[str, Tensor]) -> Head:
    """RoBERTa's and ELECTRA's: a dense layer on the first token; ELECTRA's activation is GELU, others' tanh."""
    act_fn = "gelu" if raw_config.get("model_type") == "electra" else "tanh"
    return _linear_head("classifier.out_proj", "labels", None, "first", ("classifier.dense", act_fn))(
        raw_config, tensors
    )


def _classifier(raw_config: Mapping[str, Any], tensors: Mapping[str, Tensor]) -> Head:
    """A linear layer: on BERT's pooler, on ModernBERT's dense layer and norm, or on each token."""
    named, whole = named_class(raw_config), "ForTokenClassification"
    if "head.dense.weight" in tensors:
        return _modernbert(raw_config, tensors)
    if "pooler.dense.weight" in tensors and not named.endswith(whole):
        act_fn = str(raw_config.get("pooler_hidden_act", "tanh"))
        return _linear_head("classifier", "labels", None, "first", ("pooler.dense", act_fn))(raw_config, tensors)
    if "sequence_summary.summary.weight" in tensors:  # ELECTRA's, of several choices
        pooler = "sequence_summary.summary", str(raw_config.get("summary_activation", "gelu"))
        return _linear_head("classifier", "labels", None, "first", pooler)(raw_config, tensors)
    if "pooler.weight" in tensors and not named.endswith(whole):  # ALBERT's
        return _linear_head("classifier", "labels", None, "first", ("pooler", "tanh"))(raw_config, tensors)
    if named and not named.endswith((whole, "ForQuestionAnswering")):
        raise CheckpointError(f"This is a {named}, and the folder lacks what stands before its classifier.")
    return _linear_head("classifier", "token labels")(raw_config, tensors)


def _modernbert(raw_config: Mapping[str, Any], tensors: Mapping[str, Tensor]) -> Head:
    named = named_class(raw_config)
    if named.endswith("ForTokenClassification"):
        read = _linear_head("classifier", "token labels")
    elif named.endswith("ForQuestionAnswering"):
        read = _linear_head("classifier", "answer span", SPAN)
    else:
        pooled_by_mean = raw_config.get("classifier_pooling", "cls") == "mean"
        read = _linear_head("classifier", "labels", None, "mean" if pooled_by_mean else "first")
    return replace(read(raw_config, tensors), keeps=("mlm_head.",))


def _discriminator(raw_config: Mapping[str, Any], tensors: Mapping[str, Tensor]) -> Head:
    at = "discriminator_predictions"
    pooler = f"{at}.dense", str(raw_config.get("hidden_act", "gelu"))
    return _linear_head(f"{at}.dense_prediction", "token labels", REPLACED, "each", pooler)(raw_config, tensors)


KINDS: dict[str, Callable[[Mapping[str, Any], Mapping[str, Tensor]], Head]] = {  # by the tensors of each head
    "score.weight": _score,
    "qa_outputs.weight": _linear_head("qa_outputs", "answer span", SPAN),
    "classifier.out_proj.weight": _dense,
    "pre_classifier.weight": _linear_head("classifier", "labels", None, "first", ("pre_classifier", "relu")),
    "classifier.weight": _classifier,
    DISCRIMINATOR: _discriminator,
    NEXT_SENTENCE: _linear_head("cls.seq_relationship", "labels", NEXT, "first", ("pooler.dense", "tanh")),
}

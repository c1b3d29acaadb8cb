"""Run transformers' own model from a folder, as the reference for ours."""

from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor

from headlight.model.base.errors import ConfigError
from headlight.model.base.importing import IMPORTING
from headlight.model.checkpoints.folders import read_config_file, weight_files
from headlight.model.checkpoints.gguf import kinds
from headlight.model.checkpoints.gguf.header import is_gguf
from headlight.model.checkpoints.gguf.parts import parts_of
from headlight.model.checkpoints.heads import MULTIPLE_CHOICE, named_class
from headlight.model.checkpoints.lora import base_folder, is_adapter
from headlight.model.checkpoints.quantization.methods import method_name, settings_of
from headlight.model.nn.config import Output
from headlight.model.text.chat import Begin, is_literal, prepends
from headlight.model.text.conversation import Conversation
from headlight.model.text.tokenizer_files import has_tokenizer

KINDS: dict[Output, str] = {  # transformers' classes, by what a model's outputs are
    "tokens": "AutoModelForCausalLM",
    "labels": "AutoModelForSequenceClassification",
    "token labels": "AutoModelForTokenClassification",
    "answer span": "AutoModelForQuestionAnswering",
    "none": "AutoModel",
}
BY_NAME = (MULTIPLE_CHOICE, "ForNextSentencePrediction", "EncoderModel")
DEQUANTISED = {"mxfp4": "Mxfp4Config", "fp8": "FineGrainedFP8Config"}  # by transformers itself, anywhere


def reference_ids(folder: Path, prompt: str, begin: Begin, token_types: Sequence[int] | None = None) -> tuple[int, ...]:
    """Return transformers' token ids for a prompt; () where it gives the two texts of a pair other token types.

    A tokenizer that adds no special tokens has the beginning-of-sequence token put first by hand.
    """
    folder = folder if has_tokenizer(folder) else base_folder(folder)
    place, file = _place(folder)
    with IMPORTING:
        from transformers import AutoTokenizer

        tokenizer: Any = AutoTokenizer.from_pretrained(place, local_files_only=True, trust_remote_code=False, **file)
    if begin == "chat":
        chat = Conversation.from_prompt(prompt)
        return tuple(tokenizer.apply_chat_template(list(chat.messages), return_dict=False, **chat.settings))
    around = tokenizer.num_special_tokens_to_add() > 0
    how = {"add_special_tokens": prepends(begin) and around}
    how |= {"split_special_tokens": True} if is_literal(begin) else {}
    texts = prompt.split(tokenizer.sep_token, 1) if token_types and any(token_types) and around else [prompt]
    encoding = tokenizer(*texts, **how, return_token_type_ids=True)
    if token_types and around and prepends(begin) and encoding["token_type_ids"] != list(token_types):
        return ()
    before = [tokenizer.bos_token_id] if prepends(begin) and not around and tokenizer.bos_token_id is not None else []
    return (*before, *encoding["input_ids"])


@dataclass(frozen=True, eq=False)
class Reference:
    """transformers' logits, the residual stream before each layer, and, if requested, each layer's patterns."""

    logits: Float[Tensor, "batch pos d_vocab"]
    streams: tuple[Float[Tensor, "batch pos d_model"], ...]
    patterns: tuple[Float[Tensor, "batch head query key"], ...]


def reference(
    folder: Path,
    tokens: Int[Tensor, "batch pos"],
    masked: bool = False,
    patterns: bool = True,
    token_types: Int[Tensor, "batch pos"] | None = None,
    d_vocab: int | None = None,
    output: Output = "tokens",
) -> Reference:
    """Run one forward pass in float32 with eager attention.

    peft applies an adapter to its base without merging it.

    Args:
        folder: a folder or GGUF file that transformers opens, or an adapter's folder.
        tokens: token ids.
        masked: whether the model predicts masked tokens rather than the next one.
        patterns: whether to return attention patterns.
        token_types: token type ids.
        d_vocab: number of tokens of base and adapter together.
        output: what the model's outputs are.

    Raises:
        ConfigError: transformers is not installed, or peft, which an adapter needs; or it does not read a GGUF file.
    """
    with IMPORTING:
        model = _loaded(folder, _class_of(folder, masked, output), d_vocab)
    with torch.inference_mode():
        inputs = {"input_ids": tokens} | ({} if token_types is None else {"token_type_ids": token_types})
        if type(model).__name__.endswith(MULTIPLE_CHOICE):
            inputs = {name: ids[:, None] for name, ids in inputs.items()}  # of an only choice
        outputs = model(**inputs, output_hidden_states=True, output_attentions=patterns)
    return Reference(_logits(outputs, output), outputs.hidden_states[:-1], tuple(outputs.attentions or ()))


def _logits(outputs: Any, output: Output) -> Float[Tensor, "batch pos d_vocab"]:
    """The outputs as ours are: labels of a whole text at one position, an answer's two ends side by side."""
    if output == "answer span":
        return torch.stack([outputs.start_logits, outputs.end_logits], -1)
    logits: Tensor = outputs.last_hidden_state if output == "none" else outputs.logits
    return logits if logits.ndim == 3 else logits[:, None]


def _class_of(folder: Path, masked: bool, output: Output) -> str:
    """Class to open a folder with: the one that it names where transformers has no Auto class for its outputs."""
    named = named_class(read_config_file(folder))
    return named if named.endswith(BY_NAME) else "AutoModelForMaskedLM" if masked else KINDS[output]


def _loaded(folder: Path, called: str, d_vocab: int | None) -> Any:
    try:
        import transformers
    except ImportError as error:
        raise ConfigError("Comparing with transformers needs it installed: pip install transformers.") from error
    kind = getattr(transformers, called)
    how = {"dtype": torch.float32, "local_files_only": True, "trust_remote_code": False}
    if is_gguf(folder):
        return _of_gguf(folder, kind, how).eval()
    base = base_folder(folder)
    how["use_safetensors"] = any(path.suffix != ".bin" for path in weight_files(base))  # pickles hold weights alone too
    how["return_dict"] = True  # whatever config.json says
    how |= _dequantising(base)
    model = _from_folder(kind, base, how)
    return (_adapted(model, folder, d_vocab) if is_adapter(folder) else model).eval()


def _from_folder(kind: Any, folder: Path, how: dict[str, Any]) -> Any:
    """transformers' model of a folder; of a quantised one only where it reads each of its tensors.

    Raises:
        ConfigError: it does not read this folder, makes up numbers that it does not find, or leaves scales unread.
    """
    try:
        model, report = kind.from_pretrained(folder, attn_implementation="eager", output_loading_info=True, **how)
        keys = sorted({*report["missing_keys"], *report["unexpected_keys"]})
        if keys and "quantization_config" in how:
            raise ValueError(f"it does not know what to do with {keys[0]}.")
    except (KeyError, RuntimeError, ValueError) as error:
        raise ConfigError(
            f"transformers does not read this folder: {str(error).splitlines()[0]:.160} Compare with another copy of "
            "the model, or the unquantised one: put its folder beside this one."
        ) from error
    return model


def _place(path: Path) -> tuple[Path, dict[str, str]]:
    """A folder, or a GGUF file's with the file as transformers wants it named."""
    return (path.parent, {"gguf_file": path.name}) if is_gguf(path) else (path, {})


def _of_gguf(path: Path, kind: Any, how: dict[str, Any]) -> Any:
    """transformers' reading of a GGUF file's tensors, with the settings read here: it leaves out soft caps and widths.

    Raises:
        ConfigError: it does not read such a file.
    """
    from transformers import AutoConfig

    folder, file = _place(path)
    try:
        if len(parts_of(path)) > 1:
            raise NotImplementedError("the model is in several parts")
        config = AutoConfig.for_model(**kinds.config_of(path), pad_token_id=None)
        return kind.from_pretrained(folder, config=config, attn_implementation="eager", **file, **how)
    except (ImportError, NotImplementedError, RuntimeError, ValueError) as error:
        raise ConfigError(
            f"transformers does not read this GGUF file: {str(error).splitlines()[0]:.160} Compare with the "
            "unquantised model: put its folder beside the file."
        ) from error


def _dequantising(folder: Path) -> dict[str, Any]:
    """Settings that make transformers dequantise a folder's weights; none where they are not quantised.

    Raises:
        ConfigError: it computes with such weights only by a package and a device of their own.
    """
    settings = settings_of(read_config_file(folder))
    if settings is None:
        return {}
    if (method := method_name(settings)) not in DEQUANTISED:
        raise ConfigError(
            f"transformers computes with {method} weights only by that method's own package, mostly on a GPU. Compare "
            "with the unquantised model: put its folder beside this one."
        )
    return {"quantization_config": getattr(import_module("transformers"), DEQUANTISED[method])(dequantize=True)}


def can_be_reference(folder: Path) -> bool:
    """Whether the packages for a folder's reference are installed; an adapter needs peft."""
    settings = settings_of(read_config_file(folder))
    is_read = settings is None or method_name(settings) in DEQUANTISED
    return is_read and (not is_adapter(folder) or find_spec("peft") is not None)


def _adapted(model: Any, folder: Path, d_vocab: int | None) -> Any:
    if not can_be_reference(folder):
        raise ConfigError("Comparing an adapter with transformers needs peft installed: pip install peft.")
    if d_vocab is not None and d_vocab != model.get_input_embeddings().num_embeddings:
        model.resize_token_embeddings(d_vocab, mean_resizing=False)  # room for new tokens, which peft fills
    return import_module("peft").PeftModel.from_pretrained(model, folder).get_base_model()

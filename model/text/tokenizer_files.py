"""The files in which a folder holds its tokenizer, as transformers reads them."""

import re
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any

from headlight.model.base.errors import CheckpointError
from headlight.model.base.files import check_regular, read_json, refuse_pointer
from headlight.model.base.importing import IMPORTING
from headlight.model.text.conversation import THINKS
from headlight.model.text.growth import check_size, read_checked
from headlight.model.text.patterns import check_patterns

if TYPE_CHECKING:
    import tokenizers

CONFIG = "tokenizer_config.json"
VOCABULARIES = (  # one of them holds the vocabulary, whatever the class of the tokenizer
    "tokenizer.json",
    "vocab.json",
    "vocab.txt",
    "tokenizer.model",
    "spiece.model",
    "sentencepiece.bpe.model",
    "tiktoken.model",
    "tekken.json",
)
ADDED = ("added_tokens.json", "special_tokens_map.json")
BESIDE = (CONFIG, "merges.txt", "source.spm", "target.spm", *ADDED, "chat_template.jinja")
FILES = (*VOCABULARIES, *BESIDE, "additional_chat_templates/*.jinja")
CONVERT = (
    "Or, where transformers opens it, write tokenizer.json: "
    "AutoTokenizer.from_pretrained(folder).save_pretrained(folder)."
)
WITHOUT = "Without its files the folder opens for token ids, from Python."
RUNS_CODE = f"It is made by code that lies in the folder (auto_map), which is not run here. {CONVERT}"
SPACE = "▁"  # U+2581, which stands for a space in SentencePiece's pieces
PACKAGE = re.compile(r"need to install ([\w-]+)")  # in transformers' messages
GGUF_HEAD = 2**25  # bytes, in which the template of a GGUF file stands, before its tensors
MAX_REASON = 160  # characters of what another library says of a file

Encode = Callable[[str, bool, bool], list[int]]  # a text, whether special tokens stand around it, and are parsed in it


@dataclass(frozen=True)
class TokenizerFiles:
    """Tokenizer settings in a model's folder.

    `roles` are its special tokens by what they are for, such as bos_token. `parses_special` is whether the spelling of
    a special token in a text is that token. `other_templates` name chat templates of which none is the default. Where
    transformers makes the ids in Python, `encode` does that, and `backend` only names them.
    """

    backend: "tokenizers.Tokenizer"
    roles: Mapping[str, str]
    chat_template: str | None = None
    parses_special: bool = True
    other_templates: tuple[str, ...] = ()
    encode: Encode | None = None


def has_tokenizer(folder: Path) -> bool:
    """Whether a folder holds the files of a tokenizer."""
    return any((folder / name).is_file() for name in VOCABULARIES)


def names_in(folder: Path) -> list[str]:
    """The names of a tokenizer's files in a folder, a template of which lies in a folder of its own too."""
    return [path.name for pattern in FILES for path in sorted(folder.glob(pattern))]


def may_have_chat_template(folder: Path) -> bool:
    """Whether a folder looks as if its tokenizer has a chat template, from a look at its files.

    Raises:
        CheckpointError: the settings cannot be read.
    """
    settings = read_json(folder / CONFIG) if (folder / CONFIG).is_file() else {}
    return (folder / "chat_template.jinja").is_file() or bool(settings.get("chat_template"))


def may_ask_to_think(folder: Path) -> bool:
    """Whether the chat template in a folder, or in a GGUF file, seems to ask if the model is to think first."""
    if folder.suffix.lower() == ".gguf" and folder.is_file():
        with folder.open("rb") as file:
            return THINKS.encode() in file.read(GGUF_HEAD)
    files = filter(Path.is_file, (folder / name for name in ("chat_template.jinja", CONFIG)))
    return any(THINKS in path.read_text(encoding="utf-8", errors="replace") for path in files)


def is_bare_list(folder: Path) -> bool:
    """Whether a folder has vocab.txt, but nothing says how a text is parted into its words: no pieces ("##ing")."""
    vocabulary, config = folder / "vocab.txt", _json_or_none(folder / "config.json") or {}
    says = "model_type" in config or any((folder / name).is_file() for name in ("tokenizer.json", CONFIG))
    return vocabulary.is_file() and not says and not _has_pieces(vocabulary)


def _has_pieces(vocabulary: Path) -> bool:
    """Whether a list of words has WordPiece's, which go on with a word."""
    check_regular(vocabulary)
    check_size(vocabulary)
    return b"\n##" in vocabulary.read_bytes()


def read_with_transformers(folder: Path, is_target: bool = False, kind: str | None = None) -> TokenizerFiles:
    """A folder's tokenizer as transformers' AutoTokenizer makes it of all its files; no code of the folder is run.

    Args:
        folder: the folder.
        is_target: whether it is for targets, for which Marian has another than for sources.
        kind: the model's type, where its config.json names none.

    Raises:
        CheckpointError: transformers cannot read it without more packages or code.
    """
    with IMPORTING:
        return _read_with_transformers(folder, is_target, kind)


def _read_with_transformers(folder: Path, is_target: bool, kind: str | None) -> TokenizerFiles:
    from transformers import AutoTokenizer, TokenizersBackend  # two seconds

    for name in (*VOCABULARIES, *BESIDE):
        refuse_pointer(folder / name)
    for path in (*folder.glob("*"), *folder.glob("*/*.jinja")):  # some classes have files of other names
        if not path.is_dir() and path.exists():
            check_regular(path)
            if path.name in FILES or path.suffix == ".jinja":
                check_size(path)
    settings = read_json(folder / CONFIG) if (folder / CONFIG).is_file() else {}
    if (folder / "tokenizer.json").is_file():
        content = read_checked(folder / "tokenizer.json")
        check_patterns(content, "tokenizer.json", [settings, *map(_json_or_none, (folder / name for name in ADDED))])
    config = _config(folder, settings, kind)
    how = {"config": config, "local_files_only": True, "trust_remote_code": False, "mistral_format": False}
    with _refusing(folder, "" if "auto_map" not in settings else RUNS_CODE), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Recommended: pip install sacremoses")  # of which ids make no use
        made: Any = AutoTokenizer.from_pretrained(folder, **how)
    encode = None
    if isinstance(made, TokenizersBackend):
        _check_complete(folder, made)
        backend = made.backend_tokenizer
    else:
        with _refusing(folder):
            backend, encode = _naming(made), _encoding(made, is_target)
    template: Any = made.chat_template
    named: tuple[str, ...] = ()
    if isinstance(template, dict):
        template, named = template.get("default"), tuple(sorted(template))
    return TokenizerFiles(
        backend,
        {role: str(token) for role, token in made.special_tokens_map.items()},
        template if isinstance(template, str) else None,
        not made.split_special_tokens,
        () if isinstance(template, str) else named,
        encode,
    )


def _naming(made: Any) -> "tokenizers.Tokenizer":
    """A vocabulary of the `tokenizers` library for a tokenizer that transformers has in Python alone."""
    from tokenizers import Tokenizer, decoders, models, processors

    languages = getattr(made, "lang_token_to_id", {})  # M2M-100's, which its vocabulary leaves out
    vocabulary = made.get_vocab() | languages
    backend = Tokenizer(models.BPE(vocabulary, []))
    if any(SPACE in name for name in vocabulary):
        backend.decoder = decoders.Metaspace()
    backend.add_special_tokens([token for token in (*made.all_special_tokens, *languages) if token in vocabulary])
    around = [made.convert_ids_to_tokens(token) if token >= 0 else "$A" for token in _around(made)]
    special = [(name, vocabulary[name]) for name in around if name != "$A"]
    backend.post_processor = processors.TemplateProcessing(single=around, special_tokens=special)
    return backend


def _around(made: Any) -> list[int]:
    """The special tokens that stand around a text, which is -1."""
    ids: list[int] = made.build_inputs_with_special_tokens([-1])
    return ids


def _encoding(made: Any, is_target: bool) -> Encode:
    """Encoder of one text at a time: for targets a tokenizer is switched over and back."""
    side, lock = "text_target" if is_target and hasattr(made, "spm_target") else "text", Lock()

    def encode(text: str, around: bool, parse_special: bool) -> list[int]:
        how = {side: text, "add_special_tokens": around, "split_special_tokens": not parse_special}
        with lock:
            ids: list[int] = made(**how)["input_ids"]
        return ids

    return encode


def read_own(folder: Path) -> TokenizerFiles:
    """The tokenizer of a folder that comes with the project, from tokenizer.json and the roles beside it.

    These say all that there is to say, and importing transformers would take longer than opening the model does.

    Raises:
        CheckpointError: a file is missing or damaged.
    """
    from tokenizers import Tokenizer

    settings = read_json(folder / CONFIG)
    roles = {name: token for name, token in settings.items() if name.endswith("_token") and isinstance(token, str)}
    with _refusing(folder):
        check_regular(folder / "tokenizer.json")
        backend = Tokenizer.from_file(str(folder / "tokenizer.json"))
    backend.add_special_tokens(
        [token for token in dict.fromkeys(roles.values()) if backend.token_to_id(token) is not None]
    )
    return TokenizerFiles(backend, roles)


def _json_or_none(path: Path) -> Any:
    """Contents of an optional JSON file; None where it is missing or no JSON, of which transformers informs."""
    try:
        return read_json(path) if path.is_file() else None
    except CheckpointError:
        return None


def _config(folder: Path, settings: dict[str, Any], kind: str | None) -> Any:
    """A model's config, of which AutoTokenizer takes the kind of model and the tokenizer's class.

    One that transformers refuses for something else is left at that kind's defaults. GPT-2's two files alone are taken
    for what they are.
    """
    from transformers import AutoConfig, GPT2Config, PreTrainedConfig
    from transformers.models.auto.configuration_auto import CONFIG_MAPPING

    if not (folder / "config.json").is_file():
        is_bare = "tokenizer_class" not in settings and not (folder / "tokenizer.json").is_file()
        return GPT2Config() if is_bare and (folder / "vocab.json").is_file() else PreTrainedConfig()
    try:
        if kind is not None and kind in CONFIG_MAPPING and "model_type" not in read_json(folder / "config.json"):
            return CONFIG_MAPPING[kind]()
        return AutoConfig.from_pretrained(folder, local_files_only=True, trust_remote_code=False)
    except Exception:  # a check of another setting, in whatever way it fails
        said = read_json(folder / "config.json")
        kind = str(said.get("model_type"))
        config = CONFIG_MAPPING[kind]() if kind in CONFIG_MAPPING else PreTrainedConfig()
        config.tokenizer_class = said.get("tokenizer_class")
        return config


def _check_complete(folder: Path, made: Any) -> None:
    """Refuse tokenizers that transformers builds from incomplete files: of single letters, or of special tokens only.

    Any file of SentencePiece's or of tiktoken's, whatever its name, has been read for the class's own.
    """
    if (folder / "tokenizer.json").is_file() or any(folder.glob("*.model")) or (folder / "tekken.json").is_file():
        return
    names = [name for role, name in made.vocab_files_names.items() if role != "tokenizer_file"]
    if missing := [name for name in names if not (folder / name).is_file()]:
        raise CheckpointError(
            f"The tokenizer is transformers' {type(made).__name__}, which is made of {' and '.join(names)}; the folder "
            f"lacks {' and '.join(missing)}. Put the model's own files there. {CONVERT}"
        )


@contextmanager
def _refusing(folder: Path, what_to_do: str = "") -> Iterator[None]:
    """Turn any exception of another library, while it reads a tokenizer, into an error that says what to do."""
    try:
        yield
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:  # panics of the `tokenizers` library are not even an Exception
        said = " ".join(str(error).replace(str(folder), folder.name).split()).rstrip(".")
        said = said if len(said) <= MAX_REASON else f"{said[:MAX_REASON]} …"
        advice = what_to_do or _package_advice(error) or _advice(folder)
        raise CheckpointError(f"The tokenizer cannot be read ({said}). {advice}") from error


def _package_advice(error: BaseException) -> str:
    """The next step where transformers' class for a tokenizer needs a package that is not installed; else empty."""
    package = PACKAGE.search(str(error)) if isinstance(error, ImportError) else None
    return f"Install the package and start again: pip install {package[1]}." if package else ""


def _advice(folder: Path) -> str:
    """The next step for a tokenizer that cannot be read, by the files in the folder."""
    if (folder / "tokenizer.json").is_file():
        return f"Copy or download {', '.join(names_in(folder))} again."
    if any(folder.glob("*.model")):
        return f"A .model file needs the package of its kind: pip install sentencepiece, or tiktoken. {CONVERT}"
    return f"The folder has to hold tokenizer.json, or all files of its kind. {CONVERT}"

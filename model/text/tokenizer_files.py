"""The files in which a Hugging Face folder holds its tokenizer."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from headlight.model.files import read_json

if TYPE_CHECKING:
    import tokenizers


def has_tokenizer(folder: Path) -> bool:
    """Whether a folder holds the files that `Tokenizer.from_folder` reads."""
    return (folder / "tokenizer.json").is_file() or (folder / "vocab.json").is_file()


def backend_of(folder: Path, add_prefix_space: bool) -> "tokenizers.Tokenizer":
    """The library's tokenizer of a folder: tokenizer.json, or GPT-2's vocab.json and merges.txt."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers

    if (folder / "tokenizer.json").is_file():
        return Tokenizer.from_file(str(folder / "tokenizer.json"))
    backend = Tokenizer(models.BPE.from_file(str(folder / "vocab.json"), str(folder / "merges.txt")))
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=add_prefix_space)
    backend.decoder = decoders.ByteLevel()
    return backend


def settings_of(path: Path) -> dict[str, Any]:
    """What tokenizer_config.json says; nothing where there is none."""
    return read_json(path) if path.is_file() else {}


def content(token: object) -> str | None:
    """A special token's text, which tokenizer_config.json gives alone or in an object."""
    text = token.get("content") if isinstance(token, dict) else token
    return text if isinstance(text, str) else None

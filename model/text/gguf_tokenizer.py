"""The tokenizer in a GGUF file's metadata, made as transformers makes it."""

from collections.abc import Mapping
from typing import Any

from headlight.model.base.errors import CheckpointError
from headlight.model.base.importing import IMPORTING
from headlight.model.text.tokenizer_files import TokenizerFiles

AT = "tokenizer.ggml."
NAMES = {  # of transformers' reading
    "model": "tokenizer_type",
    "pre": "pre_tokenizer_type",
    "tokens": "tokens",
    "scores": "scores",
    "token_type": "token_type",
    "merges": "merges",
    "bos_token_id": "bos_token_id",
    "eos_token_id": "eos_token_id",
    "unknown_token_id": "unk_token_id",
    "padding_token_id": "pad_token_id",
    "add_space_prefix": "add_prefix_space",
}
ROLES = {"bos": "bos_token_id", "eos": "eos_token_id", "unk": "unknown_token_id", "pad": "padding_token_id"}
ENDS = ("eos_token_id", "eot_token_id", "eom_token_id")
MAX_SQUARES = 10**8  # of tokens' lengths together, by which the time grows that it takes to find merges


def read_gguf_tokenizer(name: str, architecture: str, metadata: Mapping[str, Any]) -> TokenizerFiles | None:
    """The tokenizer that a file's metadata describes; None where it describes none.

    Raises:
        CheckpointError: it is of a kind that transformers does not know, or damaged.
    """
    settings = {theirs: metadata[AT + ours] for ours, theirs in NAMES.items() if AT + ours in metadata}
    tokens = settings.get("tokens")
    if not tokens or settings.get("tokenizer_type") == "none":
        return None
    if not isinstance(tokens, list) or not all(isinstance(token, str) for token in tokens):
        raise CheckpointError(f"{name} has tokens that are no texts. Copy or download it again.")
    if "merges" not in settings and sum(len(token) ** 2 for token in tokens) > MAX_SQUARES:
        raise CheckpointError(f"{name} has tokens longer than any vocabulary's. Copy or download it again.")
    config: dict[str, Any] = {
        f"{role}_token": _token(tokens, metadata.get(AT + told_as)) for role, told_as in ROLES.items()
    }
    for side in ("bos", "eos"):  # what a text begins and ends with; SentencePiece's begin where the file says nothing
        usual: dict[str, Any] = (
            {"add_bos_token": True} if settings.get("tokenizer_type") == "llama" and side == "bos" else {}
        )
        flag = metadata.get(f"{AT}add_{side}_token")
        config |= usual if flag is None else {f"add_{side}_token": bool(flag)}
    with IMPORTING:
        from transformers import TokenizersBackend

        try:
            from transformers.integrations.gguf import convert_gguf_tokenizer  # type: ignore[attr-defined]
        except ImportError:  # an earlier version, which has it elsewhere
            from transformers.integrations import convert_gguf_tokenizer  # type: ignore[attr-defined,no-redef]

    try:
        backend, more = convert_gguf_tokenizer(architecture, settings)
        made: Any = TokenizersBackend(tokenizer_object=backend, **config, **more)
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:  # panics of the `tokenizers` library are not even an Exception
        said = " ".join(str(error).split())[:160]
        raise CheckpointError(
            f"{name} describes a tokenizer that cannot be made ({said}). Copy or download it again, or open the "
            "Hugging Face folder that it was made from."
        ) from error
    template = metadata.get("tokenizer.chat_template")
    return TokenizerFiles(
        made.backend_tokenizer,
        {role: str(token) for role, token in made.special_tokens_map.items()},
        template if isinstance(template, str) else None,
    )


def gguf_end_tokens(metadata: Mapping[str, Any], d_vocab: int) -> tuple[int, ...]:
    """Ids of the model's end tokens."""
    ids = (metadata.get(AT + name) for name in ENDS)
    return tuple(dict.fromkeys(token for token in ids if type(token) is int and 0 <= token < d_vocab))


def _token(tokens: list[str], at: object) -> str | None:
    return tokens[at] if isinstance(at, int) and 0 <= at < len(tokens) else None

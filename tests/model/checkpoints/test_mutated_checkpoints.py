"""Checkpoints with random damage: what still opens computes, everything else is refused in words."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from headlight.model import Transformer, TransformerConfig, load, save_gpt2
from headlight.model.base.errors import HeadlightError
from tests.examples import examples
from tests.model.text.test_tokenizer import END, small_backend

PROMPT = "the cat 🙂"
CFG = TransformerConfig(n_layers=1, d_model=8, n_ctx=16, n_heads=2, d_head=4, d_vocab=300, tie_word_embeddings=True)
JSON = ("config.json", "tokenizer.json", "tokenizer_config.json")

PIECES = st.sampled_from([b'"', b"{", b"}", b"[", b"]", b",", b"null", b"-1", b"1e999", b"\\ud800", b"\xff", b"\x00"])
# Where (as a share of the file), how many bytes are taken out, and what comes in their place.
BYTES = st.lists(st.tuples(st.floats(0, 1), st.integers(0, 5), PIECES | st.binary(max_size=4)), min_size=1, max_size=4)
VALUES = st.sampled_from(
    [
        *("null", "true", "false", "-1", "0", "1", "1" + 30 * "0", "1" + 400 * "0", "1e300", "NaN", "[]", "[1]", "{}"),
        *('""', '"x"', '"##"', '"BPE"', f'"{END}"', '{"a": 1}'),
    ]
)
# Which of all the values in the file, and what stands there instead, as JSON.
REPLACED = st.lists(st.tuples(st.integers(0, 10_000), VALUES), min_size=1, max_size=2)


pytestmark = pytest.mark.usefixtures("unchecked")
SHARED = [HealthCheck.function_scoped_fixture]  # `unchecked` holds for all examples of a test


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("models") / "tiny"
    torch.manual_seed(0)
    save_gpt2(Transformer(CFG), path)
    small_backend().save(str(path / "tokenizer.json"))
    (path / "tokenizer_config.json").write_text(json.dumps({"bos_token": END, "add_prefix_space": False}))
    return path


def _places(content: Any) -> Iterator[tuple[Any, Any]]:
    """Every value inside JSON, as what holds it and the key or index there."""
    keys = list(content) if isinstance(content, dict) else range(len(content)) if isinstance(content, list) else []
    for key in keys:
        yield content, key
        yield from _places(content[key])


def _edited(data: bytes, edits: list[tuple[float, int, bytes]]) -> bytes:
    for share, length, new in edits:
        start = int(share * len(data))
        data = data[:start] + new + data[start + length :]
    return data


def _replaced(data: bytes, replaced: list[tuple[int, str]]) -> bytes:
    content = json.loads(data)
    for number, value in replaced:
        if places := list(_places(content)):
            holder, key = places[number % len(places)]
            holder[key] = json.loads(value)
    return json.dumps(content).encode()


def _check(folder: Path, name: str, data: bytes) -> None:
    """The folder with other bytes in one file: a model that computes, or a refusal that does not say where it lies."""
    file, whole = folder / name, (folder / name).read_bytes()
    try:
        _write(file, data)
        assert str(folder) not in _refusal(folder)
    finally:
        _write(file, whole)


def _write(file: Path, data: bytes) -> None:
    file.unlink()  # a file that is mapped must not change under its map
    file.write_bytes(data)


def _refusal(folder: Path) -> str:
    """What is said about a folder that is no model; nothing about one whose model computes."""
    try:
        model = load(folder)
        if model.tokenizer is not None:
            tokens = model.tokenizer.to_tokens(PROMPT)
            assert len(model.tokenizer.labels(tokens)) == tokens.shape[1]
            width = model.cfg.d_model if model.cfg.output == "none" else model.cfg.d_vocab_out
            assert model(tokens).shape == (*tokens.shape, width)
    except HeadlightError as error:
        return str(error)
    return ""


@given(name=st.sampled_from(["model.safetensors", *JSON]), edits=BYTES)
@settings(max_examples=examples(300), suppress_health_check=SHARED)
@example(name="model.safetensors", edits=[(0.5, 10_000, b"")])
def test_changed_bytes_are_refused_or_harmless(folder: Path, name: str, edits: list[tuple[float, int, bytes]]) -> None:
    _check(folder, name, _edited((folder / name).read_bytes(), edits))


@given(name=st.sampled_from(JSON), replaced=REPLACED)
@settings(max_examples=examples(200), suppress_health_check=SHARED)
@example(name="config.json", replaced=[])
def test_other_values_are_refused_or_harmless(folder: Path, name: str, replaced: list[tuple[int, str]]) -> None:
    _check(folder, name, _replaced((folder / name).read_bytes(), replaced))

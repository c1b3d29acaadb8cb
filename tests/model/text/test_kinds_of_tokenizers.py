"""Byte-level, SentencePiece-style and WordPiece tokenizers, against transformers' own reading of the same files."""

from collections.abc import Callable
from pathlib import Path

import pytest
from tokenizers import Tokenizer as Backend
from tokenizers import processors
from transformers import PreTrainedTokenizerFast

from headlight.model import Tokenizer
from tests.model.text.small_tokenizer import END, sentence_piece, small_backend, unigram, word_piece, write


def byte_level() -> Backend:
    """RoBERTa's kind: the bytes of GPT-2, and special tokens around a text."""
    backend = small_backend()
    end = backend.token_to_id(END)
    backend.post_processor = processors.RobertaProcessing((END, end), (END, end), add_prefix_space=False)
    return backend


KINDS: dict[str, tuple[Callable[[], Backend], dict[str, str]]] = {
    "byte-level": (byte_level, {"bos_token": END}),
    "SentencePiece BPE": (sentence_piece, {"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>"}),
    "SentencePiece Unigram": (unigram, {"eos_token": "</s>", "pad_token": "<pad>", "unk_token": "<unk>"}),
    "WordPiece": (word_piece, {"cls_token": "[CLS]", "sep_token": "[SEP]", "mask_token": "[MASK]"}),
}
TEXTS = ["The cat sat on the mat.", " the  then", "naïve café — 日本語 🤔", "def f(x):\n    return x + 1", ""]


@pytest.fixture(params=KINDS, scope="module")
def folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    make, settings = KINDS[request.param]
    return write(tmp_path_factory.mktemp("kind"), make(), tokenizer_class="PreTrainedTokenizerFast", **settings)


@pytest.mark.parametrize("text", TEXTS)
def test_ids_are_those_of_transformers_with_special_tokens_and_without(folder: Path, text: str) -> None:
    ours, theirs = Tokenizer.from_folder(folder), PreTrainedTokenizerFast.from_pretrained(folder)
    for special in (True, False):
        expected = theirs(text, add_special_tokens=special).input_ids
        assert ours.to_tokens(text, prepend_bos=special)[0].tolist() == expected
        assert ours.to_string(expected) == theirs.decode(expected, clean_up_tokenization_spaces=False)


@pytest.mark.parametrize(
    ("kind", "text", "labels"),
    [
        ("byte-level", " the the", ["␣the", "␣the"]),
        ("SentencePiece BPE", "the the", ["␣the", "␣the"]),
        ("SentencePiece Unigram", "the the", ["␣the", "␣the"]),
        ("WordPiece", "the cati", ["the", "cat", "##i"]),
        ("byte-level", "中", ["<0xE4>", "<0xB8>", "<0xAD>"]),
        ("SentencePiece BPE", "🤔", ["␣", "<0xF0>", "<0x9F>", "<0xA4>", "<0x94>"]),
    ],
)
def test_spaces_bytes_and_parts_of_words_are_labelled_as_what_they_are(
    kind: str, text: str, labels: list[str], tmp_path: Path
) -> None:
    make, settings = KINDS[kind]
    tokenizer = Tokenizer.from_folder(write(tmp_path, make(), **settings))
    assert tokenizer.labels(tokenizer.to_tokens(text)) == labels
    assert "".join(tokenizer.to_str_tokens("the")).replace("##", "").strip() == "the"


def test_what_is_split_between_tokens_is_whole_together(tmp_path: Path) -> None:
    for number, (kind, text, label) in enumerate(
        [("SentencePiece BPE", "🤔", "␣🤔"), ("WordPiece", "cati", "cati"), ("byte-level", "🤔", "🤔")]
    ):
        make, settings = KINDS[kind]
        (tmp_path / str(number)).mkdir()
        tokenizer = Tokenizer.from_folder(write(tmp_path / str(number), make(), **settings))
        assert tokenizer.label_together(tokenizer.to_tokens(text)) == label


@pytest.mark.parametrize("settings", [KINDS["WordPiece"][1], {}], ids=["told", "as older folders leave it out"])
def test_a_masked_token_can_be_typed(tmp_path: Path, settings: dict[str, str]) -> None:
    tokenizer = Tokenizer.from_folder(write(tmp_path, word_piece(), **settings))
    assert tokenizer.labels(tokenizer.to_tokens("the [MASK]", prepend_bos=True)) == ["[CLS]", "the", "[MASK]", "[SEP]"]
    assert tokenizer.mask_token_id == 4
    assert tokenizer.unknown_words("the [MASK] ж cat") == ["ж"]
    assert tokenizer.bos_token_id == 2

"""The tokenizer against transformers' own, and the files and texts that it refuses."""

import json
import os
from pathlib import Path

import pytest
import torch
from hypothesis import example, given
from hypothesis import strategies as st
from tokenizers import AddedToken, decoders, models, pre_tokenizers, processors
from tokenizers import Tokenizer as Backend
from transformers import GPT2Tokenizer

from headlight.model import Tokenizer
from headlight.model.base.errors import CheckpointError, InputError
from tests.model.text.small_tokenizer import END, TEXT, small_backend, write
from tests.places import ROOT

REAL = ROOT.parent / "shared" / "data" / "gpt2_tokenizer"


@pytest.fixture(scope="module")
def small_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(tmp_path_factory.mktemp("small"), small_backend(), bos_token=END)


@pytest.fixture(scope="module")
def small(small_folder: Path) -> Tokenizer:
    return Tokenizer.from_folder(small_folder)


@pytest.fixture(scope="module")
def pairs(small_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> list[tuple[Tokenizer, GPT2Tokenizer]]:
    """Ours and transformers' of the same files: GPT-2's own where they are there, and vocab.json with merges.txt."""
    plain = tmp_path_factory.mktemp("plain")
    small_backend().model.save(str(plain))
    folders = [plain, *([REAL] if REAL.is_dir() else [])]
    return [(Tokenizer.from_folder(folder), GPT2Tokenizer.from_pretrained(folder)) for folder in folders]


def ids(tokenizer: Tokenizer, text: str, **how: bool) -> list[int]:
    return tokenizer.to_tokens(text, **how)[0].tolist()


# Code points of every kind: letters, marks, spaces, controls, emoji, and what looks like a special token.
texts = st.text() | st.lists(st.sampled_from([*TEXT, END, " ", "\n\t", "  ", "\u202e", "\u200d", "don't", "2024"])).map(
    "".join
)


@given(texts)
@example(END)
@example(" ")
@example("a" * 500)
def test_ids_are_those_of_transformers(pairs: list[tuple[Tokenizer, GPT2Tokenizer]], text: str) -> None:
    for ours, theirs in pairs:
        assert ids(ours, text) == theirs.encode(text)
        assert ids(ours, text, parse_special=False) == theirs.encode(text, split_special_tokens=True)


@pytest.mark.skipif(not REAL.is_dir(), reason="GPT-2's vocabulary is not part of the project")
def test_known_ids_of_gpt2() -> None:
    gpt2 = Tokenizer.from_folder(REAL)
    assert ids(gpt2, "Hello world") == [15496, 995]  # Source: the documentation of transformers' GPT2Tokenizer
    assert gpt2.bos_token_id == 50256
    assert gpt2.labels(gpt2.to_tokens(" 🤔")) == ["␣<0xF0><0x9F>", "<0xA4>", "<0x94>"]


@given(texts)
def test_tokens_join_to_the_text(pairs: list[tuple[Tokenizer, GPT2Tokenizer]], text: str) -> None:
    for ours, theirs in pairs:
        tokens = ours.to_tokens(text)
        assert ours.to_string(tokens) == text
        assert ours.to_str_tokens(text) == [theirs.decode([token]) for token in tokens[0].tolist()]
        assert len(ours.labels(tokens)) == tokens.shape[1]


def test_special_tokens_are_parsed_unless_they_are_to_be_literal(small: Tokenizer) -> None:
    end = small.bos_token_id
    parsed = [*ids(small, "a"), end, *ids(small, "b")]
    assert ids(small, f"a{END}b") == parsed
    literal = ids(small, f"a{END}b", parse_special=False)
    assert end not in literal
    assert ids(small, f"a{END}b", prepend_bos="literal") == literal
    assert ids(small, f"a{END}b", prepend_bos="bos_literal") == [end, *literal]
    assert ids(small, f"a{END}b") == parsed  # asking once changes nothing for the next
    assert small.special_spellings(f"{END}a{END} <s>") == {END: 2}
    assert small.labels([end]) == [END]
    assert small.to_string([end]) == END


def test_special_tokens_that_the_file_does_not_mark_are_literal_too(tmp_path: Path) -> None:
    """Some folders list their special tokens only in tokenizer_config.json."""
    backend = small_backend()
    backend.add_tokens([AddedToken("<pad>", special=False), AddedToken("<s>", special=False)])
    tokenizer = Tokenizer.from_folder(
        write(tmp_path, backend, pad_token="<pad>", bos_token={"__type": "AddedToken", "content": "<s>"})
    )
    assert len(ids(tokenizer, "<pad><s>", parse_special=False)) > 2
    assert tokenizer.bos_token_id == backend.token_to_id("<s>")
    assert ids(tokenizer, "<pad>") == [backend.token_to_id("<pad>")]


def test_the_beginning_token_is_prepended_only_when_asked(small_folder: Path, tmp_path: Path) -> None:
    backend = small_backend()
    end = backend.token_to_id(END)
    backend.post_processor = processors.TemplateProcessing(single=f"{END} $A", special_tokens=[(END, end)])
    tokenizer = Tokenizer.from_folder(write(tmp_path, backend))
    plain = ids(Tokenizer.from_folder(small_folder), "the")
    assert ids(tokenizer, "the") == plain
    assert ids(tokenizer, "the", prepend_bos=True) == [end, *plain]
    assert tokenizer.to_str_tokens("the", prepend_bos=True)[0] == END


def test_a_tokenizer_without_beginning_token_says_so(tmp_path: Path) -> None:
    tokenizer = Tokenizer.from_folder(write(tmp_path, small_backend(), bos_token=None))
    assert tokenizer.bos_token_id is None
    with pytest.raises(InputError, match="no beginning-of-sequence token"):
        tokenizer.to_tokens("the", prepend_bos=True)


def test_nothing_is_cut_or_padded_on_a_file_s_word(tmp_path: Path) -> None:
    backend = small_backend()
    backend.enable_truncation(3)
    backend.enable_padding(length=40)
    tokenizer = Tokenizer.from_folder(write(tmp_path, backend))
    assert tokenizer.to_string(tokenizer.to_tokens("the cat sat on the mat")) == "the cat sat on the mat"


def test_a_batch_is_padded_on_the_right(small: Tokenizer) -> None:
    tokens, mask = small.to_batch(["the cat", "", "the"], prepend_bos=True)
    rows = [ids(small, text, prepend_bos=True) for text in ("the cat", "", "the")]
    assert mask.sum(1).tolist() == [len(row) for row in rows]
    for row, padded in zip(rows, tokens.tolist(), strict=True):
        assert padded == row + [0] * (tokens.shape[1] - len(row))
    assert small.to_batch([])[0].shape == (0, 0)


def test_single_tokens(small: Tokenizer) -> None:
    assert small.labels(small.to_single_token(" the")) == ["␣the"]
    assert small.to_single_token(END) == small.bos_token_id
    with pytest.raises(InputError, match=r"' the cat' is \d+ tokens \(␣the .*\), not one"):
        small.to_single_token(" the cat")
    with pytest.raises(InputError, match="'' is 0 tokens"):
        small.to_single_token("")


def test_ids_come_as_tensor_list_or_number(small: Tokenizer) -> None:
    tokens = small.to_tokens("the cat")
    expected = small.to_str_tokens("the cat")
    assert (
        small.to_str_tokens(tokens)
        == small.to_str_tokens(tokens[0])
        == small.to_str_tokens(tokens[0].tolist())
        == expected
    )
    assert small.to_string(tokens[0, 0]) == small.to_string(tokens[0, 0].item()) == expected[0]
    assert (small.to_tokens("").shape, small.to_string([]), small.labels([])) == ((1, 0), "", [])
    with pytest.raises(InputError, match=r"shape \[2, 3\]; give one row"):
        small.to_string(torch.zeros(2, 3, dtype=torch.long))


def test_a_prefix_space_is_added_where_the_folder_says_so(tmp_path: Path) -> None:
    small_backend().model.save(str(tmp_path))
    (tmp_path / "tokenizer_config.json").write_text('{"add_prefix_space": true}')
    theirs = GPT2Tokenizer.from_pretrained(tmp_path)
    assert ids(Tokenizer.from_folder(str(tmp_path)), "the cat") == theirs.encode("the cat") == theirs.encode(" the cat")


@pytest.mark.usefixtures("unchecked")
def test_several_texts_are_referred_to_the_batch(small: Tokenizer) -> None:
    with pytest.raises(InputError, match="not list; `to_batch` takes several"):
        small.to_tokens(["the", "cat"])


def test_half_a_surrogate_pair_is_refused(small: Tokenizer) -> None:
    with pytest.raises(InputError, match="character 3 is half of a surrogate pair"):
        small.to_tokens("ab\ud83d")


def test_a_tokenizer_of_another_kind_is_shown_by_its_own_decoder(tmp_path: Path) -> None:
    backend = Backend(models.WordPiece({"[UNK]": 0, "caf": 1, "##é": 2, "the": 3}, unk_token="[UNK]"))
    backend.pre_tokenizer = pre_tokenizers.Whitespace()
    backend.decoder = decoders.WordPiece()
    tokenizer = Tokenizer.from_folder(write(tmp_path, backend))
    assert tokenizer.to_string(tokenizer.to_tokens("the café")) == "the café"
    assert tokenizer.labels(tokenizer.to_tokens("the caf")) == ["the", "caf"]


@pytest.mark.parametrize(
    "files",
    [
        {},
        {"tokenizer.json": "{}"},
        {"tokenizer.json": "{"},
        {"tokenizer.json": "[1]"},
        {"tokenizer.json": '{"model": {"type": "BPE", "vocab": {"a": -1}, "merges": []}}'},
        {"vocab.json": '{"a": 0}'},
        {"vocab.json": "no", "merges.txt": "a b"},
        {"vocab.json": '{"a": 0}', "merges.txt": "a b"},
        {"tokenizer.json": "{}", "tokenizer_config.json": "3"},
    ],
)
def test_damaged_files_are_refused(files: dict[str, str], tmp_path: Path) -> None:
    for name, content in files.items():
        (tmp_path / name).write_text(content)
    with pytest.raises(CheckpointError, match=r"tokenizer") as caught:
        Tokenizer.from_folder(tmp_path)
    assert str(tmp_path) + os.sep not in str(caught.value)


def _with_model(small_folder: Path, folder: Path, **settings: object) -> Path:
    """A copy of the small tokenizer's file with other settings of its model."""
    content = json.loads((small_folder / "tokenizer.json").read_text())
    content["model"] |= settings
    (folder / "tokenizer.json").write_text(json.dumps(content))
    return folder


def test_what_makes_the_library_panic_is_refused(small_folder: Path, tmp_path: Path) -> None:
    """A panic is no Exception: it would end the thread that draws a page without a word."""
    with pytest.raises(CheckpointError, match="tokenizer cannot be read"):
        Tokenizer.from_folder(_with_model(small_folder, tmp_path, continuing_subword_prefix="##"))


def test_a_tokenizer_that_fails_on_a_text_says_so() -> None:
    backend = Backend(models.WordPiece({"cat": 0}, unk_token="[UNK]"))
    with pytest.raises(InputError, match=r"tokenizer fails on this text \(.*\[UNK\]"):
        Tokenizer(backend).to_tokens("dog")


def test_a_vocabulary_of_words_alone_names_the_words_that_it_lacks_and_some_that_it_has() -> None:
    backend = Backend(models.WordLevel({f"w{n}": n for n in range(100)}))
    backend.pre_tokenizer = pre_tokenizers.Whitespace()
    with pytest.raises(InputError, match=r"knows 100 words and not: dog ! sees\. Use these alone: w0 w1 w10 .* …$"):
        Tokenizer(backend).to_tokens("w1 dog! sees dog w2")
    assert Tokenizer(backend).to_tokens("w1 w2").tolist() == [[1, 2]]


def test_a_word_spelled_like_a_special_token_is_unknown() -> None:
    """It was taken for the special token itself, which means nothing as a word of a source."""
    backend = Backend(models.WordLevel({"<s>": 0, "<unk>": 1, "ba": 2}, unk_token="<unk>"))
    backend.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer = Tokenizer(backend, special=("<s>", "<unk>"), roles={"bos_token": "<s>"})
    assert tokenizer.unknown_words("ba <s> ko <unk> ba") == ["<s>", "ko", "<unk>"]

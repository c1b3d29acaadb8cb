"""Two files of sentences: what is refused, what is held out, and tokenizers made from them."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headlight.model.base.errors import TrainingError
from headlight.model.training.parallel_text import Corpus, bpe_tokenizer, encode, read_parallel, split, word_tokenizer

GOOD = b"Ein Hund.\nZwei Katzen.\n"


def read(folder: Path, source: bytes, target: bytes = b"A dog.\nTwo cats.\n") -> list[tuple[str, str]]:
    (folder / "text.de").write_bytes(source)
    (folder / "text.en").write_bytes(target)
    return read_parallel(folder / "text.de", folder / "text.en")


@pytest.mark.parametrize("source", [
    GOOD, GOOD[:-1], GOOD.replace(b"\n", b"\r\n"), b"\xef\xbb\xbf" + GOOD, b"  Ein Hund. \nZwei Katzen.",
])  # fmt: skip
def test_lines_are_paired_whatever_ends_them(tmp_path: Path, source: bytes) -> None:
    assert read(tmp_path, source) == [("Ein Hund.", "A dog."), ("Zwei Katzen.", "Two cats.")]


def test_a_separator_of_unicode_ends_no_line(tmp_path: Path) -> None:
    assert read(tmp_path, "Ein\u2028Hund\x85.\nZwei\x0cKatzen.".encode())[0] == ("Ein\u2028Hund\x85.", "A dog.")


@pytest.mark.parametrize(("source", "message"), [
    (b"", r"text\.de is empty"),
    (b"\n \n", r"text\.de is empty"),
    (b"Ein Hund.\n\nZwei Katzen.\n", r"text\.de, line 2 is empty"),
    (b"Ein Hund.\n \t\n", r"text\.de, line 2 is empty"),
    (b"Ein Hund.\nZwei K\xe4tzchen.\n", r"text\.de, line 2 is not UTF-8: byte 7 is 0xe4\. Save the file as UTF-8"),
    (b"Ein Hund.\n", r"text\.de has 1 lines and text\.en 2: from line 2 on"),
    (GOOD + b"Drei.\n", r"text\.de has 3 lines and text\.en 2: from line 3 on"),
])  # fmt: skip
def test_unusable_files_are_refused_by_line(tmp_path: Path, source: bytes, message: str) -> None:
    with pytest.raises(TrainingError, match=message):
        read(tmp_path, source)


def test_a_missing_file_and_a_folder_are_refused(tmp_path: Path) -> None:
    with pytest.raises(TrainingError, match="cannot be read"):
        read_parallel(tmp_path / "none.de", tmp_path / "none.en")
    with pytest.raises(TrainingError, match="is a folder"):
        read_parallel(tmp_path, tmp_path)


@given(st.lists(st.tuples(st.sampled_from("abcdefgh"), st.text(max_size=2)), min_size=1, max_size=60))
def test_no_sentence_is_lost_and_no_source_is_both_trained_on_and_held_out(sentences: list[tuple[str, str]]) -> None:
    if len({source for source, _ in sentences}) < 2:
        with pytest.raises(TrainingError, match="two or more"):
            split(sentences, seed=0)
        return
    corpus = split(sentences, seed=0)
    assert sorted([*corpus.train, *corpus.held_out]) == sorted(sentences)
    assert corpus.train
    assert corpus.held_out
    assert not {source for source, _ in corpus.train} & {source for source, _ in corpus.held_out}
    assert split(sentences, seed=0) == corpus


def test_a_twentieth_is_held_out_and_no_more_than_a_thousand() -> None:
    def n_held_out(count: int) -> int:
        return len(split([(str(n), "") for n in range(count)], seed=0).held_out)

    assert [n_held_out(count) for count in (2, 100, 30_000)] == [1, 5, 1000]
    assert isinstance(split([("a", ""), ("b", "")], seed=0), Corpus)


@given(st.text())
def test_byte_pairs_spell_any_text_and_end_it(text: str) -> None:
    tokenizer = bpe_tokenizer(["der Hund und der Hahn"] * 3, most_tokens=300)
    (pair,) = encode([(text, "der Hund")], tokenizer, tokenizer, n_ctx=10_000)
    assert tokenizer.to_string(pair[0][:-1]) == text
    assert pair[0][-1] == pair[1][-1] == 1
    assert tokenizer.labels([0, 1]) == ["<s>", "</s>"]


def test_words_are_numbered_in_order_after_the_special_tokens() -> None:
    tokenizer = word_tokenizer(["ba", "be"])
    assert tokenizer.to_tokens("be  ba be").tolist() == [[4, 3, 4]]
    assert tokenizer.to_string([4, 3]) == "be ba"
    assert tokenizer.unknown_words("ba bo") == ["bo"]
    assert tokenizer.n_words == 2


def test_a_sentence_that_the_model_s_positions_do_not_hold_is_refused() -> None:
    tokenizer = word_tokenizer(["ba"])
    assert encode([("ba ba", "ba")], tokenizer, tokenizer, n_ctx=4) == [([3, 3, 1], [3, 1])]
    with pytest.raises(TrainingError, match="has 4 tokens, its end included, and can have 3: 'ba ba ba'"):
        encode([("ba", "ba ba ba")], tokenizer, tokenizer, n_ctx=4)

"""Every kind of folder that holds a tokenizer, against transformers' AutoTokenizer called on texts."""

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tokenizers import Regex, decoders, models, normalizers, pre_tokenizers, processors, trainers
from tokenizers import Tokenizer as Backend
from transformers import AutoTokenizer

from headlight.model import Tokenizer
from headlight.model.base.errors import CheckpointError, InputError
from headlight.model.checkpoints.loading import EMBEDDED, embedded_models
from headlight.model.text.patterns import PATTERNS
from tests.model.text.small_tokenizer import TEXT, sentence_piece, small_backend, unigram, word_piece, write
from tests.places import MINI

TEXTS = [
    *TEXT,
    " the  then",
    "DON'T don't 2024 <s> </s> <mask> [MASK] [SEP] <|endoftext|> <|user|> x [PAD]",
    "<|im_start|>hi<|im_end|>\n\n",
    "Cafe\u0301",
    "",
]


def roberta() -> Backend:
    """A byte-level BPE with RoBERTa's special tokens."""
    backend = small_backend()
    trainer = trainers.BpeTrainer(
        vocab_size=300,
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        special_tokens=["<s>", "<pad>", "</s>", "<unk>", "<mask>"],
        show_progress=False,
    )
    backend.train_from_iterator(TEXT * 3, trainer)
    return backend


KINDS: dict[str, tuple[str, Callable[[], Backend]]] = {  # by model_type: the tokenizer's class, a small one
    "gpt2": ("GPT2Tokenizer", small_backend),
    "opt": ("GPT2Tokenizer", roberta),
    "qwen2": ("Qwen2Tokenizer", small_backend),
    "phi": ("CodeGenTokenizer", small_backend),
    "gpt_neox": ("GPTNeoXTokenizer", small_backend),
    "cohere": ("CohereTokenizer", small_backend),
    "roberta": ("RobertaTokenizer", roberta),
    "bart": ("BartTokenizer", roberta),
    "bert": ("BertTokenizer", word_piece),
    "distilbert": ("DistilBertTokenizer", word_piece),
    "electra": ("ElectraTokenizer", word_piece),
    "bloom": ("BloomTokenizerFast", small_backend),
    "falcon": ("PreTrainedTokenizerFast", small_backend),
    "llama": ("LlamaTokenizer", sentence_piece),
    "mistral": ("LlamaTokenizerFast", sentence_piece),
    "code_llama": ("CodeLlamaTokenizer", sentence_piece),
    "gemma": ("GemmaTokenizer", sentence_piece),
    "xlm-roberta": ("XLMRobertaTokenizer", unigram),
    "t5": ("T5Tokenizer", unigram),
    "xglm": ("XGLMTokenizer", unigram),
    "mpt": ("GPTNeoXTokenizer", small_backend),
}
OF_FILES = ("gpt2", "opt", "qwen2", "phi", "gpt_neox", "roberta", "bart", "bert", "distilbert", "electra")
NEW = {
    "330": {"content": "<|im_start|>", "special": True},
    "331": {"content": "<|im_end|>", "special": True},
    "332": {"content": "<|user|>", "normalized": True, "special": False},
}
SETTINGS: dict[str, dict[str, Any]] = {
    "nothing more": {},
    "a space before": {"add_prefix_space": True},
    "tokens around": {"add_bos_token": True, "add_eos_token": True},
    "case": {"do_lower_case": False, "clean_up_tokenization_spaces": True, "legacy": False},
    "literal": {"split_special_tokens": True},
    "roles": {"bos_token": "<s>", "eos_token": "</s>", "pad_token": "<pad>"},
    "more special ones": {"additional_special_tokens": ["<|user|>", "<|im_start|>"]},
    "added": {"added_tokens_decoder": NEW},
}


def folder_of(folder: Path, kind: str, settings: dict[str, Any], one_file: bool) -> Path:
    name, make = KINDS[kind]
    backend = make()
    if one_file:
        backend.save(str(folder / "tokenizer.json"))
    else:
        backend.model.save(str(folder))
    (folder / "config.json").write_text(json.dumps({"model_type": kind}))
    if settings:
        (folder / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": name} | settings))
    return folder


def check(folder: Path) -> None:
    """Ids, and the ids of what must count as text, are those of transformers, with tokens around a text and without."""
    ours, theirs = Tokenizer.from_folder(folder), AutoTokenizer.from_pretrained(folder, trust_remote_code=False)
    for text in TEXTS:
        plain = theirs(text, add_special_tokens=False)["input_ids"]
        assert ours.to_tokens(text)[0].tolist() == plain
        literal = theirs(text, add_special_tokens=False, split_special_tokens=True)["input_ids"]
        assert ours.to_tokens(text, parse_special=False)[0].tolist() == literal
        around = ours.to_tokens(text, prepend_bos=ours.adds_special)[0].tolist()
        assert around == theirs(text)["input_ids"]
    assert ours.eos_token_id == theirs.eos_token_id


@pytest.mark.parametrize("settings", ["nothing more", "a space before", "tokens around", "added"])
@pytest.mark.parametrize("kind", KINDS)
def test_ids_of_one_file_are_those_of_transformers(kind: str, settings: str, tmp_path: Path) -> None:
    check(folder_of(tmp_path, kind, SETTINGS[settings], one_file=True))


@pytest.mark.parametrize("settings", SETTINGS)
@pytest.mark.parametrize("kind", OF_FILES)
def test_ids_of_several_files_are_those_of_transformers(kind: str, settings: str, tmp_path: Path) -> None:
    check(folder_of(tmp_path, kind, SETTINGS[settings], one_file=False))


@pytest.mark.parametrize("one_file", [True, False], ids=["tokenizer.json", "vocab.json"])
def test_tokens_that_were_added_beside_the_tokenizer_are_whole(one_file: bool, tmp_path: Path) -> None:
    """A fine-tuning's own: in pieces, they mean nothing to the model."""
    folder_of(tmp_path, "gpt2", {"bos_token": "<|endoftext|>"}, one_file)
    (tmp_path / "added_tokens.json").write_text(json.dumps({"<|user|>": 300, "<|im_end|>": 301}))
    (tmp_path / "special_tokens_map.json").write_text(json.dumps({"eos_token": "<|im_end|>"}))
    check(tmp_path)
    assert Tokenizer.from_folder(tmp_path).to_tokens("<|user|><|im_end|>").tolist() == [[300, 301]]


def test_roberta_finds_its_special_tokens_in_the_map_beside_its_files(tmp_path: Path) -> None:
    folder_of(tmp_path, "roberta", {}, one_file=False)
    mask = {"content": "<mask>", "single_word": False, "lstrip": True, "rstrip": False, "normalized": False}
    (tmp_path / "special_tokens_map.json").write_text(json.dumps({"cls_token": "<s>", "mask_token": mask}))
    check(tmp_path)
    tokenizer = Tokenizer.from_folder(tmp_path)
    labels = tokenizer.labels(tokenizer.to_tokens("the <mask>", prepend_bos=True))
    assert (labels[0], labels[-2:]) == ("<s>", ["<mask>", "</s>"])  # the mask takes the space before it


@pytest.mark.parametrize("name", embedded_models())
def test_models_that_come_along_are_read_as_transformers_reads_them(name: str) -> None:
    """They are read without transformers, whose import the first page does not wait for."""
    ours, theirs = Tokenizer.from_own_folder(EMBEDDED / name), Tokenizer.from_folder(EMBEDDED / name)
    known = " ".join(theirs.to_str_tokens(theirs.word_ids()[5:15])).strip()
    for text in (known, "the key <|endoftext|> the"):
        assert ours.to_tokens(text, prepend_bos=True).tolist() == theirs.to_tokens(text, prepend_bos=True).tolist()
    assert (ours.bos_token_id, ours.eos_token_id) == (theirs.bos_token_id, theirs.eos_token_id)


def test_sentencepiece_files_are_converted(tmp_path: Path) -> None:
    pieces = pytest.importorskip("sentencepiece")
    (tmp_path / "text").write_text("\n".join(TEXT * 3))
    options = {"vocab_size": 320, "byte_fallback": True, "model_type": "bpe", "hard_vocab_limit": False}
    pieces.SentencePieceTrainer.train(input=str(tmp_path / "text"), model_prefix=str(tmp_path / "tokenizer"), **options)
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "llama"}))
    (tmp_path / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": "LlamaTokenizer"}))
    check(tmp_path)
    own = pieces.SentencePieceProcessor(model_file=str(tmp_path / "tokenizer.model"))
    assert Tokenizer.from_folder(tmp_path).to_tokens(TEXT[0])[0].tolist() == own.encode(TEXT[0])


def _refusal(folder: Path) -> str:
    with pytest.raises(CheckpointError) as caught:
        Tokenizer.from_folder(folder)
    assert str(folder.parent) not in str(caught.value)  # a path of the machine
    return str(caught.value)


def test_what_is_only_a_part_of_the_files_is_refused_and_not_guessed(tmp_path: Path) -> None:
    """transformers makes a tokenizer of three special tokens where Llama's class finds no file of its own."""
    folder_of(tmp_path, "gpt2", {}, one_file=False)
    (tmp_path / "merges.txt").unlink()
    assert "merges" in _refusal(tmp_path)
    (tmp_path / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": "LlamaTokenizer"}))
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "llama"}))
    assert "lacks tokenizer.model" in _refusal(tmp_path)


def test_code_of_the_folder_is_not_run(tmp_path: Path) -> None:
    folder_of(tmp_path, "gpt2", {"auto_map": {"AutoTokenizer": ["mine.Mine", None]}}, one_file=True)
    (tmp_path / "tokenizer_config.json").write_text(
        json.dumps({"tokenizer_class": "Mine", "auto_map": {"AutoTokenizer": ["mine.Mine", None]}})
    )
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "mine"}))
    (tmp_path / "mine.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')")
    assert "code that lies in the folder (auto_map), which is not run" in _refusal(tmp_path)
    assert not (tmp_path / "ran").exists()


def test_a_class_that_is_written_in_python_makes_the_ids_itself(tmp_path: Path) -> None:
    (tmp_path / "vocab.txt").write_text("\n".join(["<cls>", "<pad>", "<eos>", "<unk>", *"LAGVSERTI", "<mask>"]))
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "esm"}))
    (tmp_path / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": "EsmTokenizer"}))
    ours, theirs = Tokenizer.from_folder(tmp_path), AutoTokenizer.from_pretrained(tmp_path)
    for text in ("LAGS", "LA<mask>GV", "L A x <eos>", ""):
        assert ours.to_tokens(text, prepend_bos=True)[0].tolist() == theirs(text).input_ids
        assert ours.to_tokens(text)[0].tolist() == theirs(text, add_special_tokens=False).input_ids
    assert (ours.mask_token_id, ours.bos_token_id, ours.eos_token_id) == (13, 0, 2)
    assert ours.to_str_tokens("LA<mask>", prepend_bos=True) == ["<cls>", "L", "A", "<mask>", "<eos>"]
    with pytest.raises(CheckpointError, match="made by transformers in Python"):
        ours.save(tmp_path / "tokenizer.json")


@pytest.mark.parametrize(
    "settings",
    [
        [1],
        {"bos_token": 3},
        {"added_tokens_decoder": {"x": {}}},
        {"added_tokens_decoder": {"1": 4}},
        {"init_inputs": [1, 2, 3]},
        {"tokenizer_object": "x"},
        {"extra_special_tokens": 4},
    ],
    ids=str,
)
def test_hostile_settings_are_refused(settings: Any, tmp_path: Path) -> None:
    folder_of(tmp_path, "gpt2", {}, one_file=True)
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(settings))
    assert "tokenizer" in _refusal(tmp_path)


def test_a_config_that_transformers_refuses_leaves_the_tokenizer_as_it_is(tmp_path: Path) -> None:
    """It is refused, or not, by whoever reads the model; its kind says which tokenizer it is."""
    folder_of(tmp_path, "roberta", {}, one_file=False)
    expected = Tokenizer.from_folder(tmp_path).to_tokens(TEXT[0], prepend_bos=True)
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "roberta", "num_attention_heads": None}))
    assert Tokenizer.from_folder(tmp_path).to_tokens(TEXT[0], prepend_bos=True).equal(expected)


def test_a_text_ends_as_the_tokenizer_says_and_not_where_it_is_cut(tmp_path: Path) -> None:
    backend = small_backend()
    backend.enable_truncation(3)
    backend.post_processor = processors.TemplateProcessing(
        single="$A <|endoftext|>", special_tokens=[("<|endoftext|>", backend.token_to_id("<|endoftext|>"))]
    )
    backend.save(str(tmp_path / "tokenizer.json"))
    check(tmp_path)


FOUR = {"type": "Replace", "pattern": {"String": "a"}, "content": "aaaa"}
BYTES = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}
ADDED = {"content": "a", "single_word": False, "lstrip": False, "rstrip": False, "normalized": True, "special": False}


@pytest.mark.parametrize(
    ("part", "steps"),
    [
        ("normalizer", {"type": "Sequence", "normalizers": [FOUR] * 40}),
        ("normalizer", {"type": "Sequence", "normalizers": [{"type": "Prepend", "prepend": "a" * 2000}]}),
        ("normalizer", {**FOUR, "pattern": {"Regex": ""}, "content": "a" * 2000}),
        ("pre_tokenizer", {"type": "Sequence", "pretokenizers": [BYTES] * 40}),
        ("decoder", {"type": "Sequence", "decoders": [FOUR] * 40}),
    ],
)
def test_a_tokenizer_that_multiplies_texts_is_refused_before_it_is_tried(
    part: str, steps: dict[str, Any], tmp_path: Path
) -> None:
    """Where memory does not suffice the library ends the process, for an added token as it opens the file."""
    config = json.loads((MINI / "tokenizer.json").read_text())
    added = [*config["added_tokens"], ADDED | {"id": len(config["model"]["vocab"]) + 9}]
    (tmp_path / "tokenizer.json").write_text(json.dumps({**config, part: steps, "added_tokens": added}))
    for opened in (Tokenizer.from_folder, lambda folder: Tokenizer.from_file(folder / "tokenizer.json")):
        with pytest.raises(CheckpointError, match=r"bytes of one byte of a text.*at most 1,024"):
            opened(tmp_path)


def test_a_text_that_may_become_too_long_is_refused(tmp_path: Path) -> None:
    config = json.loads((MINI / "tokenizer.json").read_text())
    (tmp_path / "tokenizer.json").write_text(json.dumps({**config, "normalizer": {**FOUR, "content": "a" * 500}}))
    tokenizer = Tokenizer.from_file(tmp_path / "tokenizer.json")
    assert len(tokenizer.to_string(tokenizer.to_tokens("a"))) == 500
    with pytest.raises(InputError, match="more than 33,554 bytes, the most that this tokenizer accepts"):
        tokenizer.to_tokens("b" * 40_000)


@pytest.mark.parametrize("name", ["tokenizer.json", "chat_template.jinja", "merges.txt"])
def test_a_file_that_is_larger_than_any_is_not_read(name: str, tmp_path: Path) -> None:
    write(tmp_path, sentence_piece())
    with (tmp_path / name).open("wb") as file:
        file.truncate(2**33)  # of which the disk holds nothing
    with pytest.raises(CheckpointError, match=rf"{name} has more than 64 MiB"):
        Tokenizer.from_folder(tmp_path)


PANICS = Regex("(a+)+$")  # the library gives up after ten million steps, about a second
SLOW = Regex(r"(?:.|.){22}\d")  # it does so at no place of a text, and takes long at each
STUCK = "a" * 400 + "!"
TOO_SLOW = "patterns in the model's tokenizer.json take too much time"


@pytest.mark.parametrize(("pattern", "said"), [(PANICS, "tokenizer fails on"), (SLOW, TOO_SLOW)])
@pytest.mark.parametrize("kind", ["split", "normalizer", "decoder"])
def test_a_pattern_that_takes_exponential_time_ends_in_a_message(kind: str, pattern: Regex, said: str) -> None:
    """The library's panic is no Exception, which would pass all that a page catches."""
    text = STUCK[-41:] if pattern is PANICS else STUCK
    backend = Backend(models.WordLevel({text: 0, "[UNK]": 1}, "[UNK]"))
    if kind == "split":
        backend.pre_tokenizer = pre_tokenizers.Split(pattern, "isolated")
    elif kind == "normalizer":
        backend.normalizer = normalizers.Replace(pattern, "b")
    else:
        backend.decoder = decoders.Replace(pattern, "b")
    tokenizer = Tokenizer(backend)
    reads: tuple[Callable[[], object], ...] = (
        lambda: tokenizer.to_tokens(text),
        lambda: tokenizer.unknown_words(text),
    )
    for read in (lambda: tokenizer.to_string([0]),) if kind == "decoder" else reads:
        begun = time.process_time()
        with pytest.raises(InputError, match=said):
            read()
        assert time.process_time() - begun < 2  # this process's own


def slow_tokenizer(folder: Path, added: dict[str, Any]) -> Path:
    """A folder whose tokenizer is slow for the tokens that are added to it, which are split as the file is opened."""
    config = json.loads((MINI / "tokenizer.json").read_text())
    slow = {"type": "Replace", "pattern": {"Regex": r"(?:.|.){22}\d"}, "content": "b"}
    (folder / "tokenizer.json").write_text(json.dumps({**config, "normalizer": slow} | added))
    return folder


def test_a_pattern_that_is_slow_for_the_tokenizers_own_tokens_is_refused_by_its_file(tmp_path: Path) -> None:
    config = json.loads((MINI / "tokenizer.json").read_text())
    token = ADDED | {"content": STUCK, "id": len(config["model"]["vocab"]) + 9}
    (tmp_path / "beside").mkdir()
    slow_tokenizer(tmp_path, {"added_tokens": [*config["added_tokens"], token]})
    slow_tokenizer(tmp_path / "beside", {})
    (tmp_path / "beside" / "tokenizer_config.json").write_text(json.dumps({"extra_special_tokens": [STUCK]}))
    for read in (
        lambda: Tokenizer.from_folder(tmp_path),
        lambda: Tokenizer.from_file(tmp_path / "tokenizer.json"),
        lambda: Tokenizer.from_folder(tmp_path / "beside"),
    ):
        with pytest.raises(CheckpointError, match=r"patterns in tokenizer\.json take too much time"):
            read()


def test_a_pattern_is_tried_on_the_parts_that_added_tokens_leave() -> None:
    backend = Backend(models.WordLevel({"[UNK]": 0}, "[UNK]"))
    backend.add_special_tokens(["<s>"])
    backend.pre_tokenizer = pre_tokenizers.Split(Regex(r"^(?:.|.){21}\d"), "isolated")  # slow where a part begins
    tokenizer = Tokenizer(backend)
    assert tokenizer.to_tokens("<s>" + "a" * 20).tolist() == [[1, 0]]
    slow = "<s>".join(["", *["a" * 30] * 150])
    assert tokenizer.to_tokens(slow, parse_special=False).tolist() == [[0]]
    with pytest.raises(InputError, match=TOO_SLOW):
        tokenizer.to_tokens(slow)


def test_ids_with_a_pattern_that_is_tried_are_those_of_transformers(tmp_path: Path) -> None:
    llama3 = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s+"
    backend = small_backend()
    parts = [pre_tokenizers.Split(Regex(llama3), "isolated"), pre_tokenizers.ByteLevel(False, use_regex=False)]
    backend.pre_tokenizer = pre_tokenizers.Sequence(parts)
    backend.save(str(tmp_path / "tokenizer.json"))
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "llama"}))
    check(tmp_path)


def test_models_that_come_along_need_no_other_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(PATTERNS, "answer", lambda line: pytest.fail("a process is begun"))
    for name in embedded_models():
        tokenizer = Tokenizer.from_own_folder(EMBEDDED / name)
        tokenizer.to_string(tokenizer.word_ids()[:3])
        tokenizer.labels(tokenizer.to_tokens(tokenizer.to_string(tokenizer.word_ids()[:3])))


@pytest.mark.parametrize("model", ["WordPiece", "Unigram"])
def test_a_vocabulary_that_takes_quadratic_time_is_given_short_texts(model: str) -> None:
    if model == "WordPiece":
        backend = Backend(models.WordPiece({"a": 0, "[UNK]": 1}, unk_token="[UNK]", max_input_chars_per_word=10**9))
    else:
        backend = Backend(models.Unigram([("a" * length, -float(length)) for length in range(1, 9999)], 0))
    tokenizer = Tokenizer(backend)
    assert tokenizer.to_tokens("a").tolist() == [[0]]
    with pytest.raises(InputError, match="the most that this tokenizer accepts"):
        tokenizer.to_tokens("a" * 30_000)

"""Two texts in one prompt, as transformers' tokenizer and BERT take them."""

import json
from pathlib import Path

import pytest
import torch
from tokenizers import processors
from transformers import AutoTokenizer, BertConfig, BertForMaskedLM

from headlight.model import load, run_prompt
from headlight.model.base.errors import InputError
from headlight.model.checkpoints.reference import reference_ids
from headlight.model.nn.transformer import Transformer
from tests.model.text.small_tokenizer import word_piece

A, B = "the cat sat", "on the mat"
TYPED = f"{A} [SEP] {B}"
AGREE = 1e-5  # float32 logits around 1, of two libraries


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A BERT of two layers with a vocab.txt alone."""
    path, backend = tmp_path_factory.mktemp("bert"), word_piece()
    torch.manual_seed(0)
    size = {"hidden_size": 16, "intermediate_size": 24, "num_hidden_layers": 2, "num_attention_heads": 2}
    bert = BertForMaskedLM(BertConfig(vocab_size=backend.get_vocab_size(), max_position_embeddings=32, **size))
    with torch.no_grad():
        bert.bert.embeddings.token_type_embeddings.weight.normal_()
    bert.save_pretrained(path)
    vocabulary = backend.get_vocab()
    (path / "vocab.txt").write_text("\n".join(sorted(vocabulary, key=lambda word: vocabulary[word])) + "\n")
    return path


@pytest.fixture(scope="module")
def model(folder: Path) -> Transformer:
    return load(folder)


def test_a_typed_separator_begins_a_second_text(folder: Path, model: Transformer) -> None:
    theirs = AutoTokenizer.from_pretrained(folder)(A, B, return_tensors="pt")
    run = run_prompt(model, TYPED)
    assert run.tokens.tolist() == theirs["input_ids"][0].tolist()
    assert run.token_types == theirs["token_type_ids"][0].tolist()
    bert = BertForMaskedLM.from_pretrained(folder, attn_implementation="eager").eval()
    with torch.no_grad():
        expected = bert(**theirs, output_attentions=True)
    logits, cache = model.run_with_cache(run.tokens[None])
    torch.testing.assert_close(logits, expected.logits, atol=AGREE, rtol=AGREE)
    for layer, pattern in enumerate(expected.attentions):
        torch.testing.assert_close(cache["pattern", layer], pattern, atol=AGREE, rtol=AGREE)
    torch.testing.assert_close(run.next_logits, expected.logits[0, run.prediction_position], atol=AGREE, rtol=AGREE)


def test_types_that_are_given_are_taken(folder: Path, model: Transformer) -> None:
    tokens = model.to_tokens(TYPED, prepend_bos=True)
    bert = BertForMaskedLM.from_pretrained(folder).eval()
    for types in (torch.zeros_like(tokens), 1 - model.token_types(tokens)):
        with torch.no_grad():
            expected = bert(tokens, token_type_ids=types).logits
        torch.testing.assert_close(model(tokens, token_type_ids=types), expected, atol=AGREE, rtol=AGREE)
        through_hooks = model.run_with_hooks(tokens, token_type_ids=types)
        torch.testing.assert_close(through_hooks, expected, atol=AGREE, rtol=AGREE)


@pytest.mark.usefixtures("unchecked")
def test_types_that_the_model_does_not_have_are_refused(model: Transformer) -> None:
    tokens = model.to_tokens(TYPED, prepend_bos=True)
    for wrong in (torch.zeros_like(tokens)[:, 1:], torch.full_like(tokens, 2), torch.full_like(tokens, -1)):
        with pytest.raises(InputError, match="give one of 0 to 1"):
            model(tokens, token_type_ids=wrong)


@pytest.mark.parametrize("text", [A, "", f"{A} [SEP]", f"[SEP] {B}", f"{A} [SEP] {B} [SEP] {A}", "[MASK] [SEP] [MASK]"])
def test_types_are_those_of_the_tokenizer(text: str, folder: Path, model: Transformer) -> None:
    """A separator with nothing behind it parts no texts: alone, a text has one behind it."""
    theirs = AutoTokenizer.from_pretrained(folder)
    first, separator, second = text.partition("[SEP]")
    encoding = theirs(first, second) if separator and second else theirs(text)
    tokens = model.to_tokens(text, prepend_bos=True)
    assert tokens[0].tolist() == encoding["input_ids"]
    assert model.token_types(tokens)[0].tolist() == encoding["token_type_ids"]
    assert list(reference_ids(folder, text, True, model.token_types(tokens)[0].tolist())) == encoding["input_ids"]


def test_padding_is_no_second_text(folder: Path, model: Transformer) -> None:
    assert model.tokenizer is not None
    tokens, mask = model.tokenizer.to_batch([A, TYPED], prepend_bos=True)
    theirs = AutoTokenizer.from_pretrained(folder)
    expected = [theirs(A)["token_type_ids"], theirs(A, B)["token_type_ids"]]
    types = model.token_types(tokens, mask)
    assert [row[: len(types)].tolist() for row, types in zip(types, expected, strict=True)] == expected


def test_a_separator_that_is_literal_parts_nothing(model: Transformer) -> None:
    assert not any(run_prompt(model, TYPED, prepend_bos="bos_literal").token_types or [])


def test_a_model_of_one_type_has_one_text(tmp_path: Path, folder: Path) -> None:
    """RoBERTa's kind: an embedding of types that all tokens share."""
    backend = word_piece()
    backend.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] [SEP] $B [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    backend.save(str(tmp_path / "tokenizer.json"))
    for name in ("config.json", "model.safetensors"):
        (tmp_path / name).write_bytes((folder / name).read_bytes())
    (tmp_path / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": "PreTrainedTokenizerFast"}))
    assert run_prompt(load(tmp_path), TYPED).token_types is None

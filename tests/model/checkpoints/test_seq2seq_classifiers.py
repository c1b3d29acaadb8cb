"""Encoder-decoders with a classifier's head beside transformers' own classes."""

from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from safetensors.torch import load_file, save_file

from headlight.model import load_seq2seq
from headlight.model.base.errors import HeadlightError
from headlight.model.decoding.translate_tables import translate_tables
from headlight.model.decoding.translation import translate
from headlight.model.decoding.translations import Translations
from tests.model.checkpoints.seq2seq_twins import BART, T5
from tests.model.checkpoints.twins import TOLERANCE, difference

NAMES = {0: "contradiction", 1: "neutral", 2: "entailment"}
CONFIGS: dict[str, Any] = {
    "Bart": lambda **more: transformers.BartConfig(**BART, eos_token_id=2, **more),
    "MBart": lambda **more: transformers.MBartConfig(**BART, eos_token_id=2, **more),
    "T5": lambda **more: transformers.T5Config(**T5, eos_token_id=2, **more),
    "UMT5": lambda **more: transformers.UMT5Config(**T5, eos_token_id=2, **more),
}
TOKENS = torch.tensor([[7, 3, 2, 11, 5, 2, 9]])  # the last end token is not the last token


def saved(kind: str, folder: Path, **settings: Any) -> Any:
    """A random classifier with noise on every parameter."""
    torch.manual_seed(0)
    config = CONFIGS[kind](id2label=NAMES, attn_implementation="eager", **settings)
    theirs = getattr(transformers, f"{kind}ForSequenceClassification")(config).eval()
    with torch.no_grad():
        for parameter in theirs.parameters():
            parameter += 0.3 * torch.randn(parameter.shape)
    theirs.save_pretrained(folder)
    return theirs


def save_words(folder: Path) -> None:
    """A tokenizer of as many tokens, which frames a text as BART's does."""
    words = ["<s>", "<pad>", "</s>", "<unk>", *(f"w{number}" for number in range(4, 23))]
    vocabulary = {word: number for number, word in enumerate(words)}
    transformers.BartTokenizerFast(vocab=vocabulary, merges=[]).save_pretrained(folder)


@pytest.mark.parametrize("kind", CONFIGS)
def test_labels_are_read_at_the_last_end_token_of_the_source(kind: str, tmp_path: Path) -> None:
    theirs, ours = saved(kind, tmp_path), load_seq2seq(tmp_path)
    with torch.no_grad():
        expected = theirs(TOKENS).logits[0]
    logits = ours(TOKENS, ours.to_classifier_target(TOKENS))[0, ours.label_position(TOKENS[0])]
    assert difference(logits, expected) <= TOLERANCE
    assert ours.cfg.labels == tuple(NAMES.values())
    with pytest.raises(
        HeadlightError, match=r"reads its labels at the token 2, which ends a source, and there is none here"
    ):
        ours.label_position(TOKENS[0, :2])


def test_what_the_head_lacks_is_never_made_up(tmp_path: Path) -> None:
    saved("Bart", tmp_path)
    file = tmp_path / "model.safetensors"
    tensors = {name: tensor for name, tensor in load_file(file).items() if "out_proj.bias" not in name}
    save_file(tensors, file)
    with pytest.raises(HeadlightError, match=r"lacks the tensors .*out_proj\.bias"):
        load_seq2seq(tmp_path)


@pytest.mark.parametrize("multi_label", [False, True])
def test_a_text_is_classified_and_tabulated(multi_label: bool, tmp_path: Path) -> None:
    how = {"problem_type": "multi_label_classification"} if multi_label else {}
    theirs = saved("Bart", tmp_path, **how)
    save_words(tmp_path)
    classified = translate(load_seq2seq(tmp_path), "</s> <unk>")
    with torch.no_grad():
        expected = theirs(classified.source_tokens[None]).logits[0]
    shares = expected.sigmoid() if multi_label else expected.softmax(-1)
    rows = translate_tables(Translations(classified))["labels"]
    assert list(rows["label"]) == list(NAMES.values())
    assert list(rows["logit"]) == pytest.approx(expected.tolist(), rel=TOLERANCE, abs=TOLERANCE)
    assert list(rows["probability"]) == pytest.approx(shares.tolist(), abs=TOLERANCE)
    assert classified.read[0] == theirs.config.decoder_start_token_id
    with pytest.raises(HeadlightError, match="is a classifier: its target is the source itself"):
        translate(classified.model, "w5", "w6")

"""Encoder-decoders with another head than a language model's, or none, beside transformers' own classes."""

from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from safetensors.torch import load_file, save_file

from headlight.model import load_seq2seq
from headlight.model.base.errors import HeadlightError
from headlight.model.decoding import greedy
from headlight.model.decoding.translate_tables import translate_tables
from headlight.model.decoding.translation import translate
from headlight.model.decoding.translations import Translations
from tests.model.checkpoints.seq2seq_twins import BART, EVEN, T5
from tests.model.checkpoints.test_heads import drop_class
from tests.model.checkpoints.twins import TOLERANCE, difference

NAMES = {0: "contradiction", 1: "neutral", 2: "entailment"}
CONFIGS: dict[str, Any] = {
    "Bart": lambda **more: transformers.BartConfig(**BART, eos_token_id=2, **more),
    "MBart": lambda **more: transformers.MBartConfig(**BART, eos_token_id=2, **more),
    "T5": lambda **more: transformers.T5Config(**T5, eos_token_id=2, **more),
    "UMT5": lambda **more: transformers.UMT5Config(**T5, eos_token_id=2, **more),
}
MARIAN = EVEN | {"eos_token_id": 2, "pad_token_id": 1, "decoder_start_token_id": 1}
BODIES: dict[str, Any] = CONFIGS | {
    "M2M100": lambda **more: transformers.M2M100Config(**EVEN, eos_token_id=2, **more),
    "Marian": lambda **more: transformers.MarianConfig(**MARIAN, **more),
}
TOKENS = torch.tensor([[7, 3, 2, 11, 5, 2, 9]])  # the last end token is not the last token


def saved(kind: str, folder: Path, head: str = "ForSequenceClassification", **settings: Any) -> Any:
    """A random model with noise on every parameter, by default a classifier."""
    torch.manual_seed(0)
    labels = {"id2label": NAMES} if head == "ForSequenceClassification" else {"num_labels": 2}
    config = BODIES[kind](attn_implementation="eager", **labels, **settings)
    theirs = getattr(transformers, f"{kind}{head}")(config).eval()
    with torch.no_grad():
        for parameter in (each for each in theirs.parameters() if each.requires_grad):  # no computed positions
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
    logits = ours(TOKENS, ours.to_own_target(TOKENS))[0, ours.label_position(TOKENS[0])]
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
    with pytest.raises(HeadlightError, match="writes no tokens: its target is the source itself"):
        translate(classified.model, "w5", "w6")


@pytest.mark.parametrize("kind", CONFIGS)
def test_an_answers_ends_are_those_of_transformers(kind: str, tmp_path: Path) -> None:
    theirs, ours = saved(kind, tmp_path, "ForQuestionAnswering"), load_seq2seq(tmp_path)
    with torch.no_grad():
        expected = theirs(TOKENS)
    logits = ours(TOKENS, ours.to_own_target(TOKENS))
    assert difference(logits, torch.stack([expected.start_logits, expected.end_logits], -1)) <= TOLERANCE
    assert (ours.cfg.output, ours.cfg.labels) == ("answer span", ("start", "end"))


@pytest.mark.parametrize("kind", BODIES)
@pytest.mark.parametrize("tied", [True, False])
def test_a_body_gives_its_last_hidden_state(kind: str, tied: bool, tmp_path: Path) -> None:
    theirs = saved(kind, tmp_path, "Model", tie_word_embeddings=tied)
    ours, target = load_seq2seq(tmp_path), TOKENS[:, 2:]
    with torch.no_grad():
        expected = theirs(TOKENS, decoder_input_ids=target).last_hidden_state
    assert difference(ours(TOKENS, target), expected) <= TOLERANCE
    assert ours.cfg.output == "none"
    if "T5" not in kind:  # whose language model's names are the same
        drop_class(tmp_path)
        assert load_seq2seq(tmp_path).cfg.output == "none"


def test_an_answer_is_a_span_of_the_second_text(tmp_path: Path) -> None:
    theirs = saved("Bart", tmp_path, "ForQuestionAnswering")
    save_words(tmp_path)
    read = translate(load_seq2seq(tmp_path), "</s> <unk></s>")
    with torch.no_grad():
        logits = theirs(read.source_tokens[None])
    tokens = read.source_tokens.tolist()
    text = [at for at in range(tokens.index(2) + 1, len(tokens)) if tokens[at] > 3]
    spans = [(start, end) for start in text for end in text if start <= end]
    sums = [float(logits.start_logits[0, start] + logits.end_logits[0, end]) for start, end in spans]
    assert read.answer is not None
    if spans:
        assert (read.answer.start, read.answer.end) == spans[sums.index(max(sums))]
    table = translate_tables(Translations(read))["answer"]
    assert list(table["logit of end"]) == pytest.approx(logits.end_logits[0].tolist(), rel=TOLERANCE, abs=TOLERANCE)


def test_a_body_reads_the_source_or_a_target_and_writes_nothing(tmp_path: Path) -> None:
    saved("Bart", tmp_path, "Model")
    save_words(tmp_path)
    model = load_seq2seq(tmp_path)
    own, target = translate(model, "</s> <unk>"), translate(model, "</s> <unk>", "<unk>")
    assert own.reads_source
    assert not target.reads_source
    with pytest.raises(HeadlightError, match="has no language model's head, so it writes nothing"):
        greedy(model, own.source_tokens[None])
    for each in (own, target):
        assert each.log_probs.isnan().all()
        assert each.attention["cross"].pattern.sum(-1).allclose(torch.ones(()))

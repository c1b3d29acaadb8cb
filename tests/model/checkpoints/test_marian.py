"""Marian folders read, held against transformers' own Marian with random weights."""

import io
import json
from pathlib import Path
from typing import Any

import pytest
import sentencepiece
import torch
from transformers import MarianConfig, MarianMTModel, MarianTokenizer

from headlight.model import load_seq2seq
from headlight.model.base.errors import CheckpointError, ConfigError
from headlight.model.decoding.translation import translate
from tests.model.oracles import ATOL, RTOL

SIZES: dict[str, Any] = {
    "vocab_size": 19,
    "d_model": 12,
    "encoder_layers": 2,
    "decoder_layers": 3,
    "encoder_attention_heads": 3,
    "decoder_attention_heads": 3,
    "encoder_ffn_dim": 17,
    "decoder_ffn_dim": 17,
    "max_position_embeddings": 10,
    "decoder_start_token_id": 18,
    "pad_token_id": 18,
    "eos_token_id": 0,
    "bos_token_id": 0,
    "forced_eos_token_id": 0,
    "attn_implementation": "eager",
}
SOURCE = torch.tensor([[4, 7, 1, 9, 0], [3, 3, 0, 18, 18]])
MASK = torch.tensor([[1, 1, 1, 1, 1], [1, 1, 1, 0, 0]])
TARGET = torch.tensor([[18, 5, 6, 2], [18, 8, 8, 1]])


def saved(folder: Path, **settings: Any) -> MarianMTModel:
    torch.manual_seed(0)
    theirs = MarianMTModel(MarianConfig(**(SIZES | settings))).eval()
    with torch.no_grad():
        for name, parameter in theirs.named_parameters():
            if "embed_positions" not in name:
                parameter.normal_(std=0.4)
        theirs.final_logits_bias.normal_()
    theirs.save_pretrained(folder)
    return theirs


@pytest.mark.parametrize(
    "settings", [{}, {"scale_embedding": True}, {"activation_function": "swish"}, {"encoder_layers": 1}]
)
def test_the_logits_and_patterns_are_those_of_transformers(tmp_path: Path, settings: dict[str, Any]) -> None:
    theirs, ours = saved(tmp_path, **settings), load_seq2seq(tmp_path)
    with torch.no_grad():
        expected = theirs(SOURCE, attention_mask=MASK, decoder_input_ids=TARGET, output_attentions=True)
    logits, cache = ours.run_with_cache(SOURCE, TARGET, source_mask=MASK)
    torch.testing.assert_close(logits, expected.logits, rtol=RTOL, atol=ATOL)
    for layer, pattern in enumerate(expected.cross_attentions):
        name = f"decoder.blocks.{layer}.cross_attn.hook_pattern"
        torch.testing.assert_close(cache[name], pattern, rtol=RTOL, atol=ATOL)
    for layer, pattern in enumerate(expected.decoder_attentions):
        torch.testing.assert_close(cache[f"decoder.blocks.{layer}.attn.hook_pattern"], pattern, rtol=RTOL, atol=ATOL)


def test_special_tokens_are_the_folder_s(tmp_path: Path) -> None:
    saved(tmp_path)
    cfg = load_seq2seq(tmp_path).cfg
    assert (cfg.start_token, cfg.end_token, cfg.source_end_token) == (18, 0, 0)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"activation_function": "tanh"}, "asks for the activation 'tanh'"),
        ({"share_encoder_decoder_embeddings": False}, "share_encoder_decoder_embeddings to false"),
        ({"decoder_ffn_dim": 18}, "encoder_ffn_dim to 17 and decoder_ffn_dim to 18"),
    ],
)
def test_settings_of_another_arithmetic_are_refused(tmp_path: Path, settings: dict[str, Any], message: str) -> None:
    saved(tmp_path, **settings)
    with pytest.raises(ConfigError, match=message):
        load_seq2seq(tmp_path)


def test_weights_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    saved(tmp_path)
    config = (tmp_path / "config.json").read_text()
    (tmp_path / "config.json").write_text(
        config.replace('"encoder_ffn_dim": 17', '"encoder_ffn_dim": 18').replace(
            '"decoder_ffn_dim": 17', '"decoder_ffn_dim": 18'
        )
    )
    with pytest.raises(CheckpointError, match=r"fc1.weight is \[17, 12\], not \[18, 12\]"):
        load_seq2seq(tmp_path)


TEXTS = {  # what the two sides' pieces are trained on
    "source": ["The cat sat on the mat.", "naive cafe - 100 %", "the the the then them"],
    "target": ["Die Katze saß auf der Matte.", "naïve Café – 100 %", "der der der dann die"],
}
OTHERS = [
    *(text for texts in TEXTS.values() for text in texts),
    *(">>fra<< the cat", " >>fra<< the cat", ">>xyz<< the", "the >>fra<< cat", ">> the"),
    *("日本語 🤔", "two  spaces\n\tand lines", "Cafe\u0301 ﬁ", "x</s> <unk>y<pad>", ""),
]


def pieces(texts: list[str], kind: str) -> bytes:
    """A SentencePiece model of a few pieces."""
    model = io.BytesIO()
    how = {"vocab_size": 45, "model_type": kind, "hard_vocab_limit": False, "bos_id": -1, "minloglevel": 2}
    sentencepiece.SentencePieceTrainer.train(sentence_iterator=iter(texts), model_writer=model, **how)
    return model.getvalue()


def with_pieces(folder: Path, kind: str = "unigram") -> MarianTokenizer:
    """Write OPUS-MT's three files: two SentencePiece models, and one vocabulary that lacks a few of their pieces."""
    names: dict[str, None] = {"</s>": None, "<unk>": None, ">>fra<<": None, ">>deu<<": None}
    for side, texts in TEXTS.items():
        model = pieces(texts, kind)
        (folder / f"{side}.spm").write_bytes(model)
        processor = sentencepiece.SentencePieceProcessor(model_proto=model)
        every = processor.id_to_piece(list(range(processor.vocab_size())))
        names |= dict.fromkeys(name for name in every if name not in ("n", "ß"))
    vocabulary = {name: place for place, name in enumerate([*names, "<pad>"])}
    (folder / "vocab.json").write_text(json.dumps(vocabulary))
    return MarianTokenizer.from_pretrained(folder)


@pytest.mark.filterwarnings("ignore:Recommended")
@pytest.mark.parametrize("kind", ["unigram", "bpe"])
def test_texts_of_both_sides_are_read_as_transformers_reads_them(tmp_path: Path, kind: str) -> None:
    theirs = with_pieces(tmp_path, kind)
    saved(
        tmp_path, vocab_size=theirs.vocab_size, decoder_start_token_id=theirs.pad_token_id, max_position_embeddings=60
    )
    model = load_seq2seq(tmp_path)
    for text in OTHERS:
        if text:
            assert model.to_source_tokens(text)[0].tolist() == theirs(text).input_ids, text
        target = [theirs.pad_token_id, *theirs(text_target=text).input_ids]
        assert model.to_target_tokens(text)[0].tolist() == target[:-1], text
    assert theirs(OTHERS[0]).input_ids != theirs(text_target=OTHERS[0]).input_ids
    translation = translate(model, ">>fra<< the cat", "Die Katze")
    assert translation.source_labels[0] == ">>fra<<"
    assert translation.source_labels[-1] == "</s>"
    assert translation.text.split() == ["Die", "Katze"]

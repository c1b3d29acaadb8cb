"""NLLB, mBART-50 and M2M-100 folders with tokens for languages: ids and forced first tokens against transformers."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import M2M100Config, M2M100Tokenizer, MBart50Tokenizer, MBartConfig, NllbTokenizer, PreTrainedConfig

from headlight.model import Seq2SeqTransformer, load_seq2seq
from headlight.model.base.errors import InputError
from headlight.model.decoding.translation import translate
from tests.model.checkpoints.seq2seq_twins import BART, EVEN, noisy
from tests.model.checkpoints.test_marian import TEXTS, pieces

TEXT, TARGET = "the cat sat", "them on"
SPECIAL = ["<s>", "<pad>", "</s>", "<unk>"]


def nllb(folder: Path) -> Any:
    vocabulary = {token: place for place, token in enumerate([*SPECIAL, *"▁catheson"])}
    return NllbTokenizer(vocabulary, [], extra_special_tokens=["eng_Latn", "fra_Latn", "zho_Hans"])


def mbart(folder: Path) -> Any:
    return MBart50Tokenizer([(token, -1.0) for token in [*SPECIAL[:3], *"▁catheson"]])


def m2m(folder: Path) -> Any:
    """Of two files, of which transformers makes a tokenizer in Python."""
    (folder / "sentencepiece.bpe.model").write_bytes(pieces(TEXTS["source"], "bpe"))
    vocabulary = {token: place for place, token in enumerate([*SPECIAL, *"▁catheson", "▁the"])}
    (folder / "vocab.json").write_text(json.dumps(vocabulary))
    return M2M100Tokenizer.from_pretrained(folder)


KINDS: dict[str, tuple[Callable[[Path], Any], Callable[[int], PreTrainedConfig], str, str]] = {
    "nllb": (nllb, lambda n: M2M100Config(**EVEN | {"vocab_size": n}), "zho_Hans", "fra_Latn"),
    "mbart-50": (
        mbart,
        lambda n: MBartConfig(**BART | {"vocab_size": n}, decoder_start_token_id=2, forced_bos_token_id=20),
        "de_DE",
        "fr_XX",
    ),
    "m2m_100": (m2m, lambda n: M2M100Config(**EVEN | {"vocab_size": n}), "de", "fr"),
}


@pytest.fixture(params=KINDS)
def made(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Seq2SeqTransformer, Any, Any, str, str]:
    """A model as we open it, transformers' model and tokenizer, and two languages as its tokenizer calls them."""
    make, config, source, target = KINDS[request.param]
    tokenizer = make(tmp_path)
    theirs = noisy(config(max(tokenizer.convert_tokens_to_ids(["__zu__", *tokenizer.get_vocab()])) + 1))
    theirs.save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    return load_seq2seq(tmp_path), theirs, tokenizer, source, target


def token_of(language: str) -> str:
    return f"__{language}__" if len(language) == 2 else language


def test_languages_are_those_of_transformers(made: tuple[Seq2SeqTransformer, Any, Any, str, str]) -> None:
    model, theirs, tokenizer, source, target = made
    assert model.to_source_tokens(TEXT)[0].tolist() == tokenizer(TEXT).input_ids
    tokenizer.src_lang, tokenizer.tgt_lang = source, target
    ids, languages = tokenizer(TEXT).input_ids, (token_of(source), token_of(target))
    assert model.to_source_tokens(TEXT, languages[0])[0].tolist() == ids
    framed = [model.cfg.start_token, *tokenizer(text_target=TARGET).input_ids[:-1]]
    assert model.to_target_tokens(TARGET, languages[1])[0].tolist() == framed
    first = tokenizer.convert_tokens_to_ids(languages[1])
    search: dict[str, Any] = {"num_beams": 3, "do_sample": False, "max_new_tokens": 19, "length_penalty": 1.0}
    expected = theirs.generate(torch.tensor([ids]), forced_bos_token_id=first, early_stopping=False, **search)[0]
    translation = translate(model, TEXT, beams=3, languages=languages)
    assert translation.written.tolist() == expected[1:].tolist()
    assert translation.written_labels[0] == languages[1]
    assert float(translation.log_probs[0]) == 0.0
    assert languages[1] not in translation.text
    with pytest.raises(InputError, match="There is no language 'latin'"):
        translate(model, TEXT, languages=(None, "latin"))
    forced = translate(model, TEXT, beams=1).written.tolist()[0]
    assert (model.forced_token is None) or forced == model.forced_token == 20

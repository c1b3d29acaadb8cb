"""Encoder-decoders' folders against transformers' own eager models: logits, streams, patterns, padding and generation.

The models are tiny, random, off the defaults, and have noise on every parameter: gains of 1 and biases of 0 would hide
one that is forgotten.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer as Backend
from tokenizers import processors
from torch import Tensor
from transformers import BartConfig, PreTrainedConfig, PreTrainedTokenizerFast, T5Config

from headlight.model import load_seq2seq
from headlight.model.base.errors import CheckpointError, ConfigError, InputError
from headlight.model.decoding import greedy
from headlight.model.decoding.translation import translate
from headlight.model.nn.seq2seq import Seq2SeqTransformer
from tests.model.checkpoints.seq2seq_twins import BART, CONFIGS, N_SOURCE, N_TARGET, T5, differences, drawn, noisy
from tests.model.checkpoints.twins import TOLERANCE, difference
from tests.model.text.small_tokenizer import small_backend, unigram, write


def t5_pieces() -> Backend:
    """T5's kind, with a sentinel that stands for what is left out."""
    backend = unigram()
    backend.add_special_tokens(["<extra>"])
    return backend


def bart_bytes() -> Backend:
    """BART's kind: GPT-2's bytes, between special tokens of its own."""
    backend = small_backend()
    config = json.loads(backend.to_str())
    named = {"<s>": 0, "<pad>": 1, "</s>": 2}  # in the places of what nobody types
    kept = {token: number for token, number in config["model"]["vocab"].items() if number not in named.values()}
    config["model"] |= {
        "vocab": named | kept,
        "merges": [pair for pair in config["model"]["merges"] if "!" not in pair],
    }
    config["added_tokens"] = []
    backend = Backend.from_str(json.dumps(config))
    backend.add_special_tokens([*named, "<mask>"])
    backend.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0))
    return backend


@pytest.fixture(params=CONFIGS, scope="module")
def both(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Seq2SeqTransformer, Any]:
    """A model as we open it, and as transformers has it."""
    theirs, folder = noisy(CONFIGS[request.param], "untied" in request.param), tmp_path_factory.mktemp("saved")
    theirs.save_pretrained(folder)
    return load_seq2seq(folder), theirs


def assert_same(ours: Tensor, theirs: Tensor, what: str) -> None:
    error = difference(ours, theirs)
    assert error <= TOLERANCE, f"{what} differs by {error:.1e} of the largest"


def test_logits_streams_and_patterns_are_those_of_transformers(both: tuple[Seq2SeqTransformer, Any]) -> None:
    for what, error in differences(*both):
        assert error <= TOLERANCE, f"{what} differs by {error:.1e} of the largest"


@torch.no_grad()
def test_padding_changes_nothing_for_real_tokens(both: tuple[Seq2SeqTransformer, Any]) -> None:
    model, theirs = both
    source, target = drawn(3, N_SOURCE, 1), drawn(3, N_TARGET, 2)
    source_mask, target_mask = torch.ones_like(source), torch.ones_like(target)
    source_mask[1, -3:], target_mask[2, -4:] = 0, 0
    expected = theirs(
        source, attention_mask=source_mask, decoder_input_ids=target, decoder_attention_mask=target_mask
    ).logits
    ours = model(source, target, source_mask, target_mask)
    assert_same(ours[target_mask.bool()], expected[target_mask.bool()], "a logit")


@torch.no_grad()
def test_a_row_that_is_padded_on_the_left_gets_what_it_gets_alone(both: tuple[Seq2SeqTransformer, Any]) -> None:
    model, theirs = both
    source, target, mask = drawn(1, N_SOURCE, 1), drawn(1, N_TARGET, 2), torch.ones(1, N_SOURCE, dtype=torch.long)
    mask[:, :4] = 0
    expected = theirs(source[:, 4:], decoder_input_ids=target).logits
    assert_same(model(source, target, mask), expected, "a logit")


@torch.no_grad()
def test_generation_with_the_cache_is_that_of_transformers(both: tuple[Seq2SeqTransformer, Any]) -> None:
    model, theirs = both
    source = drawn(3, N_SOURCE, 3)
    how: dict[str, Any] = {"do_sample": False, "num_beams": 1, "max_new_tokens": 9, "eos_token_id": None}
    how["use_cache"] = False  # transformers' own fails for a T5 with more layers in the decoder
    expected = theirs.generate(source, attention_mask=torch.ones_like(source), pad_token_id=0, **how)[:, 1:]
    written = greedy(model, source, max_new_tokens=9, stop_tokens=())
    assert [row.tokens.tolist() for row in written] == expected.tolist()


def test_a_layers_bias_is_the_first_ones_or_its_own_and_stored_once(both: tuple[Seq2SeqTransformer, Any]) -> None:
    model, _ = both
    names = [name for name in model.state_dict() if "rel_pos_bias" in name]
    relative = model.cfg.positions == "relative"
    per_layer = model.cfg.rel_pos_bias_per_layer
    n_layers = {
        "decoder": model.cfg.n_decoder_layers if per_layer else 1,
        "encoder": model.cfg.n_encoder_layers if per_layer else 1,
    }
    expected = [f"{side}.blocks.{layer}.attn.rel_pos_bias.weight" for side, n in n_layers.items() for layer in range(n)]
    assert names == (expected if relative else [])


def test_unequal_sides_and_missing_tensors_are_refused(tmp_path: Path) -> None:
    noisy(BartConfig(**BART | {"decoder_attention_heads": 4})).save_pretrained(tmp_path / "bart")
    with pytest.raises(ConfigError, match="encoder_attention_heads to 5 and decoder_attention_heads to 4"):
        load_seq2seq(tmp_path / "bart")
    noisy(CONFIGS["t5: tied"]).save_pretrained(tmp_path / "t5")
    file = tmp_path / "t5" / "model.safetensors"
    tensors = load_file(file)
    del tensors["decoder.block.1.layer.1.EncDecAttention.v.weight"]
    save_file(tensors, file, metadata={"format": "pt"})
    with pytest.raises(CheckpointError, match=r"lacks the tensors decoder\.block\.1\.layer\.1\.EncDecAttention\.v"):
        load_seq2seq(tmp_path / "t5")


@torch.no_grad()
@pytest.mark.parametrize(
    ("config", "make", "text", "source", "target"),
    [
        (T5Config(**T5 | {"vocab_size": 91}), t5_pieces, "the <extra>", ["␣the", "␣", "<extra>", "</s>"], "the"),
        (BartConfig(**BART | {"vocab_size": 301}), bart_bytes, "the<mask>", ["<s>", "the", "<mask>", "</s>"], "the"),
    ],
    ids=["t5", "bart"],
)
def test_a_text_is_read_as_transformers_reads_it_and_translated(
    config: PreTrainedConfig, make: Callable[[], Backend], text: str, source: list[str], target: str, tmp_path: Path
) -> None:
    theirs = noisy(config)
    theirs.save_pretrained(tmp_path)
    settings = {"mask_token": "<mask>"} if config.model_type == "bart" else {}
    write(tmp_path, make(), tokenizer_class="PreTrainedTokenizerFast", **settings)
    model, tokenizer = load_seq2seq(tmp_path), PreTrainedTokenizerFast.from_pretrained(tmp_path)
    ids = tokenizer(text).input_ids
    assert model.to_source_tokens(text)[0].tolist() == ids
    framed = tokenizer(target).input_ids
    assert model.to_target_tokens(target)[0].tolist() == [model.cfg.start_token, *framed[:-1]]
    translation = translate(model, text, beams=2)
    assert list(translation.source_labels) == source
    assert translation.attention["cross"].pattern.shape[-1] == len(ids)
    result = translate(model, text, target)
    expected = theirs(torch.tensor([ids]), decoder_input_ids=torch.tensor([result.read])).logits[0].log_softmax(-1)
    assert_same(result.log_probs, expected.gather(-1, result.written[:, None])[:, 0], "a log probability")
    assert result.text == target


@pytest.mark.parametrize("text", ["", " "])
def test_an_empty_source_is_refused(tmp_path: Path, text: str) -> None:
    noisy(BartConfig(**BART | {"vocab_size": 301})).save_pretrained(tmp_path)
    write(tmp_path, bart_bytes())
    with pytest.raises(InputError, match="The source is empty"):
        load_seq2seq(tmp_path).to_source_tokens(text)

"""Encoder-decoders written and read again, and folders that are refused."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer as Backend
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import WhitespaceSplit

from headlight.model import Seq2SeqTransformer, load, load_seq2seq, save_gpt2, save_seq2seq
from headlight.model.base.errors import CheckpointError, ConfigError, HeadlightError, InputError, ModelNotFoundError
from headlight.model.text.tokenizer import Tokenizer
from tests.model import oracles
from tests.model.nn.test_seq2seq import config, random_model, tokens

WORDS = ["<pad>", "<start>", "<end>", "<unk>", "eins", "zwei", "drei"]


def tokenizer() -> Tokenizer:
    backend = Backend(WordLevel({word: index for index, word in enumerate(WORDS)}, unk_token="<unk>"))
    backend.pre_tokenizer = WhitespaceSplit()
    return Tokenizer(backend, special=WORDS[:4])


def saved(folder: Path, **changes: Any) -> tuple[Seq2SeqTransformer, Path]:
    model = random_model(config(source_end_token=2, **changes))
    model.source_tokenizer = model.target_tokenizer = tokenizer()
    save_seq2seq(model, folder)
    return model, folder


@pytest.mark.parametrize("shared_embeddings", ["none", "target", "all"])
@pytest.mark.parametrize("norm_first", [True, False])
def test_what_is_written_is_read_again(tmp_path: Path, shared_embeddings: str, norm_first: bool) -> None:
    model, folder = saved(tmp_path, shared_embeddings=shared_embeddings, norm_first=norm_first, d_vocab_out=19)
    again = load_seq2seq(folder)
    assert again.cfg == model.cfg
    assert torch.equal(again(*tokens(model)), model(*tokens(model)))
    assert not again.training
    assert not any(parameter.requires_grad for parameter in again.parameters())
    assert again.source is not None
    assert again.source.weights == (folder / "model.safetensors",)
    assert not list(folder.glob("*.partial"))


def test_heads_projections_are_one_matrix_product_without_a_copy(tmp_path: Path) -> None:
    model = load_seq2seq(saved(tmp_path)[1])
    assert model.decoder.blocks[0].cross_attn.W_K.transpose(0, 1).is_contiguous()


def test_text_becomes_ids_between_the_special_tokens(tmp_path: Path) -> None:
    model = load_seq2seq(saved(tmp_path)[1])
    assert model.to_source_tokens("zwei eins").tolist() == [[5, 4, 2]]
    assert model.to_target_tokens("drei").tolist() == [[1, 6]]
    assert model.to_target_tokens("").tolist() == [[1]]
    with pytest.raises(InputError, match=r"does not know 'vier', 'fünf'.* 3 words of the source"):
        model.to_source_tokens("eins vier fünf vier")
    with pytest.raises(InputError, match=r"know 'zwo'\. .* 3 words .* some are: eins, zwei, drei"):
        model.to_source_tokens("zwo")
    with pytest.raises(InputError, match=r"know 'Zwi'\. .* the nearest are: zwei\.$"):
        model.to_source_tokens("eins Zwi")
    with pytest.raises(InputError, match="'x6', 'x7' and 32 more"):
        model.to_source_tokens(" ".join(f"x{number}" for number in range(40)))
    with pytest.raises(InputError, match=f"know '{'y' * 40}…'"):
        model.to_source_tokens("y" * 1000)
    with pytest.raises(InputError, match="source is empty"):
        model.to_source_tokens("  ")


def test_each_kind_of_model_is_refused_by_the_other_kind_s_door(tmp_path: Path) -> None:
    seq2seq = saved(tmp_path / "seq2seq")[1]
    with pytest.raises(CheckpointError, match=r"seq2seq is an encoder-decoder.* load_seq2seq"):
        load(seq2seq)
    with pytest.raises(CheckpointError, match=r"mini is a decoder-only model.* load,"):
        load_seq2seq(load("mini").source.path)
    (tmp_path / "empty").mkdir()
    with pytest.raises(CheckpointError, match="not an encoder-decoder of a kind that is known"):
        load_seq2seq(tmp_path / "empty")
    with pytest.raises(ModelNotFoundError, match="no folder or encoder-decoder 'revers'"):
        load_seq2seq("revers")
    with pytest.raises(ModelNotFoundError, match="no folder or encoder-decoder"):
        load_seq2seq("\0")
    oracle = oracles.random_model(n_heads=3, d_head=4, tie_word_embeddings=True)
    save_gpt2(oracle, tmp_path / "gpt2")
    with pytest.raises(CheckpointError, match="gpt2 is a decoder-only model"):
        load_seq2seq(tmp_path / "gpt2")


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"d_model": 17}, CheckpointError, r"decoder\.embed\.W_E is \[23, 16\], not \[23, 17\]"),
        ({"d_modle": 16}, ConfigError, "no setting 'd_modle'. Nearest: d_model"),
        ({"n_decoder_layers": 2_000_000_000}, CheckpointError, "2000000000 layers"),
        ({"n_heads": "four"}, ConfigError, "n_heads is 'four'"),
        ({"eps": 1e999}, ConfigError, "eps is inf"),
    ],
)
@pytest.mark.usefixtures("unchecked")
def test_a_config_that_does_not_fit_is_refused(
    tmp_path: Path, changes: dict[str, Any], error: type[HeadlightError], message: str
) -> None:
    _, folder = saved(tmp_path)
    path = folder / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))
    with pytest.raises(error, match=message):
        load_seq2seq(folder)


def test_a_config_that_lacks_a_setting_is_refused(tmp_path: Path) -> None:
    _, folder = saved(tmp_path)
    path = folder / "config.json"
    path.write_text(
        json.dumps({name: value for name, value in json.loads(path.read_text()).items() if name != "n_ctx"})
    )
    with pytest.raises(ConfigError, match=r"config.json lacks settings .*n_ctx"):
        load_seq2seq(folder)


def test_damaged_weights_are_refused(tmp_path: Path) -> None:
    _, folder = saved(tmp_path)
    weights = folder / "model.safetensors"
    tensors = load_file(weights)
    save_file(tensors | {"decoder.ln_final.w": torch.full((16,), torch.nan)}, weights)
    with pytest.raises(CheckpointError, match=r"NaN or infinite values in decoder\.ln_final\.w"):
        load_seq2seq(folder)
    save_file({name: tensor for name, tensor in tensors.items() if name != "decoder.ln_final.w"}, weights)
    with pytest.raises(CheckpointError, match=r"lacks the tensors decoder\.ln_final\.w"):
        load_seq2seq(folder)
    weights.write_bytes(weights.read_bytes()[:100])
    with pytest.raises(CheckpointError, match="cannot be read as safetensors"):
        load_seq2seq(folder)
    (folder / "source_tokenizer.json").write_text("{}")
    save_file(tensors, weights)
    with pytest.raises(CheckpointError, match=r"tokenizer source_tokenizer.json cannot be read"):
        load_seq2seq(folder)

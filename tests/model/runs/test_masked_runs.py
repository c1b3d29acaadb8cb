"""Runs of models that predict masked tokens, against transformers' own streams and logits."""

from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import BertConfig, ElectraConfig, ModernBertConfig, PreTrainedConfig

from headlight.model import load
from headlight.model.base.errors import CheckpointError
from headlight.model.lens.run_lens import logit_lens
from headlight.model.nn.hooks import Collect
from headlight.model.runs.comparison import Comparison
from headlight.model.runs.edits import Drop, Edit, Patch
from headlight.model.runs.edits.editing import run_with_edits
from headlight.model.runs.run import Run, once_more, run_prompt
from tests.model.checkpoints.architectures import Case
from tests.model.checkpoints.architectures.bert import SIZES
from tests.model.checkpoints.architectures.modernbert import FIVE
from tests.model.checkpoints.twins import TOLERANCE, noisy
from tests.model.text.small_tokenizer import word_piece, write

PROMPT, OTHER = "the [MASK] sat on the mat", "them cat [MASK] on def mat"
CONFIGS: dict[str, PreTrainedConfig] = {
    "bert": BertConfig(**SIZES | {"vocab_size": 90}),
    "electra": ElectraConfig(**SIZES | {"vocab_size": 90}, embedding_size=12),
    "modernbert": ModernBertConfig(**FIVE | {"vocab_size": 90}, local_attention=4),
}
EDITS: dict[str, tuple[Edit, ...]] = {
    "none": (),
    "dropped": (Drop(1, "MLP"),),
    "before a layer": (Patch("blocks.1.hook_resid_pre", OTHER, (2,)),),
    "between": (Patch("blocks.1.hook_resid_mid", OTHER),),
    "after a layer": (Patch("blocks.1.hook_resid_post", OTHER),),
}


def saved(config: PreTrainedConfig, folder: Path) -> Any:
    """transformers' model of a config, saved with a tokenizer beside it."""
    from transformers import AutoModelForMaskedLM

    theirs = noisy(Case(config, AutoModelForMaskedLM))
    theirs.save_pretrained(folder)
    write(folder, word_piece(), mask_token="[MASK]")
    return theirs


@pytest.fixture(params=CONFIGS, scope="module")
def both(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Run, Any]:
    folder = tmp_path_factory.mktemp("masked")
    theirs = saved(CONFIGS[request.param], folder)
    return run_prompt(load(folder), PROMPT), theirs


def assert_close(ours: torch.Tensor, theirs: torch.Tensor) -> None:
    torch.testing.assert_close(ours, theirs, rtol=0, atol=TOLERANCE * float(theirs.abs().max()))


@torch.no_grad()
def test_streams_and_the_prediction_are_those_of_transformers(both: tuple[Run, Any]) -> None:
    run, theirs = both
    assert run.labels[:3] == ("[CLS]", "the", "[MASK]")
    assert run.labels[-1] == "[SEP]"
    assert run.prediction_position == Comparison(run).default_place == 2
    expected = theirs(run.tokens[None], output_hidden_states=True)
    for ours, stream in zip(list(run.streams())[:-1], expected.hidden_states[:-1], strict=True):
        assert_close(ours, stream[0])
    assert_close(run.next_logits, expected.logits[0, 2])
    *_, final = run.streams()
    assert_close(run.model.to_logits(final[None])[0], expected.logits[0])


@torch.inference_mode()
@pytest.mark.parametrize("edits", EDITS.values(), ids=EDITS)
def test_streams_are_the_true_ones_and_what_is_written_sums_to_the_last(
    both: tuple[Run, Any], edits: tuple[Edit, ...]
) -> None:
    model, tokens = both[0].model, both[0].tokens
    run = run_prompt(model, PROMPT, edits=edits)
    names = [f"blocks.{layer}.hook_resid_pre" for layer in range(run.cfg.n_layers)]
    collect = Collect(names)
    logits = once_more(run, collect)
    *streams, final = run.streams()
    for name, stream in zip(names, streams, strict=True):
        assert_close(stream, collect.kept[name][0])
    assert_close(model.to_logits(final[None])[0], logits)
    assert_close(sum(part for _, part in run.writes()), final)
    assert_close(run_with_edits(model, tokens[None], edits, prepend_bos=True)[0][0], logits)


@torch.no_grad()
def test_the_last_row_of_the_lens_is_the_prediction(both: tuple[Run, Any]) -> None:
    run, theirs = both
    lens = logit_lens(run)
    expected = theirs(run.tokens[None]).logits[0].argmax(-1)
    assert lens.top_tokens.values[-1, :, 0].tolist() == expected.tolist()


def test_names_of_older_files_are_read_and_other_heads_left_out(tmp_path: Path) -> None:
    from safetensors.torch import load_file, save_file

    theirs = saved(CONFIGS["bert"], tmp_path)
    tensors = load_file(tmp_path / "model.safetensors")
    old = {
        name.replace("LayerNorm.weight", "LayerNorm.gamma").replace("LayerNorm.bias", "LayerNorm.beta"): tensor
        for name, tensor in tensors.items()
    }
    old |= {"bert.pooler.dense.bias": torch.zeros(20), "cls.seq_relationship.bias": torch.zeros(2)}
    save_file(old, tmp_path / "model.safetensors", metadata={"format": "pt"})
    tokens = torch.arange(6, 12)[None]  # no separator among them
    with torch.no_grad():
        assert_close(load(tmp_path)(tokens), theirs(tokens).logits)


def test_a_tensor_that_is_missing_is_named(tmp_path: Path) -> None:
    from safetensors.torch import load_file, save_file

    saved(CONFIGS["bert"], tmp_path)
    tensors = load_file(tmp_path / "model.safetensors")
    del tensors["cls.predictions.bias"]
    save_file(tensors, tmp_path / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(CheckpointError, match=r"cls\.predictions\.bias"):
        load(tmp_path)

"""A folder of a kind that is not known says which kind's names its tensors have."""

import json
from pathlib import Path

import pytest
import torch

from headlight.model import load
from headlight.model.base.errors import CheckpointError
from headlight.model.checkpoints.families import FAMILIES
from headlight.model.checkpoints.resemblance import likeness, resembled
from tests.model.checkpoints.test_architectures import CASES, noisy
from tests.model.checkpoints.test_folders import edit_config
from tests.model.oracles import random_gpt2


def call_it(kind: str, folder: Path) -> None:
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | {"model_type": kind}))


WHOLE = [name for name, case in CASES.items() if not hasattr(case.config, "text_config")]  # no text part of another


@pytest.mark.parametrize("family", dict.fromkeys(name.partition(":")[0] for name in WHOLE))
def test_a_folder_resembles_its_own_family(family: str, tmp_path: Path) -> None:
    first = next(case for name, case in CASES.items() if name.startswith(f"{family}:"))
    noisy(first).save_pretrained(tmp_path)
    assert family in resembled(tmp_path, FAMILIES)


def test_a_gpt2_resembles_a_gpt2(tmp_path: Path) -> None:
    random_gpt2().save_pretrained(tmp_path)
    assert "gpt2" in resembled(tmp_path, FAMILIES)


def test_what_is_unknown_and_resembles_a_known_kind_is_refused_with_its_name(tmp_path: Path) -> None:
    noisy(CASES["qwen3: grouped"]).save_pretrained(tmp_path)
    call_it("qwen9", tmp_path)
    with pytest.raises(CheckpointError, match=r"'qwen9'.*; its tensors have the names of a qwen3\. If it computes"):
        load(tmp_path)
    noisy(CASES["llama: grouped"]).save_pretrained(tmp_path)
    call_it("my_llama", tmp_path)
    edit_config(tmp_path, auto_map={"AutoModelForCausalLM": "modeling.Mine"})
    with pytest.raises(CheckpointError, match=r"by code in its folder \(auto_map\).* or \w+ or \w+ \(of \d+\)\. If"):
        load(tmp_path)


def test_an_early_folder_without_a_model_type_opens_by_its_tensors_names(tmp_path: Path) -> None:
    """Of a list of words alone nobody knows how a text is parted into them: these are typed one by one."""
    name = next(name for name in CASES if name.startswith("bert:"))
    theirs = noisy(CASES[name])
    theirs.save_pretrained(tmp_path)
    call_it("", tmp_path)
    config = json.loads((tmp_path / "config.json").read_text())
    del config["model_type"], config["architectures"]
    (tmp_path / "config.json").write_text(json.dumps(config))
    words = [f"w{number}" for number in range(theirs.config.vocab_size)]
    (tmp_path / "vocab.txt").write_text("\n".join(words))
    model = load(tmp_path)
    tokens = model.to_tokens("w5 w3 w8", prepend_bos=False)
    assert tokens.tolist() == [[5, 3, 8]]
    with torch.no_grad():
        assert (model(tokens) - theirs(tokens).logits).abs().max() < 2e-5 * theirs(tokens).logits.abs().max()  # float32
    assert model.source is not None
    assert model.source.note == "config.json has no model_type; by the names of its tensors a bert"


PIECES = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "the", "cat", "sat", "##s", "##ing", "c", "##at", "."]


@pytest.mark.parametrize("family", ["albert", "bert", "distilbert", "gpt2", "openai_gpt", "roberta"])
def test_an_early_folder_says_its_kind_by_its_tensors_or_its_name(family: str, tmp_path: Path) -> None:
    """GPT-2's and RoBERTa's have the names of others of today as well, which say their kind."""
    theirs = noisy(next(case for name, case in CASES.items() if name.startswith(f"{family}:")))
    theirs.save_pretrained(tmp_path / f"my-{family}")
    folder = tmp_path / f"my-{family}"
    config = json.loads((folder / "config.json").read_text())
    del config["model_type"], config["architectures"]
    (folder / "config.json").write_text(json.dumps(config))
    assert load(folder).source.family == family  # type: ignore[union-attr]
    assert load(folder.rename(tmp_path / "mine")).source.family == family  # type: ignore[union-attr]


def test_an_early_folders_pieces_are_wordpieces(tmp_path: Path) -> None:
    """Words that go on with others are BERT's tokenizer's, whose ids transformers makes as well."""
    from transformers import BertTokenizer

    noisy(next(case for name, case in CASES.items() if name.startswith("bert:"))).save_pretrained(tmp_path)
    config = json.loads((tmp_path / "config.json").read_text())
    del config["model_type"], config["architectures"]
    (tmp_path / "config.json").write_text(json.dumps(config))
    (tmp_path / "vocab.txt").write_text("\n".join(PIECES))
    text = "The cats sat. dog"
    expected = BertTokenizer(str(tmp_path / "vocab.txt"))(text).input_ids
    assert load(tmp_path).to_tokens(text, prepend_bos=True)[0].tolist() == expected
    assert PIECES.index("##s") in expected


def test_what_is_newer_says_its_kind_itself(tmp_path: Path) -> None:
    noisy(CASES["qwen3: grouped"]).save_pretrained(tmp_path)
    config = json.loads((tmp_path / "config.json").read_text())
    del config["model_type"]
    (tmp_path / "config.json").write_text(json.dumps(config))
    with pytest.raises(
        CheckpointError, match=r"has a config\.json without a model_type; its tensors have the names of"
    ):
        load(tmp_path)


def test_what_resembles_nothing_is_told_what_there_is(tmp_path: Path) -> None:
    noisy(CASES["qwen3: grouped"]).save_pretrained(tmp_path)
    call_it("qwen9", tmp_path)
    (tmp_path / "model.safetensors").unlink()
    with pytest.raises(
        CheckpointError, match=r"is a 'qwen9', which is none of the architectures that open\. What opens is a Hugging"
    ):
        load(tmp_path)


def test_likeness_counts_layers_once_and_no_biases() -> None:
    assert likeness({"h.0.w", "h.1.w", "h.1.w.bias"}, {"h.0.w"}) == 1.0
    assert likeness({"h.0.w", "h.0.v"}, {"h.0.w", "h.0.u"}) == 1 / 3

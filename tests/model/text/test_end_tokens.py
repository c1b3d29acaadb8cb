"""Where a text ends: at the tokens that the model's own files name, as transformers' generate stops."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import LlamaConfig, LlamaForCausalLM, T5Config, T5ForConditionalGeneration

from headlight.model import load, load_seq2seq, run_prompt
from headlight.model.base.errors import CheckpointError
from headlight.model.decoding import Sampling, greedy
from headlight.model.decoding.continued import Writing, continue_run
from headlight.model.text.end_tokens import end_tokens
from tests.model.text.small_tokenizer import sentence_piece, write

PROMPT = "the cat"
TEMPLATE = (
    "{% for m in messages %}<|turn|>{{ m.role }}\n{{ m.content }}<|end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|turn|>assistant\n{% endif %}"
)
GREEDY = Writing(8, Sampling(temperature=0))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    torch.manual_seed(0)
    backend = sentence_piece()
    backend.add_special_tokens(["<|turn|>", "<|end|>"])
    size = {"hidden_size": 16, "intermediate_size": 24, "num_hidden_layers": 1, "num_attention_heads": 2}
    special = {"bos_token_id": 1, "eos_token_id": None, "pad_token_id": None}
    llama = LlamaForCausalLM(LlamaConfig(vocab_size=backend.get_vocab_size(), **size, **special))
    with torch.no_grad():
        llama.lm_head.weight.normal_()
    llama.save_pretrained(tmp_path)
    (tmp_path / "generation_config.json").unlink(missing_ok=True)
    return write(tmp_path, backend, bos_token="<s>", tokenizer_class="PreTrainedTokenizerFast")


def unstopped(folder: Path) -> list[int]:
    model = load(folder)
    assert model.stop_tokens == ()
    return continue_run(run_prompt(model, PROMPT), GREEDY).tokens.tolist()


def settle(folder: Path, name: str, **settings: Any) -> None:
    path = folder / name
    path.write_text(json.dumps((json.loads(path.read_text()) if path.exists() else {}) | settings))


def test_each_of_the_ends_that_generation_config_lists_is_one(folder: Path) -> None:
    free = unstopped(folder)
    end = free[3]
    never = next(token for token in range(300) if token not in free)
    settle(folder, "generation_config.json", eos_token_id=[never, end], bos_token_id=1)
    settle(folder, "config.json", eos_token_id=free[0])  # which generation_config.json overrides
    model = load(folder)
    run = run_prompt(model, PROMPT)
    llama = LlamaForCausalLM.from_pretrained(folder)
    expected = llama.generate(run.tokens[None], max_new_tokens=8, do_sample=False, pad_token_id=0)
    expected = expected[0, len(run.tokens) :].tolist()
    written = continue_run(run, GREEDY)
    assert (written.tokens.tolist(), written.reason) == (expected, "stop token")
    assert expected == free[: free.index(end) + 1]
    (library,) = greedy(model, run.tokens[None], max_new_tokens=8)
    assert library.tokens.tolist() == expected
    assert continue_run(run, Writing(8, Sampling(temperature=0), stop=False)).tokens.tolist() == free
    (library,) = greedy(model, run.tokens[None], max_new_tokens=8, stop_tokens=())
    assert library.tokens.tolist() == free


@pytest.mark.parametrize("place", ["config.json", "tokenizer", "chat template"])
def test_an_end_that_another_file_names_is_one(place: str, folder: Path) -> None:
    settings: dict[str, tuple[str, dict[str, Any], str]] = {
        "config.json": ("config.json", {"eos_token_id": 2}, "</s>"),
        "tokenizer": ("tokenizer_config.json", {"eos_token": "</s>"}, "</s>"),
        "chat template": ("tokenizer_config.json", {"chat_template": TEMPLATE}, "<|end|>"),
    }
    name, more, token = settings[place]
    settle(folder, name, **more)
    model = load(folder)
    assert model.stop_tokens == (model.to_single_token(token),)
    written = Writing(8, Sampling(temperature=0), prefix=(5, model.stop_tokens[0], 6))
    assert continue_run(run_prompt(model, PROMPT), written).tokens.tolist() == [5, model.stop_tokens[0]]


@pytest.mark.parametrize("template", ["{% for %}", "{{ raise_exception('no') }}", "no end", ""])
def test_a_template_without_an_end_of_turn_adds_none(template: str, folder: Path) -> None:
    settle(folder, "tokenizer_config.json", chat_template=template)
    assert load(folder).stop_tokens == ()


@pytest.mark.parametrize("value", [None, "2", True, [None, "x", 10**9, -1], {}, 2.5])
def test_an_end_that_is_no_token_is_none(value: Any, tmp_path: Path) -> None:
    settle(tmp_path, "generation_config.json", eos_token_id=value)
    assert end_tokens(tmp_path, 300) == ()
    (tmp_path / "generation_config.json").write_text("{")
    settle(tmp_path, "config.json", eos_token_id=[7, 7, 8], text_config={"eos_token_id": 9})
    assert end_tokens(tmp_path, 300) == (7, 8)


@pytest.mark.parametrize("name", ["generation_config.json", "config.json"])
def test_a_pointer_in_place_of_the_ends_is_refused(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text("version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 9\n")
    with pytest.raises(CheckpointError, match=f"{name} is a Git LFS pointer"):
        end_tokens(tmp_path, 300)


def test_an_encoder_decoder_ends_at_each_of_its_ends(tmp_path: Path) -> None:
    torch.manual_seed(0)
    size = {"d_model": 16, "d_kv": 8, "d_ff": 24, "num_layers": 1, "num_heads": 2}
    t5 = T5ForConditionalGeneration(T5Config(vocab_size=40, decoder_start_token_id=0, **size)).eval()
    with torch.no_grad():
        t5.shared.weight.normal_()
        t5.lm_head.weight.normal_()
    t5.save_pretrained(tmp_path)
    source = torch.tensor([[5, 9, 7, 1]])
    (free,) = greedy(load_seq2seq(tmp_path), source, max_new_tokens=6, stop_tokens=())
    settle(tmp_path, "generation_config.json", eos_token_id=[1, int(free.tokens[2])])
    model, t5 = load_seq2seq(tmp_path), T5ForConditionalGeneration.from_pretrained(tmp_path)
    (translation,) = greedy(model, source, max_new_tokens=6)
    expected = t5.generate(source, max_new_tokens=6, do_sample=False)[0, 1:].tolist()
    assert translation.tokens.tolist() == expected
    assert len(expected) <= 3

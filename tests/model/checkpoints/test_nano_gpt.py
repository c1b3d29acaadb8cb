"""GPT-2 as other trainings save it, beside a model of nanoGPT's layout written out here."""

from math import sqrt
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from transformers import GPT2Config, GPT2LMHeadModel

from headlight.model import load, run_prompt
from headlight.model.base.errors import CheckpointError, ConfigError, HeadlightError, InputError
from headlight.model.checkpoints.loading import questions

SIZES: dict[str, Any] = {"n_layer": 2, "n_head": 3, "n_embd": 12, "block_size": 9, "vocab_size": 17}
TOKENS = torch.tensor([[3, 16, 0, 7, 7, 1]])


class NanoGPT(nn.Module):
    """nanoGPT's modules and minGPT's, by their names."""

    def __init__(self, bias: bool, tied: bool, approximate: str) -> None:
        super().__init__()
        width, self.approximate = SIZES["n_embd"], approximate

        def block() -> nn.ModuleDict:
            attn = {"c_attn": nn.Linear(width, 3 * width, bias), "c_proj": nn.Linear(width, width, bias)}
            mlp = {"c_fc": nn.Linear(width, 4 * width, bias), "c_proj": nn.Linear(4 * width, width, bias)}
            norms = {name: nn.LayerNorm(width, bias=bias) for name in ("ln_1", "ln_2")}
            return nn.ModuleDict({"attn": nn.ModuleDict(attn), "mlp": nn.ModuleDict(mlp), **norms})

        body: dict[str, nn.Module] = {
            "wte": nn.Embedding(SIZES["vocab_size"], width),
            "wpe": nn.Embedding(SIZES["block_size"], width),
            "h": nn.ModuleList([block() for _ in range(SIZES["n_layer"])]),
            "ln_f": nn.LayerNorm(width, bias=bias),
        }
        self.transformer = nn.ModuleDict(body)
        self.lm_head = nn.Linear(width, SIZES["vocab_size"], bias=False)
        if tied:
            body["wte"].weight = self.lm_head.weight  # type: ignore[assignment]
        with torch.no_grad():
            for parameter in self.parameters():
                parameter.add_(torch.randn(parameter.shape) * 0.3)

    def forward(self, tokens: Tensor) -> Tensor:
        at: Any = self.transformer
        stream = at["wte"](tokens) + at["wpe"](torch.arange(tokens.shape[1]))
        for block in at["h"]:
            stream = stream + self.attend(block["attn"], block["ln_1"](stream))
            hidden = F.gelu(block["mlp"]["c_fc"](block["ln_2"](stream)), approximate=self.approximate)
            stream = stream + block["mlp"]["c_proj"](hidden)
        return self.lm_head(at["ln_f"](stream))

    def attend(self, attn: Any, stream: Tensor) -> Tensor:
        heads = (SIZES["n_head"], SIZES["n_embd"] // SIZES["n_head"])
        q, k, v = (each.unflatten(-1, heads).transpose(1, 2) for each in attn["c_attn"](stream).chunk(3, dim=-1))
        scores = q @ k.transpose(-1, -2) / sqrt(heads[1])
        causal = torch.ones(scores.shape[-2:]).tril() == 0
        z = scores.masked_fill(causal, -torch.inf).softmax(-1) @ v
        return attn["c_proj"](z.transpose(1, 2).flatten(2))


def made(bias: bool = True, tied: bool = True, approximate: str = "none") -> NanoGPT:
    torch.manual_seed(0)
    return NanoGPT(bias, tied, approximate).eval()


def assert_same(ours: Any, theirs: nn.Module) -> None:
    with torch.no_grad():
        logits: Any = theirs(TOKENS)
        # Float32 sums in another order.
        torch.testing.assert_close(ours(TOKENS), getattr(logits, "logits", logits), rtol=2e-5, atol=5e-6)


@pytest.mark.parametrize("prefix", ["", "_orig_mod."])
@pytest.mark.parametrize("bias", [True, False])
def test_nanogpts_checkpoint_opens_with_what_it_says_of_itself(bias: bool, prefix: str, tmp_path: Path) -> None:
    theirs = made(bias)
    state = {prefix + name: tensor for name, tensor in theirs.state_dict().items()}
    optimizer = torch.optim.AdamW(theirs.parameters())
    theirs(TOKENS).sum().backward()
    optimizer.step()
    content = {
        "model": state,
        "optimizer": optimizer.state_dict(),
        "model_args": SIZES | {"bias": bias, "dropout": 0.0},
        "iter_num": 5,
        "best_val_loss": torch.tensor(1.5),
        "config": {"out_dir": "out", "learning_rate": 6e-4},
    }
    torch.save(content, tmp_path / "ckpt.pt")
    model = load(tmp_path / "ckpt.pt")
    assert_same(model, theirs)
    assert questions(tmp_path / "ckpt.pt") is None
    assert model.source is not None
    assert "nanoGPT" in model.source.note
    assert "under 'model' in its file" in model.source.note
    assert ("_orig_mod." in model.source.note) == bool(prefix)


def test_what_mingpts_state_dict_does_not_tell_is_asked_for(tmp_path: Path) -> None:
    theirs, path = made(tied=False, approximate="tanh"), tmp_path / "model.pt"
    masks = {f"transformer.h.{layer}.attn.bias": torch.ones(1, 1, 9, 9).tril() for layer in range(2)}
    torch.save(theirs.state_dict() | masks, path)
    with pytest.raises(ConfigError, match=r"does not tell n_heads and act_fn\. .* model\.pt\?n_heads=1&act_fn=gelu$"):
        load(path)
    question = questions(path)
    assert question is not None
    assert question.required["n_heads"] == (1, 2, 3, 4, 6, 12)
    assert_same(load(f"{path}?n_heads=3&act_fn=gelu_new"), theirs)
    with pytest.raises(ConfigError, match="n_heads is 5; it has to divide d_model, which is 12"):
        load(path, n_heads=5, act_fn="gelu")


@pytest.mark.parametrize("holder", [None, "state_dict", "model_state_dict", "net"])
def test_gpt2s_own_state_dict_opens_wherever_it_lies_in_the_file(holder: str | None, tmp_path: Path) -> None:
    torch.manual_seed(0)
    config = GPT2Config(n_layer=2, n_head=3, n_embd=12, n_positions=9, vocab_size=17)
    theirs = GPT2LMHeadModel(config).eval()
    state = {f"module.{name}": tensor for name, tensor in theirs.state_dict().items()}
    torch.save(state if holder is None else {holder: state, "epoch": 3}, tmp_path / "mine.ckpt")
    model = load(tmp_path / "mine.ckpt", n_heads=3, act_fn="gelu_new")
    assert_same(model, theirs)
    assert model.source is not None
    assert "names without 'module.'" in model.source.note


def test_sizes_that_the_file_says_are_held_against_its_tensors(tmp_path: Path) -> None:
    for name, value in (("n_layer", 3), ("n_embd", 24), ("vocab_size", 5), ("n_layer", 2**40)):
        torch.save({"model": made().state_dict(), "model_args": SIZES | {name: value}}, tmp_path / "ckpt.pt")
        with pytest.raises(HeadlightError, match=r"tensors|of another shape|below 2\^31"):
            load(tmp_path / "ckpt.pt")


def test_token_ids_are_typed_where_there_is_no_tokenizer(tmp_path: Path) -> None:
    theirs, path = made(), tmp_path / "ckpt.pt"
    torch.save({"model": theirs.state_dict(), "model_args": SIZES}, path)
    model = load(path)
    for typed in ("ids: 3 16 0 7 7 1", "ids:3,16,0, 7,7,1", "3 16 0 7 7 1"):
        run = run_prompt(model, typed, prepend_bos=False)
        assert run.tokens.tolist() == TOKENS[0].tolist()
        assert list(run.labels) == ["3", "16", "0", "7", "7", "1"]
    assert model.to_string(TOKENS) == "3 16 0 7 7 1"
    with pytest.raises(InputError, match="no token 17: its ids are 0 to 16"):
        run_prompt(model, "ids: 3 17", prepend_bos=False)
    with pytest.raises(InputError, match=r'prompts are token ids, 0 to 16: type "ids: 0 1 2", or put .*tokens\.txt'):
        run_prompt(model, "the cat", prepend_bos=False)


@pytest.mark.parametrize(
    ("file", "content", "prompt", "ids"),
    [
        ("tokens.txt", "\n".join(["zero", "one", "two", "plus"]), "one plus two", [1, 3, 2]),
        ("tokens.json", '{"zero": 0, "five": 5, "is": 16}', "five is zero", [5, 16, 0]),
        ("tokens.json", '["\\n", " ", "a", "b"]', "a b\n", [2, 1, 3, 0]),
        ("tokens.txt", "\n".join(["zero", "one"]), "ids: 1 16", [1, 16]),
    ],
)
def test_a_file_beside_the_weights_names_the_tokens(
    file: str, content: str, prompt: str, ids: list[int], tmp_path: Path
) -> None:
    torch.save({"model": made().state_dict(), "model_args": SIZES}, tmp_path / "ckpt.pt")
    (tmp_path / file).write_text(content)
    model = load(tmp_path / "ckpt.pt")
    assert run_prompt(model, prompt, prepend_bos=False).tokens.tolist() == ids
    if 16 not in ids:
        assert model.to_string(ids) == prompt


@pytest.mark.parametrize(
    "content", ["[1, 2]", '["a", "a"]', '{"a": 17}', '{"a": -1}', '{"a": 1, "b": 1}', "3", "{", "[[]]"]
)
def test_names_that_are_none_are_refused_by_the_files_name(content: str, tmp_path: Path) -> None:
    torch.save({"model": made().state_dict(), "model_args": SIZES}, tmp_path / "ckpt.pt")
    (tmp_path / "tokens.json").write_text(content)
    with pytest.raises(CheckpointError, match=r"^tokens\.json "):
        load(tmp_path / "ckpt.pt")

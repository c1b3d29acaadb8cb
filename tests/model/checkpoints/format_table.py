"""The manual's table of formats: which files open, and how far their models are from other programs' reading of them.

`make architectures` writes it, as it does the table of architectures.
"""

import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file
from transformers import AutoModelForCausalLM, GPT2Config, GPT2LMHeadModel

from headlight.model import load
from tests.bench.table import put_into
from tests.model.checkpoints import (
    architectures,
    quantised_folders,
    test_gguf,
    test_nano_gpt,
    test_quantised_folders,
)
from tests.model.checkpoints.gguf_files import KIND, write_gguf
from tests.model.checkpoints.test_pickles import pickle_folder
from tests.model.checkpoints.test_transformer_lens import asked_for
from tests.model.checkpoints.twins import difference, noisy, tokens_of
from tests.model.lens.lens_twin import lens_twin
from tests.model.oracles import random_model, random_tokens
from tests.places import DOCS

FORMATS = DOCS / "reference" / "file-formats.md"
BEGIN, END = "<!-- formats: make architectures -->", "<!-- end of formats -->"
LLAMA = dict(architectures.every())["llama: grouped"]


@dataclass(frozen=True)
class Format:
    """A kind of files by its name and an example, what its models are compared with, and that difference of logits."""

    name: str
    example: str
    reference: str
    differences: Callable[[Path], Iterator[float]]

    def row(self) -> str:
        with tempfile.TemporaryDirectory() as folder:
            return f"| {self.name} | {self.example} | {self.reference} | {max(self.differences(Path(folder))):.0e} |"


@torch.no_grad()
def _of_folder(folder: Path, save: Callable[[Path, Any], object]) -> Iterator[float]:
    theirs = noisy(LLAMA)
    save(folder, theirs)
    tokens = tokens_of(LLAMA)
    yield difference(load(folder)(tokens), theirs(tokens).logits)


def _pickled(**how: Any) -> Callable[[Path], Iterator[float]]:
    return lambda folder: _of_folder(folder, lambda path, theirs: pickle_folder(path, theirs, **how))


@torch.no_grad()
def _nano_gpt(folder: Path) -> Iterator[float]:
    for bias in (True, False):
        theirs, path = test_nano_gpt.made(bias), folder / "ckpt.pt"
        torch.save({"model": theirs.state_dict(), "model_args": test_nano_gpt.SIZES | {"bias": bias}}, path)
        yield difference(load(path)(test_nano_gpt.TOKENS), theirs(test_nano_gpt.TOKENS))


@torch.no_grad()
def _mini_gpt(folder: Path) -> Iterator[float]:
    theirs, path = test_nano_gpt.made(tied=False, approximate="tanh"), folder / "model.pt"
    torch.save(theirs.state_dict(), path)
    ours = load(path, n_heads=3, act_fn="gelu_new")
    yield difference(ours(test_nano_gpt.TOKENS), theirs(test_nano_gpt.TOKENS))


@torch.no_grad()
def _gpt2(folder: Path) -> Iterator[float]:
    torch.manual_seed(0)
    theirs = GPT2LMHeadModel(GPT2Config(n_layer=2, n_head=3, n_embd=12, n_positions=9, vocab_size=17)).eval()
    torch.save({"state_dict": theirs.state_dict(), "epoch": 3}, folder / "mine.ckpt")
    ours = load(folder / "mine.ckpt", n_heads=3, act_fn="gelu_new")
    yield difference(ours(test_nano_gpt.TOKENS), theirs(test_nano_gpt.TOKENS).logits)


@torch.no_grad()
def _transformer_lens(folder: Path) -> Iterator[float]:
    model = random_model()
    twin, tokens = lens_twin(model), random_tokens()
    torch.save(twin.state_dict(), folder / "toy.pt")
    save_file({name: tensor.contiguous() for name, tensor in twin.state_dict().items()}, folder / "toy.safetensors")
    for path in (folder / "toy.pt", folder / "toy.safetensors"):
        yield difference(load(path, **asked_for(model, {}))(tokens), twin(tokens))


def _gguf_of_floats(folder: Path) -> Iterator[float]:
    for name in test_gguf.CONFIGS:
        theirs, path = test_gguf.noisy(name), folder / f"{name.partition(':')[0]}.gguf"
        write_gguf(path, name.partition(":")[0], theirs)
        yield difference(test_gguf.logits(load(path)), test_gguf.logits(theirs))


def _gguf_quantised(folder: Path) -> Iterator[float]:
    config, path = {"config": test_gguf.CONFIGS["llama"](), "attn_implementation": "eager"}, folder / "model.gguf"
    for kind in (KIND.Q4_0, KIND.Q4_1, KIND.Q5_0, KIND.Q5_1, KIND.Q8_0):
        write_gguf(path, "llama", test_gguf.noisy("llama"), kind, {"llama.vocab_size": 60})
        theirs: Any = AutoModelForCausalLM.from_pretrained(folder, gguf_file=path.name, dtype=torch.float32, **config)
        yield difference(test_gguf.logits(load(path)), test_gguf.logits(theirs.eval()))
        path.unlink()


def _folder_of(kind: str) -> Callable[[Path], Iterator[float]]:
    def differences(folder: Path) -> Iterator[float]:
        for name in [name for name in quantised_folders.KINDS if name.startswith(kind)]:
            theirs = quantised_folders.write(folder, quantised_folders.KINDS[name])
            yield difference(test_gguf.logits(load(folder)), test_gguf.logits(theirs))

    return differences


def _mxfp4(folder: Path) -> Iterator[float]:
    theirs = test_quantised_folders.gpt_oss(folder)
    yield difference(test_gguf.logits(load(folder)), test_gguf.logits(theirs))


def _in_parts(folder: Path) -> Iterator[float]:
    return _of_folder(folder, lambda path, theirs: theirs.save_pretrained(path, max_shard_size="10KB"))


NANO = "its model, written out"
TABLE = (
    Format("folder, in parts", "`model.safetensors.index.json`", "transformers' model", _in_parts),
    Format("folder, pickled", "`pytorch_model.bin`", "transformers' model", _pickled()),
    Format("folder, pickled in parts", "`pytorch_model.bin.index.json`", "transformers' model", _pickled(parts=3)),
    Format("folder, pickled before 2020", "`pytorch_model.bin`", "transformers' model", _pickled(legacy=True)),
    Format("nanoGPT", "`ckpt.pt`", NANO, _nano_gpt),
    Format("minGPT", "`model.pt`", NANO, _mini_gpt),
    Format("GPT-2's state dict", "`mine.ckpt`", "transformers' model", _gpt2),
    Format("TransformerLens's state dict", "`toy.pt`, `toy.safetensors`", "HookedTransformer", _transformer_lens),
    Format("GGUF, F32, of ten architectures", "`model.gguf`", "transformers' model", _gguf_of_floats),
    Format("GGUF, quantised", "`model.gguf`", "transformers' reading of it", _gguf_quantised),
    Format("folder, MXFP4", "gpt-oss's `model.safetensors`", "transformers' dequantisation", _mxfp4),
    *(
        Format(f"folder, {kind}", "`model.safetensors`", "the same numbers in transformers", _folder_of(kind))
        for kind in ("FP8", "bitsandbytes", "GPTQ", "AWQ", "compressed-tensors", "torchao", "MLX")
    ),
)


def markdown() -> str:
    head = ["| format | file | compared with | largest difference of a logit |", "|---|---|---|---|"]
    return "\n".join([*head, *(each.row() for each in TABLE)])


def main(page: Path = FORMATS) -> None:
    put_into(page, markdown(), BEGIN, END)


def of_page(page: Path = FORMATS) -> list[list[str]]:
    """The rows that stand in the manual."""
    table = page.read_text(encoding="utf-8").partition(BEGIN)[2].partition(END)[0]
    return [line.strip("| ").split(" | ") for line in table.strip().splitlines()[2:]]


if __name__ == "__main__":
    main()

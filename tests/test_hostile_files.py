"""Every reader of files, given damaged ones: a right result or an error of ours, in 2 s and 200 MB."""

import json
import resource
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import gguf
import numpy as np
import pytest
import torch
from pyarrow import parquet, table
from safetensors.numpy import save_file as save_numpy
from safetensors.torch import load_file, save_file
from transformers import LlamaConfig, LlamaForCausalLM

from headlight.app.pages.prompts import prompt_files
from headlight.model import Tokenizer, Transformer, TransformerConfig, load
from headlight.model.base.errors import HeadlightError
from headlight.model.base.files import read_json
from headlight.model.base.torch_files import read_torch
from headlight.model.checkpoints.gguf import tensors as gguf_tensors
from headlight.model.checkpoints.lora_settings import CONFIG as ADAPTER_CONFIG
from headlight.model.checkpoints.tensors import read_safetensors
from headlight.model.circuits.files import read_circuit, write_circuit
from headlight.model.circuits.settings import CircuitSettings
from headlight.model.circuits.study import as_file
from headlight.model.corpus.checked import read as read_checked
from headlight.model.corpus.documents import Document, open_corpus
from headlight.model.corpus.engines import Here
from headlight.model.corpus.packing import of_texts, packed, unpacked
from headlight.model.corpus.reading import read_dashboard, read_tree, shipped_scans
from headlight.model.corpus.tree import Tree
from headlight.model.corpus.unit_files import SHAPES, UNITS, read_unit
from headlight.model.directions.files import open_direction, save_direction
from headlight.model.experiments.circuit_results import CircuitFolder, read_study
from headlight.model.experiments.results import Experiment, read_results
from headlight.model.experiments.settings import ExperimentSettings
from headlight.model.features.npz import read_npz
from headlight.model.features.opening import open_dictionary
from headlight.model.graph.reading import open_graph
from headlight.model.lens.files import read_lens, write_tuned
from headlight.model.runs.direction import Direction
from tests.annotations import unchecked_annotations
from tests.hostile import archives, damaged, headers, mistaken, places
from tests.mini_scan import write_scan
from tests.model.checkpoints.gguf_files import write_gguf
from tests.model.checkpoints.quantised_folders import KINDS
from tests.model.checkpoints.quantised_folders import write as write_quantised
from tests.model.checkpoints.test_gguf import BPE
from tests.model.checkpoints.test_lora import halves
from tests.model.checkpoints.test_lora import write as write_adapter
from tests.model.experiments.cases import pairs
from tests.model.features.test_formats import write_layers
from tests.model.graph.test_json import THEIRS
from tests.model.oracles import random_gpt2
from tests.places import MINI
from tests.saved_dictionary import save_dictionary
from tests.tiny import save_tiny

SECONDS, MEMORY = 2.0, 200 * 2**20
TENSORS = {"W": torch.arange(12.0).reshape(3, 4), "b": torch.ones(4, dtype=torch.float16)}


def _torch(path: Path) -> None:
    torch.save(TENSORS | {"W.T": TENSORS["W"].T}, path)


def _torch_of_before(path: Path) -> None:
    torch.save(TENSORS | {"W.T": TENSORS["W"].T}, path, _use_new_zipfile_serialization=False)


def _gguf(path: Path) -> None:
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_array("tokenizer.ggml.tokens", ["one", "two"])
    writer.add_tensor("W", TENSORS["W"].numpy())
    numbers = np.ones((4, 64), np.float32)
    writer.add_tensor(
        "Q", gguf.quantize(numbers, gguf.GGMLQuantizationType.Q4_0), raw_dtype=gguf.GGMLQuantizationType.Q4_0
    )
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def _read_gguf(path: Path) -> list[float]:
    return [float(tensor.float().sum()) for tensor in gguf_tensors.read_tensors(path).values()]


def _jacobian(path: Path) -> None:
    torch.save({"J": {layer: torch.eye(8) for layer in range(3)}, "n_prompts": 3, "d_model": 8}, path)


def _npz(path: Path) -> None:
    np.savez(path, **{name: tensor.numpy() for name, tensor in TENSORS.items()})


def _of_bytes(read: Callable[[bytes], object]) -> Callable[[Path], object]:
    return lambda path: read(path.read_bytes())


Reader = tuple[str, Callable[[Path], object], Callable[[Path], object]]
READERS: dict[str, Reader] = {
    "torch": (".pt", _torch, read_torch),
    "torch of before 2020": (".pt", _torch_of_before, read_torch),
    "gguf": (".gguf", _gguf, _read_gguf),
    "lens": (".pt", _jacobian, lambda path: read_lens("jacobian", path)),
    "npz": (".npz", _npz, read_npz),
    "safetensors": (".safetensors", lambda path: save_file(TENSORS, path), read_safetensors),
    "json": (".json", lambda path: path.write_text(json.dumps(THEIRS)), read_json),
    "scan": (
        ".json",
        lambda path: path.write_text(json.dumps(THEIRS)),
        lambda path: read_checked(path.parent, path.name),
    ),
    "tokenizer": (".json", lambda path: path.write_bytes((MINI / "tokenizer.json").read_bytes()), Tokenizer.from_file),
}
BYTES: dict[str, Reader] = {  # what comes as bytes, from an upload or from the scan itself
    "graph": (".json", lambda path: path.write_text(json.dumps(THEIRS)), _of_bytes(open_graph)),
    "prompts": (
        ".csv",
        lambda path: path.write_text("prompt;kind\n" + 'one "two";3\n' * 20),
        _of_bytes(lambda data: prompt_files.read("x.csv", data, 1000)),
    ),
    "prompt lines": (
        ".jsonl",
        lambda path: path.write_text('{"prompt": "one", "kind": [1, 2e9]}\n' * 20),
        _of_bytes(lambda data: prompt_files.read("x.jsonl", data, 1000)),
    ),
    "shard": (
        ".npz",
        lambda path: path.write_bytes(packed({name: tensor.numpy() for name, tensor in TENSORS.items()})),
        _of_bytes(lambda data: unpacked(data, "shard.npz")),
    ),
}


def _model(folder: Path) -> None:
    save_tiny("gpt2-like", folder)


def _pickled(folder: Path) -> None:
    random_gpt2(vocab_size=40).save_pretrained(folder)
    torch.save(load_file(folder / "model.safetensors"), folder / "pytorch_model.bin")
    (folder / "model.safetensors").unlink()


def _parted(folder: Path) -> None:
    _pickled(folder)
    (folder / "pytorch_model.bin").rename(folder / "part-1.bin")
    names = dict.fromkeys(read_torch(folder / "part-1.bin"), "part-1.bin")
    (folder / "pytorch_model.bin.index.json").write_text(json.dumps({"weight_map": names}))


def _trained(folder: Path) -> None:
    model = random_gpt2(vocab_size=40)
    torch.save({"model_state_dict": model.state_dict(), "step": 3, "args": {"n": [1, 2.5]}}, folder / "mine.pt")


def _whole_gguf(folder: Path) -> None:
    torch.manual_seed(0)
    sizes = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 1, "num_attention_heads": 2}
    theirs = LlamaForCausalLM(LlamaConfig(**sizes, vocab_size=261, max_position_embeddings=16))
    write_gguf(folder / "model.gguf", "llama", theirs, gguf.GGMLQuantizationType.Q8_0, BPE)


def _quantised(folder: Path) -> None:
    write_quantised(folder, KINDS["bitsandbytes, NF4 double quantised"])


def _adapter(folder: Path) -> None:
    model = random_gpt2(vocab_size=40)
    model.save_pretrained(folder / "base")
    write_adapter(folder / "mine", halves(model, ["transformer.h.1.mlp.c_fc"], turned=True), fan_in_fan_out=True)


def _units(folder: Path) -> None:
    path = folder / UNITS / "neurons" / "L0.safetensors"
    path.parent.mkdir(parents=True)
    rows = {name: np.ones((1, *shape), np.float32) for name, shape in SHAPES.items()}
    whole = ("tokens", "documents", "starts", "peaks", "buckets", "top_tokens", "histogram")
    rows |= {name: np.zeros((1, *SHAPES[name]), np.int32) for name in whole}
    save_numpy(rows | {"names": of_texts(["one"])}, path)


def _tree(folder: Path) -> Tree:
    """A scan that lies in the folder, as far as its units are read."""
    return replace(read_tree(next(iter(shipped_scans().values()))), folder=folder)


def _scan(folder: Path) -> None:
    write_scan(folder / "scan")


def _read_scan(folder: Path) -> None:
    tree = read_tree(folder / "scan")
    read_dashboard(tree, (0, 0))


def _dictionary(folder: Path) -> None:
    save_dictionary(folder / "one", "blocks.0.hook_resid_pre", 8)


def _tuned_lens(folder: Path) -> None:
    shapes = {"weight": (8, 8), "bias": (8,)}
    maps = {f"{layer}.{name}": torch.zeros(shape) for layer in range(3) for name, shape in shapes.items()}
    cfg = TransformerConfig(n_layers=3, d_model=8, n_ctx=8, n_heads=2, d_head=4, d_vocab=40)
    write_tuned(folder / "lens", Transformer(cfg), maps, "mine")


@cache
def _mini() -> Transformer:
    return load("mini")


def _experiment(folder: Path) -> None:
    experiment = Experiment(_mini(), pairs(2, 4096), ExperimentSettings(), folder / "out")
    experiment.run(experiment.plan(), Here)


def _study(folder: Path) -> None:
    CircuitFolder(_mini(), pairs(4, 4096), CircuitSettings("eap", share=0.1), folder / "out").run()


def _circuit(folder: Path) -> None:
    _study(folder)
    study = read_study(folder / "out", _mini().cfg).study
    for suffix in (".json", ".pt"):
        write_circuit(folder / f"circuit{suffix}", as_file(study), _mini().cfg)


def _direction(path: Path) -> None:
    save_direction(Direction("mine", {2: torch.ones(8)}, "end", "pca", "mini"), path)


def _parquet(path: Path) -> None:
    parquet.write_table(table({"text": ["one two", "three", None]}), path)


def _transcoders(folder: Path) -> None:
    write_layers(folder / "set", skip=True, thresholds=True)


def _documents(path: Path) -> list[Document]:
    return list(open_corpus(str(path)).documents())


ROWS = "".join(json.dumps({"text": f"one {number}", "kind": [number]}) + "\n" for number in range(20))
# A folder, which of its files is damaged, and what opens it.
FOLDERS: dict[str, tuple[Callable[[Path], object], str, Callable[[Path], object]]] = {
    "a model's settings": (_model, "config.json", load),
    "a model's tokenizer": (_model, "tokenizer.json", load),
    "a model's tokenizer's settings": (_model, "tokenizer_config.json", load),
    "a model's weights": (_model, "model.safetensors", load),
    "a model's pickle": (_pickled, "pytorch_model.bin", load),
    "a model's index of pickles": (_parted, "pytorch_model.bin.index.json", load),
    "a training's checkpoint": (_trained, "mine.pt", lambda folder: load(folder / "mine.pt", n_heads=3, act_fn="gelu")),
    "a GGUF file": (_whole_gguf, "model.gguf", lambda folder: load(folder / "model.gguf")),
    "a quantised folder's settings": (_quantised, "config.json", load),
    "a quantised folder's weights": (_quantised, "model.safetensors", load),
    "an adapter's settings": (_adapter, f"mine/{ADAPTER_CONFIG}", lambda folder: load(folder / "mine")),
    "an adapter's weights": (_adapter, "mine/adapter_model.safetensors", lambda folder: load(folder / "mine")),
    "units": (_units, f"{UNITS}/neurons/L0.safetensors", lambda folder: read_unit(_tree(folder), "neurons", 0, 0)),
    "a scan's settings": (_scan, "scan/config.json", _read_scan),
    "a scan's figures": (_scan, "scan/scatter_data.json", _read_scan),
    "a scan's head": (_scan, "scan/heads/L0H0.json", _read_scan),
    **{
        f"a dictionary's {what}": (_dictionary, f"one/{name}", lambda folder: open_dictionary(folder / "one"))
        for what, name in {"settings": "cfg.json", "weights": "sae_weights.safetensors"}.items()
    },
    **{
        f"a tuned lens's {what}": (_tuned_lens, f"lens/{name}", lambda folder: read_lens("tuned", folder / "lens"))
        for what, name in {"settings": "config.json", "weights": "params.safetensors"}.items()
    },
    **{
        f"an experiment's {what}": (_experiment, f"out/{name}", lambda folder: read_results(folder / "out"))
        for what, name in {"settings": "experiment.json", "values": "values.npz"}.items()
    },
    **{
        f"a circuit study's {what}": (_study, f"out/{name}", lambda folder: read_study(folder / "out", _mini().cfg))
        for what, name in {"settings": "study.json", "scores": "score-*.npz"}.items()
    },
    **{
        f"a circuit {suffix}": (
            _circuit,
            f"circuit{suffix}",
            lambda folder, suffix=suffix: read_circuit(folder / f"circuit{suffix}", _mini().cfg),
        )
        for suffix in (".json", ".pt")
    },
    **{
        f"a direction {suffix}": (
            lambda folder, suffix=suffix: _direction(folder / f"mine{suffix}"),
            f"mine{suffix}",
            lambda folder, suffix=suffix: open_direction(folder / f"mine{suffix}"),
        )
        for suffix in (".safetensors", ".gguf", ".json")
    },
    "transcoders' settings": (_transcoders, "set/config.yaml", lambda folder: open_dictionary(folder / "set")),
    "transcoders' weights": (_transcoders, "set/layer_0.safetensors", lambda folder: open_dictionary(folder / "set")),
    **{
        f"{suffix} documents": (
            lambda folder, suffix=suffix, text=text: (folder / f"texts{suffix}").write_text(text),
            f"texts{suffix}",
            lambda folder, suffix=suffix: _documents(folder / f"texts{suffix}"),
        )
        for suffix, text in {".csv": 'text,kind\n"one ""two""",3\n' * 20, ".jsonl": ROWS, ".txt": "one\n" * 99}.items()
    },
    "parquet documents": (
        lambda folder: _parquet(folder / "texts.parquet"),
        "texts.parquet",
        lambda folder: _documents(folder / "texts.parquet"),
    ),
}


def outcome(read: Callable[[Path], object], path: Path) -> str:
    """What an error of ours says, empty where there is none; anything else fails, or takes too long or too much."""
    begun, before = time.process_time(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    said = ""
    try:
        read(path)
    except HeadlightError as error:
        said = str(error)
    assert time.process_time() - begun < SECONDS
    assert (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024 < MEMORY
    return said


def sweep(name: str, folder: Path, number: int, seed: int) -> None:
    suffix, write, read = (READERS | BYTES)[name]
    path = folder / f"strange{suffix}"
    write(path)
    assert outcome(read, path) == ""
    whole, refused = path.read_bytes(), 0
    for content in damaged(whole, number, seed):
        path.unlink()  # what is mapped of the last one stays as it is
        path.write_bytes(content)
        said = outcome(read, path)
        refused += bool(said)
        assert not said or name in BYTES or path.name in said, said
    assert refused > number // 6  # of those that are cut short


@pytest.mark.parametrize("name", [*READERS, *BYTES])
def test_damaged_files_are_read_right_or_refused_by_name(name: str, tmp_path: Path) -> None:
    sweep(name, tmp_path, 4 if name == "tokenizer" else 40, 0)


@pytest.mark.thorough
@pytest.mark.parametrize("name", [*READERS, *BYTES])
def test_many_damaged_files_are_read_right_or_refused_by_name(name: str, tmp_path: Path) -> None:
    sweep(name, tmp_path, 30 if name == "tokenizer" else 1500, 1)


def test_archives_and_headers_that_declare_what_they_do_not_hold_are_refused(tmp_path: Path) -> None:
    _torch(tmp_path / "x.pt")
    _read_gguf_once(tmp_path)
    strange = [(".pt", read_torch, *each) for each in archives((tmp_path / "x.pt").read_bytes())]
    for suffix, read, what, content in [*strange, *((".gguf", _read_gguf, *each) for each in headers())]:
        path = tmp_path / f"strange{suffix}"
        path.unlink(missing_ok=True)
        path.write_bytes(content)
        assert path.name in outcome(read, path), what


def _read_gguf_once(folder: Path) -> None:
    _gguf(folder / "x.gguf")
    _read_gguf(folder / "x.gguf")  # which imports what it needs


@pytest.mark.parametrize("name", READERS)
def test_what_is_no_regular_file_or_larger_than_any_is_refused(name: str, tmp_path: Path) -> None:
    suffix, _, read = READERS[name]
    for path in places(tmp_path, suffix):
        assert path.stem in outcome(read, path), path


def test_the_same_seed_draws_the_same_files() -> None:
    whole: Any = bytes(range(256))
    assert list(damaged(whole, 30)) == list(damaged(whole, 30))
    assert len(set(damaged(whole, 30))) > 25


@pytest.fixture
def _unchecked() -> Iterator[None]:
    with unchecked_annotations():
        yield


def sweep_folder(name: str, folder: Path, number: int, seed: int) -> None:
    prepare, file, read = FOLDERS[name]
    prepare(folder)
    (path,) = folder.glob(file)
    whole, refused = path.read_bytes(), 0
    read(folder)  # which imports what it needs, and refuses nothing
    for content in (*damaged(whole, number, seed), *mistaken(whole, number, seed)):
        path.unlink()
        path.write_bytes(content)
        said = outcome(read, folder)
        refused += bool(said)
        assert not said or any(each.name in said for each in folder.rglob("*")), said
    assert refused > number // 9 or file.endswith((".txt", ".jsonl"))  # of which a part is often still a text


@pytest.mark.usefixtures("_unchecked")
@pytest.mark.parametrize("name", FOLDERS)
def test_folders_with_a_damaged_file_are_read_right_or_refused_by_name(name: str, tmp_path: Path) -> None:
    sweep_folder(name, tmp_path, 8 if "tokenizer" in name else 20, 0)


@pytest.mark.thorough
@pytest.mark.usefixtures("_unchecked")
@pytest.mark.parametrize("name", FOLDERS)
def test_folders_with_many_a_damaged_file_are_read_right_or_refused_by_name(name: str, tmp_path: Path) -> None:
    sweep_folder(name, tmp_path, 60 if "tokenizer" in name else 400, 1)

"""Files of directions, read by the packages of their formats, opened again, and refused where they are none."""

import json
from pathlib import Path
from typing import Any

import gguf
import pytest
import torch
from safetensors.torch import load_file, save_file

from headlight.model.base.errors import CheckpointError, InputError
from headlight.model.directions.files import open_direction, save_direction
from headlight.model.runs.direction import Direction
from tests.model.oracles import random_model

generator = torch.Generator().manual_seed(0)
DIRECTION = Direction(
    "plural",
    {layer: torch.randn(8, generator=generator) for layer in (0, 1, 2, 4)},
    "S1",
    "difference of means",
    "mini",
)


@pytest.mark.parametrize(
    ("suffix", "layers"), [(".safetensors", (0, 1, 2, 4)), (".gguf", (2, 4)), (".json", (0, 1, 2, 4))]
)
def test_a_direction_comes_back_as_it_was(tmp_path: Path, suffix: str, layers: tuple[int, ...]) -> None:
    save_direction(DIRECTION, tmp_path / f"x{suffix}")
    back = open_direction(tmp_path / f"x{suffix}")
    assert (back.name, back.model, back.layers) == ("plural", "mini", layers)
    assert all(torch.equal(back.vectors[layer], DIRECTION.vectors[layer]) for layer in layers)
    if suffix != ".json":
        assert (back.method, back.position) == (DIRECTION.method, DIRECTION.position)


def test_the_files_are_as_others_read_them(tmp_path: Path) -> None:
    """llama.cpp adds direction.n after layer n, which is before layer n + 1; Neuronpedia's hook is before the layer."""
    for suffix in (".safetensors", ".gguf", ".json"):
        save_direction(DIRECTION, tmp_path / f"x{suffix}")
    reader = gguf.GGUFReader(tmp_path / "x.gguf")
    assert reader.fields["general.architecture"].contents() == "controlvector"
    assert reader.fields["controlvector.model_hint"].contents() == "mini"
    assert reader.fields["controlvector.layer_count"].contents() == 2
    tensors = {tensor.name: torch.from_numpy(tensor.data.copy()) for tensor in reader.tensors}
    assert tensors.keys() == {"direction.1", "direction.3"}
    assert torch.equal(tensors["direction.3"], DIRECTION.vectors[4])
    assert load_file(tmp_path / "x.safetensors").keys() == {"layer.0", "layer.1", "layer.2", "layer.4"}
    last = json.loads((tmp_path / "x.json").read_text())[-1]
    assert (last["modelId"], last["layerNumber"], last["hookType"]) == ("mini", 4, "hook_resid_pre")
    torch.testing.assert_close(torch.tensor(last["vector"]), DIRECTION.vectors[4], rtol=0, atol=0)


def test_a_vector_downloaded_from_neuronpedia_opens(tmp_path: Path) -> None:
    file = tmp_path / "v.json"
    file.write_text(
        json.dumps({"modelId": "m", "hookName": "blocks.2.hook_resid_post", "vector": [1, 2.5], "layer": "2-x"})
    )
    assert open_direction(file).vectors[3].tolist() == [1.0, 2.5]


def test_a_direction_of_another_size_is_refused(tmp_path: Path) -> None:
    save_direction(DIRECTION, tmp_path / "x.safetensors")
    with pytest.raises(
        InputError, match=r"found in mini, has 8 numbers a layer and goes up to layer 4; this model's stream"
    ):
        open_direction(tmp_path / "x.safetensors", random_model())


def test_what_gguf_cannot_hold_is_said(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="after layer 1"):
        save_direction(Direction("x", {1: torch.ones(3)}), tmp_path / "x.gguf")
    assert not list(tmp_path.iterdir())


VECTOR = {"modelId": "m", "layerNumber": 1, "hookType": "hook_resid_pre", "vector": [1.0]}
WRONG: list[tuple[str, Any, str]] = [
    ("x.bin", b"", r"ends in '\.bin'"),
    ("x.safetensors", b"", "cannot be read as safetensors"),
    ("x.gguf", b"GGUF", "cut short"),
    ("x.json", b"[", "cannot be read as JSON"),
    ("x.json", b"[" * 100_000, "cannot be read as JSON"),
    ("x.json", [], "holds no vector"),
    ("x.json", [3], "holds no vector"),
    ("x.json", VECTOR | {"vector": ["a"]}, "holds no vector"),
    ("x.json", VECTOR | {"hookType": "hook_z"}, "a vector of 'hook_z' in layer '1'"),
    ("x.json", VECTOR | {"layerNumber": -1}, "in layer '-1'"),
    ("x.json", VECTOR | {"layerNumber": 10**9}, "in layer '1000000000'"),
    ("x.json", [VECTOR, VECTOR], "layer 1 twice"),
    ("x.json", VECTOR | {"vector": []}, "of the shapes"),
    ("x.json", VECTOR | {"vector": [0.0, 0.0]}, "no direction"),
    ("x.json", VECTOR | {"vector": [float("nan")]}, "NaN or infinite"),
    ("x.json", VECTOR | {"vector": [10**400]}, "too large"),
    ("x.safetensors", {"weight": torch.ones(3)}, "holds 'weight'"),
    ("x.safetensors", {"layer.1": torch.ones(3), "layer.2": torch.ones(4)}, r"shapes \(3,\), \(4,\)"),
    ("x.safetensors", {"layer.1": torch.ones(3, 3)}, r"shapes \(3, 3\)"),
    ("x.safetensors", {"layer.1": torch.tensor([1.0, float("inf")])}, "Layer 1 of x.safetensors has NaN"),
    ("x.safetensors", {"layer.1": torch.ones(3, dtype=torch.int64)}, "Layer 1 of x.safetensors has NaN"),
    ("x.safetensors", {"layer.9999": torch.ones(3)}, "beyond layer 1000"),
]


def test_what_is_no_direction_is_refused(tmp_path: Path) -> None:
    for number, (name, content, said) in enumerate(WRONG):
        (tmp_path / str(number)).mkdir()
        file = tmp_path / str(number) / name
        if isinstance(content, bytes):
            file.write_bytes(content)
        elif file.suffix == ".json":
            file.write_text(json.dumps(content))
        else:
            save_file(content, file)
        with pytest.raises(CheckpointError, match=said):
            open_direction(file)


def test_a_model_is_no_control_vector(tmp_path: Path) -> None:
    writer = gguf.GGUFWriter(tmp_path / "x.gguf", "llama")
    writer.add_tensor("direction.1", torch.ones(3).numpy())
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    with pytest.raises(CheckpointError, match="a GGUF file of 'llama', no control vector"):
        open_direction(tmp_path / "x.gguf")

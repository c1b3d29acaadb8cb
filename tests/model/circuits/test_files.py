"""Circuits in EAP-IG's files: what its program wrote is read, and what is written here it would read."""

import json
import os
from pathlib import Path

import pytest
import torch

from headlight.model import load
from headlight.model.base.errors import CheckpointError, InputError
from headlight.model.circuits import edge_scores, select_edges
from headlight.model.circuits.files import circuit_file, read_circuit, write_circuit
from headlight.model.circuits.wiring import wiring
from tests.model.circuits.agreement import by_name, rows_of
from tests.tiny import open_tiny

MODEL = load("mini")
# EAP-IG's names of edges and nodes in a file of `mini`, by its program (hannamw/EAP-IG 795f560): 479 and 22.
SOME_EDGES = ("input->a0.h0<q>", "a0.h3->m0", "a1.h2->a3.h0<v>", "m2->a3.h3<k>", "m3->logits")
ORDER = ["a0.h0<q>", "a0.h1<q>", "a0.h2<q>", "a0.h3<q>", "a0.h0<k>"]


@pytest.fixture(scope="module")
def scores() -> torch.Tensor:
    return edge_scores(MODEL, rows_of(MODEL), "eap").mean


@pytest.mark.parametrize("ending", [".json", ".pt"])
def test_a_circuit_comes_back(ending: str, scores: torch.Tensor, tmp_path: Path) -> None:
    wires = wiring(MODEL.cfg)
    circuit = circuit_file(wires, select_edges(wires, scores, 60), scores, scores.sum(0))
    path = tmp_path / f"circuit{ending}"
    write_circuit(path, circuit, MODEL.cfg)
    back = read_circuit(path, MODEL.cfg)
    assert torch.equal(back.edges, circuit.edges)
    assert torch.equal(back.nodes, circuit.nodes)
    torch.testing.assert_close(back.scores, scores)
    torch.testing.assert_close(back.node_scores, circuit.node_scores)


def test_the_files_have_the_names_and_the_order_of_eap_ig(scores: torch.Tensor, tmp_path: Path) -> None:
    wires = wiring(MODEL.cfg)
    circuit = circuit_file(wires, select_edges(wires, scores, 60), scores)
    for ending in (".json", ".pt"):
        write_circuit(tmp_path / f"circuit{ending}", circuit, MODEL.cfg)
    content = json.loads((tmp_path / "circuit.json").read_text())
    assert content["cfg"] == {"n_layers": 4, "n_heads": 4, "parallel_attn_mlp": False, "d_model": 128}
    assert (len(content["edges"]), len(content["nodes"])) == (479, 22)
    ours = by_name(wires, scores, MODEL)
    assert {name: content["edges"][name]["score"] for name in SOME_EDGES} == pytest.approx(
        {name: ours[name] for name in SOME_EDGES}
    )
    assert content["nodes"]["logits"] == {"in_graph": True}
    tensors = torch.load(tmp_path / "circuit.pt", weights_only=True)
    assert tensors["edges_scores"].shape == tensors["edges_in_graph"].shape == (21, 53)
    assert tensors["src_nodes"][:7] == ["input", "a0.h0", "a0.h1", "a0.h2", "a0.h3", "m0", "a1.h0"]
    assert tensors["dst_nodes"][:5] == ORDER
    assert tensors["dst_nodes"][12:14] == ["m0", "a1.h0<q>"]
    at = tensors["src_nodes"].index("m2"), tensors["dst_nodes"].index("a3.h3<k>")
    assert float(tensors["edges_scores"][at]) == pytest.approx(ours["m2->a3.h3<k>"])


def test_a_file_with_neurons_is_read(tmp_path: Path) -> None:
    """As EAP-IG writes it: what was not scored is NaN."""
    wires = wiring(MODEL.cfg)
    nodes = {f"m{layer}": {"in_graph": True} for layer in range(4)}
    nodes["m1"] |= {"score": float("nan"), "neurons": [True] * 128, "neurons_scores": [0.5] * 128}  # type: ignore[dict-item]
    edges = {"input->m1": {"score": -2.0, "in_graph": True}, "m1->logits": {"score": 1.0, "in_graph": False}}
    path = tmp_path / "neurons.json"
    path.write_text(json.dumps({"cfg": {"n_layers": 4, "n_heads": 4}, "nodes": nodes, "edges": edges}))
    circuit = read_circuit(path, MODEL.cfg)
    names = by_name(wires, circuit.scores, MODEL)
    assert {name for name, score in names.items() if score} == {"input->m1", "m1->logits"}
    assert {n for n, score in by_name(wires, circuit.edges.float(), MODEL).items() if score} == {"input->m1"}
    assert circuit.neurons is not None
    assert int(circuit.neurons.sum()) == 128


def test_heads_that_share_keys_have_one_edge(tmp_path: Path) -> None:
    model = open_tiny("llama-like", tmp_path)
    wires = wiring(model.cfg)
    assert model.cfg.is_grouped
    scores = torch.randn(wires.before.shape, generator=torch.Generator().manual_seed(0)) * wires.before
    circuit = circuit_file(wires, select_edges(wires, scores, 20), scores)
    for ending in (".json", ".pt"):
        path = tmp_path / f"circuit{ending}"
        write_circuit(path, circuit, model.cfg)
        back = read_circuit(path, model.cfg)
        assert torch.equal(back.edges, circuit.edges)
        torch.testing.assert_close(back.scores, scores)
    content = json.loads((tmp_path / "circuit.json").read_text())
    cfg = model.cfg
    senders = [1 + layer * (cfg.n_heads + 1) for layer in range(cfg.n_layers)]
    # EAP-IG's count: three inputs a head, one an MLP, and the logits.
    theirs = sum(3 * cfg.n_heads * n + (n + cfg.n_heads) for n in senders) + 1 + cfg.n_layers * (cfg.n_heads + 1)
    assert len(content["edges"]) == theirs


def test_what_is_no_circuit_of_this_model_is_refused(tmp_path: Path) -> None:
    cfg = {"n_layers": 4, "n_heads": 4, "parallel_attn_mlp": False, "d_model": 128}

    def refused(content: object, message: str, ending: str = ".json") -> None:
        path = tmp_path / f"given{ending}"
        if ending == ".json":
            path.write_text(json.dumps(content))
        else:
            torch.save(content, path)
        with pytest.raises(CheckpointError, match=message):
            read_circuit(path, MODEL.cfg)

    edge = {"score": 1.0, "in_graph": True}
    refused({"nodes": {}}, "no settings cfg")
    refused({"cfg": cfg | {"n_layers": 12}, "nodes": {}, "edges": {}}, "another model: its n_layers is 12")
    refused({"cfg": cfg, "nodes": {}}, "no nodes or no edges")
    refused({"cfg": cfg, "nodes": {}, "edges": {"a9.h0->m2": edge}}, "names 'a9.h0'")
    refused({"cfg": cfg, "nodes": {}, "edges": {"m2->m1": edge}}, "has the edge 'm2->m1'")
    refused({"cfg": cfg, "nodes": {}, "edges": {"m1->m2": {"score": "x"}}}, "no finite number")
    refused({"cfg": cfg, "nodes": {}, "edges": {"m1->m2": {"score": 1.0, "in_graph": "no"}}}, "true or false")
    refused({"cfg": cfg, "nodes": {"m1": {"in_graph": True, "neurons": [1, 2]}}, "edges": {}}, "not 128 numbers")
    refused({"cfg": cfg}, "no nodes or no edges", ".pt")
    refused({"cfg": cfg, "src_nodes": ["input"]}, "no dst_nodes, edges_scores", ".pt")
    tensors = dict.fromkeys(("edges_scores", "edges_in_graph", "nodes_in_graph"), torch.zeros(2))
    refused({"cfg": cfg, "src_nodes": ["input"], "dst_nodes": ["m0"], **tensors}, "edges_scores is no tensor", ".pt")
    refused({"cfg": cfg, "src_nodes": "input", "dst_nodes": ["m0"], **tensors}, "no lists of names", ".pt")
    refused([1, 2], "no settings cfg", ".pt")
    hostile = tmp_path / "hostile.pt"
    torch.save({"cfg": Hostile(tmp_path / "written")}, hostile)
    with pytest.raises(CheckpointError, match="no settings cfg"):
        read_circuit(hostile, MODEL.cfg)
    assert not (tmp_path / "written").exists()
    with pytest.raises(InputError, match=r"neither \.json nor \.pt"):
        write_circuit(tmp_path / "circuit.csv", circuit_file(wiring(MODEL.cfg), *no_edges()), MODEL.cfg)


class Hostile:
    """Writes a file when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return os.mkdir, (str(self.path),)


def no_edges() -> tuple[torch.Tensor, torch.Tensor]:
    before = wiring(MODEL.cfg).before
    return torch.zeros_like(before), torch.zeros(before.shape)

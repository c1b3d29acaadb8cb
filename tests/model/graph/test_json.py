"""circuit-tracer's json: ours has what its reader and Neuronpedia's schema ask for, and comes back as it was."""

import json
from dataclasses import replace
from typing import Any

import pytest
import torch

from headlight.model import Run, run_prompt
from headlight.model.base.errors import InputError
from headlight.model.graph import Aim, graph_of
from headlight.model.graph.influence import graph_scores, influence, prune, target_weights
from headlight.model.graph.reading import open_graph
from headlight.model.graph.writing import Group, graph_json
from tests.tiny import open_tiny

AIM = Aim(40, None, 5)

# Written by hand after circuit-tracer's Node, Link and Model: two features of a model of two layers, an error of each
# kind of input, and two logits of which the likelier is the target.
THEIRS: dict[str, Any] = {
    "metadata": {
        "slug": "s",
        "scan": "gemma-2-2b",
        "transcoder_list": [],
        "prompt_tokens": ["<bos>", " a"],
        "prompt": "<bos> a",
        "node_threshold": 0.8,
        "schema_version": 1,
    },
    "qParams": {"pinnedIds": [], "supernodes": [["both", "0_7_1", "1_9_1"]], "linkType": "both", "clickedId": ""},
    "nodes": [
        {
            "node_id": "1_9_1",
            "feature": 64,
            "layer": "1",
            "ctx_idx": 1,
            "feature_type": "cross layer transcoder",
            "jsNodeId": "1_9-0",
            "clerp": "a name",
            "influence": 0.5,
            "activation": 4.0,
        },
        {
            "node_id": "0_7_1",
            "feature": 35,
            "layer": "0",
            "ctx_idx": 1,
            "feature_type": "cross layer transcoder",
            "jsNodeId": "0_7-0",
            "clerp": "",
            "influence": 0.3,
            "activation": 2.0,
        },
        {
            "node_id": "0_-1_1",
            "feature": -1,
            "layer": "0",
            "ctx_idx": 1,
            "feature_type": "mlp reconstruction error",
            "jsNodeId": "0_-1-1",
            "clerp": "",
            "influence": 0.2,
            "activation": None,
        },
        {
            "node_id": "E_3_1",
            "feature": 1,
            "layer": "E",
            "ctx_idx": 1,
            "feature_type": "embedding",
            "jsNodeId": "E_3-1",
            "clerp": "",
            "influence": 0.1,
            "activation": None,
        },
        {
            "node_id": "3_50_1",
            "feature": 50,
            "layer": "3",
            "ctx_idx": 1,
            "feature_type": "logit",
            "token_prob": 0.75,
            "is_target_logit": True,
            "jsNodeId": "L_50-1",
            "clerp": 'Output " b" (p=0.750)',
        },
        {
            "node_id": "3_51_1",
            "feature": 51,
            "layer": "3",
            "ctx_idx": 1,
            "feature_type": "logit",
            "token_prob": 0.25,
            "is_target_logit": False,
            "jsNodeId": "L_51-1",
            "clerp": 'Output " c" (p=0.250)',
        },
    ],
    "links": [
        {"source": "E_3_1", "target": "0_7_1", "weight": 1.5},
        {"source": "0_7_1", "target": "1_9_1", "weight": 3.0},
        {"source": "0_-1_1", "target": "1_9_1", "weight": -1.0},
        {"source": "1_9_1", "target": "3_50_1", "weight": 6.0},
        {"source": "0_7_1", "target": "3_50_1", "weight": -2.0},
        {"source": "1_9_1", "target": "3_51_1", "weight": 1.0},
    ],
}


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return run_prompt(open_tiny("gpt2-like", tmp_path_factory.mktemp("models")), "one two three one two three one")


def test_theirs_is_opened() -> None:
    opened = open_graph(json.dumps(THEIRS).encode())
    graph = opened.graph
    names = [(node.kind, node.layer, node.index, node.position) for node in graph.nodes]
    assert names == [
        ("feature", 0, 7, 1),
        ("feature", 1, 9, 1),
        ("logit", None, 50, 1),
        ("logit", None, 51, 1),
        ("token", None, 3, 1),
        ("error", 0, None, 1),
    ]
    assert opened.names[1] == "a␣name"
    assert opened.groups == (Group("both", (0, 1)),)
    assert graph.target.probability == 0.75
    assert graph.tokens == ("<bos>", "␣a")
    assert graph.bias[:2].tolist() == [0.5, 2.0]
    # Layer 1's feature gives 6 at 4, so 1.5 each; layer 0's gives 3 of these 4 and -2 by itself.
    assert graph.effects.tolist() == pytest.approx([3 * 1.5 - 2, 6, 4, 0, 1.5 * (2.5 / 2), -1.5])
    # By hand, by circuit-tracer's rule: shares of each node's inputs, from each logit by its probability.
    late = 0.75 * 6 / 8 + 0.25
    early = 0.75 * 2 / 8 + late * 3 / 4
    assert influence(graph.edges, target_weights(graph)).tolist() == pytest.approx([early, late, 0, 0, early, late / 4])
    assert graph_scores(graph).replacement == pytest.approx(early / (early + late / 4))


def changed(*nodes: dict[str, Any], links: list[tuple[str, str, float]]) -> bytes:
    """Theirs with some nodes and links more."""
    more = [{"source": source, "target": target, "weight": weight} for source, target, weight in links]
    return json.dumps(THEIRS | {"nodes": THEIRS["nodes"] + [*nodes], "links": THEIRS["links"] + more}).encode()


def feature_and_error(number: int) -> list[dict[str, Any]]:
    """As circuit-tracer's feature_node(0, 1, number) and error_node(number, 1) write them: both as 0_number_1."""
    node = {"node_id": f"0_{number}_1", "ctx_idx": 1, "clerp": ""}
    feature = {"feature_type": "cross layer transcoder", "layer": "0", "activation": 2.0}
    return [node | feature, node | {"feature_type": "mlp reconstruction error", "layer": str(number)}]


def test_a_feature_and_an_error_of_one_id_keep_their_links() -> None:
    """circuit-tracer's ids name an error's layer where they name layer 0's feature; its links have features first."""
    links = [("E_3_1", "0_1_1", 0.5), ("0_1_1", "1_9_1", 7.0), ("0_1_1", "3_50_1", 4.0), ("0_1_1", "3_50_1", -3.0)]
    opened = open_graph(changed(*feature_and_error(1), links=links))
    graph, places = (
        opened.graph,
        {(node.kind, node.layer, node.index): at for at, node in enumerate(opened.graph.nodes)},
    )
    feature, error = places["feature", 0, 1], places["error", 1, None]
    late, logit = places["feature", 1, 9], places["logit", None, 50]
    assert graph.edges[feature, places["token", None, 3]] == 0.5
    assert graph.edges[[late, late, logit, logit], [feature, error] * 2].tolist() == [7.0, 0.0, 4.0, -3.0]
    assert opened.n_unclear == 0  # layer 1's error comes too late for layer 1's features


def test_a_link_of_which_nothing_tells_whose_it_is_is_counted_as_unexplained() -> None:
    opened = open_graph(changed(*feature_and_error(0), links=[("0_0_1", "1_9_1", 5.0), ("E_3_1", "0_0_1", 0.5)]))
    graph, places = (
        opened.graph,
        {(node.kind, node.layer, node.index): at for at, node in enumerate(opened.graph.nodes)},
    )
    row = graph.edges[places["feature", 1, 9]]
    # The other error of layer 0 has an id of its own, 0_-1_1.
    assert opened.n_unclear == 1
    assert row[places["feature", 0, 0]] == 0.0
    assert sorted(row[[node.kind == "error" for node in graph.nodes]].tolist()) == [-1.0, 5.0]


def test_two_features_of_one_id_are_refused() -> None:
    feature, _ = feature_and_error(0)
    with pytest.raises(InputError, match="Two of the file's nodes are called '0_0_1'"):
        open_graph(changed(feature, feature, links=[]))


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize("folded", [True, False])
def test_ours_comes_back_as_it_was(run: Run, folded: bool) -> None:
    graph = graph_of(run, AIM, most=25, folded=folded)
    pruned = prune(graph, 1.0, 1.0)
    units = tuple(place for place, node in enumerate(graph.nodes) if node.kind == "neuron")[:2]
    text = graph_json(graph, pruned, [Group("two", units)])
    opened = open_graph(text.encode())
    assert opened.graph.model == graph.model
    kept = pruned.nodes.nonzero().flatten().tolist()
    ours = {graph.nodes[place]: place for place in kept}
    assert set(opened.graph.nodes) == set(ours)
    places = [ours[node] for node in opened.graph.nodes]
    rows = places[: opened.graph.n_followed]
    torch.testing.assert_close(opened.graph.edges, graph.edges[rows][:, places])
    if folded:  # with heads as nodes a way through one is only their numbers' product
        torch.testing.assert_close(opened.graph.effects, graph.effects[places], rtol=1e-6, atol=1e-6)
    assert {opened.graph.nodes[place] for place in opened.groups[0].nodes} == {graph.nodes[place] for place in units}


@pytest.mark.usefixtures("unchecked")
def test_ours_has_what_neuronpedia_asks_for(run: Run) -> None:
    """What its schema requires, and what its `formatCLTGraphData` reads: a probability in the logit's name, ids."""
    graph = replace(graph_of(run, AIM, most=25), model="Owner/A model")
    units = tuple(place for place, node in enumerate(graph.nodes) if node.kind == "neuron")[:2]
    written = json.loads(graph_json(graph, prune(graph, 1.0, 1.0), [Group("two", units), Group("one", units[:1])]))
    assert set(written) == {"metadata", "qParams", "nodes", "links"}
    metadata = written["metadata"]
    assert {"slug", "scan", "prompt_tokens", "prompt"} <= set(metadata)
    assert metadata["scan"] == "a-model"
    scores = graph_scores(graph)
    assert [metadata[f"{name}_score"] for name in ("replacement", "completeness")] == [*vars(scores).values()]
    assert written["qParams"]["pinnedIds"] == written["qParams"]["supernodes"][0][1:]  # of a group only these are shown
    other = json.loads(graph_json(replace(graph, target=replace(graph.target, token=1)), prune(graph, 1.0, 1.0)))
    assert other["metadata"]["slug"] != metadata["slug"]
    needed = {"node_id": str, "feature": int, "layer": str, "ctx_idx": int, "feature_type": str, "jsNodeId": str}
    for node in written["nodes"]:
        assert {name: type(node[name]) for name in needed} == needed
        assert node["layer"] == "E" or int(node["layer"]) >= 0
        # What is neither an error nor of these is looked up, by a number that may not be negative.
        assert "error" in node["feature_type"] or node["feature"] >= 0
        if node["feature_type"] == "logit":
            assert float(node["clerp"].split("(p=")[1].split(")")[0]) == pytest.approx(
                graph.target.probability, abs=1e-3
            )
    ids = [node["node_id"] for node in written["nodes"]]
    told_apart = {(node["layer"], node["feature"], node["ctx_idx"], node["feature_type"]) for node in written["nodes"]}
    assert len(ids) == len(set(ids)) == len(told_apart)
    assert {link[end] for link in written["links"] for end in ("source", "target")} <= set(ids)


def broken(**changes: Any) -> bytes:
    """The file with a node's, a link's or a whole part's entry put in place."""
    raw = json.loads(json.dumps(THEIRS))
    for name, value in changes.items():
        part, _, key = name.partition("__")
        if not key:
            raw[part] = value
        elif isinstance(raw[part], list):
            raw[part][0][key] = value
        else:
            raw[part][key] = value
    return json.dumps(raw).encode()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"[" * 100_000, "cannot be read as JSON"),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 9\n", "Git LFS pointer.*git lfs pull"),
        (b"\xff\xfe", "cannot be read as JSON"),
        (b"[]", "nothing as 'metadata'"),
        (broken(nodes=[]), "has 0 nodes"),
        (broken(nodes=[1]), "holds int as 'node'"),
        (broken(nodes=[THEIRS["nodes"][0]] * 4001), "4,001 nodes"),
        (broken(nodes=THEIRS["nodes"] + THEIRS["nodes"][:1]), "Two of the file's nodes"),
        (broken(nodes=THEIRS["nodes"][:4]), "no node of feature_type 'logit'"),
        (broken(nodes__ctx_idx=2), "ctx_idx is 2"),
        (broken(nodes__layer="x" * 1000), "it has to be 'E' or a whole number"),
        (broken(nodes__activation="3"), "finite number"),
        (broken(links__weight=1e300), "finite number"),
        (broken(links__source="nowhere"), "one is no node"),
        (broken(links__target="E_3_1", links__source="0_7_1"), "into which nothing can go"),
        (broken(links__source="1_9_1"), "in a circle"),
        (broken(metadata__prompt=4), "holds int as prompt"),
        (broken(links__weight=10**400), "holds inf as weight; it has to be a finite number"),
        (broken(nodes__activation=-(10**400)), "holds -inf as activation"),
        (broken(nodes__ctx_idx=10**400), "ctx_idx is inf"),
        (broken(nodes__layer=10**400), "layer is inf"),
        (broken(nodes__layer=[[]]), "layer is a list"),
        (broken(metadata__prompt="\ud800"), r"half of a character as prompt \(a surrogate"),
        (broken(nodes__node_id="0_\udfff_1"), "half of a character as node_id"),
        (broken(metadata__prompt_tokens=["<bos>", "\ud83d"]), "half of a character as prompt_tokens"),
    ],
)
def test_a_file_that_is_no_graph_is_refused_in_plain_words(content: bytes, message: str) -> None:
    with pytest.raises(InputError, match=message):
        open_graph(content)


def test_a_number_of_many_digits_does_no_harm_where_nothing_reads_it() -> None:
    whole, half = open_graph(broken(nodes__feature=10**400)), open_graph(json.dumps(THEIRS).encode())
    assert torch.equal(whole.graph.edges, half.graph.edges)


def test_nodes_of_one_layer_are_taken_in_whatever_order_they_stand() -> None:
    """The slopes are the ones that the whole system of equations gives, solved by torch."""
    torch.manual_seed(0)
    order = [int(place) for place in torch.randperm(12)]
    nodes = [{**THEIRS["nodes"][1], "node_id": f"0_{place}_1", "clerp": "", "activation": place + 1} for place in order]
    links = [
        {"source": f"0_{source}_1", "target": f"0_{target}_1", "weight": float(torch.randn(()))}
        for source in range(12)
        for target in range(source + 1, 12)
    ]
    out = [{"source": f"0_{place}_1", "target": "3_5_1", "weight": 1.0} for place in range(12)]
    logit = {**THEIRS["nodes"][-1], "node_id": "3_5_1", "feature_type": "logit", "is_target_logit": True}
    graph = open_graph(json.dumps({**THEIRS, "nodes": [*nodes, logit], "links": links + out}).encode()).graph
    n = graph.n_followed
    per_unit = graph.edges[:, :n] / graph.activations
    start = torch.zeros(n, dtype=torch.float64)
    start[graph.logit] = 1.0
    torch.testing.assert_close(graph.slopes, torch.linalg.solve(torch.eye(n).double() - per_unit.T, start))

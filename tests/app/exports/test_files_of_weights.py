"""The files of *Weights* and *Graph* on a model of each kind, against transformers' weights and passes in float64."""

import re
from contextlib import ExitStack
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from headlight.app.runs import comparisons
from tests.app.choosing import selection_of
from tests.app.exports.page_files import Files, image, titled
from tests.app.exports.test_code import compare_tables, run_here
from tests.app.exports.twins import N_HEADS, N_LAYERS, NEAR, Twin, save_twin

pytestmark = pytest.mark.usefixtures("unchecked")  # a batch grows where nodes are ablated side by side
PROMPT, LAYER, HEAD = "one two three one two three one", 1, 2
# Sums of some dozen float32 numbers of size 10, taken in another order.
CLOSE: dict[str, float] = {"rtol": 1e-4, "atol": 4e-4}
NEURON = re.compile(r"L(\d+)N(\d+)")
ABLATED = re.compile(r"(L\d+[HN]\d+) at (\d+)")
WHOLE: dict[str, object] = {"graph_most": 60, "graph_nodes": 1.0, "graph_edges": 1.0}  # nothing is pruned
slow = pytest.mark.thorough


def opened(slug: str, kind: str, settings: dict[str, object], folder: Path, **fields: Any) -> tuple[Twin, Files]:
    twin = save_twin(kind, folder / "twin")
    chosen = selection_of(model=twin.folder, prompt=PROMPT, heads=((LAYER, HEAD),), **fields)
    comparison = comparisons.for_selection(chosen)
    export = import_module(f"headlight.app.pages.{slug}").EXPORT
    return twin, Files(export, comparison, chosen, torch.empty(0), comparison.a.cache)


def circuits(twin: Twin, layer: int, head: int) -> dict[str, Tensor]:
    """From stream to stream, with the norm before the head: W_Q W_Kᵀ, W_K W_Qᵀ and W_V W_O."""
    W_Q, W_K, W_V, W_O = (twin.heads(layer)[name][head] for name in ("W_Q", "W_K", "W_V", "W_O"))
    W_Q, W_K, W_V = (twin.reading(layer) @ each for each in (W_Q, W_K, W_V))
    return {"query": W_Q @ W_K.T, "key": W_K @ W_Q.T, "value": W_V @ W_O}


def turned(twin: Twin, q: Tensor, distance: int) -> Tensor:
    """Queries as a key so many tokens before them sees them, by Llama's rotation of halves."""
    angles = distance * twin.model.model.rotary_emb.inv_freq.double().repeat(2)
    first, second = q.chunk(2, dim=-1)
    return q * angles.cos() + torch.cat([-second, first], -1) * angles.sin()


def of_tokens(twin: Twin, kind: str) -> Tensor:
    """A circuit of the head from all tokens to all tokens."""
    W_E, weights = twin.model.get_input_embeddings().weight.detach(), twin.heads(LAYER)
    read = W_E @ twin.reading(LAYER)
    if kind == "ov":
        behind = twin.linear_norm(twin.final_norm) @ twin.unembedding.detach()
        return read @ weights["W_V"][HEAD] @ weights["W_O"][HEAD] @ behind
    q, k = read @ weights["W_Q"][HEAD], read @ weights["W_K"][HEAD]
    return (turned(twin, q, 1) if hasattr(twin.model.base_model, "rotary_emb") else q) @ k.T / k.shape[1] ** 0.5


@pytest.mark.parametrize(
    ("kind", "circuit"),
    [
        ("llama", "qk"),
        pytest.param("llama", "ov", marks=slow),
        pytest.param("gpt2", "qk", marks=slow),
        pytest.param("gpt2", "ov", marks=slow),
        pytest.param("bert", "qk", marks=slow),
    ],
)
def test_weights(kind: str, circuit: str, settings: dict[str, object], tmp_path: Path) -> None:
    twin, files = opened("weights", kind, settings, tmp_path, circuit=circuit)
    data, above = files.export.data(files.comparison, files.chosen), files.figure
    later = circuits(twin, LAYER, HEAD)
    for through, letter in (("query", "Q"), ("key", "K"), ("value", "V")):
        scores = []
        for head in range(N_HEADS):
            earlier = circuits(twin, 0, head)["value"]
            size = earlier.norm() * later[through].norm()
            scores.append(float((earlier @ later[through]).norm() / size))
        np.testing.assert_allclose(data.arrays[f"composition by {through}"].values[0], scores, **NEAR, err_msg=through)
        cells = image(titled(above, f"{letter}-composition"))[0]
        assert np.ptp(cells - scores) < 1e-4, through  # above the mean of random heads, which is one number
        titled_so = (arrays["values"] for props, arrays in files.mounted if f"{letter}-comp" in props.get("title", ""))
        (in_html,) = titled_so
        np.testing.assert_allclose(in_html[0], cells, **NEAR, err_msg=through)
    if kind != "bert":  # whose embeddings are normalised with their positions
        pairs(files, of_tokens(twin, circuit), data)
    compare_tables(run_here(files.export.script(files.comparison, files.chosen)), dict(data.tables))


def pairs(files: Files, whole: Tensor, data: Any) -> None:
    """The outermost pairs of all, and the strengths of the directions."""
    values = whole.flatten()
    expected = {end: values.topk(20, largest=end == "highest") for end in ("highest", "lowest")}
    table, labels = files.table("pairs"), files.comparison.a.tokenizer.labels
    for end, (outermost, places) in expected.items():
        np.testing.assert_allclose(data.arrays[f"{end} values"].values, outermost, **CLOSE, err_msg=end)
        rows = [at for at, row_end in enumerate(table["end"]) if row_end == end]
        np.testing.assert_allclose([table["value"][at] for at in rows], outermost, **CLOSE, err_msg=end)
        for at, place in list(zip(rows, places.tolist(), strict=True))[:3]:
            row, column = divmod(place, whole.shape[1])
            assert (table["row token"][at], table["column token"][at]) == tuple(labels([row, column])), end
    strengths = data.arrays["strengths"].values
    _, singular, _ = torch.svd_lowrank(whole, q=8, niter=4)
    np.testing.assert_allclose(strengths, singular[: len(strengths)], **CLOSE)


def without(twin: Twin, node: str, place: int, tokens: Tensor) -> Tensor:
    """The last position's logits where a head, such as L0H2, or a neuron writes nothing at a place."""
    of_heads = "H" in node
    layer, index = map(int, re.findall(r"\d+", node))

    def cut(module: Any, inputs: tuple[Tensor, ...]) -> tuple[Tensor]:
        z = inputs[0].clone()
        z[0, place].unflatten(0, (N_HEADS, -1) if of_heads else (-1, 1))[index] = 0
        return (z,)

    handle = twin.outputs(layer)[0 if of_heads else 1].register_forward_pre_hook(cut)
    logits: Tensor = twin(tokens).logits[0, -1]
    handle.remove()
    return logits


@pytest.mark.parametrize("kind", ["llama", pytest.param("gpt2", marks=slow)])
@torch.no_grad()
def test_graph(kind: str, settings: dict[str, object], tmp_path: Path) -> None:
    """Neurons are as active as they are, and the target is made of what was written to the last stream."""
    twin, files = opened("graph", kind, settings, tmp_path, graph_units="neurons", **WHOLE)
    tokens, nodes, edges = files.comparison.a.tokens, files.table("nodes"), files.table("edges")
    with ExitStack() as stack:
        z, acts = (
            [stack.enter_context(twin.record_inputs(pair[at])) for pair in map(twin.outputs, range(N_LAYERS))]
            for at in (0, 1)
        )
        (final,) = (stack.enter_context(twin.record_inputs(twin.final_norm)),)
        logits = twin(tokens).logits[0, -1]
    target, distractor = logits.topk(2).indices.tolist()
    difference, last = float(logits[target] - logits[distractor]), len(tokens) - 1
    assert files.table("target")["value (logits)"] == pytest.approx([difference], abs=1e-3)
    towards = twin.scaled(final[0][-1]) @ (twin.unembedding[:, target] - twin.unembedding[:, distractor])
    begun = twin(tokens).hidden_states[0][0]
    at = {name: (node, place) for name, node, place in zip(nodes["id"], nodes["node"], nodes["position"], strict=True)}
    n_neurons = 0
    for (node, place), activation in zip(at.values(), nodes["activation"], strict=True):
        if match := NEURON.fullmatch(node):
            layer, neuron = map(int, match.groups())
            assert activation == pytest.approx(float(acts[layer][0][place, neuron]), rel=1e-4, abs=2e-4), node
            n_neurons += 1
    assert n_neurons > 9
    checked = set()
    for source, to, weight in zip(edges["from"], edges["to"], edges["weight"], strict=True):
        node, place = at[source]
        if at[to][0] != "logit":
            continue
        assert place == last, node
        if match := NEURON.fullmatch(node):
            layer, neuron = map(int, match.groups())
            wrote = acts[layer][0][last, neuron] * twin.written_by_neurons(layer)[neuron]
        elif match := re.fullmatch(r"L(\d+)H(\d+)", node):
            layer, head = map(int, match.groups())
            wrote = z[layer][0][last].unflatten(0, (N_HEADS, -1))[head] @ twin.heads(layer)["W_O"][head]
        elif node == "token":
            wrote = begun[last]
        else:  # what is left out of the nodes
            continue
        assert weight == pytest.approx(float(wrote @ towards), rel=1e-3, abs=4e-4), node
        checked.add("neuron" if NEURON.fullmatch(node) else "head" if "H" in node else node)
    assert checked >= {"head", "neuron"}
    data = files.export.data(files.comparison, files.chosen)
    if kind == "llama":  # it has no biases: whatever is written is a node's
        assert float(data.arrays["A edges"].values[-1].sum()) == pytest.approx(difference, abs=1e-3)
    marks = [tuple(offset) for each in files.figure.axes[0].collections for offset in each.get_offsets()]
    assert len(set(marks)) == len(nodes["id"])
    compare_tables(run_here(files.export.script(files.comparison, files.chosen)), dict(data.tables))
    check = files.table("check")
    for ablated, measured in zip(check["ablated"], check["measured (logits)"], strict=True):
        if match := ABLATED.fullmatch(ablated):
            changed = without(twin, match[1], int(match[2]), tokens)
            assert measured == pytest.approx(float(changed[target] - changed[distractor]) - difference, abs=1e-3), (
                ablated
            )
    csv = [files.table(name) for name in ("target", "nodes", "edges", "check")]
    assert [*files.html_tables.values()] == csv  # to the cell

"""The page *Graph* without a browser: its sums and sentences, what a click and a group ask for, and files."""

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import get_args

import pytest
import torch
from matplotlib.figure import Figure

from headlight.app.exports.pictures import plots
from headlight.app.exports.style import LIGHT
from headlight.app.figures.graph import Mark, graph, laid_out
from headlight.app.pages.graph import circuit, files, node_panel, plot
from headlight.app.pages.graph.choices import Choices
from headlight.app.pages.graph.graph_view import sides_of
from headlight.app.pages.graph.grouping import put, without
from headlight.app.pages.graph.plot import marks_of
from headlight.app.runs import comparisons
from headlight.app.selection.links import from_query, to_query
from headlight.model.circuits.scoring import Method
from headlight.model.graph.influence import prune
from headlight.model.graph.tables import GraphSettings, check_rows, edge_rows, graph_tables, node_changes, node_rows
from headlight.model.graph.writing import graph_json
from headlight.model.runs.comparison import Comparison
from headlight.model.runs.edits import AblateNeurons
from headlight.model.runs.run import Run
from tests.app.choosing import selection_of
from tests.app.conftest import Options
from tests.app.pages.test_sides import page
from tests.saved_dictionary import save_dictionary

pytestmark = pytest.mark.usefixtures("unchecked")  # a batch grows where ablations run side by side
SMALL = {"graph_most": 40}


def test_the_page_says_how_much_is_kept_and_whether_it_holds(run: Run) -> None:
    at = page("graph", Comparison(run), **SMALL)
    view = sides_of(Comparison(run), selection_of(**SMALL))["A"]
    texts = [each.value for each in at.text]
    assert any(f"{view.pruned.node_share:.1%} of the influence" in each for each in texts)
    assert any(re.match("The graph (holds:|holds only|does not hold:)", each) for each in texts)
    (spelled,) = [each for each in texts if each.startswith("Kept edges ")]
    parts = re.findall(r"(?:edges|bias|total) (\S+?)(?:[,:]|\.$)", spelled)
    *inputs, together = [float(part.replace("−", "-")) for part in parts]
    assert len(inputs) == 2  # this model has no biases
    assert sum(inputs) == pytest.approx(together, abs=0.0016)  # three numbers of four digits, all below 10
    assert together == pytest.approx(float(view.graph.activations[view.chosen]), abs=0.0006)


def test_the_card_at_the_picture_names_the_largest_inputs(run: Run, options: Options) -> None:
    at = page("graph", Comparison(run), **SMALL)
    graph = sides_of(Comparison(run), selection_of(**SMALL))["A"].graph
    effect = f"{float(graph.effects[graph.logit]):+.3f}".replace("-", "−")
    assert f"Effect on the target: {effect} logits." in [each.value for each in at.text]
    largest = graph.flows[graph.logit].abs().argsort(descending=True)[:3].tolist()
    assert [name for name in options.drawn if name.startswith("graph_input_")] == [
        f"graph_input_{at}" for at in largest
    ]
    options.change(at, f"graph_input_{largest[1]}", None)
    node = graph.nodes[largest[1]]
    assert at.session_state["headlight"].active.choices_of(Choices).graph_node.startswith(f"{node.layer}_")


def test_a_row_chooses_its_node(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    rows: list[list[str]] = []

    def picked(table: node_panel.Table, **_: object) -> int | None:
        rows.append([str(cell) for cell in table.columns[0].cells])
        return 0 if len(rows) == 1 else None

    monkeypatch.setattr(node_panel, "row_table", picked)
    at = page("graph", Comparison(run), **SMALL)
    chosen = at.session_state["headlight"].active.choices_of(Choices).graph_node
    view = sides_of(Comparison(run), selection_of(**SMALL, graph_node=chosen))["A"]
    assert view.called(view.chosen) == rows[0][0]
    assert view.chosen != view.graph.logit


def test_a_nodes_buttons_ask_for_its_page_and_its_edit(run: Run, options: Options) -> None:
    comparison = Comparison(run)
    view = sides_of(comparison, selection_of(**SMALL))["A"]
    head = next(place for place, node in enumerate(view.graph.nodes) if node.kind == "head")
    neuron = next(place for place, node in enumerate(view.graph.nodes) if node.kind == "neuron")
    now = node_panel._on_page(selection_of(), view.graph.nodes[head], 3)
    assert now.heads == ((view.graph.nodes[head].layer, view.graph.nodes[head].index),)
    assert now.queries == (3,)
    node = view.graph.nodes[neuron]
    assert node_panel._edit(view, node) == AblateNeurons(((node.layer or 0, node.index or 0),))


def test_of_two_runs_the_difference_is_shown(both: Comparison) -> None:
    at = page("graph", both, side="difference", **SMALL)
    assert not at.error
    (table,) = (each.value for each in at.dataframe)
    assert [float(x) for x in table["B − A (logits)"]] == pytest.approx(
        [float(b - a) for a, b in zip(table["effect in A (logits)"], table["effect in B (logits)"], strict=True)]
    )


SHIFTED = {"prompt": "one two three two", "prompt_b": "four one two three two"}
PLACES = {"A": (0, 1, 5, 6, 7), "B": (0, 2, 3, 4, 5, 6, 7)}  # "one", then "fo", "ur", "␣one", then what both have


@pytest.fixture
def shifted(run: Run, folder: str) -> Comparison:
    """B has a token before those that both have."""
    return comparisons.for_selection(selection_of(model=folder, **SHIFTED))


@pytest.mark.parametrize("side", "AB")
def test_tokens_are_numbered_by_their_places(shifted: Comparison, side: str) -> None:
    view = sides_of(shifted, selection_of(graph_nodes=0.95, **SMALL))[side]
    numbered = [f"{place} {label}" for place, label in zip(PLACES[side], view.graph.tokens, strict=True)]
    expected = [numbered[node.position] for node in view.graph.nodes]
    slots = range(len(expected))
    shown = [each.replace("<|endoftext|>", "⟨bos⟩") for each in expected]
    assert [view.called(slot).partition(" at ")[2] for slot in slots] == shown
    assert [mark.lines[0] for mark in marks_of(view)] == [view.called(slot) for slot in view.kept]
    places = [each.split()[0] for each in expected]
    assert [each.rpartition("_")[2] for each in view.ids] == places
    nodes = node_rows(view.graph, view.pruned, view.n_layers, view.places)
    assert {f"{row[3]} {row[4]}" for row in nodes} <= set(expected)
    assert {row[0] for row in nodes} <= set(view.ids)
    edges = edge_rows(view.graph, view.pruned, view.n_layers, view.places)
    assert {name for row in edges for name in row[:2]} <= set(view.ids)
    checked = [view.called(slot).rpartition(" ")[0] for slot in view.nodes_checked]
    assert [row[0] for row in check_rows(view.graph, view.check, view.places)][:-2] == checked
    table = graph_tables(shifted, settings=GraphSettings(most=40, nodes=0.95))["nodes"]
    in_file = zip(table["run"], table["position"], table["token"], strict=True)
    assert {f"{place} {token}" for name, place, token in in_file if name == side} <= set(expected)
    written = json.loads(graph_json(view.graph, view.pruned))["nodes"]
    own = [node.position for node, kept in zip(view.graph.nodes, view.pruned.nodes.tolist(), strict=True) if kept]
    assert [each["ctx_idx"] for each in written] == own  # as the tools that open it count


def test_a_nodes_page_opens_at_its_place(shifted: Comparison, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[tuple[int, ...]] = []
    monkeypatch.setattr(node_panel.selection, "current", selection_of)
    monkeypatch.setattr(node_panel.selection, "ask", lambda request, slug: opened.append(request.queries))
    for side, view in sides_of(shifted, selection_of(**SMALL)).items():
        tokens = [node for node in view.graph.nodes if node.kind == "token"]
        for node in tokens:
            (link,) = node_panel._links(view, node)
            link.change(None)
        assert opened == [(PLACES[side][node.position],) for node in tokens]
        opened.clear()


def test_a_tokens_effects_in_a_and_b_are_those_at_one_place(shifted: Comparison) -> None:
    sides = sides_of(shifted, selection_of(graph_nodes=1.0, **SMALL))
    table = node_changes(*((each.graph, each.pruned, each.places) for each in sides.values()))
    listed = {place: values for name, place, *values in zip(*table.values(), strict=True) if name == "token"}
    of_a, of_b = (
        {
            node.position: effect
            for node, effect in zip(each.graph.nodes, each.graph.effects.tolist(), strict=True)
            if node.kind == "token"
        }
        for each in sides.values()
    )
    common = {0: (0, 0), 5: (2, 4), 6: (3, 5), 7: (4, 6)}  # the positions in A and in B
    assert set(listed) == {*range(8)}
    for place, (a, b) in common.items():
        assert listed[place] == [shifted.labels[place], of_a[a], of_b[b], pytest.approx(of_b[b] - of_a[a])]
    assert listed[1][1:] == [of_a[1], 0.0, -of_a[1]]  # "one" without a space before it, which A alone has


def test_transcoders_take_the_neurons_place(run: Run, settings: dict[str, object], tmp_path: Path) -> None:
    folder = tmp_path / "models"
    for layer in range(3):
        hooks = f"blocks.{layer}.ln2.hook_normalized", f"blocks.{layer}.hook_mlp_out"
        save_dictionary(folder / "mine" / f"layer_{layer}", hooks[0], run.cfg.d_model, out=hooks[1], seed=layer)
    save_dictionary(folder / "one", "blocks.0.hook_resid_pre", run.cfg.d_model)
    settings["models_folder"] = str(folder)
    at = page("graph", Comparison(run), graph_units="mine", **SMALL)
    assert not at.error
    graph = sides_of(Comparison(run), selection_of(graph_units="mine", **SMALL))["A"].graph
    assert {"feature", "error"} <= {node.kind for node in graph.nodes}
    assert "neuron" not in {node.kind for node in graph.nodes}


def test_groups_are_made_by_hand_and_travel_in_the_address() -> None:
    groups = put(put((), "first", "0_1_2"), "second", "0_3_2")
    assert put(groups, "second", "0_1_2") == (("second", ("0_3_2", "0_1_2")),)  # in one group at a time
    assert without(groups, "0_3_2") == (("first", ("0_1_2",)),)
    chosen = selection_of(graph_groups=groups)
    query = to_query(chosen)
    assert from_query(query, [Choices]) == (chosen, ())
    for bad in ("[", "{}", '[["a", 1]]', json.dumps([["x" * 100, "0_1_2"]]), "[" * 5000, json.dumps([["a", "b"]] * 99)):
        assert from_query({"graph_groups": bad}, [Choices])[1] == ("graph_groups",)


def test_special_tokens_have_their_short_names(run: Run) -> None:
    view = sides_of(Comparison(run), selection_of(graph_nodes=1.0, **SMALL))["A"]
    special = replace(view, graph=replace(view.graph, tokens=("<|im_start|>", *view.graph.tokens[1:])))
    nodes = special.graph.nodes
    first = next(place for place, node in enumerate(nodes) if node.kind == "token" and node.position == 0)
    assert special.called(first).endswith(" at 0 ⟨im_start⟩")
    assert plot._name(special, first) == "⟨im_start⟩"


def test_a_file_is_shown_as_it_was_written(run: Run) -> None:
    view = sides_of(Comparison(run), selection_of(**SMALL))["A"]
    file = files.OpenFile.read("x.json", graph_json(view.graph, prune(view.graph, 0.9, 0.9)).encode())
    again = files.view_of(file, "")
    assert again.pruned is files.view_of(file, again.ids[0]).pruned  # it is computed once, and not at each drawing
    assert set(again.ids) <= set(view.ids)
    assert again.called(again.chosen) == f'Output␣"{view.graph.target_text}"'.replace(" ", "␣") + (
        f"␣(p={view.graph.target.probability:.3f}) at {view.graph.target.position} "
        f"{view.graph.tokens[view.graph.target.position]}"
    )


def test_no_two_marks_stand_on_one_another() -> None:
    marks = [Mark("neuron", column, 1, 0.5, 1, ["x"]) for column in (0, 0, 1, *[2] * 37)]
    laid = laid_out(marks, 3)
    places = {tuple(each) for each in laid.at.round(6).tolist()}
    assert len(places) == len(marks)
    assert laid.columns == sorted(laid.columns)
    assert laid.at[:, 0].max() < laid.end
    for column in range(3):
        inside = [laid.at[slot, 0] for slot, mark in enumerate(marks) if mark.column == column]
        assert sum(inside) / len(inside) == pytest.approx(laid.columns[column], abs=0.5)


CIRCUIT = {"graph_mode": "circuit", "circuit_steps": 3}


@pytest.mark.parametrize("against", [None, "mean"], ids=["alone", "with B"])
def test_a_circuit_is_held_against_means_without_b_or_where_that_is_chosen(
    run: Run, both: Comparison, against: str | None
) -> None:
    comparison = Comparison(run) if against is None else both
    fields = CIRCUIT if against is None else {**CIRCUIT, "circuit_against": against}
    at = page("graph", comparison, **fields)
    (said,) = (each.value for each in at.text if "faithfulness" in each.value)
    assert "with every edge at its mean over A's positions" in said
    assert circuit.find(comparison, selection_of(**fields)).scored.circuit.b == pytest.approx(
        _of_mean(comparison), abs=2e-3
    )


def _of_mean(comparison: Comparison) -> float:
    """Target less distractor of the mean of A's final streams."""
    question = circuit.measured_of(comparison, selection_of(circuit_against="mean"))
    *_, final = comparison.a.streams()
    mean = final[: question.position + 1].mean(0)
    logits = comparison.a.model.to_logits(mean[None, None])[0, 0]
    return float(logits[question.target] - logits[question.distractor])


def test_a_circuit_says_what_it_does_alone(both: Comparison) -> None:
    at = page("graph", both, **CIRCUIT)
    (said,) = (each.value for each in at.text if "faithfulness" in each.value)
    result = circuit.find(both, selection_of(**CIRCUIT)).scored
    assert f"{result.circuit.n_edges:,} of {result.wires.n_edges:,} edges" in said
    assert f"faithfulness {result.circuit.faithfulness:.2f}" in said


def test_the_card_of_a_circuits_part_names_its_largest_edges(both: Comparison, options: Options) -> None:
    drawn = circuit.find(both, selection_of(**CIRCUIT))
    node = drawn.parts[1]
    page("graph", both, **CIRCUIT, graph_node=node)
    own = sorted(
        (edge for edge in drawn.edges if node in (edge.source, edge.target)), key=lambda edge: -abs(edge.score)
    )
    assert [name for name in options.drawn if name.startswith("circuit_edge_")] == [
        f"circuit_edge_{edge.source}_{edge.entry}" for edge in own[:3]
    ]


def test_every_edge_of_a_circuit_joins_parts_that_are_drawn(both: Comparison) -> None:
    drawn = circuit.find(both, selection_of(**CIRCUIT))
    scene = circuit.scene_of(drawn)
    assert [mark.lines[0] for mark in scene.marks] == drawn.parts
    joined = [(drawn.parts[line.source], drawn.parts[line.target]) for line in scene.lines]
    assert joined == [(edge.source, edge.target) for edge in drawn.edges]
    assert all(scene.marks[line.source].row < scene.marks[line.target].row for line in scene.lines)
    assert [mark.label or mark.lines[0] for mark in scene.marks] == drawn.parts
    layers = {part.split()[0].split("H")[0] for part in drawn.parts} - {"embeddings", "logits"}
    assert scene.rows[1:-1] == sorted(layers)  # the layers that are in the circuit, and no others
    widths = [line.width for line in scene.lines]
    assert widths == sorted(widths, reverse=True)  # as the scores, the largest first
    assert len(set(widths)) > 1
    chosen = circuit.scene_of(replace(drawn, node=drawn.parts[1]))
    assert all(1 in (line.source, line.target) for line in chosen.lines)
    assert len(chosen.faint) == len(drawn.edges)


def test_a_label_in_a_picture_is_text_beside_its_mark(both: Comparison) -> None:
    scene = circuit.scene_of(circuit.find(both, selection_of(**CIRCUIT)))
    figure = Figure()
    plots.draw(graph(scene), figure.subfigures(1, 1), LIGHT)
    (axes,) = figure.subfigs[0].axes
    assert sum(len(drawn.get_offsets()) for drawn in axes.collections) == len(scene.marks)
    assert {text.get_text().strip() for text in axes.texts} >= {mark.label for mark in scene.marks if mark.label}


def test_any_method_and_size_can_be_chosen(both: Comparison) -> None:
    """At most so many edges, with the faithfulness of the edges that are drawn, by whichever way they are scored."""
    for method in get_args(Method):
        fields = {**CIRCUIT, "circuit_method": method, "circuit_most": 12, "circuit_against": "zero"}
        result = circuit.find(both, selection_of(**fields)).scored
        assert result.circuit.n_edges <= 12
        alone = Comparison(both.a)
        assert torch.equal(circuit.find(alone, selection_of(**fields)).scored.circuit.edges, result.circuit.edges)

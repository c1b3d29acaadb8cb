"""The page *Flow*: its summands are the run's own, its graph the library's, and what it tells adds up."""

from copy import copy
from dataclasses import replace

import pytest
import torch

from headlight.app.pages.flow.choices import (
    change_in,
    chosen_in,
    edge_of,
    flow_in,
    lacks_change,
)
from headlight.app.pages.flow.figures import (
    changed_edges_of,
    changed_nodes_of,
    edges_of,
    heads_of,
    heads_of_both,
    nodes_of,
    spelled,
    spelled_change,
    tokens_of,
    tokens_of_both,
)
from headlight.app.pages.flow.graph import limit_of
from headlight.app.parts.pair import place_of
from headlight.app.runs import runs
from headlight.app.selection import Selection
from headlight.model.flow.information_flow import Edge, Flow, Place, flow, state_names
from headlight.model.flow.run_flow import flow_of, readout_of
from headlight.model.flow.shares import Summands, mid_shares
from headlight.model.lens.run_lens import logit_lens
from headlight.model.measure.alignment import Alignment
from headlight.model.runs.comparison import Comparison
from headlight.model.runs.edits import Steer
from headlight.model.runs.run import Run
from tests.app.choosing import selection_of
from tests.app.pages.test_sides import page

# float32, by another order of sums: a few 1e-7 of a node whose summands cancel at most tenfold.
SAME = 1e-5


def from_the_model(run: Run, start: int, threshold: float) -> Flow:
    """The graph from all activations of another run of the model."""
    with torch.inference_mode():
        _, cache = run.model.run_with_cache(run.tokens[None])

    def supply(layer: int, positions: list[int]) -> Summands:
        pre, mid, mlp_out, post = (
            cache[name, layer][0, positions] for name in ("resid_pre", "resid_mid", "mlp_out", "resid_post")
        )
        W_O, b_O = (run.model.get_parameter(f"blocks.{layer}.attn.{name}").detach() for name in ("W_O", "b_O"))
        pattern, v = cache["pattern", layer][0][:, positions], cache["v", layer][0]
        writes = torch.einsum("hqk,khd,hdm->qm", pattern, v, W_O) + b_O
        # What is shared out is what attention and the MLP added: float32 sums over keys and heads.
        torch.testing.assert_close(writes, cache["attn_out", layer][0, positions], rtol=1e-4, atol=1e-5)
        torch.testing.assert_close(mid + mlp_out, post, rtol=1e-5, atol=1e-6)
        assert float(mid_shares(Summands(pre, pattern, v, W_O, b_O, mid)).rest.values.max()) == 0
        return Summands(pre, pattern, v, W_O, b_O, mid, mlp_out, post)

    return flow(supply, run.cfg.n_layers, 2, start, threshold)


def test_the_graph_is_that_of_the_models_own_activations(run: Run) -> None:
    start = len(run.tokens) - 2
    actual, expected = flow_of(run, start, 0.0005), from_the_model(run, start, 0.0005)
    assert actual.start == Place(2 * run.cfg.n_layers, start)
    assert [node.place for node in actual.nodes] == [node.place for node in expected.nodes]
    for one, other in zip(actual.edges, expected.edges, strict=True):
        assert (one.source, one.target, one.kind) == (other.source, other.target, other.kind)
        assert one.share == pytest.approx(other.share, abs=SAME)
        assert dict(one.heads) == pytest.approx(dict(other.heads), abs=SAME)


def test_a_nodes_tokens_are_the_logit_lens(run: Run) -> None:
    lens = logit_lens(run)
    for layer in range(run.cfg.n_layers):
        tokens = readout_of(run, Place(2 * layer + 2, 3))
        assert tokens.tokens.values.tolist() == lens.top_tokens.values[layer + 1, 3].tolist()
        # The lens adds up its softmax by tiles of the vocabulary.
        torch.testing.assert_close(
            tokens.probabilities.values, lens.top_probs.values[layer + 1, 3], rtol=1e-4, atol=1e-7
        )
    columns = tokens_of(run, Place(2, 3))
    assert list(columns)[3:] == ["Rank in L0 attention", "Risen by"]
    below = readout_of(run, Place(1, 3)).tokens.values.tolist()
    ranks = dict(zip(readout_of(run, Place(2, 3)).tokens.values.tolist(), columns["Rank in L0 attention"], strict=True))
    assert all(ranks[token] == below.index(token) + 1 for token in ranks if token in below)
    assert readout_of(run, Place(0, 3)).ranks_below is None


def test_what_edits_added_to_the_stream_is_told(run: Run, folder: str) -> None:
    edited = runs.run(folder, run.prompt, run.bos, (Steer(1, "one two", "two", 40.0),))
    graph = flow_of(edited, len(run.tokens) - 1, 0.0)
    assert max(node.rest for node in graph.nodes) > 0.1
    incoming = {node.place: node.bias + node.rest for node in graph.nodes}
    for edge in graph.edges:
        incoming[edge.target] += edge.share
    assert all(total == pytest.approx(1, abs=SAME) for place, total in incoming.items() if place.depth)


def test_places_and_positions_are_told_apart(both: Comparison) -> None:
    assert both.b is not None
    last = place_of(both, Selection())
    assert None not in [both.positions(run)[last] for run in both.runs]
    only_b = both.presence.index("b")
    assert chosen_in(both, "A", selection_of(flow_chosen=(2, only_b))) == ()
    assert chosen_in(both, "B", selection_of(flow_chosen=(2, only_b))) == (2, both.positions(both.b)[only_b])
    assert chosen_in(both, "B", selection_of(flow_chosen=(2, 99_999))) == ()
    assert chosen_in(both, "A", Selection()) == ()


def test_tables_hold_the_graph(run: Run) -> None:
    graph = flow_in(Comparison(run), "A", selection_of(flow_threshold=0.0))
    alone = Comparison(run)
    edges, nodes = edges_of(alone, run, graph), nodes_of(alone, run, graph)
    assert {len(column) for column in edges.values()} == {len(graph.edges)}
    assert {len(column) for column in nodes.values()} == {len(graph.nodes)}
    attended = [edge for edge in graph.edges if edge.kind == "attention"]
    ends = (attended[0].target.depth, attended[0].target.position, attended[0].source.position)
    edge = edge_of(graph.edges, ends)
    assert isinstance(edge, Edge)
    heads = heads_of(run, edge)
    assert sum(heads["Share of the line"]) == pytest.approx(1, abs=SAME)
    assert sum(heads["Share of the node"]) == pytest.approx(edge.share, abs=SAME)
    assert edge_of(graph.edges, (1, 0)) is None
    assert f"{graph.traced:.1%} of the final state back to embeddings" in spelled(graph)


def test_the_change_is_between_the_runs_own_shares(both: Comparison) -> None:
    """Every edge that a run's own graph has into a token of both runs stands in the change with its share."""
    chosen = selection_of(flow_threshold=0.01)
    change = change_in(both, chosen)
    assert change is not None
    pairs = {(edge.source, edge.target, edge.kind): edge for edge in change.edges}
    for side, run in both.sides.items():
        places = both.positions(run)
        for edge in flow_in(both, side, chosen).edges:
            source, target = (Place(end.depth, places.index(end.position)) for end in (edge.source, edge.target))
            if both.presence[target.position] in ("a", "b"):
                continue
            pair = pairs[source, target, edge.kind]
            assert getattr(pair, side.lower()) == pytest.approx(edge.share, abs=SAME)
            assert dict(getattr(pair, f"heads_{side.lower()}")) == pytest.approx(dict(edge.heads), abs=SAME)
            if edge.kind == "attention":
                assert edge_of(change.edges, (target.depth, target.position, source.position)) == pair


def test_the_change_of_a_run_that_edits_left_alone_is_none(run: Run, folder: str) -> None:
    untouched = runs.run(folder, run.prompt, run.bos, (Steer(1, "one two", "two", 0.0),))
    places = tuple(range(len(run.tokens)))
    change = change_in(Comparison(run, untouched, Alignment(places, places)), selection_of(flow_threshold=0.01))
    assert change is not None
    # Nothing times a direction was added: the same numbers.
    assert {edge.change for edge in change.edges} == {0.0}
    assert "None changed by 0.01 or more" in spelled_change(change)
    assert limit_of(change) == 0.1  # what does not matter has no strong colour
    steered = runs.run(folder, run.prompt, run.bos, (Steer(1, "one two", "two", 40.0),))
    change = change_in(Comparison(run, steered, Alignment(places, places)), selection_of(flow_threshold=0.01))
    assert change is not None
    assert change.changed
    assert spelled_change(change).startswith(f"{len(change.changed)} changed by at least 0.01")
    largest = max(abs(part.change) for part in (*change.edges, *change.nodes))
    assert largest > 0.1
    assert limit_of(change) == largest


def test_the_page_has_tables_of_one_run_and_of_two(run: Run, both: Comparison, headings: list[str]) -> None:
    page("flow", Comparison(run), table=True)
    assert {"Lines", "Nodes"} <= set(headings)
    page("flow", both, table=True)
    assert {"Lines A", "Nodes A", "Lines B", "Nodes B"} <= set(headings)


def test_tables_of_the_change_subtract(both: Comparison) -> None:
    change = change_in(both, selection_of(flow_threshold=0.0))
    assert change is not None
    edges, nodes = changed_edges_of(both, change), changed_nodes_of(both, change)
    assert [b - a for a, b in zip(edges["A"], edges["B"], strict=True)] == pytest.approx(list(edges["B − A"]))
    sizes = [abs(each) for each in edges["B − A"]]
    assert sizes == sorted(sizes, reverse=True)
    assert [(b or 0) - (a or 0) for a, b in zip(nodes["A"], nodes["B"], strict=True)] == pytest.approx(
        list(nodes["B − A"])
    )
    edge = next(edge for edge in change.edges if edge.kind == "attention" and edge.a and edge.b)
    heads = heads_of_both(both.a, edge)
    assert sum(heads["A"]) == pytest.approx(edge.a, abs=SAME)
    assert sum(heads["B − A"]) == pytest.approx(edge.change, abs=SAME)
    node = next(pair.place for pair in change.nodes if pair.a and pair.b)
    tokens = tokens_of_both(both, node)
    alone = tokens_of(both.a, Place(node.depth, both.positions(both.a)[node.position] or 0))
    own = dict(zip(alone["Token"], alone["Probability"], strict=True))
    for token, probability in zip(tokens["Token"], tokens["A"], strict=True):
        assert own.get(token, probability) == pytest.approx(probability, abs=1e-6)  # float32, twice computed


def test_states_of_unlike_models_are_not_compared(both: Comparison) -> None:
    assert both.b is not None
    attn_only = copy(both.b.model)
    attn_only.cfg = replace(both.b.cfg, attn_only=True)
    unlike = Comparison(both.a, replace(both.b, model=attn_only), both.alignment)
    assert lacks_change(unlike).startswith("B has no MLPs")
    assert change_in(unlike, Selection()) is None
    assert lacks_change(both) == lacks_change(Comparison(both.a)) == ""


def test_states_are_named_by_what_was_added_last(run: Run) -> None:
    assert state_names(run.cfg)[:4] == ("embed", "L0 attention", "L0 MLP", "L1 attention")
    assert state_names(replace(run.cfg, attn_only=True)) == ("embed", "L0", "L1", "L2")

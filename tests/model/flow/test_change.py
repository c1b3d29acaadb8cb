"""The change of the flow: nothing between a run and itself, the opposite the other way round, and sums that agree."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from headlight.model.base.errors import InputError
from headlight.model.flow import readout
from headlight.model.flow.change import FlowChange, FlowOf, flow_change
from headlight.model.flow.information_flow import Place
from headlight.model.measure.alignment import Alignment, align_positions, align_tokens
from tests.model.flow.test_information_flow import EXACT, graph, run, tiny

A, B = [1, 5, 5, 2, 9, 3], [1, 5, 7, 2, 9, 4, 3]


def change_of(
    a: list[int],
    b: list[int],
    threshold: float = 0.0,
    seed: int = 0,
    attn_only: bool = False,
    alignment: Alignment | None = None,
) -> FlowChange:
    """Of two prompts of one model, from the last token that they have in common."""
    model = tiny(seed, attn_only=attn_only)
    common = alignment or align_tokens(a, b)
    start = max(place for place, ends in enumerate(zip(common.a, common.b, strict=True)) if None not in ends)
    of_a, of_b = (FlowOf(run(model, tokens), model.cfg.n_layers) for tokens in (a, b))
    return flow_change(of_a, of_b, common, 1 if attn_only else 2, start, threshold)


@pytest.mark.parametrize("attn_only", [False, True])
def test_nothing_changes_between_a_run_and_itself(attn_only: bool) -> None:
    change = change_of(A, A, attn_only=attn_only)
    assert change.edges
    assert change.changed == ()
    assert {edge.change for edge in change.edges} == {pair.change for pair in change.nodes} == {0.0}


@settings(max_examples=20)
@given(seed=st.integers(0, 30), threshold=st.sampled_from([0.0, 0.03, 0.2]), attn_only=st.booleans())
def test_the_other_way_round_everything_changes_its_sign(seed: int, threshold: float, attn_only: bool) -> None:
    common = align_tokens(A, B)
    forth = change_of(A, B, threshold, seed, attn_only, common)
    back = change_of(B, A, threshold, seed, attn_only, Alignment(common.b, common.a))
    assert [pair.place for pair in forth.nodes] == [pair.place for pair in back.nodes]
    assert [pair.change for pair in forth.nodes] == [-pair.change for pair in back.nodes]
    changes = {(edge.source, edge.target, edge.kind): edge.change for edge in forth.edges}
    assert changes == {(edge.source, edge.target, edge.kind): -edge.change for edge in back.edges}
    assert all(abs(edge.change) >= threshold for edge in forth.changed)


@settings(max_examples=20)
@given(seed=st.integers(0, 30), attn_only=st.booleans())
def test_changes_into_a_node_sum_to_zero_and_its_shares_to_one(seed: int, attn_only: bool) -> None:
    change = change_of(A, B, seed=seed, attn_only=attn_only)
    for pair in change.nodes:
        if pair.place.depth == 0 or pair.a is None or pair.b is None:
            continue
        into = [edge for edge in change.edges if edge.target == pair.place]
        assert sum(edge.a for edge in into) + pair.a.bias + pair.a.rest == pytest.approx(1, abs=EXACT)
        assert sum(edge.b for edge in into) + pair.b.bias + pair.b.rest == pytest.approx(1, abs=EXACT)
        beside = pair.b.bias + pair.b.rest - pair.a.bias - pair.a.rest
        assert sum(edge.change for edge in into) + beside == pytest.approx(0, abs=EXACT)
        for edge in into:
            if edge.kind == "attention":
                assert sum(b - a for _, a, b in edge.heads) == pytest.approx(edge.change, abs=EXACT)


def test_followed_along_everything_each_side_is_the_runs_own_graph() -> None:
    """With a threshold of 0 nothing is cut off in either run, so that both are as each is alone."""
    model, common = tiny(0), align_tokens(A, B)
    change = change_of(A, B)
    for side, tokens, positions in (("a", A, common.a), ("b", B, common.b)):
        alone = graph(model, tokens, start=positions[change.start.position])
        places = {position: place for place, position in enumerate(positions)}
        flows = {(node.place.depth, places[node.place.position]): node.flow for node in alone.nodes}
        mine = {pair.place: node.flow for pair in change.nodes if (node := getattr(pair, side))}
        assert {place: flow for place, flow in mine.items() if flow} == pytest.approx(flows, abs=EXACT)
        shares = {(edge.source, edge.target, edge.kind): edge.share for edge in alone.edges}
        for edge in change.edges:
            ends = [Place(end.depth, positions[end.position] or 0) for end in (edge.source, edge.target)]
            has = positions[edge.source.position] is not None
            expected = shares.get((*ends, edge.kind), 0.0) if has else 0.0  # type: ignore[arg-type]
            assert getattr(edge, side) == pytest.approx(expected, abs=EXACT)


def test_what_one_run_lacks_is_said_and_takes_nothing() -> None:
    common, change = align_tokens(A, B), change_of(A, B)
    only_b = [place for place, position in enumerate(common.a) if position is None]
    assert len(only_b) == 2
    for pair in change.nodes:
        assert (pair.a is None) == (pair.place.position in only_b)
        if pair.a is None and pair.b is not None:
            assert pair.change == pair.b.flow
    assert not [edge for edge in change.edges if edge.target.position in only_b]
    from_b = [edge for edge in change.edges if edge.source.position in only_b]
    assert from_b
    assert {edge.a for edge in from_b} == {0.0}
    assert all(edge.change == edge.b > 0 for edge in from_b)


def test_an_edge_is_followed_in_both_where_it_is_large_enough_in_one() -> None:
    """A threshold between an edge's two shares cuts it off in neither run."""
    whole = change_of(A, B)
    edge = max(whole.edges, key=lambda edge: abs(edge.change))
    between = (edge.a + edge.b) / 2
    kept = {(each.source, each.target, each.kind): each for each in change_of(A, B, between).edges}
    assert (kept[edge.source, edge.target, edge.kind].a, kept[edge.source, edge.target, edge.kind].b) == pytest.approx(
        (edge.a, edge.b), abs=EXACT
    )


def test_of_a_deeper_run_the_states_that_both_have_are_compared() -> None:
    """The shallow run is the deep one's first layer: shares are the same, what comes to them is not."""
    supply, common = run(tiny(1), A), align_positions(len(A), len(A))
    change = flow_change(FlowOf(supply, 2), FlowOf(supply, 1), common, 2, 5, 0.0)
    assert change.start == Place(2, 5)
    assert max(pair.place.depth for pair in change.nodes) == 2
    assert {edge.change for edge in change.edges} == {0.0}
    top = {pair.place.position: pair for pair in change.nodes if pair.place.depth == 2}
    assert [position for position, pair in top.items() if pair.b and pair.b.flow] == [5]
    biases = sum(node.flow * (node.bias + node.rest) for node in graph(tiny(1), A).nodes if node.place.depth > 2)
    assert sum(pair.a.flow for pair in top.values() if pair.a) == pytest.approx(1 - biases, abs=EXACT)
    assert len([position for position, pair in top.items() if pair.a and pair.a.flow]) > 1
    with pytest.raises(InputError, match="at least one"):
        flow_change(FlowOf(supply, 2), FlowOf(supply, 0), common, 2, 5, 0.0)


def test_what_cannot_be_started_from_is_refused() -> None:
    model, common = tiny(0), align_tokens(A, B)
    a, b = (FlowOf(run(model, tokens), 2) for tokens in (A, B))
    with pytest.raises(InputError, match="that both have"):
        flow_change(a, b, common, 2, common.a.index(None), 0.1)
    with pytest.raises(InputError, match="give 0 to 1"):
        flow_change(a, b, common, 2, 0, -0.1)


def test_tokens_of_a_node_in_both_runs() -> None:
    a, b = torch.tensor([3.0, 1.0, 0.0, 2.0, 9.0]), torch.tensor([0.0, 1.0, 3.0, 2.5])
    tokens = readout.readout_pair(a, b, 2)
    of_a, of_b = a.softmax(0), b.softmax(0)
    assert tokens.tokens.values.tolist() == [2, 3]  # A's likeliest is none that B could say
    torch.testing.assert_close(tokens.probabilities_a.values, of_a[[2, 3]])
    torch.testing.assert_close(tokens.probabilities_b.values, of_b[[2, 3]])
    assert (tokens.ranks_a.values.tolist(), tokens.ranks_b.values.tolist()) == ([5, 3], [1, 2])
    assert len(readout.readout_pair(a, b, 10).tokens.values) == 4

"""Influence and pruning against paths counted one by one."""

import time
from dataclasses import replace

import pytest
import torch
from torch import Tensor

from headlight.model.base.errors import InputError
from headlight.model.graph import Graph, Node, Target
from headlight.model.graph.influence import graph_scores, influence, normalised, prune


def a_graph(seed: int = 0, n_followed: int = 7, n_begin: int = 4) -> Graph:
    """Random edges among neurons in order, from two tokens and two errors; the last is the logit."""
    torch.manual_seed(seed)
    edges = torch.randn(n_followed, n_followed + n_begin, dtype=torch.float64)
    edges[:, :n_followed] *= torch.ones(n_followed, n_followed).tril(-1)
    neurons = [Node("neuron", 0, 0, index) for index in range(n_followed - 1)]
    begin = [Node("token", 0, None, 5), Node("token", 1, None, 6), Node("error", 0, 0), Node("error", 1, 0)]
    zeros = torch.zeros(n_followed, dtype=torch.float64)
    return Graph(
        model="m",
        prompt="p",
        token_ids=(5, 6),
        tokens=("a", "b"),
        texts=("a", "b"),
        target_text="c",
        target_label="c",
        target_less="",
        dictionary="",
        folded=True,
        target=Target(9, None, 1, 1.0, 0.5),
        nodes=(*neurons, Node("logit", 1, None, 9), *begin),
        edges=edges,
        bias=zeros,
        activations=zeros,
        slopes=zeros,
        effects=torch.zeros(n_followed + n_begin, dtype=torch.float64),
        n_candidates=n_followed,
    )


def by_paths(shares: Tensor, node: int, source: int) -> float:
    """The product of the shares along every way from a source to a node, summed way by way."""
    direct = float(shares[node, source])
    return direct + sum(
        float(shares[node, between]) * by_paths(shares, between, source)
        for between in range(len(shares))
        if shares[node, between] != 0
    )


def test_influence_is_the_sum_over_all_ways() -> None:
    graph = a_graph()
    weights = torch.zeros(7)
    weights[-1] = 1.0
    influences = influence(graph.edges, weights)
    shares = normalised(graph.edges)
    for source in range(11):
        assert float(influences[source]) == pytest.approx(by_paths(shares, 6, source), abs=1e-12)
    # Every way begins somewhere that is not followed: what arrives there is all that left the target.
    first = shares[0]  # the first neuron reads tokens and errors alone
    assert float(first[:7].sum()) == 0
    assert float(influences[7:].sum()) == pytest.approx(1.0)


def test_a_pruned_graph_has_the_shares_that_are_asked() -> None:
    graph = a_graph()
    for nodes, edges in ((0.5, 0.5), (0.8, 0.98), (1.0, 1.0)):
        pruned = prune(graph, nodes, edges)
        assert pruned.node_share >= nodes - 1e-9 or edges < 1
        assert bool(pruned.nodes[[6, 7, 8]].all())  # the logit and both tokens
        rows, columns = pruned.edges.nonzero().T
        assert bool(pruned.nodes[rows].all())
        assert bool(pruned.nodes[columns].all())
        for place in pruned.nodes.nonzero().flatten().tolist():
            if place not in (6, 7, 8):
                assert bool(pruned.edges[:, place].any())
    whole = prune(graph, 1.0, 1.0)
    assert whole.node_share == pytest.approx(1.0)
    assert whole.edge_share == pytest.approx(1.0)
    assert int(whole.edges.sum()) == int(graph.edges.count_nonzero())


def test_the_fewest_nodes_are_kept() -> None:
    """One neuron carries nine tenths of the logit's input: it alone stays beside tokens and logit."""
    graph = a_graph(n_followed=3)
    edges = torch.zeros(3, 7, dtype=torch.float64)
    edges[2, 0], edges[2, 1], edges[0, 3], edges[1, 3] = 9.0, 1.0, 1.0, 1.0
    pruned = prune(replace(graph, edges=edges), 0.9, 1.0)
    assert pruned.nodes.tolist() == [True, False, True, True, True, False, False]
    assert pruned.influence.tolist() == pytest.approx([0.9, 0.1, 0, 1.0, 0, 0, 0])
    assert pruned.node_share == pytest.approx(1.9 / 2)


def test_scores_are_what_tokens_have_of_where_ways_begin() -> None:
    graph = a_graph(n_followed=2)
    edges = torch.zeros(2, 6, dtype=torch.float64)
    edges[1, 0], edges[1, 2], edges[0, 2], edges[0, 4] = 3.0, 1.0, 1.0, -3.0  # neuron 3/4, of which its error 3/4
    scores = graph_scores(replace(graph, edges=edges))
    assert scores.replacement == pytest.approx(0.25 + 0.75 * 0.25)
    # The target is explained in full, the neuron, with an influence of 3/4, to a quarter; tokens and errors, which have
    # no inputs, in full, and together they have an influence of 1.
    assert scores.completeness == pytest.approx((1 + 0.75 * 0.25 + 1) / 2.75)


@pytest.mark.parametrize(("nodes", "edges"), [(0.0, 0.5), (0.5, 1.1)])
def test_a_share_that_is_none_is_refused(nodes: float, edges: float) -> None:
    with pytest.raises(InputError, match="above 0 and at most 1"):
        prune(a_graph(), nodes, edges)


def chain(n_followed: int) -> Graph:
    """One token, and neurons of which each feeds the next, the logit last."""
    edges = torch.zeros(n_followed, n_followed + 4, dtype=torch.float64)
    edges[range(1, n_followed), range(n_followed - 1)] = 1.0
    edges[0, n_followed] = 1.0
    return replace(a_graph(n_followed=n_followed), edges=edges)


def test_a_node_goes_if_it_is_on_no_way_from_a_beginning_to_the_logit() -> None:
    """By the definition: ways are followed from where they begin, and back from the logit."""
    for seed in range(20):
        graph = a_graph(seed)
        graph = replace(graph, edges=graph.edges * (torch.rand(graph.edges.shape) < 0.25))
        pruned, feeds = prune(graph, 1.0, 1.0), graph.edges != 0
        fed, feeding = {7, 8, 9, 10}, {6}
        for place in range(7):
            fed |= {place} if feeds[place, list(fed)].any() else set()
        for place in reversed(range(6)):
            feeding |= {place} if feeds[list(feeding & set(range(7))), place].any() else set()
        for place in range(6):
            assert bool(pruned.nodes[place]) == (place in fed & feeding), (seed, place)


def test_a_long_chain_is_pruned_in_its_length() -> None:
    """A node a pass over all edges took 14 s of a chain of 1,500; each is a matter of milliseconds."""
    graph = chain(1500)
    cut = replace(graph, edges=graph.edges * (torch.arange(1504) != 1500))  # nothing feeds it, so that all of it goes
    begun = time.process_time()
    whole, nothing = prune(graph, 1.0, 1.0), prune(cut, 1.0, 1.0)
    assert time.process_time() - begun < 5
    assert int(whole.nodes.sum()) == 1502  # the other token stays, errors do not
    assert nothing.nodes.nonzero().flatten().tolist() == [1499, 1500, 1501]
    assert whole.influence[:1499].tolist() == [1.0] * 1499

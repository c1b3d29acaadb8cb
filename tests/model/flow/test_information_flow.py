"""Flow against sums worked out by hand, one summand at a time, and models whose ways are known."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from headlight.model.base.errors import InputError
from headlight.model.flow import information_flow, readout
from headlight.model.flow import shares as flow_shares
from headlight.model.flow.information_flow import Flow, Place, Supply
from headlight.model.flow.shares import Summands
from headlight.model.nn.cache import ActivationCache
from headlight.model.nn.config import TransformerConfig
from headlight.model.nn.transformer import Transformer
from headlight.recipes.teaching_weights import induction_circuit

# All in float64, 1e-16 of entries of size 1 to 100; shares divide by proximities, which can be 1e-5 of those.
EXACT = 1e-9


def tiny(seed: int, **changes: object) -> Transformer:
    """A random model with weights large enough to matter, biases and all."""
    settings: dict[str, object] = {"n_layers": 2, "d_model": 8, "n_ctx": 8, "n_heads": 2, "d_head": 4, "d_vocab": 11}
    settings |= {"d_mlp": 16, "act_fn": "gelu"} | changes
    torch.manual_seed(seed)
    model = Transformer(TransformerConfig(**settings)).requires_grad_(False).eval().double()  # type: ignore[arg-type]
    for parameter in model.parameters():
        parameter.normal_(std=0.5)
    return model


def supply_of(model: Transformer, cache: ActivationCache) -> Supply:
    """What each layer adds up, from all activations of a run."""

    def supply(layer: int, positions: list[int]) -> Summands:
        whole, of_layer = not model.cfg.attn_only, f"blocks.{layer}.attn"
        return Summands(
            pre=cache["resid_pre", layer][0, positions],
            weights=cache["pattern", layer][0][:, positions],
            v=cache["v", layer][0],
            W_O=model.get_parameter(f"{of_layer}.W_O"),
            b_O=model.get_parameter(f"{of_layer}.b_O"),
            mid=cache["resid_mid" if whole else "resid_post", layer][0, positions],
            mlp_out=cache["mlp_out", layer][0, positions] if whole else None,
            post=cache["resid_post", layer][0, positions] if whole else None,
        )

    return supply


def run(model: Transformer, tokens: list[int]) -> Supply:
    return supply_of(model, model.run_with_cache(torch.tensor([tokens]))[1])


def graph(model: Transformer, tokens: list[int], threshold: float = 0.0, start: int | None = None) -> Flow:
    at = len(tokens) - 1 if start is None else start
    return information_flow.flow(run(model, tokens), model.cfg.n_layers, model.cfg.states, at, threshold)


@pytest.mark.parametrize(
    ("summands", "expected"),
    [
        # ‖y‖ = 4; without x₁ 3 are missing... left are (1, 0) and (3, 0): nearer by 3 and by 1.
        ([[3.0, 0.0], [1.0, 0.0]], [0.75, 0.25]),
        # Apart: each brings its own length.
        ([[3.0, 0.0], [0.0, -1.0]], [0.75, 0.25]),
        # y = (1, 0): x₁ overshoots by as much as y is long, 1 − |1 − 2| = 0; x₂ leads away, 1 − |1 + 1| < 0; x₃ is y.
        ([[2.0, 0.0], [-1.0, 0.0], [0.0, 0.0]], [2 / 3, 1 / 3, 0.0]),
        # y = (1, 1): left of it are 1 − |1 − 4|..., all too far or zero: by length.
        ([[2.0, 1.0], [-1.0, 0.0]], [1.0, 0.0]),
        # All zero: the first.
        ([[0.0, 0.0], [0.0, 0.0]], [1.0, 0.0]),
    ],
)
def test_shares_of_sums_by_hand(summands: list[list[float]], expected: list[float]) -> None:
    given_ = torch.tensor(summands)
    shares = flow_shares.shares(given_, given_.sum(0))
    assert (shares.unit, shares.axes) == ("share", ("summand",))
    torch.testing.assert_close(shares.values, torch.tensor(expected))


def one_at_a_time(layer: Summands, query: int) -> dict[object, Tensor]:
    """The mid node's summands as vectors, each spelled out."""
    parts: dict[object, Tensor] = {"residual": layer.pre[query], "bias": layer.b_O}
    n_heads, _, n_keys = layer.weights.shape
    for head in range(n_heads):
        for key in range(n_keys):
            parts[head, key] = layer.weights[head, query, key] * layer.v[key, head] @ layer.W_O[head]
    parts["rest"] = layer.mid[query] - torch.stack(list(parts.values())).sum(0)
    return parts


def spelled(parts: dict[object, Tensor], total: Tensor) -> dict[object, float]:
    """The formula, one summand at a time in float64."""
    y = total.double()
    near = {name: max(0.0, float(y.abs().sum() - (y - x.double()).abs().sum())) for name, x in parts.items()}
    if sum(near.values()) <= flow_shares.ROUNDING * float(y.abs().sum()):
        near = {name: float(x.abs().sum()) for name, x in parts.items()}
    return {name: each / sum(near.values()) for name, each in near.items()}


CONFIGS = st.fixed_dictionaries(
    {
        "attn_only": st.booleans(),
        "normalization_type": st.sampled_from(["LN", "LNPre", None]),
        "attention_dir": st.sampled_from(["causal", "bidirectional"]),
    }
)


@given(seed=st.integers(0, 99), changes=CONFIGS)
def test_shares_are_the_formulas_sum_to_one_and_leave_no_rest(seed: int, changes: dict[str, object]) -> None:
    supply = run(tiny(seed, **changes), [1, 5, 5, 2])
    for layer in range(2):
        summed = supply(layer, [0, 3, 1])
        shares = flow_shares.mid_shares(summed)
        for query in range(3):
            expected = spelled(one_at_a_time(summed, query), summed.mid[query])
            of_edges = shares.edges.values[query]
            assert float(shares.residual.values[query]) == pytest.approx(expected["residual"], abs=EXACT)
            assert float(shares.bias.values[query]) == pytest.approx(expected["bias"], abs=EXACT)
            assert float(shares.rest.values[query]) == pytest.approx(0, abs=EXACT)
            for (head, key), share in ((name, each) for name, each in expected.items() if isinstance(name, tuple)):
                assert float(of_edges[head, key]) == pytest.approx(share, abs=EXACT)
        total = shares.residual.values + shares.edges.values.sum((1, 2)) + shares.bias.values + shares.rest.values
        torch.testing.assert_close(total, torch.ones_like(total))
        if summed.post is not None and summed.mlp_out is not None:
            after = flow_shares.post_shares(summed)
            expected = spelled({"residual": summed.mid[1], "mlp": summed.mlp_out[1]}, summed.post[1])
            assert float(after.residual.values[1]) == pytest.approx(expected["residual"], abs=EXACT)
            assert float(after.mlp.values[1]) == pytest.approx(expected["mlp"], abs=EXACT)
            total = after.residual.values + after.mlp.values + after.rest.values
            torch.testing.assert_close(total, torch.ones_like(total))


def test_what_an_edit_added_is_the_rest() -> None:
    supply = run(tiny(3), [1, 5, 2])
    summed = supply(1, [2])
    assert summed.post is not None
    added = torch.zeros_like(summed.mid)
    added[0, 0] = 50.0 + summed.mid.abs().sum()
    edited = Summands(**{**vars(summed), "mid": summed.mid + added, "post": summed.post + 2 * added})
    assert float(flow_shares.mid_shares(edited).rest.values) > 0.5
    assert float(flow_shares.post_shares(edited).rest.values) == pytest.approx(
        float(flow_shares.post_shares(edited).residual.values), abs=0.1
    )


@pytest.mark.parametrize("attn_only", [False, True])
def test_threshold_zero_keeps_everything_and_the_flow_is_conserved(attn_only: bool) -> None:
    model, tokens = tiny(7, attn_only=attn_only), [1, 5, 5, 2, 9]
    flow = graph(model, tokens)
    depth = 2 if attn_only else 4
    assert flow.start == Place(depth, 4)
    incoming = {node.place: node.bias + node.rest for node in flow.nodes}
    for edge in flow.edges:
        incoming[edge.target] += edge.share
    assert all(total == pytest.approx(1, abs=EXACT) for place, total in incoming.items() if place.depth)
    lowest = flow_shares.mid_shares(run(model, tokens)(0, list(range(5))))
    taken = {(edge.target.position, edge.source.position) for edge in flow.edges if edge.target.depth == 1}
    of_keys = lowest.edges.values.sum(1) + lowest.residual.values.diag()
    reached = {node.place.position for node in flow.nodes if node.place.depth == 1}
    assert taken == {(query, key) for query, key in of_keys.nonzero().tolist() if query in reached}
    # Whatever arrives at an embedding, ends in a bias or is rounded away, all together, is the start.
    ended = sum(node.flow * (1 if node.place.depth == 0 else node.bias + node.rest) for node in flow.nodes)
    assert ended == pytest.approx(1, abs=EXACT)


@given(seed=st.integers(0, 20), low=st.floats(0, 0.3), high=st.floats(0, 0.6), attn_only=st.booleans())
def test_a_higher_threshold_gives_a_part_of_the_graph(seed: int, low: float, high: float, attn_only: bool) -> None:
    model, tokens = tiny(seed, attn_only=attn_only), [3, 1, 4, 1, 5]
    low, high = sorted((low, high))
    wide, narrow = graph(model, tokens, low), graph(model, tokens, high)
    shares = {(edge.source, edge.target, edge.kind): edge.share for edge in wide.edges}
    for edge in narrow.edges:
        # The same numbers up to the order of sums, which depends on how many positions are asked for at once.
        assert edge.share == pytest.approx(shares[edge.source, edge.target, edge.kind], abs=EXACT)
        assert edge.share >= high
    flows = {node.place: node.flow for node in wide.nodes}
    assert all(node.flow <= flows[node.place] + EXACT for node in narrow.nodes)
    assert found_from_start(narrow)


def found_from_start(flow: Flow) -> bool:
    """Whether every node is reached from the start by edges of the graph."""
    reached = {flow.start}
    for edge in flow.edges:  # from the start down
        assert edge.target in reached
        reached.add(edge.source)
    return reached == {node.place for node in flow.nodes}


def test_an_edges_heads_are_ranked_and_sum_to_it() -> None:
    model, tokens = tiny(5), [1, 5, 5, 2]
    flow, supply = graph(model, tokens), run(model, tokens)
    edge = next(each for each in flow.edges if each.kind == "attention" and each.source.position == 1)
    layer = (edge.target.depth - 1) // 2
    of_pair = flow_shares.mid_shares(supply(layer, [edge.target.position])).edges.values[0, :, 1]
    assert dict(edge.heads) == pytest.approx(dict(enumerate(of_pair.tolist())), abs=EXACT)
    values = [share for _, share in edge.heads]
    assert values == sorted(values, reverse=True)
    assert sum(values) == pytest.approx(edge.share, abs=EXACT)
    assert all(not each.heads for each in flow.edges if each.kind != "attention")


def previous_token_model() -> Transformer:
    """Two layers: head 0 copies the token before, head 1 takes the present one away, so that they replace it."""
    d_vocab, n_ctx = 6, 8
    cfg = TransformerConfig(
        n_layers=2, d_model=d_vocab + n_ctx, n_ctx=n_ctx, n_heads=2, d_head=n_ctx, d_vocab=d_vocab,
        attn_only=True, normalization_type=None, attn_scale=1.0,
    )  # fmt: skip
    model = Transformer(cfg).requires_grad_(False).eval().double()
    for parameter in model.parameters():
        parameter.zero_()
    token, place = torch.eye(cfg.d_model).split([d_vocab, n_ctx])
    model.embed.W_E.copy_(token)
    model.pos_embed.get_parameter("W_pos").copy_(place)
    entries = torch.eye(n_ctx)
    for block in model.blocks:
        attn = block.get_submodule("attn")
        W_Q, W_K, W_V, W_O = (attn.get_parameter(name) for name in ("W_Q", "W_K", "W_V", "W_O"))
        for head, back, sign in ((0, 1, 1.0), (1, 0, -1.0)):
            W_Q[head] = 100 * place[back:].T @ entries[: n_ctx - back]
            W_K[head] = place.T @ entries
            W_V[head] = token.T @ entries[:d_vocab]
            W_O[head] = sign * entries[:d_vocab].T @ token
    return model


def test_a_previous_token_head_that_replaces_the_token_carries_the_whole_flow() -> None:
    flow = graph(previous_token_model(), [0, 1, 2, 3, 4], threshold=0.5)
    ways = [(edge.source, edge.target, edge.kind) for edge in flow.edges]
    assert ways == [(Place(1, 3), Place(2, 4), "attention"), (Place(0, 2), Place(1, 3), "attention")]
    for edge in flow.edges:
        (head, share), (other, nothing) = edge.heads
        assert (head, other) == (0, 1)
        assert share == pytest.approx(1, abs=EXACT)
        assert nothing == pytest.approx(0, abs=EXACT)
    assert [node.flow for node in flow.nodes] == pytest.approx([1, 1, 1], abs=EXACT)


def test_the_induction_circuit_flows_from_the_token_after_the_earlier_copy() -> None:
    """At the last mid node four entries are 1: token, place and token before, and what the induction head predicts."""
    flow = graph(induction_circuit().double(), [0, 1, 2, 3, 4, 2], threshold=0.1)
    into = {(edge.kind, edge.source.position): edge for edge in flow.edges if edge.target == flow.start}
    assert set(into) == {("residual", 5), ("attention", 3)}
    assert into["residual", 5].share == pytest.approx(3 / 4, abs=EXACT)
    assert into["attention", 3].share == pytest.approx(1 / 4, abs=EXACT)
    assert dict(into["attention", 3].heads) == pytest.approx({0: 1 / 4, 1: 0, 2: 0}, abs=EXACT)


def test_only_positions_that_are_reached_are_asked_for() -> None:
    supply, requests = run(previous_token_model(), [0, 1, 2, 3, 4]), list[list[int]]()

    def watched(layer: int, positions: list[int]) -> Summands:
        requests.append(positions)
        return supply(layer, positions)

    information_flow.flow(watched, 2, 1, 4, 0.5)
    assert requests == [[4], [3]]


def test_a_threshold_that_nothing_passes_leaves_the_start_alone() -> None:
    flow = graph(induction_circuit().double(), [0, 1, 2, 3, 1], threshold=0.9)
    assert [node.place for node in flow.nodes] == [flow.start]
    assert flow.edges == ()


def test_what_is_no_share_and_no_layer_is_refused() -> None:
    supply = run(tiny(1), [1, 2])
    with pytest.raises(InputError, match="give 0 to 1"):
        information_flow.flow(supply, 2, 2, 1, 1.5)
    with pytest.raises(InputError, match="at least 1"):
        information_flow.flow(supply, 0, 2, 1, 0.1)


def test_a_nodes_tokens_and_their_ranks_below() -> None:
    tokens = readout.readout(torch.tensor([0.0, 3.0, 2.0, 2.5]), torch.tensor([5.0, 1.0, 1.0, 4.0]), 3)
    assert tokens.tokens.values.tolist() == [1, 3, 2]
    assert tokens.probabilities.values.tolist() == pytest.approx(
        torch.tensor([0.0, 3, 2, 2.5]).softmax(0)[[1, 3, 2]].tolist()
    )
    assert tokens.ranks_below is not None
    assert tokens.ranks_below.values.tolist() == [3, 2, 3]  # of two alike, none is before the other
    assert readout.readout(torch.zeros(4), None, 4).ranks_below is None
    assert readout.readout(torch.tensor([0.0, 2.0, 1.0]), None, 10).tokens.values.tolist() == [1, 2, 0]

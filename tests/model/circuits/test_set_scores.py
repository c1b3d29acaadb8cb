"""Edges scored over a set, against EAP-IG's own program, hand-made hooks, and one row at a time."""

import itertools
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from headlight.model import Transformer, load
from headlight.model.base.errors import InputError
from headlight.model.circuits import Receiver, Sender, edge_scores, split_rows, wiring
from headlight.model.circuits.evaluation import evaluate, measure
from headlight.model.circuits.scoring import Method
from headlight.model.circuits.set_scores import EdgeScores
from headlight.model.circuits.units import UnitMask
from headlight.model.nn.hooks import Collect, HookPoint
from headlight.model.prompt_sets.encoding import TokenRow
from headlight.model.prompt_sets.metric import metric
from tests.model.circuits.agreement import NOUNS, by_name, rows_of, without_positions
from tests.tiny import open_tiny

# hannamw/EAP-IG 795f560 with TransformerLens 3.9 and the weights of `mini`, on the pairs of `agreement.py` without BOS,
# five steps, metric: mean logit of the answers less that of the wrong ones. The sum of all scores' sizes, and some.
EAP_IG: dict[Method, tuple[float, dict[str, float]]] = {
    "eap": (
        56.5171775,
        {
            "m3->logits": -7.0923038,
            "a3.h0->m3": -6.0022187,
            "input->a0.h0<v>": -2.4223633,
            "input->a1.h2<k>": -0.0415888,
            "a0.h1->a2.h3<q>": -0.0029531,
        },
    ),
    "eap_ig_inputs": (
        78.8901294,
        {"m3->logits": -8.5186291, "input->m0": -5.0727925, "input->a1.h2<k>": 0.0013875, "m0->m2": -1.1317914},
    ),
    "eap_ig_activations": (
        52.7321251,
        {"m3->logits": -8.2925463, "a3.h0->m3": -6.2211833, "input->a1.h2<k>": -0.0199983, "m0->m2": -0.691519},
    ),
    "clean_corrupted": (
        57.3961313,
        {"m3->logits": -7.3403516, "input->m0": -2.2296627, "a0.h1->a2.h3<q>": -0.0006247, "m0->m2": -0.5815929},
    ),
}
# The same scores' circuits by hannamw/MIB-circuit-track b759df3, evaluation.py, on the same rows: CPR and CMD, edges
# after pruning at 2, 5, 10, 20 and 50 %, and faithfulness there; and that of EAP-IG's greedy choice.
MIB: dict[Method, tuple[float, float, list[int], list[float], list[float]]] = {
    "eap": (
        0.9197056,
        0.0792944,
        [6, 21, 37, 82, 239],
        [0.0717314, 0.7968342, 0.8886977, 0.9123975, 0.9681644],
        [0.1281735, 0.8131481, 0.8693294, 0.9184245, 0.9681644],
    ),
    "eap_ig_inputs": (
        0.9383252,
        0.0644235,
        [7, 19, 44, 92, 239],
        [0.0909138, 0.6599741, 0.9545716, 0.9332037, 1.0046859],
        [0.177716, 0.6477314, 0.9560201, 0.9332037, 1.0046859],
    ),
    "eap_ig_activations": (
        0.9394515,
        0.0595485,
        [9, 23, 42, 93, 239],
        [0.1804616, 0.7939342, 0.8898212, 0.9527797, 0.991981],
        [0.1804616, 0.7939342, 0.9421003, 0.962455, 0.991981],
    ),
    "clean_corrupted": (
        0.9308761,
        0.0749374,
        [6, 21, 42, 94, 239],
        [0.0717314, 0.705638, 0.9162408, 0.8954557, 1.0085168],
        [0.1804616, 0.705638, 0.9098231, 0.8974403, 1.0085168],
    ),
}


@pytest.fixture(scope="module")
def mini() -> Transformer:
    return load("mini")


@pytest.fixture(scope="module")
def rows(mini: Transformer) -> tuple[TokenRow, ...]:
    return rows_of(mini)


@pytest.mark.parametrize("method", EAP_IG)
def test_scores_and_circuits_are_those_of_other_programs(
    method: Method, mini: Transformer, rows: tuple[TokenRow, ...]
) -> None:
    scores = edge_scores(mini, rows, method, steps=5, rule="eap_ig")
    total, some = EAP_IG[method]
    ours = by_name(scores.wires, scores.mean, mini)
    # Float32 sums of 479 scores, of streams added up in another order.
    assert sum(map(abs, ours.values())) == pytest.approx(total, rel=1e-5)
    assert {name: ours[name] for name in some} == pytest.approx(some, rel=1e-5, abs=1e-5)
    cpr, cmd, n_edges, top, greedy = MIB[method]
    result = evaluate(mini, rows, scores)
    assert list(result.n_edges[4:9]) == n_edges
    assert result.faithfulness[4:9].tolist() == pytest.approx(top, abs=1e-5)
    assert (result.cpr, result.cmd) == pytest.approx((cpr, cmd), abs=1e-5)
    assert result.faithfulness[-1] == pytest.approx(1, abs=1e-5)
    by_greed = evaluate(mini, rows, scores, selection="greedy", shares=(0.02, 0.05, 0.1, 0.2, 0.5))
    assert by_greed.faithfulness.tolist() == pytest.approx(greedy, abs=1e-5)


def test_baselines_and_flow_are_those_of_eap_ig() -> None:
    """With positions of zero, as there they are no part of the input node; the sum of all sizes, and some edges."""
    model = without_positions()
    rows = rows_of(model)
    theirs: list[tuple[EdgeScores, float, dict[str, float]]] = [
        (
            edge_scores(model, rows, "eap", "zero"),
            45.0282864,
            {"input->m0": -1.6700739, "a0.h3->m0": 1.1772859, "a0.h1->a2.h3<q>": -0.0068375},
        ),
        (
            edge_scores(model, rows, "eap_ig_activations", "zero", rule="eap_ig"),
            27.0005174,
            {"m2->logits": -0.867357, "m1->m2": -0.4677387},
        ),
        (edge_scores(model, rows, "flow"), 53.0, {"input->a1.h2<k>": 0.0979209, "m0->m2": 0.0600961}),
    ]
    for scores, total, some in theirs:
        ours = by_name(scores.wires, scores.mean, model)
        assert sum(map(abs, ours.values())) == pytest.approx(total, rel=1e-5)  # of flow: 1 into each of 53 receivers
        assert {name: ours[name] for name in some} == pytest.approx(some, rel=1e-5, abs=1e-5)


def test_means_by_position_are_those_of_eap_ig(mini: Transformer, rows: tuple[TokenRow, ...]) -> None:
    scores = edge_scores(mini, rows, "eap", "mean_by_position")
    ours = by_name(scores.wires, scores.mean, mini)
    some = {"m3->logits": -3.61847, "m1->a3.h0<v>": -1.0483388, "input->a1.h2<k>": -0.0351012}
    assert sum(map(abs, ours.values())) == pytest.approx(30.2249100, rel=1e-5)
    assert {name: ours[name] for name in some} == pytest.approx(some, rel=1e-5, abs=1e-5)


def test_nodes_and_neurons_are_those_of_eap_ig(mini: Transformer, rows: tuple[TokenRow, ...]) -> None:
    """Of the embeddings and heads: EAP-IG's program takes an MLP's gradient at what it reads, not at what it writes."""
    nodes = edge_scores(mini, rows, "eap", unit="nodes")
    theirs = [-6.755998, -2.768074, -1.998491, 0.003789, 0.263646, -0.022177, 0.11277, -0.069049, 0.035294]
    heads = [place for place in range(10) if place != 5]
    assert nodes.mean[heads].tolist() == pytest.approx(theirs, rel=1e-5, abs=1e-5)
    neurons = edge_scores(mini, rows, "eap", unit="neurons")
    first = [-0.0028121, -0.0073311, 0.0032348, 0.0087145, -0.0029346]
    assert neurons.mean[6, :5].tolist() == pytest.approx(first, abs=1e-6)
    torch.testing.assert_close(neurons.by_row.sum(-1), nodes.by_row, rtol=1e-4, atol=1e-4)  # sums of 128 numbers
    edges = edge_scores(mini, rows, "eap")
    torch.testing.assert_close(edges.by_row.sum(1), nodes.by_row, rtol=1e-4, atol=1e-4)  # all edges that leave it


def final_stream(model: Transformer, tokens: torch.Tensor) -> torch.Tensor:
    keep = Collect([f"blocks.{model.cfg.n_layers - 1}.hook_resid_post"])
    model(tokens[None], tap=keep)
    return next(iter(keep.kept.values()))[0]


@torch.no_grad()
def test_exact_scores_are_the_model_with_one_write_replaced(mini: Transformer, rows: tuple[TokenRow, ...]) -> None:
    """Into the logits by the final stream; of a node by the model itself, in which its write is the other prompt's."""
    row, wires = rows[0], edge_scores(mini, rows[0], "eap").wires
    scores = edge_scores(mini, row, "exact").by_row[0]
    assert row.corrupted is not None
    names = ["blocks.3.hook_mlp_out", "blocks.1.hook_mlp_out", "hook_embed"]
    clean, other = (Collect(names) for _ in range(2))
    mini(row.clean[None], tap=clean)
    mini(row.corrupted[None], tap=other)
    final = final_stream(mini, row.clean)

    def value(stream: torch.Tensor) -> float:
        return float(metric(mini.to_logits(stream[None, -1:])[:, 0], [row]))

    for name, sender in ((names[0], Sender(3)), (names[1], Sender(1)), (names[2], Sender())):
        change = (other.kept[name] - clean.kept[name])[0]
        at = wires.receivers.index(Receiver()), wires.senders.index(sender)
        # Float32 logits of size 10.
        assert float(scores[at]) == pytest.approx(value(final + change) - value(final), abs=1e-4)
    nodes = edge_scores(mini, row, "exact", unit="nodes").by_row[0]
    name = names[1]
    patched = mini.run_with_hooks(row.clean[None], fwd_hooks=[(name, lambda _, hook: other.kept[name])])
    theirs = float(metric(patched[:, -1], [row])) - value(final)
    assert float(nodes[wires.senders.index(Sender(1))]) == pytest.approx(theirs, abs=1e-4)


def test_rows_of_any_length_are_scored_as_they_are_alone(mini: Transformer, rows: tuple[TokenRow, ...]) -> None:
    longer = rows_of(mini, [("girl", "girls", "garden"), ("dog", "dogs", "old house")])
    mixed = [replace(row, number=number) for number, row in enumerate((rows[0], *longer, rows[1]), start=1)]
    assert len({len(row.clean) for row in mixed}) > 1
    together = edge_scores(mini, mixed, "eap")
    assert together.numbers == (1, 2, 3, 4)
    for row, scores in zip(mixed, together.by_row, strict=True):
        torch.testing.assert_close(edge_scores(mini, row, "eap").by_row[0], scores, rtol=1e-4, atol=1e-5)


def test_with_every_edge_at_its_mean_the_mean_final_stream_is_read(mini: Transformer) -> None:
    rows = rows_of(mini, [*NOUNS[:2], ("girl", "girls", "old house")])
    result = evaluate(mini, rows, edge_scores(mini, rows, "eap", "mean"), shares=(0.1, 1.0))
    streams = torch.cat([final_stream(mini, row.clean) for row in rows])
    with torch.no_grad():
        logits = mini.to_logits(streams.mean(0)[None, None])[0]
        theirs = [float(metric(logits, [row])) for row in rows]
    assert result.other.tolist() == pytest.approx(theirs, abs=1e-4)  # float32 logits of size 10
    assert result.alone[1].tolist() == pytest.approx(result.clean.tolist(), abs=1e-4)
    assert result.without[1].tolist() == pytest.approx(theirs, abs=1e-4)


def test_integrated_gradients_add_up_to_the_change(tmp_path: Path) -> None:
    """Completeness of the path between the embeddings: what they write into their readers makes the whole change."""
    model = open_tiny("neox-like", tmp_path)
    d_vocab = model.cfg.d_vocab
    clean, corrupted = (torch.randint(d_vocab, (6,), generator=torch.Generator().manual_seed(seed)) for seed in (1, 2))
    row = TokenRow(1, clean, corrupted, (5,), (9,), {"end": (5, 5)})
    nodes = edge_scores(model, row, "eap_ig_inputs", unit="nodes", steps=30).by_row[0]
    with torch.no_grad():
        a, b = (float(metric(model(tokens[None])[:, -1], [row])) for tokens in (clean, corrupted))
    assert float(nodes[0]) == pytest.approx(b - a, rel=0.05)  # a sum of 30 points for an integral


def test_rows_are_held_out(rows: tuple[TokenRow, ...]) -> None:
    train, held_out = split_rows(rows, 0.25, seed=3)
    assert sorted(row.number for row in (*train, *held_out)) == [1, 2, 3, 4]
    assert len(held_out) == 1
    assert split_rows(rows, 0.25, seed=3) == (train, held_out)


@pytest.mark.usefixtures("unchecked")  # a method that there is not
def test_what_cannot_be_scored_is_refused(mini: Transformer, rows: tuple[TokenRow, ...]) -> None:
    alone = replace(rows[1], corrupted=None, positions={"end": (4, None)})
    longer = replace(rows[2], corrupted=torch.cat([rows[2].clean, rows[2].clean]), number=7)
    ragged = [rows[0], *rows_of(mini, [("girl", "girls", "old house")])]
    for arguments, message in (
        (([rows[0], alone],), "Row 2 has no corrupted prompt"),
        (([longer],), "row 7 have 5 and 10 tokens"),
        ((ragged, "eap", "mean_by_position"), "5 to 6 tokens"),
        (([],), "no row"),
        ((split_rows(rows)[0], "acdc"), "no method 'acdc'"),
    ):
        with pytest.raises(InputError, match=message):
            edge_scores(mini, *arguments)  # type: ignore[arg-type]
    assert edge_scores(mini, alone, "eap", "zero").by_row.shape[0] == 1
    with pytest.raises(InputError, match="at least 1"):
        edge_scores(mini, rows, steps=0)
    with pytest.raises(InputError, match="score edges alone"):
        edge_scores(mini, rows, "flow", unit="nodes")
    with pytest.raises(InputError, match=r"Exact patching is of edges and nodes"):
        edge_scores(mini, rows, "exact", unit="neurons")
    with pytest.raises(InputError, match="239,500 runs"):
        edge_scores(mini, list(itertools.islice(itertools.cycle(rows), 500)), "exact")
    with pytest.raises(InputError, match="leaves 0 to score"):
        split_rows(rows, 1.0)


def test_neurons_of_the_baseline_are_dimensions_that_hooks_patch(mini: Transformer, rows: tuple[TokenRow, ...]) -> None:
    """Half of the dimensions that the first MLP and a head write from the corrupted run, all else from the prompt."""
    row, wires = rows[0], wiring(mini.cfg)
    assert row.corrupted is not None
    senders = [wires.senders.index(Sender(0)), wires.senders.index(Sender(1, 2))]
    kept = torch.ones(len(wires.senders), mini.cfg.d_model, dtype=torch.bool)
    kept[senders, ::2] = False
    result = measure(mini, [row], [UnitMask(wires.before, kept)], (1.0,))
    _, cache = mini.run_with_cache(row.corrupted[None])
    W_O = mini.blocks[1].attn.W_O[2]

    def mlp(activation: torch.Tensor, hook: HookPoint) -> torch.Tensor:
        return torch.where(kept[senders[0]], activation, cache[hook.name])

    def head(z: torch.Tensor, hook: HookPoint) -> None:
        changed.append((cache[hook.name][:, :, 2] - z[:, :, 2]) @ W_O)

    def attn_out(activation: torch.Tensor, hook: HookPoint) -> torch.Tensor:
        return activation + torch.where(kept[senders[1]], 0.0, changed[-1])

    changed: list[torch.Tensor] = []
    hooks = [("blocks.0.hook_mlp_out", mlp), ("blocks.1.attn.hook_z", head), ("blocks.1.hook_attn_out", attn_out)]
    with torch.no_grad():
        logits = mini.run_with_hooks(row.clean[None], fwd_hooks=hooks)[:, -1]
    assert result.alone[0].tolist() == pytest.approx(metric(logits, [row]).tolist(), abs=1e-4)  # float32, other sums
    assert result.alone[0].tolist() != pytest.approx(result.clean.tolist(), abs=1e-2)


def test_what_cannot_be_evaluated_is_refused(mini: Transformer, rows: tuple[TokenRow, ...]) -> None:
    scores = edge_scores(mini, rows, "eap")
    for shares in ((), (0.5, 0.1), (0.0, 1.0), (0.5, 1.5)):
        with pytest.raises(InputError, match="ascending shares"):
            evaluate(mini, rows, scores, shares=shares)
    with pytest.raises(InputError, match="another model"):
        evaluate(load("teach-copy"), rows, scores)
    same = replace(rows[0], corrupted=rows[0].clean)
    with pytest.raises(InputError, match="no difference"):
        evaluate(mini, [same], scores, shares=(1.0,))

"""Resampled circuits on scores of which it is known what they are, against scikit-learn-like counts by hand."""

import itertools

import pytest
import torch

from headlight.model import load
from headlight.model.base.errors import InputError
from headlight.model.circuits import EdgeScores, select_edges, wiring
from headlight.model.circuits.evaluation import edge_auroc
from headlight.model.circuits.selection import prune
from headlight.model.circuits.stability import chance_overlap, overlap, overlaps, stability
from headlight.model.circuits.study import method_circuits, study_circuit, study_tables
from tests.model.circuits.agreement import rows_of

WIRES = wiring(load("teach-copy").cfg)
EDGES = [tuple(edge) for edge in WIRES.before.nonzero().tolist()]


def scores_of(by_row: list[dict[int, float]]) -> EdgeScores:
    """Scores by the edges' places; all others have none."""
    scores = torch.zeros(len(by_row), *WIRES.before.shape)
    for row, some in enumerate(by_row):
        for place, value in some.items():
            scores[row, EDGES[place][0], EDGES[place][1]] = value
    return EdgeScores(WIRES, scores, tuple(range(1, len(by_row) + 1)), "eap", "pair")


def to_logits() -> list[int]:
    """The edges into the logits from the embeddings, which are circuits by themselves."""
    return [place for place, (row, sender) in enumerate(EDGES) if WIRES.receivers[row].layer is None and sender == 0]


def test_an_edge_is_as_sure_as_the_resamples_that_have_it() -> None:
    """Of two edges one is in all rows, the other leads in one row of five, of which a resample may have none."""
    (direct,) = to_logits()
    other = next(place for place, (_, sender) in enumerate(EDGES) if sender == 0 and place != direct)
    scores = scores_of([{direct: 1.0}] * 4 + [{direct: 1.0, other: 100.0}])
    result = stability(scores, 1, n_resamples=2000)
    assert not result.edges.any()  # the largest mean is of an edge that leads to no logits alone
    # It leads where the fifth row is not drawn: (4/5)^5; 2,000 draws have a standard error of 0.0105.
    assert float(result.frequency[EDGES[direct]]) == pytest.approx(0.8**5, abs=0.042)
    certain = stability(scores_of([{direct: 1.0}] * 5), 1)
    assert float(certain.frequency[EDGES[direct]]) == 1.0
    assert certain.resamples.tolist() == [1.0] * 200
    assert certain.halves.tolist() == [1.0] * 50


def test_halves_of_opposite_rows_have_nothing_in_common() -> None:
    """Where rows agree on nothing, the overlap of halves is that of one edge or none."""
    (direct,) = to_logits()
    rows = [{direct: 1.0}, {direct: -1.0}, {direct: 1.0}, {direct: -1.0}]
    halves = stability(scores_of(rows), 1, n_splits=300).halves
    # Of six pairs of rows two have a mean other than 0; the others' first edge is any, and a pair's halves agree.
    assert set(halves.tolist()) <= {0.0, 1.0}


def test_overlap_counts_edges_in_both_over_edges_in_either() -> None:
    generator = torch.Generator().manual_seed(0)
    a, b, c = (torch.rand(3, *WIRES.before.shape, generator=generator) < 0.3) & WIRES.before
    for one, other in itertools.combinations((a, b, c), 2):
        first, second = ({tuple(edge) for edge in circuit.nonzero().tolist()} for circuit in (one, other))
        assert float(overlap(one, other)) == pytest.approx(len(first & second) / len(first | second))
    table = overlaps({"a": a, "b": b, "c": c})
    assert table.diagonal().tolist() == [1.0] * 3
    assert float(table[0, 2]) == float(overlap(a, c))
    empty = torch.zeros_like(a)
    assert float(overlap(empty, empty)) == 1.0
    drawn = [torch.randperm(60, generator=generator)[:20] for _ in range(2000)]
    chance = [
        len(set(x.tolist()) & set(y.tolist())) / len(set(x.tolist()) | set(y.tolist()))
        for x, y in zip(drawn[::2], drawn[1::2], strict=True)
    ]
    assert sum(chance) / len(chance) == pytest.approx(chance_overlap(20, 60), abs=0.01)  # of 1,000 draws


def on_a_way(edges: torch.Tensor) -> set[tuple[int, int]]:
    """The edges on a way from the embeddings to the logits, by walking both ways over names."""
    names = {(r, s) for r, s in edges.nonzero().tolist()}
    part = {
        row: {(receiver.layer, receiver.head)} if receiver.layer is not None else {None}
        for row, receiver in enumerate(WIRES.receivers)
    }
    writer = [(sender.layer, sender.head) for sender in WIRES.senders]
    while True:
        reached = {(None, None)} | {at for row, _ in names for at in part[row] if at is not None}
        leading = {writer[column] for _, column in names}
        left = {
            (row, column)
            for row, column in names
            if writer[column] in reached and (part[row] == {None} or part[row] & leading)
        }
        if left == names:
            return names
        names = left


def test_what_is_on_no_way_is_pruned() -> None:
    generator = torch.Generator().manual_seed(1)
    sets = (torch.rand(40, *WIRES.before.shape, generator=generator) < 0.25) & WIRES.before
    for edges, pruned in zip(sets, prune(WIRES, sets), strict=True):
        assert {tuple(edge) for edge in pruned.nonzero().tolist()} == on_a_way(edges)


def test_the_greedy_choice_is_connected_and_as_large_as_asked() -> None:
    scores = torch.rand(WIRES.before.shape, generator=torch.Generator().manual_seed(2)) * WIRES.before
    for n in (0, 1, 7, WIRES.n_edges):
        assert int(select_edges(WIRES, scores, n, "greedy").sum()) <= n
    assert int(select_edges(WIRES, scores, WIRES.n_edges, "greedy").sum()) == WIRES.n_edges
    signed = select_edges(WIRES, -scores, WIRES.n_edges // 2, absolute=False)
    assert not torch.equal(signed, select_edges(WIRES, -scores, WIRES.n_edges // 2))


def test_auroc_is_the_chance_that_an_edge_of_the_circuit_has_the_larger_score() -> None:
    generator = torch.Generator().manual_seed(3)
    scores = torch.randn(WIRES.before.shape, generator=generator).round(decimals=1)
    truth = (torch.rand(WIRES.before.shape, generator=generator) < 0.4) & WIRES.before
    pairs = [
        (abs(float(scores[a])), abs(float(scores[b])))
        for a in EDGES
        for b in EDGES
        if bool(truth[a]) and not bool(truth[b])
    ]
    theirs = sum((a > b) + 0.5 * (a == b) for a, b in pairs) / len(pairs)
    assert edge_auroc(scores, truth, WIRES.before) == pytest.approx(theirs)
    with pytest.raises(InputError, match="some, and some not"):
        edge_auroc(scores, WIRES.before, WIRES.before)


def test_what_has_no_stability_is_refused() -> None:
    (direct,) = to_logits()
    with pytest.raises(InputError, match="of 3 rows; resampling takes at least 4"):
        stability(scores_of([{direct: 1.0}] * 3), 1)
    with pytest.raises(InputError, match="the model has 0 to"):
        stability(scores_of([{direct: 1.0}] * 4), 10_000)
    with pytest.raises(InputError, match="different models"):
        overlaps({"a": WIRES.before, "b": WIRES.before[:3]})


def test_a_study_holds_rows_out_and_tabulates_what_its_parts_say() -> None:
    model = load("mini")
    nouns = [("girl", "girls"), ("dogs", "dog"), ("boys", "boy"), ("cat", "cats"), ("bird", "birds")]
    rows = rows_of(model, [(*pair, "house") for pair in nouns])
    others = method_circuits(model, rows, {"clean-corrupted": "clean_corrupted"}, 0.1)
    study = study_circuit(model, rows, 47, "eap", held_out=0.2, others=others)
    assert len(study.scores.numbers) == 4
    assert set(study.scores.numbers) | set(study.evaluation.numbers) == {1, 2, 3, 4, 5}
    tables = study_tables(study)
    curve = tables["curve"]
    assert list(curve["faithfulness"])[-1] == pytest.approx(1, abs=1e-5)
    assert list(curve["completeness"])[-1] == pytest.approx(0, abs=1e-5)
    assert study.stability is not None
    assert len(list(tables["edges"]["from"])) == int(study.edges.sum())
    assert torch.equal(study.stability.edges, study.edges)
    overlap_rows = dict(zip(*tables["overlaps"].values(), strict=True))
    assert overlap_rows["this one and clean-corrupted"] == pytest.approx(
        float(overlap(study.edges, others["clean-corrupted"]))
    )
    few = study_circuit(model, rows[:3], 47, "eap")
    assert few.stability is None
    assert all(share is None for share in study_tables(few)["edges"]["share of resamples"])

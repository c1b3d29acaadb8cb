"""Resampled circuits on scores of which it is known what they are, against scikit-learn-like counts by hand."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy import stats

from headlight.model import load
from headlight.model.base.errors import ConfigError, InputError
from headlight.model.circuits import EdgeScores, edge_scores, select_edges, wiring
from headlight.model.circuits.evaluation import Evaluation, edge_auroc
from headlight.model.circuits.scoring import Unit
from headlight.model.circuits.selection import prune
from headlight.model.circuits.settings import CircuitSettings
from headlight.model.circuits.stability import chance_overlap, overlap, overlaps, stability
from headlight.model.circuits.study import circuit_study_tables, study_circuit
from headlight.model.circuits.study_plan import plan_study, with_means
from headlight.model.circuits.units import choose_units
from headlight.model.prompt_sets.encoding import to_tokens
from headlight.model.prompt_sets.prompt_set import PromptSet
from tests.model.circuits.agreement import pair, rows_of
from tests.model.stopping import Stopping

WIRES = wiring(load("teach-copy").cfg)
WIRES_OF_MINI = wiring(load("mini").cfg)
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


NOUNS = [("girl", "girls"), ("dogs", "dog"), ("boys", "boy"), ("cat", "cats"), ("bird", "birds")]


def agreement_set(n_rows: int = 5) -> PromptSet:
    return PromptSet("agreement", tuple(pair(noun, other, "house") for noun, other in NOUNS[:n_rows]))


def test_a_study_holds_rows_out_and_tabulates_what_its_parts_say() -> None:
    model = load("mini")
    other = choose_units(WIRES_OF_MINI, edge_scores(model, rows_of(model)[:2], "clean_corrupted").mean, 47, "edges")
    settings = CircuitSettings("eap", share=0.1, held_out=0.2)
    study = study_circuit(model, agreement_set(), settings, False, {"clean-corrupted": other})
    assert len(study.scores.numbers) == 4
    assert set(study.scores.numbers) | set(study.evaluation.numbers) == {1, 2, 3, 4, 5}
    tables = circuit_study_tables(study)
    curve = tables["curve"]
    assert list(curve["faithfulness"])[-1] == pytest.approx(1, abs=1e-5)
    assert list(curve["completeness"])[-1] == pytest.approx(0, abs=1e-5)
    assert study.stability is not None
    assert len(list(tables["circuit"]["from"])) == int(study.chosen.sum())
    assert torch.equal(study.stability.edges, study.chosen)
    assert tables["overlaps"]["overlap (Jaccard)"][-1] == pytest.approx(float(overlap(study.mask.edges, other)))
    assert [use for _, use in zip(*tables["rows"].values(), strict=True)].count("score") == 4
    few = study_circuit(model, agreement_set(3), settings, False)
    assert few.stability is None
    assert all(share is None for share in circuit_study_tables(few)["circuit"]["share of resamples"])


@pytest.mark.parametrize("unit", ["nodes", "neurons"])
def test_nodes_and_neurons_are_studied_as_edges_are(unit: Unit) -> None:
    """The first ones by size, each as sure as the resamples that rank it so; all of them are the whole model."""
    model = load("mini")
    study = study_circuit(model, agreement_set(), CircuitSettings("eap", unit=unit, share=0.2, held_out=0.2), False)
    sizes = study.scores.by_row.mean(0).abs().flatten()
    first = set(sizes.argsort(descending=True)[: int(0.2 * len(sizes))].tolist())
    assert set(study.chosen.flatten().nonzero().flatten().tolist()) == first
    assert study.stability is not None
    assert study.stability.frequency.shape == study.chosen.shape
    assert float(study.stability.frequency.sum()) == pytest.approx(len(first), rel=1e-5)  # so many in each resample
    assert study.evaluation.faithfulness[-1] == pytest.approx(1, abs=1e-5)
    assert study.evaluation.completeness[-1] == pytest.approx(0, abs=1e-5)
    assert len(circuit_study_tables(study)["circuit"]["node"]) == len(first)


def test_the_interval_of_faithfulness_is_scipys() -> None:
    generator = torch.Generator().manual_seed(0)
    other, clean = torch.randn(30, generator=generator), 4 + torch.randn(30, generator=generator)
    alone = (0.6 * clean + 0.4 * other + 0.3 * torch.randn(30, generator=generator))[None]
    result = Evaluation((1.0,), (1,), clean, other, alone, alone, tuple(range(30)))

    def share(scores: np.ndarray, clean: np.ndarray, other: np.ndarray, axis: int = -1) -> np.ndarray:
        base: np.ndarray = other.mean(axis)
        return (scores.mean(axis) - base) / (clean.mean(axis) - base)

    rows = [each.double().numpy() for each in (alone[0], clean, other)]
    theirs = stats.bootstrap(rows, share, paired=True, method="percentile", n_resamples=4000, rng=1)
    ends = theirs.confidence_interval
    low, high = result.interval(result.alone)
    # Each end is a quantile of 1,000 draws: its standard error is about 4% of the interval's width.
    assert [float(low), float(high)] == pytest.approx([ends.low, ends.high], abs=0.12 * (ends.high - ends.low))


def test_rows_that_a_study_cannot_use_are_named_with_the_reason() -> None:
    model = load("mini")
    assert model.tokenizer is not None
    rows = agreement_set(4).rows
    uneven = replace(rows[0], corrupted="The girls near the old house", positions={"noun": (1, 1)})
    bad = (uneven, replace(rows[0], corrupted=None), replace(rows[0], answers=(), wrong_answers=()))
    tokens = to_tokens(PromptSet("agreement", (*rows, *bad)), model.tokenizer)
    plan = plan_study(model, tokens, CircuitSettings())
    assert {row.number for row in (*plan.train, *plan.held_out)} == {1, 2, 3, 4}
    assert plan.left_out == {
        5: "Its two prompts differ in their number of tokens.",
        6: "It has no corrupted prompt.",
        7: "It has no answer.",
    }
    assert set(plan_study(model, tokens, CircuitSettings(rows=3)).left_out) == {4, 5, 6, 7}
    assert plan_study(model, tokens, CircuitSettings(only_correct=True), correct=(1, 2)).left_out[3] == (
        "The model answers it wrongly."
    )
    for settings, message in (
        (CircuitSettings(rows=1), "leaves 1 to score"),
        (CircuitSettings("flow", unit="nodes"), "score edges alone"),
        (CircuitSettings(baseline="mean_by_position"), "to 6 tokens"),
    ):
        if settings.baseline == "mean_by_position":
            tokens = replace(tokens, rows=(*tokens.rows, *rows_of(model, [("girl", "girls", "old house")])))
        with pytest.raises(InputError, match=message):
            plan_study(model, tokens, settings)
    with pytest.raises(ConfigError, match=r"share is 0.03; choose one of 0.001"):
        CircuitSettings(share=0.03)


def test_the_means_of_a_baseline_are_stopped_within_a_pass() -> None:
    """They are of all rows that are scored, which may take minutes."""
    model, host = load("mini"), Stopping(2)
    assert model.tokenizer is not None
    settings = CircuitSettings(baseline="mean")
    plan = plan_study(model, to_tokens(agreement_set(4), model.tokenizer), settings)
    with pytest.raises(InterruptedError):
        with_means(model, plan, host)
    assert host.left == 0

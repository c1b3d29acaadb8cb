"""Detectors against patterns and models whose heads are known, against TransformerLens, and against tables of t."""

import math

import numpy as np
import pytest
import torch
from torch import Tensor
from transformer_lens.head_detector import HeadName, detect_head

from headlight.model import Transformer
from headlight.model.measure import Measure
from headlight.model.roles.detectors import (
    KINDS,
    MIN_SCORES,
    Estimate,
    Kind,
    chance_scores,
    detector_scores,
    estimate,
    head_labels,
    is_punctuation,
    ranks,
    students_t,
    verdict,
)
from headlight.model.roles.sequences import repeated_halves
from headlight.recipes.bpe import END_OF_TEXT_ID
from headlight.recipes.teaching_weights import BOS, induction_circuit
from tests.model.lens.lens_twin import lens_twin
from tests.model.oracles import random_model, random_tokens

CAUSAL = torch.ones(9, 9, dtype=torch.bool).tril()
NONE = torch.zeros(9, dtype=torch.bool)


def scores_of(model: Transformer, rows: Tensor) -> list[dict[Kind, Measure]]:
    """Each row's scores, by layer and head; no token is punctuation."""
    _, cache = model.run_with_cache(rows, lambda name: name.endswith("hook_pattern"))
    scores = []
    for row, tokens in enumerate(rows):
        layers = [
            detector_scores(cache["pattern", layer][row], tokens, torch.zeros(len(tokens), dtype=torch.bool))
            for layer in range(model.cfg.n_layers)
        ]
        scores.append(
            {
                kind: Measure(
                    kind, "probability", ("layer", "head"), torch.stack([each[kind].values for each in layers])
                )
                for kind in KINDS
            }
        )
    return scores


def labels_of(model: Transformer, rows: Tensor) -> dict[tuple[int, int], tuple[Kind, ...]]:
    """The labels on these rows of equal length."""
    n_pos = rows.shape[1]
    visible, none = torch.ones(n_pos, n_pos, dtype=torch.bool).tril(), torch.zeros(n_pos, dtype=torch.bool)
    chances = [chance_scores(visible, row, none) for row in rows]
    scores = scores_of(model, rows)
    return head_labels(
        {kind: estimate([each[kind] for each in scores]) for kind in KINDS},
        {kind: float(estimate([each[kind] for each in chances]).mean.values) for kind in KINDS},
    )


def test_the_heads_written_by_hand_get_the_labels_that_they_were_written_for() -> None:
    rows = repeated_halves(4, 10, np.arange(1, 12), np.random.default_rng(0))
    labels = labels_of(induction_circuit(), torch.cat([torch.full((4, 1), BOS), rows], 1))
    # Where they find no copy, in the first half, the heads that look for one rest on the first token: 11 of 20 queries.
    assert labels == {
        (0, 0): ("previous_token",),
        (0, 1): ("current_token",),
        (0, 2): ("duplicate_token", "first_token"),
        (1, 0): ("induction", "first_token"),
        (1, 1): ("induction", "first_token"),
        (1, 2): ("first_token",),
    }


def test_the_heads_on_minis_card_are_found() -> None:
    from headlight.model import load

    model = load("mini")
    symbols = np.setdiff1d(np.arange(model.cfg.d_vocab), [END_OF_TEXT_ID])
    rows = repeated_halves(10, 25, symbols, np.random.default_rng(0))
    labels = labels_of(model, rows)
    assert {head for head, kinds in labels.items() if "induction" in kinds} == {(1, 0), (1, 1)}
    scores = scores_of(model, rows)
    previous = estimate([each["previous_token"] for each in scores]).mean.values
    assert previous.max() > 0.97  # the card's figure is 0.985, of other rows
    assert "previous_token" in labels[divmod(int(previous.argmax()), model.cfg.n_heads)]


@pytest.mark.parametrize(
    ("theirs", "kind"),
    [
        ("previous_token_head", "previous_token"),
        ("duplicate_token_head", "duplicate_token"),
        ("induction_head", "induction"),
    ],
)
def test_transformer_lens_counts_the_same_weights(
    theirs: HeadName, kind: Kind, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It divides by all queries, and we by those that have such a key."""
    model, n_pos = random_model(), 8
    first = random_tokens(1, 1, d_vocab=10)
    tokens = torch.cat([first, torch.tensor([[11, 12, 13, 14, 11, 12, 13]])], 1)
    twin = lens_twin(model)
    monkeypatch.setattr(twin, "to_tokens", lambda seq: tokens)
    matches = detect_head(twin, "", theirs)
    n_queries = {"previous_token": n_pos - 1, "duplicate_token": 3, "induction": 3}[kind]
    (ours,) = scores_of(model, tokens)
    # Sums of float32 weights in another order.
    torch.testing.assert_close(ours[kind].values, matches * n_pos / n_queries, atol=1e-6, rtol=0)


def test_a_head_that_looks_at_all_alike_scores_chance() -> None:
    tokens = torch.tensor([0, 1, 2, 3, 1, 4, 5, 6, 7])
    marks = torch.zeros(9, dtype=torch.bool)
    marks[2] = True
    chance = {kind: float(each.values) for kind, each in chance_scores(CAUSAL, tokens, marks).items()}
    even = sum(1 / (query + 1) for query in range(1, 9)) / 8
    assert chance["previous_token"] == chance["current_token"] == pytest.approx(even)
    assert chance["first_token"] == pytest.approx(even)
    assert chance["duplicate_token"] == chance["induction"] == pytest.approx(1 / 5)  # query 4 has five keys
    assert chance["local_window"] == pytest.approx(sum(5 / (query + 1) for query in range(5, 9)) / 4)
    assert chance["punctuation"] == pytest.approx(sum(1 / (query + 1) for query in range(3, 9)) / 6)


def test_a_window_is_the_query_and_the_four_keys_before_it() -> None:
    for back, expected in ((0, 1.0), (4, 1.0), (5, 0.0)):
        pattern = torch.eye(9)[[max(0, query - back) for query in range(9)]][None]
        assert detector_scores(pattern, torch.arange(9), NONE)["local_window"].values.item() == expected


def test_what_no_query_can_look_at_has_no_score() -> None:
    scores = detector_scores(torch.eye(9)[None], torch.arange(9), NONE)
    assert {kind for kind, each in scores.items() if each.values.isnan().all()} == {
        "duplicate_token",
        "induction",
        "punctuation",
    }
    assert detector_scores(torch.eye(3)[None], torch.arange(3), NONE[:3])["local_window"].values.isnan().all()


def test_punctuation_is_told_by_every_character() -> None:
    marks = {text: is_punctuation(text) for text in (".", " ,", "!?", "—", " ...", "»", "", " ", "a.", "1", "+", "\n")}
    assert [text for text, mark in marks.items() if mark] == [".", " ,", "!?", "—", " ...", "»"]


def test_students_t_is_that_of_the_tables() -> None:
    tabled = {1: 12.706, 2: 4.303, 3: 3.182, 4: 2.776, 5: 2.571, 9: 2.262, 10: 2.228, 29: 2.045, 120: 1.980}
    assert {degrees: round(students_t(degrees), 3) for degrees in tabled} == tabled
    assert students_t(9, confidence=0.99) == pytest.approx(3.250, abs=5e-4)


def test_the_interval_of_a_mean_is_students() -> None:
    values = [torch.tensor([1.0, 0.5]), torch.tensor([2.0, math.nan]), torch.tensor([6.0, math.nan])]
    summary = estimate([Measure("score", "probability", ("head",), each) for each in values])
    reach = 4.302653 * math.sqrt(7) / math.sqrt(3)  # the sample's variance of 1, 2, 6 is 7
    assert summary.count.tolist() == [3, 1]
    assert summary.mean.values.tolist() == [3, 0.5]
    assert summary.low.values[0].item() == pytest.approx(3 - reach, rel=1e-6)
    assert summary.high.values[0].item() == pytest.approx(3 + reach, rel=1e-6)
    assert summary.low.values[1].isnan()
    assert summary.high.values[1].isnan()


def test_ranks_count_from_the_largest_and_share_the_better_place() -> None:
    scores = Measure("score", "probability", ("layer", "head"), torch.tensor([[0.2, 0.9], [math.nan, 0.2]]))
    assert ranks(scores).values.tolist() == [[2, 1], [0, 2]]


def sure(value: float, width: float = 0.0) -> Estimate:
    """An estimate of one head."""
    low, mean, high = (
        Measure("score", "probability", ("layer", "head"), torch.tensor([[value + add]])) for add in (-width, 0, width)
    )
    return Estimate(mean, low, high, torch.tensor([[10]]))


def test_a_label_takes_the_whole_interval_and_twice_what_is_chance() -> None:
    assert MIN_SCORES["punctuation"] == 0.5
    assert head_labels({"punctuation": sure(0.6)}, {"punctuation": 0.25}) == {(0, 0): ("punctuation",)}
    assert head_labels({"punctuation": sure(0.6, 0.11)}, {"punctuation": 0.25}) == {}
    assert head_labels({"punctuation": sure(0.6)}, {"punctuation": 0.31}) == {}
    assert head_labels({"punctuation": sure(0.6)}, {"punctuation": math.nan}) == {}
    assert head_labels({"punctuation": sure(math.nan)}, {"punctuation": 0.25}) == {}


def test_a_head_of_the_previous_token_is_not_called_local_too() -> None:
    estimates: dict[Kind, Estimate] = {
        "local_window": sure(0.99),
        "previous_token": sure(0.9),
        "first_token": sure(0.1),
    }
    chance: dict[Kind, float] = {"local_window": 0.2, "previous_token": 0.1, "first_token": 0.1}
    assert head_labels(estimates, chance) == {(0, 0): ("previous_token",)}
    assert head_labels(estimates | {"previous_token": sure(0.3)}, chance) == {(0, 0): ("local_window",)}


def test_an_ablation_supports_a_label_if_the_loss_rises_in_every_way_that_it_was_done() -> None:
    assert verdict("induction", [0.1, 0.02]) == "supported"
    assert verdict("induction", [0.1, -0.02]) == "not supported"
    assert verdict("previous_token", [0.0]) == "not supported"
    assert verdict("induction", [math.nan]) == "not supported"
    assert verdict("induction", []) == "not measured"
    assert verdict("first_token", [3.0]) == "not tested"

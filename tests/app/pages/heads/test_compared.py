"""Heads of A and of B: nothing changes from a model to its copy, signs turn with the sides, edits are made."""

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

from headlight.app.figures.colours import LEAST_EFFECT
from headlight.app.pages.heads.choices import Choices
from headlight.app.pages.heads.head_map import caption, limit_of
from headlight.app.pages.heads.ranking import Change, HeadRanking, changed, changed_effects, changes_table, find
from headlight.app.pages.heads.subjects import edits_left_out, prompt_against_prompt, subjects, why_alone
from headlight.app.parts import detection
from headlight.app.parts.detection import Repeats, sequence_of
from headlight.app.parts.labels import drawn
from headlight.app.runs import comparisons
from headlight.app.selection import Selection
from headlight.model.measure.attention import head_scores
from headlight.model.roles.detectors import KINDS
from headlight.model.roles.head_scores import next_token_loss
from headlight.model.runs.comparison import Comparison
from headlight.model.runs.edits import AblateHeads, CutEdge, Drop, FreezePatterns, Patch, Steer
from tests.app.choosing import selection_of

PROMPT = "one two three one two three one"
FEW: dict[str, Any] = {"finder_count": 4, "finder_half": 9}


@pytest.fixture(scope="module")
def others(tmp_path_factory: pytest.TempPathFactory, folder: str) -> tuple[str, str]:
    """A copy of the model under another name, and one with other weights."""
    same, other = (tmp_path_factory.mktemp("others") / name for name in ("same", "other"))
    for path in (same, other):
        shutil.copytree(folder, path)
    torch.manual_seed(1)
    (file,) = other.glob("*.safetensors")
    weights = load_file(file)
    save_file({name: each + 0.02 * torch.randn_like(each) for name, each in weights.items()}, file, {"format": "pt"})
    return str(same), str(other)


def compare(selection: Selection) -> tuple[dict[str, HeadRanking], Change]:
    """Both sides and the change, after looking at everything."""
    sides = subjects((), comparisons.for_selection(selection), selection)
    for subject in sides.values():
        for fed in subject.sequences:
            detection.look(fed)
    rankings = {side: each for side, subject in sides.items() if (each := find(subject, selection)) is not None}
    return rankings, changed(rankings["A"], rankings["B"])


def choose(a: str, b: str = "", **fields: Any) -> Selection:
    two = {"model_b": b, "prompt_b": PROMPT} if b else {}
    return selection_of(model=a, prompt=PROMPT, **{**FEW, **two, **fields})


def test_nothing_changes_between_a_model_and_its_copy(others: tuple[str, str], folder: str) -> None:
    for kind in KINDS:
        rankings, change = compare(choose(folder, others[0], finder_score=kind))
        assert not np.nan_to_num(change.values).any()
        np.testing.assert_array_equal(rankings["A"].values, rankings["B"].values)
        measured = np.isfinite(change.low)
        assert measured.any() or kind == "punctuation"  # of which random tokens hold little
        assert not change.low[measured].any()  # the same from sequence to sequence, so surely nothing
    _, copies = compare(choose(folder, others[0], finder_score="copying"))
    assert not copies.values.any()
    assert limit_of([copies]) == LEAST_EFFECT


def test_the_other_way_round_every_change_has_the_other_sign(others: tuple[str, str], folder: str) -> None:
    rankings, forth = compare(choose(folder, others[1]))
    _, back = compare(choose(others[1], folder))
    assert np.abs(forth.values).max() > 1e-3
    np.testing.assert_array_equal(forth.values, -back.values)
    np.testing.assert_array_equal(forth.low, -back.high)
    # The mean of differences is the difference of means, up to float32's rounding.
    np.testing.assert_allclose(forth.values, rankings["B"].values - rankings["A"].values, atol=1e-6)
    assert forth.order() == back.order()
    largest = forth.order()[0]
    assert abs(forth.values[largest]) == np.abs(forth.values).max()
    table = changes_table(forth)
    assert table["rank"] == list(range(1, 16))
    assert [float(str(b)) - float(str(a)) for a, b in zip(table["A"], table["B"], strict=True)] == pytest.approx(
        table["B − A"], abs=1e-6
    )
    assert "B − A" not in caption(rankings["A"], largest)
    assert f"A {rankings['A'].values[largest]:.2f}, B {rankings['B'].values[largest]:.2f}" in caption(forth, largest)


def test_an_interval_is_that_of_the_differences(others: tuple[str, str], folder: str) -> None:
    """Four sequences: Student's t of three degrees is 3.182 (any table)."""
    rankings, change = compare(choose(folder, others[1]))
    a, b = (
        torch.stack(
            [
                each.scores["induction"].values
                for fed in rankings[side].subject.sequences
                if (each := detection.seen(fed))
            ]
        )
        for side in "AB"
    )
    differences = b - a
    reach = 3.182446 * differences.std(0) / 2
    np.testing.assert_allclose(change.high - change.values, reach, rtol=1e-4)


def test_edits_are_made_on_every_sequence(folder: str) -> None:
    edits = (AblateHeads(((0, 1), (0, 3)), "zero"), CutEdge((1, 0), 3, 1))
    rankings, change = compare(choose(folder, edits=edits))
    assert rankings["B"].subject.edits == edits[:1]
    assert not change.values[0].any()  # what a head looks at in the first layer is not changed by its output
    assert np.abs(change.values[1:]).max() > 1e-4
    fed = rankings["B"].subject.sequences[0]
    looked_at = sequence_of(fed)
    model, tokens = looked_at.model, looked_at.tokens

    def zero(z: torch.Tensor, hook: object) -> None:
        z[:, :, [1, 3]] = 0

    patterns = dict[str, torch.Tensor]()
    keep = ("blocks.2.attn.hook_pattern", lambda pattern, hook: patterns.update(here=pattern[0].clone()))
    model.run_with_hooks(tokens[None], fwd_hooks=[("blocks.0.attn.hook_z", zero), keep])
    seen = detection.seen(fed)
    assert seen is not None
    # Float32, with the heads' zeros added up in another order.
    torch.testing.assert_close(
        seen.scores["induction"].values[2], head_scores(patterns["here"], tokens).induction.values, atol=1e-5, rtol=0
    )


def test_with_patterns_frozen_no_head_looks_elsewhere(folder: str) -> None:
    _, change = compare(choose(folder, edits=(Drop(0), FreezePatterns())))
    # Frozen patterns are computed once more from queries and keys.
    np.testing.assert_allclose(change.values, 0, atol=1e-6)


def test_a_head_is_ablated_in_the_edited_model(folder: str) -> None:
    rankings, _ = compare(choose(folder, edits=(Drop(1, "MLP"),)))
    subjects_ = {side: each.subject for side, each in rankings.items()}
    for subject in subjects_.values():
        for job in detection.ablation_jobs(subject.repeats, [(2, 4), (0, 1)]):
            detection.ablate(job)
    rankings, change = compare(choose(folder, edits=(Drop(1, "MLP"),), finder_score="effect"))
    fed = subjects_["B"].repeats[0]
    repeat = sequence_of(fed)
    model, tokens, start = repeat.model, repeat.tokens, repeat.start
    half = (len(tokens) - start) // 2

    def loss(*hooks: tuple[str, Any]) -> float:
        dropped = ("blocks.1.hook_mlp_out", lambda out, hook: torch.zeros_like(out))
        logits = model.run_with_hooks(tokens[None], fwd_hooks=[dropped, *hooks])[:, start + half :]
        return float(next_token_loss(logits, tokens[None, start + half :]))

    def zero(z: torch.Tensor, hook: object) -> None:
        z[:, :, 4] = 0

    measured = detection.effects(subjects_["B"].repeats[:1], (2, 4))["zero"]
    # Float32 in a batch of another size.
    assert float(measured.mean.values) == pytest.approx(loss(("blocks.2.attn.hook_z", zero)) - loss(), abs=1e-5)
    of_both = changed_effects(rankings["A"], rankings["B"])[2, 4]["mean"]
    means = [float(each.effects[2, 4]["mean"].mean.values) for each in rankings.values()]
    assert float(of_both.mean.values) == pytest.approx(means[1] - means[0], abs=1e-6)
    assert float(change.values[2, 4]) == pytest.approx(means[1] - means[0], abs=1e-6)
    assert np.isnan(change.values[1, 1])


@pytest.mark.parametrize(
    ("edits", "left_out"),
    [
        ((Drop(0), Steer(1, "a", "b", 2.0), FreezePatterns((1,)), AblateHeads(((0, 0),), "mean")), 0),
        ((Steer(1, "a", "b", 2.0, (3,)), Drop(0)), 1),
        (
            (
                CutEdge((0, 0), 2, 1),
                Patch("blocks.1.hook_resid_pre", PROMPT),
                AblateHeads(((0, 0),), "resample", PROMPT),
            ),
            3,
        ),
    ],
)
def test_what_names_tokens_of_a_prompt_is_made_on_no_other(edits: tuple[Any, ...], left_out: int, folder: str) -> None:
    selection = choose(folder, edits=edits)
    comparison = comparisons.for_selection(selection)
    assert len(edits_left_out(comparison)) == left_out
    assert bool(why_alone(comparison, selection)) == (left_out == len(edits))
    assert set(subjects((), comparison, selection)) == ({"A"} if left_out == len(edits) else {"A", "B"})


def test_the_estimate_counts_the_runs_that_edits_take_from(folder: str) -> None:
    selection = choose(folder, edits=(Steer(1, "a", "b", 2.0), FreezePatterns((1,)), Drop(0)))
    sides = subjects((), comparisons.for_selection(selection), selection)
    assert [subject.passes for subject in sides.values()] == [1, 4]
    jobs = [detection.ablation_jobs(subject.repeats[:1], [(2, 0)]) for subject in sides.values()]
    plain, edited = (detection.ablating_seconds(sides["A"].run.cfg, each, 19) for each in jobs)
    assert edited > plain  # what is edited begins at the embedding, the other at the head


def test_two_prompts_of_one_model_are_compared_on_themselves_alone(folder: str) -> None:
    selection = choose(folder, prompt_b="two two two")
    comparison = comparisons.for_selection(selection)
    assert "do not depend on the prompt" in why_alone(comparison, selection)
    assert set(subjects(("other",), comparison, selection)) == {"A"}
    on_prompts = selection.updated(Choices, finder_data="prompts")
    assert prompt_against_prompt(comparison, on_prompts)
    sides, change = compare(on_prompts)
    assert [fed.prompt for fed in sides["A"].subject.sequences] == [PROMPT]
    assert [fed.prompt for fed in sides["B"].subject.sequences] == ["two two two"]
    expected = comparison.runs[1].scores["duplicate_token"].values - comparison.a.scores["duplicate_token"].values
    both = changed(*(found_by(each, on_prompts, "duplicate_token") for each in sides.values()))
    np.testing.assert_allclose(both.values, expected, atol=1e-6)
    assert np.isnan(change.low).all()
    assert not sides["A"].labels


def found_by(ranking: HeadRanking, selection: Selection, score: Any) -> HeadRanking:
    again = find(ranking.subject, selection.updated(Choices, finder_score=score))
    assert again is not None
    return again


def test_other_models_are_shown_the_same_sequences(others: tuple[str, str], folder: str) -> None:
    selection = choose(folder, others[1], finder_count=7, finder_half=500)
    comparison = comparisons.for_selection(selection)
    assert drawn(comparison, selection) == Repeats(0, 7, 49)  # what a context of 100 holds twice behind one token
    sides = subjects((), comparison, selection)
    for one, other in zip(sides["A"].repeats, sides["B"].repeats, strict=True):
        assert torch.equal(sequence_of(one).tokens, sequence_of(other).tokens)
    lists = subjects(("list", PROMPT), comparison, selection.updated(Choices, finder_data="prompts"))
    assert (
        [fed.prompt for fed in lists["A"].sequences] == [fed.prompt for fed in lists["B"].sequences] == ["list", PROMPT]
    )
    alone = subjects((), Comparison(comparison.a), selection)
    assert list(alone) == ["A"]
    assert Path(alone["A"].model).name == "random"


def test_more_sequences_begin_with_the_same_ones(folder: str) -> None:
    few, many = (detection.repeats(folder, True, Repeats(3, count)) for count in (4, 6))
    assert many[:4] == few
    assert len(sequence_of(replace(few[0], half=7)).tokens) == 15

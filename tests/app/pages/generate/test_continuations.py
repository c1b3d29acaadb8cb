"""What A and B write, step beside step: against whole passes, sums by hand, and what must cancel."""

import math
from copy import copy
from dataclasses import replace

import numpy as np
import pytest
import torch

from headlight.app.pages.generate import generation, written
from headlight.app.pages.generate import view as generate
from headlight.app.pages.generate.choices import Choices
from headlight.app.runs import comparisons, runs
from headlight.app.selection import Selection
from headlight.model import load
from headlight.model.attention.fields import How, on_axis
from headlight.model.base.errors import InputError
from headlight.model.decoding import Sampling, sample
from headlight.model.decoding.compared import Continuations, divergence
from headlight.model.decoding.continued import forced
from headlight.model.runs.edits import AblateHeads, CutEdge, Drop, Edit, FreezePatterns, Patch, Steer
from headlight.model.runs.edits.editing import run_with_edits
from headlight.model.runs.head import attend
from tests.app.pages.generate.test_generation import view

PROMPT, OTHER = "one two three one two three one", "two three four five one"
EDITS: dict[str, tuple[Edit, ...]] = {
    "zero": (AblateHeads(((0, 1), (2, 3))),),
    "mean": (AblateHeads(((1, 2),), "mean"),),
    "resample": (AblateHeads(((1, 2),), "resample", "two two three one two three one"),),
    "cut": (CutEdge((1, 2), 5, 4, True),),
    "frozen": (Drop(0), FreezePatterns((1, 2))),
    "patch": (Patch("blocks.1.hook_resid_pre", "two two three one two three one"),),
    "steer": (Steer(1, "one two", "three", -1.5),),
}


@pytest.fixture
def chosen() -> Selection:
    """On a trained model: one with random weights gives every token almost the same probability."""
    alone = Selection(model="mini", prompt=PROMPT, prompt_b=OTHER, heads=((1, 2),))
    return alone.updated(Choices, n_new=6, stop=False, seed=3)


def continuations(chosen: Selection) -> Continuations:
    return generation.both(comparisons.for_selection(chosen), chosen)


def test_b_made_to_write_as_tokens_is_one_full_pass_over_them(chosen: Selection) -> None:
    both = continuations(chosen)
    assert both.b is not None
    assert both.b.tokens.tolist() == both.a.tokens.tolist()
    model = load("mini")
    prompt = model.to_tokens(OTHER, prepend_bos=True)
    logits = model(torch.cat([prompt, both.a.tokens[None]], 1))[0, prompt.shape[1] - 1 : -1]
    # One product over other shapes: float32's rounding of sums of size 10.
    torch.testing.assert_close(both.b.logits(), logits, rtol=0, atol=2e-5)
    expected = -torch.nn.functional.cross_entropy(logits, both.a.tokens, reduction="none")
    torch.testing.assert_close(both.b.log_probs, expected, rtol=0, atol=2e-5)


def test_b_by_itself_draws_what_the_library_draws_with_the_same_seed(chosen: Selection) -> None:
    both = continuations(chosen.updated(Choices, b_writes="own", temperature=0.8))
    assert both.b is both.own
    assert both.own is not None
    model, generator = load("mini"), torch.Generator().manual_seed(3)
    prompt = model.to_tokens(OTHER, prepend_bos=True)
    (drawn,) = sample(model, prompt, sampling=Sampling(temperature=0.8), generator=generator, max_new_tokens=6)
    assert both.own.tokens.tolist() == drawn.tokens.tolist()
    assert continuations(chosen).own is not None
    unequal = [i for i, (a, b) in enumerate(zip(both.a.tokens, both.own.tokens, strict=True)) if a != b]
    assert both.first_difference == (unequal[0] if unequal else None)


def test_two_equal_runs_differ_by_nothing_at_all(chosen: Selection) -> None:
    for b_writes in ("same", "own"):
        both = continuations(chosen.updated(Choices, prompt_b=PROMPT, b_writes=b_writes))  # type: ignore[arg-type]
        assert not both.divergence().any()
        steps = written.steps_of(both)
        assert steps["A"][2].choices == steps["B"][2].choices
        axis = written.axis(both)
        assert set(axis.presence) == {"both"}
        assert not on_axis(both.comparison, "difference", (1, 2), How(), axis).nan_to_num(0).any()


def test_swapped_runs_differ_by_the_opposite(chosen: Selection) -> None:
    """B made to write the same tokens as A, so that either may be called A."""
    one = continuations(chosen.updated(Choices, written=(300, 77, 300, 12, 7, 8)))
    other = continuations(chosen.updated(Choices, prompt=OTHER, prompt_b=PROMPT, written=(300, 77, 300, 12, 7, 8)))
    # The mean of two numbers does not depend on their order, nor does anything else but the sign.
    assert torch.equal(one.divergence(), other.divergence())
    cells = [on_axis(both.comparison, "difference", (1, 2), How(), written.axis(both)) for both in (one, other)]
    rows = [each[list(map(both.place, range(6)))] for both, each in zip((one, other), cells, strict=True)]
    # The places of A's own tokens and of B's change theirs, so that rows are compared as sorted lists.
    mine, theirs = (each.nan_to_num(0).sort(-1).values for each in rows)
    torch.testing.assert_close(mine, -theirs.flip(-1), rtol=0, atol=0)
    steps, swapped = written.steps_of(one), written.steps_of(other)
    a, b = ({choice.token: choice.before for choice in steps[side][1].choices} for side in "AB")
    c, d = ({choice.token: choice.before for choice in swapped[side][1].choices} for side in "AB")
    assert {token: b[token] - a[token] for token in a} == {token: -(d[token] - c[token]) for token in a}


def test_the_divergence_is_jensens_and_shannons_by_hand(chosen: Selection) -> None:
    both = continuations(chosen.updated(Choices, temperature=0.7, top_k=30))
    assert both.b is not None
    for when, values in zip(("before", "after"), both.divergence().tolist(), strict=True):
        for step, value in enumerate(values):
            p, q = (getattr(each.chances(step), when).double().numpy() for each in (both.a, both.b))
            middle = (p + q) / 2
            kl = [float(np.sum(x[x > 0] * np.log(x[x > 0] / middle[x > 0]))) for x in (p, q)]
            assert value == pytest.approx(sum(kl) / 2, rel=1e-5, abs=1e-7)  # sums over 4096 tokens in float32
            assert 0 <= value <= math.log(2) + 1e-6
    # Logarithms of other rows at once may be rounded otherwise.
    torch.testing.assert_close(divergence(both.a, both.b, 2), both.divergence()[:, :2], rtol=1e-5, atol=1e-7)


def test_every_step_lists_the_likeliest_of_either_and_what_either_wrote(chosen: Selection) -> None:
    both = continuations(chosen.updated(Choices, b_writes="own", written=(4000,)))
    assert both.b is not None
    steps = written.steps_of(both)
    for step, (a, b) in enumerate(zip(steps["A"], steps["B"], strict=True)):
        listed = [choice.token for choice in a.choices]
        assert listed == [choice.token for choice in b.choices]
        assert {a.token, b.token} <= set(listed)
        either = torch.maximum(both.a.chances(step).before, both.b.chances(step).before)
        assert int(either.argmax()) == listed[0]
        shares = [float(either[token]) for token in listed]
        assert shares == sorted(shares, reverse=True)
        assert [choice.rank for choice in b.choices] == [
            int((both.b.logits(step) > both.b.logits(step)[token]).sum()) + 1 for token in listed
        ]


def test_steps_stand_under_each_other_and_each_at_its_own_query(chosen: Selection) -> None:
    for align in ("tokens", "position"):
        both = continuations(replace(chosen, align=align))  # type: ignore[arg-type]
        assert both.b is not None
        axis = written.axis(both)
        for step in range(6):
            place = both.place(step)
            assert [positions[place] for positions in axis.positions] == [both.a.query(step), both.b.query(step)]
        for side, each in zip(("a", "b"), (both.a, both.b), strict=True):
            cells = on_axis(both.comparison, side, (1, 2), How(), axis)[both.place(4)]  # type: ignore[arg-type]
            row = attend(each.run, 1, 2).pattern[each.query(4), : each.query(4) + 1]
            torch.testing.assert_close(cells[cells.isfinite()], row, rtol=0, atol=0)


@pytest.mark.parametrize("kind", EDITS)
def test_an_edit_acts_at_every_step_as_in_one_pass_over_all(chosen: Selection, kind: str) -> None:
    """Were it only done to the prompt, or anew to each token alone, a step's logits would be others."""
    edits = EDITS[kind]
    both = continuations(chosen.updated(Choices, prompt_b=None, edits=edits, b_writes="own"))
    assert both.own is not None
    model = load("mini")
    prompt = model.to_tokens(PROMPT, prepend_bos=True)[0]
    generator, tokens = torch.Generator().manual_seed(3), prompt
    for step in range(6):
        with torch.inference_mode():
            logits = run_with_edits(model, tokens[None], edits, None, True, len(prompt))[0][0, -1]
        # A pass over other lengths: float32's rounding of sums of size 20.
        torch.testing.assert_close(both.own.logits(step), logits, rtol=0, atol=1e-4)
        drawn = torch.multinomial(logits.softmax(-1), 1, generator=generator)
        assert int(drawn) == int(both.own.tokens[step])
        tokens = torch.cat([tokens, drawn])
    assert (both.own.logits(0) - both.a.logits(0)).abs().max() > 0.01


def test_without_edits_nothing_is_drawn_otherwise(chosen: Selection) -> None:
    """A steering by nothing goes the way of edits, a step a whole pass; the keys and values kept give the same."""
    both = continuations(
        chosen.updated(Choices, prompt_b=None, edits=(Steer(1, "one two", "three", 0.0),), b_writes="own")
    )
    assert both.own is not None
    assert both.own.tokens.tolist() == both.a.tokens.tolist()
    assert both.divergence().amax() < 1e-5  # float32 sums over 4096 tokens


def test_a_full_context_of_b_leaves_only_as_many_steps(chosen: Selection, folder: str) -> None:
    almost = " one" * 95  # and the beginning: room for 4
    both = continuations(replace(chosen, model=folder, prompt_b=almost))
    assert (both.n_compared, len(both.a.labels)) == (4, 6)
    steps = written.steps_of(both)
    assert (len(steps["A"]), len(steps["B"])) == (6, 4)
    at = view(
        "generate",
        comparisons.for_selection(replace(chosen, model=folder, prompt_b=almost)),
        n_new=6,
        stop=False,
        table=True,
    )
    assert any("Both have only the first 4 steps" in caption.value for caption in at.caption)
    assert at.dataframe[0].value["Log-probability B (nats)"].isna().tolist() == [False] * 4 + [True] * 2


def test_what_is_forced_has_to_be_in_the_vocabulary() -> None:
    with pytest.raises(InputError, match="Token 4096 was to be written"):
        forced(runs.run("mini", OTHER, True), (4096,), Sampling())


@pytest.mark.parametrize("b_writes", ["same", "own"])
@pytest.mark.parametrize("table", [False, True])
def test_the_page_says_which_text_b_follows(chosen: Selection, b_writes: str, table: bool) -> None:
    both = comparisons.for_selection(chosen)
    at = view("generate", both, n_new=4, stop=False, b_writes=b_writes, table=table, heads=((1, 2),))
    said = " ".join(caption.value for caption in at.caption)
    assert ("followed by A's generated tokens" in said) is (b_writes == "same")
    assert ("B generates freely with A's seed" in said) is (b_writes == "own")
    if table:
        compared = generation.both(both, at.session_state["headlight"].active)
        steps, choices, weights = (each.value for each in at.dataframe)
        np.testing.assert_array_equal(steps["JS(A, B) (nats)"], compared.divergence()[0])
        np.testing.assert_allclose(choices["Probability B − A"], choices["Probability B"] - choices["Probability A"])
        np.testing.assert_allclose(weights["L1H2 B"].sum(), 1, rtol=1e-5)  # a softmax in float32


def test_a_model_b_with_other_ids_is_refused_plainly(chosen: Selection) -> None:
    both = comparisons.for_selection(chosen)
    assert both.b is not None
    wider = copy(both.b.model)
    wider.cfg = replace(both.a.cfg, d_vocab=5000, d_vocab_out=5000, tie_word_embeddings=False)
    other = replace(both, b=replace(both.b, model=wider))
    assert "4,096 tokens a probability and B 5,000" in generate.needs(other)
    assert not generate.needs(both)

"""What can be taken along of the page *Generate*: its numbers are the model's, its tokens stay text."""

import numpy as np
import pytest
import torch

from headlight.app.exports import style
from headlight.app.exports.style import LIGHT
from headlight.app.pages.generate import EXPORT as GENERATE
from headlight.app.pages.generate import generation
from headlight.app.pages.generate.choices import Choices
from headlight.app.runs import comparisons
from headlight.model.runs.comparison import Comparison
from headlight.model.runs.edits import AblateHeads, CutEdge, FreezePatterns, Patch, Steer
from headlight.model.runs.head import attend
from tests.app.exports.hostile import OTHER, chosen
from tests.app.exports.test_code import compare, run_here
from tests.app.exports.test_pictures import texts

HOSTILE_TOKENS = ("$", "</", "<", "\n")


def fields(alone: Comparison, **more: object) -> dict[str, object]:
    """Eight tokens, of which the user put four there that look like markup."""
    ids = tuple(int(alone.a.tokenizer.to_tokens(text)[0, 0]) for text in HOSTILE_TOKENS)
    return {"n_new": 8, "written": ids, "step": 1, "temperature": 0.9, "top_p": 0.8, **more}


def test_arrays_are_the_distributions_and_the_rows_of_the_heads(alone: Comparison, folder: str) -> None:
    selection = chosen(folder, **fields(alone, step=6))
    arrays = GENERATE.data(alone, selection).arrays
    continuation = generation.continuation_of(alone.a, selection.choices_of(Choices))
    before, after = (arrays[f"A probabilities {when}"].values for when in ("before", "after"))
    assert float(before.sum()) == pytest.approx(1, abs=1e-5)  # float32, over 4096 tokens
    assert float(after.sum()) == pytest.approx(1, abs=1e-5)
    assert 0 < int((after > 0).sum()) < len(before)
    assert float(before[continuation.tokens[6]].log()) == pytest.approx(float(continuation.log_probs[6]), abs=1e-5)
    rows = attend(continuation.run, 1, 2).pattern[continuation.n_prompt - 1 : -1]
    np.testing.assert_array_equal(arrays["A attention"].values[0].nan_to_num(0), rows)


def test_tokens_stay_text_in_the_picture(alone: Comparison, folder: str) -> None:
    """Dollars are no mathematics, angle brackets no markup: warnings are errors."""
    selection = chosen(folder, **fields(alone))
    svg = style.file(lambda: GENERATE.picture(alone, selection, LIGHT), LIGHT, "svg")
    continuation = generation.continuation_of(alone.a, selection.choices_of(Choices))
    assert continuation.labels[:2] == ("$", "</")
    assert set(continuation.labels) <= set(texts(svg))
    assert any(text.startswith("◆ </") for text in texts(svg))


def test_the_figure_is_of_one_pass_over_all_that_was_written(two: Comparison, folder: str) -> None:
    """B is made to write A's tokens."""
    selection = chosen(folder, prompt_b=OTHER, **fields(two, temperature=1.3))
    likely, undecided = (plot for (plot,) in GENERATE.plots(two, selection))
    continuations = generation.both(two, selection)
    expected = []
    for side, line, entropy in zip("AB", likely.traces, undecided.traces, strict=False):
        run, n_prompt = continuations.sides[side].run, continuations.sides[side].n_prompt
        chances = run.model(run.tokens[None])[0, n_prompt - 1 : -1].double().softmax(-1)
        expected.append(chances.gather(1, continuations.a.tokens[:, None])[:, 0].numpy())
        np.testing.assert_allclose(line["y"], expected[-1], atol=1e-5)  # float32, over 4096 tokens
        np.testing.assert_allclose(entropy["y"], -(chances * chances.log()).sum(-1), atol=1e-4)
        assert (line["name"], entropy["name"]) == (side, side)
    np.testing.assert_allclose(likely.traces[2]["y"], expected[1] - expected[0], atol=1e-5)


def test_what_was_put_there_is_told(alone: Comparison, folder: str) -> None:
    data = GENERATE.data(alone, chosen(folder, **fields(alone)))
    assert data.tables["steps"]["given"] == [1] * 4 + [0] * 4
    assert data.shows["of these put there by the user"] == 4


def test_a_script_without_anything_left_to_draw(alone: Comparison, folder: str) -> None:
    few = fields(alone, n_new=3)
    compare(run_here(GENERATE.script(alone, chosen(folder, **few))), GENERATE, few, folder)


def test_a_script_that_ends_with_the_text(alone: Comparison, folder: str) -> None:
    ended = fields(alone, written=(5, alone.a.model.stop_tokens[0]), step=0)
    assert generation.continuation_of(alone.a, chosen(folder, **ended).choices_of(Choices)).reason == "stop token"
    compare(run_here(GENERATE.script(alone, chosen(folder, **ended))), GENERATE, ended, folder)


def test_a_full_context_leaves_files_without_steps(folder: str) -> None:
    selection = chosen(folder, prompt=" one" * 99)
    full = comparisons.for_selection(selection)
    assert generation.continuation_of(full.a, selection.choices_of(Choices)).reason == "context"
    data = GENERATE.data(full, selection)
    assert data.tables["steps"]["step"] == data.tables["choices"]["rank"] == data.tables["heads"]["place"] == []
    assert GENERATE.page(full, selection)
    assert style.file(lambda: GENERATE.picture(full, selection, LIGHT), LIGHT, "svg")
    assert "99,␣one" in run_here(GENERATE.script(full, selection))


TWO: list[dict[str, object]] = [
    {"prompt_b": OTHER, "step": 3},
    {"prompt_b": OTHER, "b_writes": "own", "align": "position", "temperature": 0.7, "top_k": 40, "top_p": 0.9},
    {"edits": (AblateHeads(((0, 1), (2, 3)), "mean"), CutEdge((1, 2), 9, 4, True), FreezePatterns((2,))), "step": 2},
    {"edits": (Patch("blocks.1.hook_resid_pre", OTHER), Steer(1, "one two", "two", -1.5)), "b_writes": "own"},
    {"prompt_b": " one" * 95, "heads": ()},
]


@pytest.mark.parametrize("fields", TWO)
def test_a_script_of_two_prints_a_b_and_the_difference(fields: dict[str, object], folder: str) -> None:
    fields = {"n_new": 6, "stop": False, **fields}
    selection = chosen(folder, **fields)
    compare(run_here(GENERATE.script(comparisons.for_selection(selection), selection)), GENERATE, fields, folder)


def test_the_differences_are_those_of_the_two(two: Comparison, folder: str) -> None:
    selection = chosen(folder, prompt_b=OTHER, n_new=6, stop=False, step=2, written=(300, 77, 5))
    data = GENERATE.data(two, selection)
    continuations = generation.both(two, selection)
    choices = data.tables["choices"]
    by_run = {run: [] for run in ("A", "B", "B - A")}
    for run, share in zip(choices["run"], choices["probability"], strict=True):
        by_run[run].append(share)
    np.testing.assert_allclose(np.subtract(by_run["B"], by_run["A"]), by_run["B - A"], rtol=0, atol=0)
    assert torch.equal(data.arrays["divergence"].values, continuations.divergence())
    attention = {name: data.arrays[f"{name} attention"].values[0] for name in ("A", "B", "B-A")}
    both = attention["A"].isfinite() & attention["B"].isfinite()
    torch.testing.assert_close(attention["B-A"][both], (attention["B"] - attention["A"])[both])
    torch.testing.assert_close(attention["B-A"].nansum(-1), torch.zeros(6), rtol=0, atol=1e-5)  # two softmaxes
    page = GENERATE.page(two, selection)
    assert len(page) < 1_500_000
    svg = style.file(lambda: GENERATE.picture(two, selection, LIGHT), LIGHT, "svg")
    assert {"B − A", "L1H2 B − A: attention weight when each token was written"} <= set(texts(svg))

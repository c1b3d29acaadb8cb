"""What is explained where nothing is chosen, and the numbers that explain it: sums that agree."""

import copy

import numpy as np
import pytest
import torch

from headlight.app.pages.why import figures as numbers
from headlight.app.pages.why import spelled
from headlight.app.pages.why.chosen import sides_of
from headlight.app.parts import sums
from headlight.app.parts.matrix import Matrix
from headlight.app.parts.sides import DIFFERENCE, with_difference
from headlight.app.parts.sums import condensed, fall
from headlight.app.runs import runs
from headlight.app.selection import Selection
from headlight.model.attribution import Cell, Question, ablation, ablation_effects, explain_cell, logit_attribution
from headlight.model.attribution.parts import logits_at
from headlight.model.attribution.score import check
from headlight.model.attribution.tables import edge_effect, effect_by_name
from headlight.model.base.errors import HeadlightError
from headlight.model.measure.alignment import align_tokens
from headlight.model.runs.comparison import Comparison
from headlight.model.runs.head import attend
from headlight.model.runs.run import Run, run_prompt
from tests.app.pages.why.cells import EDITS, HEAD, LOGITS, SUM, at_cell, explained_of


def test_where_nothing_is_chosen_it_is_the_likeliest_two_and_the_strongest_cell(run: Run) -> None:
    at = explained_of(Comparison(run), Selection(), "A")
    last = len(run.tokens) - 1
    assert [at.question.target, at.question.distractor] == run.next_logits.topk(2).indices.tolist()
    assert (at.head, at.cell.query, at.question.position) == (_largest_by_hand(run, at.question), last, last)
    assert at.cell.key == int(attend(run, *at.head).pattern[last].argmax())


def _largest_by_hand(run: Run, question: Question) -> tuple[int, int]:
    """The head whose write moves the logit difference most through the final norm at this run's scale."""
    with torch.inference_mode():
        _, cache = run.model.run_with_cache(run.tokens[None])
        n_layers, at = run.cfg.n_layers, question.position
        z = torch.stack([cache["z", layer][0, at] for layer in range(n_layers)])
        W_O = torch.stack([run.model.block(layer).attn.W_O for layer in range(n_layers)])
        writes = torch.einsum("lhd,lhdm->lhm", z, W_O)
        centred = (writes - writes.mean(-1, keepdim=True)) / cache["ln_final.hook_scale"][0, at]
        direction = run.model.unembed.W_U[:, question.target] - run.model.unembed.W_U[:, question.distractor]
        sizes = ((centred * run.model.ln_final.w) @ direction).abs()
    return divmod(int(sizes.argmax()), run.cfg.n_heads)


def test_an_earlier_position_has_its_own_prediction_and_query(run: Run) -> None:
    at = at_cell(Comparison(run), position=3)
    with torch.inference_mode():
        logits = run.model(run.tokens[None])[0, 3]
    assert [at.question.target, at.question.distractor] == logits.topk(2).indices.tolist()
    assert at.cell.query == 3
    torch.testing.assert_close(logits_at(run, 3), logits, rtol=0, atol=LOGITS)


def test_where_no_key_is_chosen_both_runs_are_explained_at_as_strongest(run: Run, folder: str) -> None:
    b = runs.run(folder, "four one two three one two three one", True)
    comparison = Comparison(run, b, align_tokens(run.tokens.tolist(), b.tokens.tolist()))
    sides = sides_of(comparison, Selection(heads=(HEAD,)))[0]
    keys = {side: comparison.positions(at.run).index(at.cell.key) for side, at in sides.items()}
    assert sides["A"].cell.key == int(attend(run, *HEAD).pattern[sides["A"].cell.query].argmax())
    assert keys["A"] == keys["B"]


@pytest.mark.parametrize("layer", [0, 1, 2])
def test_parts_add_up_to_every_score_and_to_the_difference(run: Run, layer: int) -> None:
    for head in range(run.cfg.n_heads):
        at = at_cell(Comparison(run), heads=((layer, head),), queries=(5,), keys=(2,))
        score = float(attend(run, layer, head).scores[5, 2])
        matrix = numbers.score_matrix(at)
        assert matrix.values.sum() == pytest.approx(score, abs=SUM)
        assert abs(float(at.why.parts.residual.values)) < SUM
        assert len(matrix.rows) == 2 + layer * (run.cfg.n_heads + 1) + 1  # its attention has no biases
    logits = logits_at(run, len(run.tokens) - 1)
    difference = float(logits[at.question.target] - logits[at.question.distractor])
    assert sum(effect_by_name(at).values()) == pytest.approx(difference, abs=SUM)
    assert abs(float(at.effects.residual.values)) < SUM


def test_a_heads_effect_is_the_sum_over_its_source_tokens(run: Run) -> None:
    at = at_cell(Comparison(run))
    by_name = effect_by_name(at)
    assert float(at.by_source.values.sum()) == pytest.approx(by_name["L1H2"], abs=SUM)
    assert float(at.by_source.values[at.cell.key]) == pytest.approx(edge_effect(at), abs=SUM)


@pytest.mark.parametrize("has_bias", [True, False])
def test_the_map_holds_every_head_bias_and_mlp(run: Run, has_bias: bool) -> None:
    """The attention's biases only where the model has any."""
    model = copy.deepcopy(run.model)
    for layer in range(run.cfg.n_layers):
        model.block(layer).attn.b_O.data.fill_(0.1 * has_bias)
    run = run_prompt(model, "one two three one two")
    at = at_cell(Comparison(run))
    by_name, effects = effect_by_name(at), numbers.effect_map(at)
    assert effects.columns == (*(f"H{head}" for head in range(run.cfg.n_heads)), *(["bias"] if has_bias else []), "MLP")
    for layer in range(run.cfg.n_layers):
        bias = [f"L{layer} attention bias"] if has_bias else []
        names = [*(f"L{layer}H{head}" for head in range(run.cfg.n_heads)), *bias, f"L{layer} MLP"]
        assert effects.values[layer].tolist() == [by_name[name] for name in names]
    outside = {"token embedding", "position embedding", "final LayerNorm's bias"}  # its unembedding has no bias
    assert effects.values.sum() + sum(by_name[name] for name in outside) == pytest.approx(sum(by_name.values()))


def test_over_the_layers_both_end_with_the_models_difference(run: Run) -> None:
    at = at_cell(Comparison(run), position=4)
    lines = numbers.by_layer(at)
    assert lines.values[:, -1].tolist() == pytest.approx([float(at.effects.difference.values)] * 2, abs=SUM)
    by_name = effect_by_name(at)
    begun = [by_name[name] for name in ("token embedding", "position embedding", "final LayerNorm's bias")]
    assert lines.values[0, 0] == pytest.approx(sum(begun))


def test_b_less_a_names_the_tokens_that_b_promotes_more(both: Comparison) -> None:
    """Both writes, normalised by hand with their own run's scale, through the unembedding."""
    sides = sides_of(both, Selection(heads=(HEAD,), queries=(7,), keys=(3,)))[0]
    effects = {}
    for side, at in sides.items():
        *_, final = at.run.streams()
        stream, W_O = final[at.cell.query].double(), at.run.model.get_parameter("blocks.1.attn.W_O")[2].double()
        write = at.why.weight * at.run.cache["v", 1][at.cell.key, 2].double() @ W_O
        scale = (stream.var(unbiased=False) + at.run.cfg.eps).sqrt()
        gain = at.run.model.get_parameter("ln_final.w").double()
        effects[side] = ((write - write.mean()) / scale * gain) @ at.run.model.unembed.W_U.double()
    apart = effects["B"] - effects["A"]
    promoted = numbers.promoted_of(sides)["B − A"]
    raised, lowered = apart.topk(10), apart.topk(10, largest=False)
    assert promoted.raised.values.tolist() == raised.indices.tolist()
    assert promoted.lowered.values.tolist() == lowered.indices.tolist()
    # float32 sums over the model's width, of effects of size 1
    torch.testing.assert_close(promoted.raised_by.values.double(), raised.values, rtol=0, atol=1e-5)
    torch.testing.assert_close(promoted.lowered_by.values.double(), lowered.values, rtol=0, atol=1e-5)


def test_a_run_with_edits_adds_up_as_well(folder: str) -> None:
    edited = runs.run(folder, "one two three one two three one", True, EDITS)
    for cell in (Cell(0, 1, 5, 2), Cell(1, 0, 7, 4), Cell(2, 3, 6, 6)):
        why = explain_cell(edited, cell)
        assert abs(float(why.parts.residual.values)) < SUM
        assert why.query_names[-1] == "the run's edits of it"
        attribution = logit_attribution(edited, Question(30, 50, cell.query))
        assert abs(float(attribution.residual.values)) < SUM


def test_a_head_that_is_not_there_is_refused(run: Run) -> None:
    with pytest.raises(HeadlightError, match="There is no head L9H0"):
        check(run, Cell(9, 0, 1, 0))


def test_a_condensed_matrix_has_all_sums() -> None:
    values = np.random.default_rng(0).normal(size=(12, 30))
    full = Matrix(tuple(f"q{i}" for i in range(12)), tuple(f"k{i}" for i in range(30)), values)
    matrix = condensed(full, 5)
    assert matrix.values.shape == (7, 7)
    assert matrix.rows[-2:] == ("the other 7", "sum")
    assert matrix.columns[-2:] == ("the other 25", "sum")
    np.testing.assert_allclose(matrix.values[-1, -1], values.sum())
    np.testing.assert_allclose(matrix.values[:-1, -1], matrix.values[:-1, :-1].sum(1))
    strongest = np.argsort(-np.abs(values).sum(1))[:5]
    assert [full.rows[i] for i in sorted(strongest)] == list(matrix.rows[:5])
    np.testing.assert_allclose(matrix.values[:5, -1], values[sorted(strongest)].sum(1))


def test_a_short_matrix_keeps_every_row() -> None:
    full = Matrix(("a", "b"), ("c",), np.array([[1.0], [-3.0]]))
    matrix = condensed(full, 1)
    assert (matrix.rows, matrix.columns) == (("a", "b", "sum"), ("c", "sum"))
    assert matrix.values.tolist() == [[1, 1], [-3, -3], [-2, -2]]


def test_a_waterfall_goes_from_nothing_to_the_sum() -> None:
    steps = fall({"a": 1.0, "b": -4.0, "c": 0.25, "d": 0.5}, 2)
    assert [(step.name, step.start, step.end) for step in steps] == [
        ("b", 0, -4),
        ("a", -4, -3),
        ("the other 2", -3, -2.25),
    ]


def test_a_part_that_one_run_lacks_counts_as_zero_in_a_difference() -> None:
    a = Matrix(("x", "y"), ("u", "v"), np.array([[1.0, 2.0], [3.0, np.nan]]))
    b = Matrix(("y", "z", "x"), ("v", "w"), np.array([[np.nan, 1.0], [9.0, 8.0], [7.0, 5.0]]))
    change = with_difference({"A": a, "B": b})["B − A"]
    assert (change.rows, change.columns) == (("x", "y", "z"), ("u", "v", "w"))
    np.testing.assert_array_equal(change.values, [[-1, 5, 5], [-3, 0, 1], [0, 9, 8]])


def test_what_is_no_part_of_a_sum_has_a_difference_where_both_have_it() -> None:
    a = Matrix(("lens",), ("embed", "L0"), np.array([[1.0, 2.0]]), absent=np.nan)
    b = Matrix(("lens",), ("embed", "L0", "L1"), np.array([[4.0, 6.0, 9.0]]), absent=np.nan)
    np.testing.assert_array_equal(with_difference({"A": a, "B": b})["B − A"].values, [[3, 4, np.nan]])


OVER = ("one two", "three", "four five one two three")


@pytest.mark.usefixtures("unchecked")  # a batch grows on the way where interventions run side by side
def test_what_the_mean_of_a_head_is_over_is_told(run: Run) -> None:
    n_tokens = sum(len(run.tokenizer.to_tokens(text, prepend_bos=True)[0]) for text in OVER)
    at = at_cell(Comparison(run), mean_over=OVER)
    assert at.outcomes.total.values[3] != at_cell(Comparison(run)).outcomes.total.values[3]
    assert spelled.mean(at) == f"The mean is over {n_tokens} tokens of 3 prompts."
    assert spelled.mean(at_cell(Comparison(run))) == "The mean is over the 8 tokens of this prompt."


@pytest.mark.usefixtures("unchecked")  # a batch grows on the way where interventions run side by side
def test_what_is_done_to_a_head_is_not_done_again_for_another_cell(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    ablation_effects(run, Cell(2, 1, 7, 3), Question(30, 50, 7))
    monkeypatch.setattr(ablation, "_ablated", lambda *args: pytest.fail("the head was ablated again"))
    assert len(ablation_effects(run, Cell(2, 1, 7, 4), Question(30, 50, 7)).names) == 4


@pytest.mark.parametrize(("largest", "limit"), [(0.004, 0.1), (0.7, 0.7)])
def test_parts_that_do_not_matter_have_pale_colours(largest: float, limit: float) -> None:
    """A and B have one scale and B - A its own, by their parts alone; each goes at least to 0.1."""

    def parts(first: float) -> Matrix:
        values = np.array([[first, 0.001], [0.0, -0.002]])
        whole = np.vstack([np.column_stack([values, [50.0, 50.0]]), [50.0, 50.0, 100.0]])
        return Matrix(("L0H0", "L0H1", sums.SUM), ("L0H0", "L0H1", sums.SUM), whole)

    sides = {"A": parts(0.003), "B": parts(largest), DIFFERENCE: parts(-2 * largest)}
    assert sums.limit_of(sides, "A") == sums.limit_of(sides, "B") == limit
    assert sums.limit_of(sides, DIFFERENCE) == max(0.1, 2 * largest)

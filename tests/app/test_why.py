"""The page *Why*: what is chosen where nothing is, sums that agree, and interventions against runs with hooks."""

from collections.abc import Callable, Iterator

import numpy as np
import pytest
import torch
from streamlit.testing.v1 import AppTest
from torch import Tensor

from app import explained, measured, runs
from app.explained import Cell, Question
from app.measured import Given, outcomes
from app.run import Run, attend
from app.selection import Selection
from app.shown import Shown
from app.views.attention import clearest
from app.views.reasons import numbers, spelled
from app.views.reasons.chosen import Explained, explained_of, pair_of, sides_of, typeable
from app.views.reasons.numbers import Matrix, condensed, fall
from app.views.steps.spelled import number
from model.analysis.alignment import align_tokens, match_positions
from model.edits import AblateHeads, CutEdge, Steer
from model.errors import HeadlightError, InputError
from tests.app.test_sides import PROMPT_B, page
from tests.model.conftest import unchecked_annotations

HEAD = (1, 2)
# Sums of the run's float32 activations, of size up to 30 and rounded to 6e-8 of themselves, a thousand at a time.
SUM = 1e-4
# Logits of size 1 from two passes of float32 whose sums are taken in another order.
LOGITS = 2e-5


@pytest.fixture(autouse=True)
def _unchecked() -> Iterator[None]:
    """A batch grows on the way where interventions run side by side."""
    with unchecked_annotations():
        yield


@pytest.fixture(scope="module")
def both(run: Run, folder: str) -> Shown:
    b = runs.run(folder, PROMPT_B, True)
    return Shown(run, b, align_tokens(run.tokens.tolist(), b.tokens.tolist()))


def _at(shown: Shown, side: str = "A", **chosen: object) -> Explained:
    return explained_of(shown, Selection(**{"heads": (HEAD,), **chosen}), side)  # type: ignore[arg-type]


def test_where_nothing_is_chosen_it_is_the_likeliest_two_and_the_strongest_cell(run: Run) -> None:
    at = explained_of(Shown(run), Selection(), "A")
    last = len(run.tokens) - 1
    assert [at.question.target, at.question.distractor] == run.next_logits.topk(2).indices.tolist()
    assert (at.head, at.cell.query, at.question.position) == (clearest(run)[0], last, last)
    assert at.cell.key == int(attend(run, *at.head).pattern[last].argmax())


def test_an_earlier_position_has_its_own_prediction_and_query(run: Run) -> None:
    at = _at(Shown(run), position=3)
    with torch.inference_mode():
        logits = run.model(run.tokens[None])[0, 3]
    assert [at.question.target, at.question.distractor] == logits.topk(2).indices.tolist()
    assert at.cell.query == 3
    torch.testing.assert_close(explained.logits_at(run, 3), logits, rtol=0, atol=LOGITS)


@pytest.mark.parametrize("layer", [0, 1, 2])
def test_parts_add_up_to_every_score_and_to_the_difference(run: Run, layer: int) -> None:
    for head in range(run.cfg.n_heads):
        at = _at(Shown(run), heads=((layer, head),), queries=(5,), keys=(2,))
        score = float(attend(run, layer, head).scores[5, 2])
        matrix = numbers.score_matrix(at)
        assert matrix.values.sum() == pytest.approx(score, abs=SUM)
        assert abs(float(at.why.found.residual.values)) < SUM
        assert len(matrix.rows) == 2 + layer * (run.cfg.n_heads + 2) + 2
    logits = explained.logits_at(run, len(run.tokens) - 1)
    difference = float(logits[at.question.target] - logits[at.question.distractor])
    assert sum(numbers.effect_by_name(at).values()) == pytest.approx(difference, abs=SUM)
    assert abs(float(at.effects.residual.values)) < SUM


def test_a_heads_effect_is_the_sum_over_its_source_tokens(run: Run) -> None:
    at = _at(Shown(run))
    by_name = numbers.effect_by_name(at)
    assert float(at.by_source.values.sum()) == pytest.approx(by_name["L1H2"], abs=SUM)
    assert float(at.by_source.values[at.cell.key]) == pytest.approx(numbers.edge_effect(at), abs=SUM)


def test_the_map_holds_every_head_bias_and_mlp(run: Run) -> None:
    at = _at(Shown(run))
    by_name, found = numbers.effect_by_name(at), numbers.effect_map(at)
    for layer in range(run.cfg.n_layers):
        names = [*(f"L{layer}H{head}" for head in range(run.cfg.n_heads)), f"L{layer} attention bias", f"L{layer} MLP"]
        assert found.values[layer].tolist() == [by_name[name] for name in names]
    outside = {"token embedding", "position embedding", *explained.CONSTANTS}
    assert found.values.sum() + sum(by_name[name] for name in outside) == pytest.approx(sum(by_name.values()))


def test_over_the_layers_both_end_with_the_models_difference(run: Run) -> None:
    at = _at(Shown(run), position=4)
    found = numbers.by_layer(at)
    assert found.values[:, -1].tolist() == pytest.approx([float(at.effects.difference.values)] * 2, abs=SUM)
    by_name = numbers.effect_by_name(at)
    begun = [by_name[name] for name in ("token embedding", "position embedding", *explained.CONSTANTS)]
    assert found.values[0, 0] == pytest.approx(sum(begun))


def _hooked(run: Run, name: str, edit: Callable[[Tensor], None], position: int) -> Tensor:
    """The logits at a position of a whole pass in which this is done."""

    with torch.inference_mode():
        return run.model.run_with_hooks(run.tokens[None], [(name, lambda x, hook: edit(x))])[0, position]


CELLS = [
    (Cell(1, 2, 7, 3), 7),
    (Cell(0, 1, 7, 7), 7),
    (Cell(2, 4, 4, 0), 7),
    (Cell(1, 0, 2, 1), 5),
    (Cell(2, 3, 0, 0), 4),
    (Cell(1, 2, 6, 3), 3),
]


@pytest.mark.parametrize(("cell", "position"), CELLS)
def test_interventions_are_what_hooks_make_of_a_whole_pass(run: Run, cell: Cell, position: int) -> None:
    question = Question(30, 50, position)
    found = outcomes(run, cell, question)
    pattern, z = (f"blocks.{cell.layer}.attn.hook_{name}" for name in ("pattern", "z"))
    own = _hooked(run, pattern, lambda activation: None, position)

    def cut(activation: Tensor) -> None:
        activation[:, cell.head, cell.query, cell.key] = 0

    def rescaled(activation: Tensor) -> None:
        cut(activation)
        row = activation[:, cell.head, cell.query]
        row /= row.sum().clamp_min(1e-30)

    def nothing(activation: Tensor) -> None:
        activation[:, :, cell.head] = 0

    def mean(activation: Tensor) -> None:
        activation[:, :, cell.head] = activation[:, :, cell.head].mean(1, keepdim=True)

    for slot, (name, hook) in enumerate(((pattern, cut), (pattern, rescaled), (z, nothing), (z, mean))):
        logits = _hooked(run, name, hook, position)
        change = (logits - own)[[question.target, question.distractor]]
        assert float(found.total.values[slot]) == pytest.approx(float(change[0] - change[1]), abs=LOGITS)
        p, q = (torch.distributions.Categorical(logits=each.double()) for each in (own, logits))
        kl = float(torch.distributions.kl_divergence(p, q))
        assert float(found.kl.values[slot]) == pytest.approx(kl, abs=LOGITS)
        assert int(found.top.values[slot]) == int(logits.argmax())


def test_nothing_before_a_cut_can_change(run: Run) -> None:
    found = outcomes(run, Cell(1, 2, 6, 3), Question(30, 50, 3))
    assert found.total.values[:2].tolist() == found.kl.values[:2].tolist() == [0, 0]
    assert found.direct.values[:2].tolist() == [0, 0]


def test_direct_effects_are_those_of_a_write_taken_out_at_the_runs_own_scale(run: Run) -> None:
    """The final stream without the write, normalised by hand with the scale that it had with it."""
    cell, position = Cell(2, 3, 7, 4), 7
    question = Question(30, 50, position)
    found = outcomes(run, cell, question)
    *_, final = run.streams()
    stream, W_U = final[position].double(), run.model.unembed.W_U.double()
    scale, gain = (stream.var(unbiased=False) + run.cfg.eps).sqrt(), run.model.get_parameter("ln_final.w").double()
    pattern, v = attend(run, 2, 3).pattern[7].double(), run.cache["v", 2][:, 3].double()
    W_O = run.model.get_parameter("blocks.2.attn.W_O")[3].double()
    edge, head = pattern[4] * v[4] @ W_O, pattern @ v @ W_O

    def difference(vector: Tensor) -> float:
        logits = ((vector - vector.mean()) / scale * gain) @ W_U
        return float(logits[30] - logits[50])

    expected = difference(stream - edge) - difference(stream)
    assert float(found.direct.values[0]) == pytest.approx(expected, abs=LOGITS)
    expected = difference(stream - head) - difference(stream)
    assert float(found.direct.values[2]) == pytest.approx(expected, abs=LOGITS)


def _matched(run: Run, other: Run) -> Given:
    return Given(other, match_positions(run.tokens.tolist(), other.tokens.tolist()))


@pytest.mark.parametrize("text", [PROMPT_B, f"two {PROMPT_B} two", "one three one", "seven"])
def test_another_prompts_output_is_taken_where_positions_match(run: Run, folder: str, text: str) -> None:
    other = runs.run(folder, text, True)
    cell, question, given = Cell(1, 2, 7, 3), Question(30, 50, 7), _matched(run, other)
    found = outcomes(run, cell, question, given)
    there = attend(other, 1, 2).pattern @ other.cache["v", 1][:, 2]

    def resampled(activation: Tensor) -> None:
        for here, position in given.matches:
            activation[0, here, 2] = there[position]

    own, logits = (_hooked(run, "blocks.1.attn.hook_z", hook, 7) for hook in (lambda activation: None, resampled))
    change = (logits - own)[[30, 50]]
    assert float(found.total.values[4]) == pytest.approx(float(change[0] - change[1]), abs=LOGITS)


def test_a_run_resampled_from_itself_stays(run: Run) -> None:
    itself = outcomes(run, Cell(1, 2, 7, 3), Question(30, 50, 7), _matched(run, run))
    assert float(itself.total.values[4]) == pytest.approx(0, abs=LOGITS)
    assert len(outcomes(run, Cell(1, 2, 7, 3), Question(30, 50, 7), Given(run, ())).names) == 4


OVER = ("one two", "three", "four five one two three")


def test_a_mean_over_other_prompts_is_that_of_all_their_positions(run: Run, folder: str) -> None:
    question, cell = Question(30, 50, 7), Cell(1, 2, 7, 3)
    z = []
    for text in OVER:
        other = runs.run(folder, text, True)
        z.append(attend(other, 1, 2).pattern @ other.cache["v", 1][:, 2])
    mean = torch.cat(z).mean(0)

    def put(activation: Tensor) -> None:
        activation[:, :, 2] = mean

    own, logits = (_hooked(run, "blocks.1.attn.hook_z", hook, 7) for hook in (lambda activation: None, put))
    found = outcomes(run, cell, question, Given(mean_over=OVER))
    change = (logits - own)[[30, 50]]
    assert float(found.total.values[3]) == pytest.approx(float(change[0] - change[1]), abs=LOGITS)
    at = _at(Shown(run), mean_over=OVER)
    assert at.outcomes.total.values[3] != _at(Shown(run)).outcomes.total.values[3]
    assert spelled.mean(at) == f"The mean is over {sum(map(len, z))} tokens of 3 prompts."
    assert spelled.mean(_at(Shown(run))) == "The mean is over the 8 tokens of this prompt."


def test_what_is_done_to_a_head_is_not_done_again_for_another_cell(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    outcomes(run, Cell(2, 1, 7, 3), Question(30, 50, 7))
    monkeypatch.setattr(measured, "_ablated", lambda *given: pytest.fail("the head was ablated again"))
    assert len(outcomes(run, Cell(2, 1, 7, 4), Question(30, 50, 7)).names) == 4


def test_b_less_a_names_the_tokens_that_b_promotes_more(both: Shown) -> None:
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
    found = numbers.promoted_of(sides)["B − A"]
    raised, lowered = apart.topk(10), apart.topk(10, largest=False)
    assert found.raised.values.tolist() == raised.indices.tolist()
    assert found.lowered.values.tolist() == lowered.indices.tolist()
    # float32 sums over the model's width, of effects of size 1
    torch.testing.assert_close(found.raised_by.values.double(), raised.values, rtol=0, atol=1e-5)
    torch.testing.assert_close(found.lowered_by.values.double(), lowered.values, rtol=0, atol=1e-5)


def test_where_no_key_is_chosen_both_runs_are_explained_at_as_strongest(run: Run, folder: str) -> None:
    b = runs.run(folder, "four one two three one two three one", True)
    shown = Shown(run, b, align_tokens(run.tokens.tolist(), b.tokens.tolist()))
    sides = sides_of(shown, Selection(heads=(HEAD,)))[0]
    keys = {side: shown.positions(at.run).index(at.cell.key) for side, at in sides.items()}
    assert sides["A"].cell.key == int(attend(run, *HEAD).pattern[sides["A"].cell.query].argmax())
    assert keys["A"] == keys["B"]


EDITS = (AblateHeads(((0, 1),), "mean"), CutEdge(HEAD, 7, 3), Steer(1, "one two", "four", 1.5))


def test_a_run_with_edits_adds_up_as_well(folder: str) -> None:
    edited = runs.run(folder, "one two three one two three one", True, EDITS)
    for cell in (Cell(0, 1, 5, 2), Cell(1, 0, 7, 4), Cell(2, 3, 6, 6)):
        why = explained.why(edited, cell)
        assert abs(float(why.found.residual.values)) < SUM
        assert why.query_names[-1] == "the run's edits of it"
        found = explained.effects(edited, Question(30, 50, cell.query))
        assert abs(float(found.residual.values)) < SUM


def test_cutting_an_edge_of_a_run_with_edits_is_one_edit_more(folder: str) -> None:
    edited, once_more = (runs.run(folder, PROMPT_B, True, edits) for edits in (EDITS, (*EDITS, CutEdge((0, 3), 7, 2))))
    change = (once_more.next_logits - edited.next_logits)[[30, 50]]
    found = outcomes(edited, Cell(0, 3, 7, 2), Question(30, 50, 7)).total.values
    assert float(found[0]) == pytest.approx(float(change[0] - change[1]), abs=LOGITS)
    cut_already = outcomes(edited, Cell(*HEAD, 7, 3), Question(30, 50, 7)).total.values
    assert float(cut_already[0]) == pytest.approx(0, abs=LOGITS)


def test_a_cell_above_the_diagonal_says_so(run: Run) -> None:
    with pytest.raises(InputError, match="Query 2 cannot look at key 5, which comes after it"):
        _at(Shown(run), queries=(2,), keys=(5,))
    at = page("why", Shown(run), queries=(2,), keys=(5,))
    assert "Choose a key from 0 to 2" in at.info[0].value
    assert [box.label for box in at.selectbox][-3:] == ["Head", "Query token", "Key token"]


def test_a_place_that_only_one_run_has(folder: str, run: Run) -> None:
    b = runs.run(folder, "one two two three one", True)
    shown = Shown(run, b, align_tokens(run.tokens.tolist(), b.tokens.tolist()))
    only_a = shown.presence.index("a")
    found, lacking = sides_of(shown, Selection(heads=(HEAD,), position=only_a))
    assert set(found) == {"A"}
    assert "B has no token at the place" in lacking["B"]
    at = page("why", shown, position=only_a, side="b")
    assert "B has no token" in at.info[0].value


@pytest.mark.parametrize(
    ("field", "text", "remark"),
    [
        ("target", "one two", "tokens (one ␣two), not one"),
        ("distractor", "one two", "The distractor is not used: 'one two' is"),
        ("target", "the", "“the” has no space before it. A word of its own inside a sentence is “␣the”"),
    ],
)
def test_what_was_typed_is_remarked_on(run: Run, field: str, text: str, remark: str) -> None:
    pair = pair_of(Shown(run), Selection(**{field: text}))  # type: ignore[arg-type]
    assert remark in pair.remarks[0]
    assert pair.target != pair.distractor


def test_the_same_token_twice_is_remarked_on(run: Run) -> None:
    pair = pair_of(Shown(run), Selection(target=" two", distractor=" two"))
    assert "the same token" in pair.remarks[-1]
    assert pair.target == pair.distractor == run.tokenizer.to_single_token(" two")


def test_a_token_typed_leaves_the_likeliest_other_one(run: Run) -> None:
    first, second = run.next_logits.topk(2).indices.tolist()
    typed = typeable(run, first)
    assert typed is not None
    assert pair_of(Shown(run), Selection(distractor=typed)).target == second
    assert pair_of(Shown(run), Selection(target=typed)).distractor == second


def test_every_token_that_can_be_swapped_comes_back(run: Run) -> None:
    texts = {token: typeable(run, token) for token in range(0, run.cfg.d_vocab, 37)}
    for token, text in texts.items():
        assert text is None or run.tokenizer.to_single_token(text, parse_special=True) == token
    assert sum(text is not None for text in texts.values()) > 0.8 * len(texts)


def test_a_condensed_matrix_has_all_sums() -> None:
    values = np.random.default_rng(0).normal(size=(12, 30))
    full = Matrix(tuple(f"q{i}" for i in range(12)), tuple(f"k{i}" for i in range(30)), values)
    found = condensed(full, 5)
    assert found.values.shape == (7, 7)
    assert found.rows[-2:] == ("the other 7", "sum")
    assert found.columns[-2:] == ("the other 25", "sum")
    np.testing.assert_allclose(found.values[-1, -1], values.sum())
    np.testing.assert_allclose(found.values[:-1, -1], found.values[:-1, :-1].sum(1))
    strongest = np.argsort(-np.abs(values).sum(1))[:5]
    assert [full.rows[i] for i in sorted(strongest)] == list(found.rows[:5])
    np.testing.assert_allclose(found.values[:5, -1], values[sorted(strongest)].sum(1))


def test_a_short_matrix_keeps_every_row() -> None:
    full = Matrix(("a", "b"), ("c",), np.array([[1.0], [-3.0]]))
    found = condensed(full, 1)
    assert (found.rows, found.columns) == (("a", "b", "sum"), ("c", "sum"))
    assert found.values.tolist() == [[1, 1], [-3, -3], [-2, -2]]


def test_a_waterfall_goes_from_nothing_to_the_sum() -> None:
    steps = fall({"a": 1.0, "b": -4.0, "c": 0.25, "d": 0.5}, 2)
    assert [(step.name, step.start, step.end) for step in steps] == [
        ("b", 0, -4),
        ("a", -4, -3),
        ("the other 2", -3, -2.25),
    ]


def test_a_difference_is_of_what_both_have() -> None:
    a = Matrix(("x", "y"), ("u", "v"), np.array([[1.0, 2.0], [3.0, 4.0]]))
    b = Matrix(("y", "x", "z"), ("v",), np.array([[1.0], [7.0], [9.0]]))
    found = numbers.difference({"A": a, "B": b})["B − A"]
    assert (found.rows, found.columns, found.values.tolist()) == (("y", "x"), ("v",), [[-3], [5]])


def _texts(at: AppTest) -> str:
    return "\n".join(each.value for each in at.text)


def test_the_page_tells_what_it_computed(run: Run) -> None:
    at = page("why", Shown(run), heads=(HEAD,))
    found = _at(Shown(run))
    assert f"score {number(float(found.why.found.score.values))} nats" in _texts(at)
    assert f"the model's own difference: {number(float(found.effects.difference.values))}" in _texts(at)
    assert number(float(found.written.norm.values)) in _texts(at)


def test_tables_hold_the_same_numbers(run: Run) -> None:
    at = page("why", Shown(run), heads=(HEAD,), table=True)
    query, key, promoted, interventions, effects, layers, sources = (table.value for table in at.dataframe)
    found = _at(Shown(run))
    score = float(found.why.found.score.values)
    assert query["nats"].iloc[-1] == pytest.approx(score, abs=SUM)
    assert key["nats"].iloc[:-1].sum() == pytest.approx(score, abs=SUM)
    assert interventions["total (logits)"].tolist() == pytest.approx(found.outcomes.total.values.tolist())
    assert effects["logits"].sum() == pytest.approx(float(found.effects.difference.values), abs=SUM)
    assert layers["logit lens"].tolist() == pytest.approx(found.effects.lens.values.tolist())
    assert sources["logits"].tolist() == pytest.approx(found.by_source.values.tolist())
    assert promoted["by (logits)"].tolist() == pytest.approx(found.written.tokens.raised_by.values.tolist())


@pytest.mark.parametrize("side", ["a", "b", "difference"])
@pytest.mark.parametrize("table", [False, True])
def test_every_side_is_drawn(both: Shown, side: str, table: bool) -> None:
    at = page("why", both, side=side, table=table, heads=(HEAD,))
    columns = at.dataframe[0].value
    sides = {name: numbers.summary(_at(both, name)) for name in "AB"}
    expected = [number(sides["B"][name] - sides["A"][name]) for name in sides["A"]]
    assert columns["B − A"].tolist() == expected


def test_choices_are_kept_by_the_selection(run: Run) -> None:
    at = page("why", Shown(run), heads=(HEAD, (0, 0)))
    boxes = {box.label: box for box in at.selectbox}
    boxes["Head"].set_value((2, 1)).run()
    {box.label: box for box in at.selectbox}["Predicted after"].set_value(5).run()
    {box.label: box for box in at.selectbox}["Key token"].set_value(2).run()
    at.text_input[0].set_value(" two").run()
    chosen = at.session_state["headlight"].shown
    assert (chosen.heads, chosen.position, chosen.keys, chosen.target) == (((2, 1), (0, 0)), 5, (2,), " two")
    next(button for button in at.button if button.label == "Strongest cell").click().run()
    assert at.session_state["headlight"].shown.keys == ()
    assert not at.exception


def test_swapping_turns_the_difference(run: Run) -> None:
    at = page("why", Shown(run), target=" two", distractor=" one")
    before = float(pair_difference(at))
    next(button for button in at.button if button.label == "Swap").click().run()
    chosen = at.session_state["headlight"].shown
    assert (chosen.target, chosen.distractor) == (" one", " two")
    assert float(pair_difference(at)) == -before
    assert not at.exception


def pair_difference(at: AppTest) -> str:
    """The difference that the page tells."""
    return at.text[0].value.rpartition("difference ")[2].removesuffix(" logits").replace("−", "-")


def test_a_head_that_is_not_there_is_refused(run: Run) -> None:
    with pytest.raises(HeadlightError, match="There is no head L9H0"):
        explained.check(run, Cell(9, 0, 1, 0))

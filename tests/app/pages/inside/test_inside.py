"""The page *Head internals*: what is chosen where nothing is, what its numbers are, and that they add up."""

import math
import re
from dataclasses import replace

import numpy as np
import pytest
import torch

from headlight.app.components import HeadStep, StepMatrix
from headlight.app.components.head_steps import Term
from headlight.app.pages.inside.choices import MAX_KEYS, Choices, Inside, inside_of, on_common_keys, query_of, sides_of
from headlight.app.pages.inside.equations import difference, steps_of
from headlight.app.parts.labels import number
from headlight.app.runs import runs
from headlight.app.selection import Selection
from headlight.model.attention.inside_tables import by_component, by_entry, by_key
from headlight.model.runs.comparison import Comparison
from headlight.model.runs.head import attend, head_weights, inside
from headlight.model.runs.run import Run
from tests.app.choosing import selection_of
from tests.app.conftest import Options
from tests.app.pages.test_sides import page

HEAD = (1, 2)


def _at(comparison: Comparison, side: str = "A", **chosen: object) -> Inside:
    view = inside_of(comparison, selection_of(**{"heads": (HEAD,), **chosen}), side)
    assert view is not None
    return view


def test_steps_are_those_of_the_attention_page(run: Run) -> None:
    for query in range(len(run.tokens)):
        steps, attended = inside(run, *HEAD, query), attend(run, *HEAD)
        # A product of a matrix with one vector instead of with all: float32's 1e-7, over d_head sums.
        torch.testing.assert_close(steps.weights.values, attended.pattern[query], rtol=1e-5, atol=1e-6)
        torch.testing.assert_close(steps.masked.values, attended.scores[query], rtol=1e-5, atol=1e-5)


def test_the_marked_row_of_all_tokens_is_the_query_s(run: Run) -> None:
    at = _at(Comparison(run), queries=(5,), keys=(2,))
    for step in steps_of(at, "row")[:2]:
        *_, x = (term for term in step.equations[0] if isinstance(term, StepMatrix) and term.rows == "query")
        (of_all,) = (term for term in step.equations[-1] if isinstance(term, StepMatrix) and term.rows == "token")
        assert np.array_equal(of_all.values[at.window.index(at.query)], x.values[0])


def test_heads_and_the_shared_bias_add_up_to_what_attention_writes(run: Run) -> None:
    layer, query = 1, 5
    outputs = [inside(run, layer, head, query).output.values for head in range(run.cfg.n_heads)]
    total = torch.stack(outputs).sum(0) + head_weights(run, layer, 0).b_O
    # float32, of five heads
    torch.testing.assert_close(total, run.cache["attn_out", layer][query], rtol=1e-4, atol=1e-6)


def test_where_nothing_is_chosen_it_is_the_last_token_and_its_strongest_key(run: Run) -> None:
    at = _at(Comparison(run))
    assert at.query == len(run.tokens) - 1
    assert at.key == int(attend(run, *HEAD).pattern[-1].argmax())
    products = at.steps.q.values * at.steps.k.values[at.key]
    assert at.component == int(products.abs().argmax())
    assert _at(Comparison(run), component=999).component == at.component


def test_a_place_that_only_one_run_has(both: Comparison) -> None:
    only_b = both.presence.index("b")
    assert set(sides_of(both, Selection(heads=(HEAD,), queries=(only_b,)))) == {"B"}
    assert both.presence[query_of(both, Selection())] in ("both", "changed")


def test_of_a_long_prompt_the_keys_that_matter_are_shown(folder: str) -> None:
    long = runs.run(folder, "one two three four five six " * 12, True)
    at = _at(Comparison(long), queries=(40,), keys=(7,))
    assert len(at.window) == MAX_KEYS
    assert {7, 40, 41, 42} <= set(at.window)
    strongest = set(attend(long, *HEAD).pattern[40].topk(MAX_KEYS - 4).indices.tolist())
    assert strongest <= set(at.window)
    assert list(at.window) == sorted(at.window)


def _result(step: HeadStep) -> StepMatrix:
    result = step.equations[-1][-1]
    assert isinstance(result, StepMatrix)
    return result


@pytest.mark.parametrize("convention", ["row", "column"])
def test_every_product_on_the_page_comes_to_its_result(run: Run, convention: str) -> None:
    """M · N + b = R, as drawn: all keys of a short prompt are in the matrices."""
    at = _at(Comparison(run), queries=(6,))
    assert len(at.window) == len(run.tokens)
    checked = []
    for step in steps_of(at, convention):  # type: ignore[arg-type]
        for equation in step.equations:
            if "·" not in equation:
                continue
            left, right, *added, result = (term for term in equation if isinstance(term, StepMatrix))
            values = left.values @ right.values + sum(term.values for term in added)
            # float32, of 40 products
            np.testing.assert_allclose(values, result.values, rtol=1e-4, atol=1e-5)
            assert (left.rows, right.columns) == (result.rows, result.columns)
            assert left.columns == right.rows
            checked.append(step.term)
    assert checked == ["query", "key", "dot_product", "value", "weighted_sum", "head_output"]


def test_one_token_a_column_is_one_token_a_row_turned(run: Run) -> None:
    at = _at(Comparison(run))
    for rows, columns in zip(steps_of(at, "row"), steps_of(at, "column"), strict=True):
        result, turned = (_result(step) for step in (rows, columns))
        np.testing.assert_array_equal(result.values, turned.values.T)
        assert rows.spelled == columns.spelled
    formulas = {step.term: step.formula for step in steps_of(at, "column")}
    assert formulas["query"] == "q = W_Qᵀ x̂"  # its biases are zeros


def _numbers(line: str) -> list[float]:
    return [float(text.replace("−", "-")) for text in re.findall(r"−?\d+(?:\.\d+)?(?:e[+−]?\d+)?", line)]


def _evaluated(line: str) -> tuple[float, float]:
    """The two sides of the last "=": the sum, without what stands in brackets to explain it, and what it comes to."""
    *_, left, right = re.sub(r"\((?:[a-z]+ = \d+|the other [\d,]+|b_\w)\)", "", line).split(" = ")
    expression = left.rpartition("gives ")[2].replace("−", "-").replace("×", "*")
    return eval(expression, {"exp": math.exp}), _numbers(right)[0]  # our own text


@pytest.mark.parametrize("key", [0, 3, 6])
def test_the_arithmetic_that_is_spelled_out_is_right(run: Run, key: int) -> None:
    at = _at(Comparison(run), queries=(6,), keys=(key,))
    checked = 0
    for step in steps_of(at, "row"):
        for line in step.spelled:
            if re.search(r"[×/]|exp", line):
                value, expected = _evaluated(line.removeprefix(f"Key {key}: "))
                # Each number is rounded to four digits, and terms of size 1 can cancel.
                assert value == pytest.approx(expected, rel=2e-3, abs=5e-3), line
                checked += 1
    assert checked == 12


def test_a_masked_key_is_followed_to_a_weight_of_zero(run: Run) -> None:
    steps = {step.term: step for step in steps_of(_at(Comparison(run), queries=(2,), keys=(5,)), "row")}
    assert "its score becomes −∞" in steps["mask"].spelled[0]
    assert steps["softmax"].spelled[1].startswith("0 / ")


def test_differences_are_b_less_a_on_the_keys_that_both_have(both: Comparison) -> None:
    sides = sides_of(both, Selection(heads=(HEAD,)))
    a, b = on_common_keys(both, sides["A"], sides["B"])
    assert [both.positions(both.a).index(i) for i in a.window] == [
        both.positions(both.runs[1]).index(j) for j in b.window
    ]
    changed = {step.term: step for step in difference(steps_of(a, "row"), steps_of(b, "row"))}
    expected = b.steps.k.values[list(b.window)] - a.steps.k.values[list(a.window)]
    np.testing.assert_array_equal(_result(changed["key"]).values, expected.numpy())
    assert _result(changed["head_output"]).values.shape == (1, both.a.cfg.d_model)


def test_runs_of_unequal_shape_have_no_difference(both: Comparison) -> None:
    a, b = sides_of(both, Selection(heads=(HEAD,))).values()
    steps = steps_of(a, "row")
    narrow = [replace(step, equations=tuple(_narrow(each) for each in step.equations)) for step in steps_of(b, "row")]
    changed = difference(steps, narrow)
    assert all("nothing to subtract" in step.note and not step.equations for step in changed)


def _narrow(equation: tuple[Term, ...]) -> tuple[Term, ...]:
    *rest, result = equation
    assert isinstance(result, StepMatrix)
    return *rest, replace(result, values=result.values[:, :1])


def test_tables_hold_the_same_numbers(both: Comparison) -> None:
    at = page("inside", both, table=True, heads=(HEAD,), side="difference")
    chain, keys, components, entries = (table.value for table in at.dataframe)
    sides = sides_of(both, Selection(heads=(HEAD,)))
    columns = by_key(both, sides)["B - A"]
    np.testing.assert_allclose(keys["attention weight"], columns["attention weight"])
    np.testing.assert_allclose(components["z"], by_component(sides)["B - A"]["z"])
    np.testing.assert_allclose(entries["output"], by_entry(sides)["B - A"]["output"])
    weight = [number(float(each.steps.weights.values[each.key])) for each in sides.values()]
    assert chain.iloc[-1].tolist()[1:3] == weight


def test_choices_are_kept_by_the_selection(run: Run, options: Options, headings: list[str]) -> None:
    at = page("inside", Comparison(run), heads=(HEAD, (0, 0)), queries=(4,), keys=(1,), component=3)
    values = {option.label: option.value for option in options.drawn.values()}
    assert [values[label] for label in ("Head", "Query token", "Follow key", "and component")] == [HEAD, 4, 1, 3]
    options.change(at, "inside_head", "L2H1")
    assert headings[-1] == "Inside L2H1"
    options.change(at, "inside_query", f"6  {run.labels[6]}")
    options.change(at, "inside_component", "2")
    chosen = at.session_state["headlight"].active
    assert (chosen.heads, chosen.queries, chosen.keys, chosen.choices_of(Choices).component) == (
        ((2, 1), (0, 0)),
        (6,),
        (1,),
        2,
    )


@pytest.mark.parametrize("side", ["a", "b", "difference"])
@pytest.mark.parametrize("convention", ["row", "column"])
def test_every_side_is_drawn_in_either_convention(both: Comparison, side: str, convention: str) -> None:
    page("inside", both, side=side, convention=convention)


def test_a_run_without_the_query_says_what_to_do(both: Comparison) -> None:
    at = page("inside", both, queries=(both.presence.index("b"),))
    assert "A has no token at the query's place" in at.info[0].value


def test_numbers_have_four_digits_as_in_the_browser() -> None:
    """JavaScript's toPrecision(4), with a minus sign."""
    values = [0.0, 1.0, -12.3456, 1234.56, 12345.6, 0.0747, 0.000123456, 1.23456e-7, 9.99999, -np.inf]
    expected = ["0", "1.000", "−12.35", "1235", "1.235e+4", "0.07470", "0.0001235", "1.235e−7", "10.00", "−∞"]
    assert list(map(number, values)) == expected

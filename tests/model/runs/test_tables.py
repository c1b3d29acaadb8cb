"""Tables of places and tokens, and those of patching, against cases by hand and passes with hooks."""

import numpy as np
import pytest
import torch
from torch import Tensor

from headlight.model import Comparison, compare, load, run_prompt
from headlight.model.lens.tables import lens_tables
from headlight.model.patching import LogitDifference, Parts
from headlight.model.patching.tables import patching_tables
from headlight.model.runs.tables import columns, finite, number, tokens_table

A, B = (f"When Mary and John went to the shop, {giver} gave a drink to" for giver in ("John", "Mary"))


def test_rows_become_columns_and_what_is_no_number_is_left_empty() -> None:
    assert columns(("name", "value"), [("a", 1.0), ("b", None)]) == {"name": ["a", "b"], "value": [1.0, None]}
    assert [number(value) for value in (0.5, float("nan"))] == [0.5, None]
    values = torch.tensor([[1.0, torch.nan], [torch.inf, 4.0]])
    assert list(finite(values)) == [((0, 0), 1.0), ((1, 1), 4.0)]


def test_tokens_stand_at_the_places_of_the_common_axis() -> None:
    table = tokens_table({"A": ["x", "y"], "B": ["y"]}, {"A": [0, 1], "B": [None, 0]})
    assert table == {"place": [0, 1], "A": ["x", "y"], "B": [None, "y"]}


@pytest.mark.usefixtures("unchecked")  # a batch grows on the way where several are patched side by side
def test_a_cell_of_the_patching_table_is_what_hooks_make_of_whole_passes() -> None:
    model = load("mini")
    a, b = run_prompt(model, A), run_prompt(model, B)
    layer, head, position = 2, 1, len(a.tokens) - 1
    target, distractor = (model.to_single_token(f" {name}") for name in ("Mary", "John"))
    measured = LogitDifference(target, distractor, position)
    tables = patching_tables(compare(a, b), measured, Parts("z"), estimate=True)
    name = f"blocks.{layer}.attn.hook_z"
    with torch.inference_mode():
        z = model.run_with_cache(b.tokens[None], name)[1][name][:, :, head]

    def put(activation: Tensor, hook: object) -> None:
        activation[:, :, head] = z

    def difference(tokens: Tensor, *hooks: tuple[str, object]) -> float:
        with torch.inference_mode():
            logits = model.run_with_hooks(tokens[None], hooks)[0, position]  # type: ignore[arg-type]
        return float(logits[target] - logits[distractor])

    ends = difference(a.tokens), difference(b.tokens)
    assert list(tables["measured"].values())[1] == pytest.approx(ends, abs=1e-4)
    share = (difference(a.tokens, (name, put)) - ends[0]) / (ends[1] - ends[0])
    shares = {row[:2]: row[2] for row in zip(*tables["map"].values(), strict=True)}
    assert shares[f"L{layer}", f"H{head}"] == pytest.approx(share, abs=1e-3)
    assert len(tables["map"]["estimate"]) == model.cfg.n_layers * model.cfg.n_heads


def test_the_last_row_of_the_lens_says_what_the_model_says() -> None:
    model = load("mini")
    run = run_prompt(model, A)
    tables = lens_tables(Comparison(run))
    with torch.inference_mode():
        probabilities = model(run.tokens[None])[0, -1].softmax(-1)
    likeliest = probabilities.topk(len(tables["best"]["rank"]))
    assert tables["best"]["token"] == model.tokenizer.labels(likeliest.indices)  # type: ignore[union-attr]
    np.testing.assert_allclose(tables["best"]["probability"], likeliest.values, rtol=1e-4)
    assert tables["followed"]["rank"][-1] == 1

"""What can be taken along of the page *Translate*: a script prints the numbers, of one source or of two."""

import numpy as np
import pytest
import torch

from headlight.app.exports import style
from headlight.app.exports.style import LIGHT
from headlight.app.pages.translate import EXPORT as TRANSLATE
from headlight.app.runs import translations
from headlight.app.selection import Selection
from tests.app.choosing import selection_of
from tests.app.exports.test_code import compare_tables, run_here
from tests.app.exports.test_pictures import texts

A, B = "ba ko li su fe", "ba li su ko ne"
CASES: list[dict[str, object]] = [
    {},
    {"translation": "ko ba", "attends": "decoder"},
    {"source_b": B},
    {"source_b": B, "attends": "decoder", "pair_align": "position", "branch_b": 3},
    {"source_b": A, "translation": "ko ba su li", "translation_b": "ko ba li", "rows": "read"},
    {"source_b": B, "attends": "encoder", "pair_heads": ()},
    {"translation": "ko ba", "why_written": 1, "pair_heads": ((1, 2),)},
    {"source_b": B, "why_written": 0, "attends": "decoder", "why_alone": True},
]


def chosen(translator: str, **fields: object) -> Selection:
    return selection_of(**{"translator": translator, "source": A, "beams": 2, **fields})


@pytest.mark.parametrize("fields", CASES)
def test_a_script_prints_the_pages_numbers(fields: dict[str, object], translator: str) -> None:
    selection = chosen(translator, **fields)
    comparison = translations.for_selection(selection)
    compare_tables(
        run_here(TRANSLATE.script(comparison, selection)), dict(TRANSLATE.data(comparison, selection).tables)
    )


def test_the_files_of_two_hold_b_and_the_difference(translator: str) -> None:
    selection = chosen(translator, source_b=B, translator_b=translator, pair_heads=((1, 2),))
    comparison = translations.for_selection(selection)
    data = TRANSLATE.data(comparison, selection)
    a, b, change = (data.arrays[f"{side} cross attention side by side"].values for side in ("A", "B", "B-A"))
    both = a.isfinite() & b.isfinite()
    torch.testing.assert_close(change[both], (b - a)[both])
    rows = change.isfinite().all(-1)
    torch.testing.assert_close(change[rows].sum(-1), torch.zeros(int(rows.sum())), rtol=0, atol=1e-5)  # two softmaxes
    np.testing.assert_array_equal(
        data.arrays["B cross attention"].values, comparison.sides["B"].attention["cross"].pattern
    )
    svg = style.file(lambda: TRANSLATE.picture(comparison, selection, LIGHT), LIGHT, "svg")
    assert {*(f"L1H2 {side}: attention weight" for side in ("A", "B", "B − A")), "−fe", "+ne"} <= set(texts(svg))
    assert len(TRANSLATE.page(comparison, selection)) < 1_500_000


def test_the_files_of_an_explained_token_hold_its_sums(translator: str) -> None:
    selection = chosen(translator, translation="ko ba su", why_written=1, pair_heads=((1, 2),))
    comparison = translations.for_selection(selection)
    data = TRANSLATE.data(comparison, selection)
    effects, difference = data.arrays["A direct effects"].values, float(data.arrays["A difference"].values)
    # Sums of float32's activations, in float64.
    assert float(effects.sum()) == pytest.approx(difference, abs=1e-4)
    assert float(data.arrays["A score parts"].values.sum()) == pytest.approx(
        float(data.arrays["A score"].values), abs=1e-4
    )
    assert sum(data.tables["effects"]["logits"]) == pytest.approx(difference, abs=1e-4)
    svg = style.file(lambda: TRANSLATE.picture(comparison, selection, LIGHT), LIGHT, "svg")
    assert any("direct effect on target" in text for text in texts(svg))
    assert len(TRANSLATE.page(comparison, selection)) < 1_500_000

"""Two translations side by side: nothing where they are equal, the opposite where they are swapped, tokens matched."""

from dataclasses import replace
from pathlib import Path
from typing import get_args

import pytest
import torch

from headlight.app.pages.translate import heads
from headlight.app.runs import translations
from headlight.app.selection import Selection, from_query, to_query
from headlight.model import load_seq2seq, save_seq2seq
from headlight.model.base.errors import HeadlightError, InputError
from headlight.model.decoding.translation import Attends
from headlight.model.decoding.translations import Translations

A, B = "ba ko li su fe", "ba li su ko ne"


@pytest.fixture
def chosen(translator: str) -> Selection:
    return Selection(translator=translator, source=A, source_b=B, beams=2)


def swapped(chosen: Selection) -> Translations:
    return translations.for_selection(replace(chosen, source=chosen.source_b, source_b=chosen.source))


@pytest.mark.parametrize("attends", get_args(Attends))
def test_equal_translations_differ_by_nothing(chosen: Selection, attends: Attends) -> None:
    comparison = translations.for_selection(replace(chosen, source_b=A))
    difference = comparison.cells("difference", attends, "written")
    assert bool(difference.isfinite().any())
    assert not difference.nan_to_num(0).any()
    assert not comparison.divergence(attends, "written").values.any()
    assert {each for axis in comparison.axes(attends, "written") for each in axis.presence} == {"both"}


@pytest.mark.parametrize("attends", get_args(Attends))
def test_swapped_translations_differ_by_the_opposite(chosen: Selection, attends: Attends) -> None:
    """By position the places are the same whichever is A."""
    by_position = replace(chosen, pair_align="position")
    one, other = translations.for_selection(by_position), swapped(by_position)
    mine, theirs = (each.cells("difference", attends, "read") for each in (one, other))
    assert float(mine.nan_to_num(0).abs().max()) > 0.01
    torch.testing.assert_close(mine, -theirs, rtol=0, atol=0, equal_nan=True)
    assert torch.equal(one.divergence(attends, "read").values, other.divergence(attends, "read").values)


def test_tokens_are_matched_and_those_without_a_match_are_marked(chosen: Selection) -> None:
    """A is ba ko li su fe, B is ba li su ko ne: in common, in order, are ba li su and the end."""
    comparison = translations.for_selection(chosen)
    _, across = comparison.axes("cross", "written")
    assert across.labels == ("ba", "−ko", "li", "su", "−fe", "+ko", "+ne", "</s>")
    assert across.presence == ("both", "a", "both", "both", "a", "b", "b", "both")
    assert across.positions == ((0, 1, 2, 3, 4, None, None, 5), (0, None, 1, 2, None, 3, 4, 5))


def test_cells_are_each_ones_own_pattern_and_rows_of_the_difference_sum_to_zero(chosen: Selection) -> None:
    comparison = translations.for_selection(chosen)
    down, across = comparison.axes("cross", "written")
    for index, (side, each) in enumerate(comparison.sides.items()):
        cells = comparison.cells(side.lower(), "cross", "written")  # type: ignore[arg-type]
        for row, query in enumerate(down.positions[index]):
            for column, key in enumerate(across.positions[index]):
                cell = cells[1, 2, row, column]
                if query is None or key is None:
                    assert cell.isnan()
                else:
                    assert cell == each.attention["cross"].pattern[1, 2, query, key]
    difference = comparison.cells("difference", "cross", "written")
    both = [None not in pair for pair in zip(*down.positions, strict=True)]
    assert torch.equal(difference.isnan().all(-1)[0, 0], ~torch.tensor(both))
    # Two softmaxes in float32.
    sums = difference[:, :, torch.tensor(both)].sum(-1)
    torch.testing.assert_close(sums, torch.zeros_like(sums), rtol=0, atol=1e-5)


def test_what_the_browser_is_sent_lies_on_the_same_axes(chosen: Selection) -> None:
    comparison = translations.for_selection(chosen)
    panel = heads.panel(comparison, (1, 2), "cross", "written")
    assert panel.b is not None
    for side, pattern in (("a", panel.a), ("b", panel.b)):
        cells = comparison.cells(side, "cross", "written")[1, 2]  # type: ignore[arg-type]
        sent = torch.from_numpy(pattern.weights.cells)
        torch.testing.assert_close(sent.masked_fill(sent == -1, torch.nan), cells, rtol=0, atol=0, equal_nan=True)


def test_a_link_holds_both(chosen: Selection) -> None:
    full = replace(
        chosen, translator_b="x/y", translation="ko", translation_b="ba <b>", branch_b=4, pair_align="position"
    )
    assert from_query(to_query(full)) == (full, ())


def test_an_error_of_b_says_so(chosen: Selection) -> None:
    with pytest.raises(InputError, match=r"^B: The model does not know 'xyz'"):
        translations.for_selection(replace(chosen, source_b="ba xyz"))
    with pytest.raises(HeadlightError, match=r"^B: "):
        translations.for_selection(replace(chosen, translator_b="mini"))


def test_models_with_other_vocabularies_cannot_be_compared(chosen: Selection) -> None:
    with pytest.raises(InputError, match="have different vocabularies"):
        translations.for_selection(replace(chosen, translator_b="translate", source_b="der Hund sieht die Katze"))


def test_two_models_are_compared_where_both_have_heads(chosen: Selection, tmp_path: Path) -> None:
    other = load_seq2seq("reverse")
    folder = tmp_path / "other"
    save_seq2seq(other, folder)
    comparison = translations.for_selection(replace(chosen, translator_b=str(folder)))
    assert comparison.shape("encoder") == (1, 4)  # A's random model has one layer of them, the other two
    assert comparison.cells("difference", "encoder", "read").shape[:2] == (1, 4)
    assert comparison.a.source.name != comparison.sides["B"].source.name


def test_a_b_that_is_not_there_is_dropped(translator: str) -> None:
    chosen = Selection(translator=translator, source="ba ko li", beams=1)
    alone = replace(chosen, translator_b="nosuch", translation_b="ba")
    assert translations.within(alone, translations.for_selection(alone)) == chosen

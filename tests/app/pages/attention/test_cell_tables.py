"""The attention page as tables: which heads, what is summed, what is said of the first token and other sinks."""

from dataclasses import replace

import numpy as np
import pytest

from headlight.app.pages.attention import view
from headlight.app.pages.attention.cell_tables import said_of_cells, with_sums
from headlight.app.pages.attention.head_tables import scores_table
from headlight.model.attention import fields, sinks
from headlight.model.attention.axis import axis_of
from headlight.model.attention.fields import How, Show
from headlight.model.runs.comparison import Comparison
from headlight.model.runs.head import attend
from headlight.model.runs.run import Run
from tests.app.conftest import Options
from tests.app.pages.test_sides import page

HEAD, SINK = (1, 2), 3


def test_heads_are_chosen_among_all(run: Run, headings: list[str], options: Options) -> None:
    at = page("attention", Comparison(run), table=True, heads=(HEAD,))
    chosen = options.drawn["table_heads"]
    assert chosen.value == (HEAD,)
    assert len(chosen.look()["options"]) == run.cfg.n_layers * run.cfg.n_heads
    headings.clear()
    options.change(at, "table_heads", ["L1H2", "L0H3"])
    assert [heading.strip() for heading in headings if heading.startswith("L")] == ["L1H2", "L0H3"]


@pytest.mark.parametrize("show", ["weight", "score"])
def test_pinned_tokens_have_their_sum_or_of_scores_their_mean(run: Run, show: Show) -> None:
    alone, how = Comparison(run), How(show)
    axis = axis_of(alone, "token", "tokens")
    cells = fields.on_axis(alone, "a", HEAD, how, axis).numpy()
    what, combine = ("sum", np.nansum) if show == "weight" else ("mean", np.nanmean)
    of_keys = with_sums(cells, axis, how, (), (0, 1))
    assert list(of_keys)[1] == f"{what} of 2 keys"
    np.testing.assert_allclose(of_keys[f"{what} of 2 keys"], combine(cells[:, :2], axis=1), rtol=1e-6)  # float32
    of_queries = with_sums(cells, axis, how, (2, 3), ())
    assert of_queries[""][0] == f"{what} of 2 queries"
    row = np.array([values[0] for values in list(of_queries.values())[1:]], dtype=float)
    np.testing.assert_allclose(row[:4], combine(cells[2:4, :4], axis=0), rtol=1e-6)
    assert np.isnan(row[4:]).all()  # masked for both
    assert with_sums(cells, axis, how, (2,), (1,))[""] == of_queries[""][1:]


def test_captions_say_why_cells_are_empty() -> None:
    assert "hidden" not in said_of_cells(How(), "token")
    assert "first token and other sinks hidden" in said_of_cells(How("score", "hide"), "token")
    assert "first sentence hidden" in said_of_cells(How("weight", "hide"), "sentence")  # and no other: see `cells`
    assert "sum to 1" in said_of_cells(How("weight", "renormalise"), "token")
    assert "sum to 1" not in said_of_cells(How("score", "renormalise"), "token")


@pytest.fixture
def pair(run: Run, monkeypatch: pytest.MonkeyPatch) -> Comparison:
    """Two runs, of which the first alone has a sink in mid-prompt."""
    resting, other = replace(run, prompt=f"{run.prompt} "), replace(run, prompt=f"{run.prompt}  ")
    looks = sinks.looks_of
    monkeypatch.setattr(sinks, "looks_of", lambda of: looks(of)._replace(sinks=(SINK,) if of is resting else ()))
    return Comparison(resting, other)


def test_other_sinks_are_scored_where_a_run_has_them(pair: Comparison) -> None:
    expected = float(attend(pair.a, *HEAD).pattern[SINK + 1 :, SINK].mean())
    one, none, both = (
        scores_table(each, (HEAD,), axis_of(each, "token", "tokens"))
        for each in (Comparison(pair.a), Comparison(pair.runs[1]), pair)
    )
    assert one["Other sinks"] == pytest.approx([expected])
    assert "Other sinks" not in none
    assert both["Other sinks"] == pytest.approx([expected, np.nan, np.nan], nan_ok=True)


@pytest.mark.parametrize("is_long", [False, True])
def test_heads_are_sorted_by_other_sinks_where_there_are_any(
    is_long: bool, pair: Comparison, options: Options, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A link that names them opens where there are none, too."""
    for module, name in ((view, "LONG_RUN"), (sinks, "LONG")) if is_long else ():
        monkeypatch.setattr(module, name, 5)
    for comparison, by in ((Comparison(pair.a), "other_sinks"), (Comparison(pair.runs[1]), "place")):
        options.drawn.clear()
        page("attention", comparison, sort="other_sinks")
        assert options.drawn["sort"].value == by
        assert ("Other sinks" in options.drawn["sort"].look()["options"]) == (by == "other_sinks")
        assert ("top" in options.drawn) == (by == "other_sinks")

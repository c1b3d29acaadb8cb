"""The page *Corpus* without a browser: which scan it opens, what it finds, and what becomes of a sequence."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from headlight.app.components import Column
from headlight.app.frame.view import head_entries
from headlight.app.pages import corpus, heads
from headlight.app.pages.corpus import finder, opening, plots, training
from headlight.app.pages.corpus.scan_view import ScanView, find
from headlight.app.parts import over_corpus
from headlight.app.registry import VIEWS
from headlight.app.runs import models, runs
from headlight.app.runs import scans as opened
from headlight.model.base.errors import ScanError
from headlight.model.corpus.reading import SHIPPED, read_tree
from headlight.model.corpus.titles import half_way
from headlight.model.measure.alignment import align_tokens
from headlight.model.runs.comparison import Comparison
from headlight.model.runs.run import Run
from tests.app.choosing import selection_of
from tests.app.conftest import Options
from tests.app.pages.corpus.conftest import HOSTILE, TEXT, later
from tests.app.pages.test_sides import page
from tests.headvis_tree import figures, write_tree

pytestmark = pytest.mark.usefixtures("scans")


def scan_view(run: Run, **chosen: object) -> ScanView:
    there = find(Comparison(run), selection_of(**{"scan": "early", **chosen}))
    assert there is not None
    return there


def drawn(monkeypatch: pytest.MonkeyPatch, row: int | None = None) -> list[list[Column]]:
    """The finder's tables, as whose row the user has chosen that one."""
    tables: list[list[Column]] = []
    monkeypatch.setattr(finder, "row_table", lambda table, **_: tables.append(table.columns) or row)
    return tables


def test_the_finder_lists_heads_by_a_figure_with_its_interval(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    tables = drawn(monkeypatch)
    at = page("corpus", Comparison(run), scan="early", corpus_by="qk_distance")
    assert not at.error
    heads, values, intervals = tables[-1]
    assert heads.cells[:2] == ["L0H4", "L1H4"]  # 3.5 + head, whatever the layer
    assert values.cells[:2] == [7.5, 7.5]
    assert intervals.cells[0] == "7.490 to 7.520"


def test_a_row_of_the_finder_chooses_the_head_on_all_pages(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn(monkeypatch, row=1)
    at = page("corpus", Comparison(run), scan="early", heads=((0, 0), (1, 1)))
    assert at.session_state["headlight"].active.heads == ((2, 3), (1, 1))  # induction is 0.12 + 0.15 layer + 0.01 head


@pytest.mark.parametrize(("scan", "is_own"), [("early", True), ("other", False)])
def test_the_names_of_another_models_heads_open_no_menu_of_the_pages_model(
    run: Run, scan: str, is_own: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """To ablate one would else be to ablate a head that only has the same number."""
    monkeypatch.setattr(models, "open_model", lambda name: run.model)
    name = next(each for each in opened.offered() if each.startswith(scan))
    entries = head_entries(VIEWS, corpus.VIEW, selection_of(scan=name, model=run.source.name))
    assert bool(entries) == is_own
    assert head_entries(VIEWS, heads.VIEW, selection_of(scan=name, model=run.source.name))


def test_two_scans_are_held_against_each_other_head_by_head(run: Run) -> None:
    both = scan_view(run, scan_b="late")
    expected = {h: later(*h)["induction_score"] - figures(*h)["induction_score"] for h in both.listed}
    assert both.order()[0] == max(expected, key=lambda head: abs(expected[head]))
    assert both.ordering.values[0, 0] == pytest.approx(expected[0, 0])
    # Ends 0.01 below and 0.02 above each: the change is as sure as both together.
    assert both.ordering.high[0, 0] - both.ordering.values[0, 0] == pytest.approx(np.hypot(0.02, 0.01))
    x, y, colour = plots.scales(both)
    np.testing.assert_allclose(y.values - x.values, colour.values)


def test_the_scan_of_bs_model_stands_beside_and_its_name_is_in_the_options(
    settings: dict[str, object], options: Options
) -> None:
    a, b = (runs.run(name, TEXT, True) for name in ("mini", "mini-llama"))
    page("corpus", Comparison(a, b, align_tokens(a.tokens.tolist(), b.tokens.tolist())))
    assert [options.drawn[name].value for name in ("scan", "scan_b")] == ["mini", "mini-llama"]


def test_the_scans_of_a_training_are_followed_step_by_step(run: Run) -> None:
    plot = plots.over_steps(scan_view(run, heads=((1, 2),)))
    assert plot is not None
    (line,) = plot.traces
    assert (line["x"], line["name"]) == ([100, 900], "L1H2")
    assert line["y"] == pytest.approx([figures(1, 2)["induction_score"], later(1, 2)["induction_score"]])


def test_beside_a_model_stand_the_scans_of_its_training_and_when_each_head_grew(
    run: Run, scans: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shape = run.cfg.n_layers, run.cfg.n_heads
    config = {"version": 1, "model": run.source.name, "corpus": "held-out"}
    write_tree(scans / "now", run.source.name, shape, settings=config, figures=later)
    write_tree(scans / "unlike", "another", shape, settings={**config, "model": "another"})
    assert [tree.provenance and tree.provenance.step for tree in scan_view(run, scan="now").series] == [100, 900]
    assert not scan_view(run, scan="unlike").series
    drawn: list[list[Column]] = []
    monkeypatch.setattr(training, "row_table", lambda table, **_: drawn.append(table.columns) or 1)
    at = page("corpus", Comparison(run), scan="now", heads=((0, 0),))
    assert [column.name for column in drawn[0]] == ["head", "step 100", "step 900", "half way"]
    assert set(drawn[0][3].cells) == {900}  # induction is far above what it was
    assert at.session_state["headlight"].active.heads[0] == (0, 1)  # the second row is chosen


def test_a_head_is_half_way_once_it_stays_nearer_to_its_end(scans: Path, run: Run, tmp_path: Path) -> None:
    values = {10: 0.0, 20: 0.8, 30: 0.4, 40: 0.6, 50: 1.0}  # 20 is nearer to the end, but 30 is not

    def grown(step: int) -> Callable[[int, int], dict[str, float]]:
        return lambda layer, head: {"induction_score": values[step] if head == 0 else 0.5}

    trees = []
    for step in values:
        config = {"version": 1, "model": "m", "corpus": "c", "step": step}
        trees.append(read_tree(write_tree(tmp_path / str(step), "m", (1, 2), settings=config, figures=grown(step))))
    np.testing.assert_array_equal(half_way(trees, "induction_score"), [[40, np.nan]])


def test_what_a_tree_says_is_text_and_a_broken_head_says_so(run: Run) -> None:
    at = page("corpus", Comparison(run), scan="other/headvis/pile", scan_heads=((0, 0),))
    assert not [each for each in (*at.markdown, *at.caption, *at.info) if HOSTILE[:4] in each.value]
    assert any("tokens is 3" in each.value for each in at.text)


def test_a_scan_that_is_not_there_leaves_the_choice_of_another(run: Run, options: Options) -> None:
    at = page("corpus", Comparison(run), scan="nowhere")
    assert any("There is no folder 'nowhere'" in each.value for each in at.text)
    options.change(at, "scan", "late")
    assert at.session_state["headlight"].active.scan == "late"


def test_without_a_scan_the_page_says_how_one_is_made(
    run: Run, settings: dict[str, object], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(opened, "shipped_scans", dict)
    settings["models_folder"] = ""
    at = page("corpus", Comparison(run))
    assert "make scan" in at.code[0].value


def test_only_what_is_offered_opens_where_no_path_may_be_typed(
    scans: Path, settings: dict[str, object], tmp_path: Path
) -> None:
    settings["any_model"] = False
    (scans / "link").symlink_to(tmp_path)
    assert {"early", "late", "other/headvis/pile"} <= set(opened.offered())
    for name in (str(scans / "early"), "../models/early", "link/models/early"):
        with pytest.raises(ScanError, match="is not offered here"):
            opened.tree(name)


def test_a_sequence_opens_as_the_tokens_it_was_with_its_strongest_cell(run: Run) -> None:
    view = scan_view(run)
    sequence = view.dashboard().sequences[0]
    ids = run.tokenizer.to_tokens(TEXT, prepend_bos=True)[0].tolist()
    for token_ids in ((), tuple(ids)):
        prompt = opening.prompt_of(view, replace(sequence, token_ids=token_ids), run)
        assert (prompt.text, prompt.bos, prompt.exact) == (TEXT, True, True)
    spelled = "one <|endoftext|> two"  # a document of a scan is text throughout
    literal = run.tokenizer.to_tokens(spelled, prepend_bos="bos_literal")[0].tolist()
    tokens = tuple(run.tokenizer.to_str_tokens(literal))
    prompt = opening.prompt_of(view, replace(sequence, token_ids=tuple(literal), tokens=tokens), run)
    assert (prompt.text, prompt.bos, prompt.exact) == (spelled, "bos_literal", True)
    shifted = replace(sequence, token_ids=tuple(each + 1 for each in ids))  # those of another tokenizer
    assert opening.prompt_of(view, shifted, run).text == TEXT
    far = replace(sequence, token_ids=(10**9,) * len(ids))
    assert opening.prompt_of(view, far, run).text == TEXT
    chosen = opening._with_cell(selection_of(queries=(7,), edits_off=(1,)), (1, 2), sequence)
    assert (chosen.heads, chosen.queries, chosen.keys, chosen.position) == (((1, 2),), (4,), (2,), 4)
    other = opening.prompt_of(scan_view(run, scan="other/headvis/pile", scan_heads=((1, 1),)), sequence, run)
    assert (other.model, other.exact) == (HOSTILE, None)


def test_a_head_on_this_prompt_stands_beside_the_corpus(run: Run) -> None:
    here = float(run.scores["induction"].values[1, 2])
    said = over_corpus.beside(run, (1, 2), "induction", selection_of(scan="early"), on_the_random_repeats=0.5)
    assert said == (
        f"Induction of L1H2: on this prompt {here:.2f}; on the random repeats 0.50; "
        "over the corpus (at step 100) 0.29 (0.28 to 0.31)."
    )
    assert not over_corpus.beside(run, (1, 2), "copying", selection_of())


@pytest.mark.skipif(not SHIPPED.is_dir(), reason="no scan is shipped yet")
def test_a_shipped_scan_opens(settings: dict[str, object]) -> None:
    for name in opened.shipped_scans():
        tree = opened.tree(name)
        assert opened.dashboard(tree, next(iter(tree.rows))).sequences


def test_every_page_that_a_sequence_opens_on_is_there() -> None:
    from headlight.app.registry import VIEWS

    assert set(opening.PAGES) <= {view.slug for view in VIEWS}

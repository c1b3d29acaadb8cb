"""The page *Directions* without a browser: a direction found, its numbers, its files, and the edit that it becomes."""

import io
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from headlight.app.exports.data import archive
from headlight.app.pages.directions import EXPORT
from headlight.app.pages.directions.choices import Choices
from headlight.app.pages.directions.direction_view import dose_question, find, no_directions, study_question
from headlight.app.runs import direction_studies, directions, runs
from headlight.app.selection.links import from_query, to_query
from headlight.model.base.errors import InputError
from headlight.model.directions.files import open_direction
from headlight.model.directions.sets import shipped_sets
from headlight.model.runs.comparison import Comparison
from headlight.model.runs.edits import EditDirection
from tests.app.choosing import selection_of
from tests.app.conftest import Options
from tests.app.pages.test_sides import page

PROMPT = "The key near the door"


@pytest.fixture(scope="module")
def comparison() -> Comparison:
    return Comparison(runs.run("mini", PROMPT, True))


@pytest.fixture(scope="module")
def at(comparison: Comparison) -> AppTest:
    """The page with its first set, and with what it measures on a click."""
    study = direction_studies.answer(study_question(comparison, selection_of()))
    direction_studies.answer(dose_question(comparison, selection_of(), study.best_layer))
    return page("directions", comparison)


def test_a_page_finds_tests_and_measures_a_direction(at: AppTest) -> None:
    said = " ".join(each.value for each in at.text)
    assert "prompts, each steered by a direction found without its group" in said
    assert "of KL a token" in said
    captions = " ".join(each.value for each in at.caption)
    assert "96 prompts in 5 folds; no fold shares templates with what its" in captions
    assert not at.error


def test_the_numbers_are_the_librarys_and_the_scripts(at: AppTest, comparison: Comparison, tmp_path: Path) -> None:
    """The exported script prints the page's tables, run anew from another folder."""
    chosen = selection_of()
    data = EXPORT.data(comparison, chosen)
    with zipfile.ZipFile(io.BytesIO(archive(comparison, data))) as files:
        assert {"held out.csv", "projection.csv", "cosines.csv", "dose.csv", "arrays.npz"} <= set(files.namelist())
    (tmp_path / "script.py").write_text(EXPORT.script(comparison, chosen))
    printed = subprocess.run(
        [sys.executable, "script.py"], cwd=tmp_path, capture_output=True, text=True, check=True
    ).stdout
    assert "after,accuracy,AUROC,shuffled labels" in printed
    own = data.tables["held out"]["accuracy"]
    rows = [line.split(",") for line in printed.split("\n\n")[0].splitlines()[1:]]
    expected = [np.nan if each is None else each for each in own]  # nothing at the embedding of one last token
    np.testing.assert_allclose([float(row[1] or "nan") for row in rows], expected, atol=1e-6)
    dose = next(part for part in printed.split("\n\n") if part.startswith("factor,logit difference"))
    values = [float(line.split(",")[1]) for line in dose.splitlines()[1:]]
    np.testing.assert_allclose(values, data.tables["dose"]["logit difference"], atol=1e-4)


def test_it_is_drawn_for_papers_and_offline(at: AppTest, comparison: Comparison) -> None:
    drawings = EXPORT.drawings(comparison, selection_of())
    assert [len(row) for row in drawings.plots] == [2, 2]
    assert EXPORT.page(comparison, selection_of()).startswith(b"<!doctype html>")


def test_an_edit_is_made_of_it(at: AppTest, comparison: Comparison) -> None:
    view = find(comparison, selection_of())
    assert view is not None
    edit = EditDirection(directions.keep(view.direction), (view.layer,), "add", 1.0)
    edited = runs.run("mini", PROMPT, True, (edit,))
    token = comparison.a.tokenizer.to_single_token
    plain, after = comparison.a.next_logits, edited.next_logits
    assert plain[token(" are")] < plain[token(" is")]
    assert after[token(" are")] > after[token(" is")]


def test_the_buttons_put_it_into_the_drawer(at: AppTest, options: Options) -> None:
    options.change(at, "dir_apply", None)
    pending = at.session_state["headlight"].pending
    assert isinstance((pending or at.session_state["headlight"].active).edits[0], EditDirection)


def test_choices_travel_in_the_link() -> None:
    chosen = selection_of(
        dir_set="sentiment", dir_method="pca", dir_layer=2, dir_toward="negative", dir_factor=-0.75, dir_where="end"
    )
    assert from_query(to_query(chosen), [Choices]) == (chosen, ())


def test_an_upload_is_a_set_with_its_columns(comparison: Comparison) -> None:
    rows = [
        f"The {noun} {place} the door,{label},{place}"
        for noun, label in (("key", "one"), ("keys", "many"))
        for place in ("near", "behind", "by", "above", "beside")
    ]
    name = direction_studies.add_set("mine.csv", "\n".join(["prompt,count,template", *rows]).encode())
    question = study_question(comparison, selection_of(dir_set=name))
    assert question.settings.column == "count"
    study = direction_studies.answer(question)
    assert study.examples.classes == ("many", "one")
    assert study.examples.are_grouped
    assert not study.examples.has_answers
    drawn = page("directions", comparison, dir_set=name)
    for bad, said in (
        (b"prompt\n", "has no rows"),
        (b"foo,bar\na,b\n", "No column is known to hold the prompts"),
        (b"prompt,label\na,b,c\n", "Line 2"),
    ):
        with pytest.raises(InputError, match=said):
            direction_studies.add_set("bad.csv", bad)
    assert any("no answers, so there is nothing to measure" in each.value for each in drawn.info)
    gone = page("directions", comparison, dir_set="gone@1")
    assert any("not open on this server" in each.value for each in gone.text)


def test_files_come_back(comparison: Comparison, at: AppTest, tmp_path: Path) -> None:
    view = find(comparison, selection_of())
    assert view is not None
    for suffix in (".safetensors", ".gguf", ".json"):
        back = direction_studies.read(f"x{suffix}", direction_studies.write(view.direction, suffix))
        assert back.d_model == comparison.a.cfg.d_model
    (tmp_path / "x.safetensors").write_bytes(direction_studies.write(view.direction, ".safetensors"))
    assert open_direction(tmp_path / "x.safetensors", comparison.a.model).identity == view.direction.identity


def test_a_model_that_reads_both_ways_has_none(run: object, comparison: Comparison) -> None:
    assert no_directions(comparison) == ""


def test_shipped_sets_are_balanced_and_have_answers() -> None:
    for prompts in shipped_sets().values():
        (column,) = (name for name in prompts.label_names if name != "template")
        labels = [row.labels[column] for row in prompts.rows]
        assert len({labels.count(label) for label in labels}) == 1
        assert all(row.answers and row.wrong_answers for row in prompts.rows)

"""What the page *Directions* takes and gives: tables of prompts in every form, directions in three, and kept files."""

import io
import json
from collections.abc import Iterator
from pathlib import Path

import datasets
import pandas as pd
import pytest
import torch
from streamlit.testing.v1 import AppTest

from headlight.app.frame import progress
from headlight.app.pages.directions.choices import Choices
from headlight.app.pages.directions.direction_view import columns_of
from headlight.app.runs import direction_studies, directions, models, models_folder, runs
from headlight.model.base.errors import InputError
from headlight.model.directions.files import open_direction, save_direction
from headlight.model.runs.comparison import Comparison
from headlight.model.runs.direction import Direction
from headlight.model.runs.edits import EditDirection
from tests.app.pages.test_sides import page

ROWS = [
    {"prompt": f"The {noun} {place} the door", "label": label, "template": place}
    for place in ("near", "behind", "by", "above", "beside")
    for noun, label in (("key", 0), ("keys", 1), ("cup", 0), ("cups", 1))
]


@pytest.fixture(scope="module")
def comparison() -> Comparison:
    return Comparison(runs.run("mini", "The key near the door", True))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The user's own data, in which nothing is kept yet."""
    monkeypatch.setenv(directions.DATA, str(tmp_path))
    models_folder.forget()
    yield tmp_path / "headlight" / "directions"
    models_folder.forget()


@pytest.fixture(autouse=True)
def unmeasured(monkeypatch: pytest.MonkeyPatch) -> None:
    """No study is begun: files are taken and given without one."""
    monkeypatch.setattr(progress, "go_on", lambda work, do: None)


def said(at: AppTest) -> str:
    return "\n".join(each.value for each in (*at.text, *at.caption, *at.info))


def click(at: AppTest, label: str) -> None:
    next(button for button in at.button if button.label == label).click().run()
    assert not at.exception


def upload(at: AppTest, place: int, name: str, data: bytes) -> None:
    at.file_uploader[place].set_value((name, data, "text/plain")).run()
    assert not at.exception


def chosen(at: AppTest) -> str:
    return str(at.session_state["headlight"].active.choices_of(Choices).dir_set)


def tables() -> dict[str, bytes]:
    frame, columns = pd.DataFrame(ROWS), io.BytesIO()
    frame.to_parquet(columns)
    return {
        "a.csv": frame.to_csv(index=False).encode(),
        "a.tsv": frame.to_csv(index=False, sep="\t").encode(),
        "a.jsonl": frame.to_json(orient="records", lines=True).encode(),
        "a.json": json.dumps(ROWS).encode(),
        "a.parquet": columns.getvalue(),
    }


def test_labelled_prompts_are_the_same_in_every_form(tmp_path: Path) -> None:
    for name, data in tables().items():
        prompts = direction_studies.set_of(direction_studies.add_set(name, data)).prompt_set
        assert [row.labels["label"] for row in prompts.rows] == [str(row["label"]) for row in ROWS], name
        assert columns_of(prompts) == {"label": "label"}, name
    datasets.Dataset.from_list(ROWS).save_to_disk(tmp_path / "saved")
    prompts = direction_studies.set_of(str(tmp_path / "saved")).prompt_set
    assert [row.clean for row in prompts.rows] == [row["prompt"] for row in ROWS]
    with pytest.raises(InputError, match=r"Row 2 \(Line 3\)"):
        direction_studies.add_set("a.jsonl", b'{"prompt": "a", "label": 1}\n\n{"prompt": 3, "label": 0}\n')
    many = b"prompt,label\n" + b"a,b\n" * (direction_studies.MAX_ROWS + 1)
    with pytest.raises(InputError, match=r"a has 2,001 rows; this page takes at most 2,000"):
        direction_studies.add_set("a.csv", many)


def test_classes_beside_pairs_are_no_years_and_answers_alone_are_classes() -> None:
    pairs = "clean,corrupted,label\n" + "".join(f"The key {n},The keys {n},{n % 2}\n" for n in range(1, 9))
    known = direction_studies.set_of(direction_studies.add_set("pairs.csv", pairs.encode()))
    assert columns_of(known.prompt_set) == {"": "clean and corrupted", "label": "label"}
    answers = "prompt,answer\nThe key, is\nThe keys, are\nThe cup, is\n"
    known = direction_studies.set_of(direction_studies.add_set("answers.csv", answers.encode()))
    assert columns_of(known.prompt_set) == {"answer": "answer"}


def test_an_upload_is_studied_and_unknown_columns_are_matched(comparison: Comparison) -> None:
    at = page("directions", comparison, dir_set="sentiment")
    upload(at, 0, "mine.csv", tables()["a.csv"])
    assert chosen(at).startswith("mine.csv@")
    upload(at, 0, "odd.csv", tables()["a.csv"].replace(b"prompt,", b"frage,"))
    assert "columns that no program is known to write" in said(at)
    at.selectbox[0].set_value("frage")
    click(at, "Read the file")
    assert chosen(at).startswith("odd.csv@")
    upload(at, 0, "bad.csv", b"prompt,label\na,b,c\n")
    assert "Could not open bad.csv" in said(at)
    assert chosen(at).startswith("odd.csv@")


@pytest.mark.parametrize("suffix", [".safetensors", ".gguf", ".json"])
def test_a_direction_goes_out_and_comes_back_through_the_page(
    comparison: Comparison, folder: Path, suffix: str
) -> None:
    layers = (2,) if suffix == ".json" else (2, 3, 4)
    sent = Direction("sent", {layer: torch.randn(comparison.a.cfg.d_model) for layer in layers}, "end", "pca", "mini")
    at = page("directions", comparison, dir_set="sentiment")
    upload(at, 1, f"sent{suffix}", direction_studies.write(sent, suffix))
    assert chosen(at) == sent.identity
    back = directions.opened(chosen(at))
    assert back.layers == layers
    assert all(torch.equal(back.vectors[layer], sent.vectors[layer]) for layer in layers)
    narrow = Direction("narrow", {2: torch.ones(8)}, model="elsewhere")
    upload(at, 1, f"narrow{suffix}", direction_studies.write(narrow, suffix))
    assert "'narrow', which was found in elsewhere, has 8 numbers a layer" in said(at)


def test_a_kept_direction_outlives_the_server_and_is_removed_by_who_kept_it(
    comparison: Comparison, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent = Direction("mine", {2: torch.ones(comparison.a.cfg.d_model)}, model="mini")
    at = page("directions", comparison, dir_set="sentiment")
    upload(at, 1, "mine.safetensors", direction_studies.write(sent, ".safetensors"))
    click(at, "Keep by this name")
    (file,) = folder.iterdir()
    assert open_direction(file).identity == sent.identity
    save_direction(sent, folder / "theirs.gguf")
    (folder / "broken.safetensors").write_bytes(b"x")
    models_folder.forget()
    directions._opened.cache_clear()  # as another server has it
    again = page("directions", comparison, dir_set=sent.identity)
    assert "broken.safetensors cannot be read as safetensors" in said(again)
    edit = EditDirection(sent.identity, (2,), "add", 1.0)
    edited = runs.run("mini", comparison.a.prompt, True, (edit,))
    assert not torch.equal(edited.next_logits, comparison.a.next_logits)
    other = Direction("mine", {2: -torch.ones(comparison.a.cfg.d_model)})
    upload(again, 1, "mine.safetensors", direction_studies.write(other, ".safetensors"))
    click(again, "Keep by this name")
    assert "already a file mine.safetensors" in said(again)
    assert open_direction(file).identity == sent.identity
    with monkeypatch.context() as shared:
        shared.setattr(models, "any_model_allowed", lambda: False)
        assert not directions.can_remove(sent.identity)
        assert directions.folder() is None
    directions.remove(sent.identity)
    assert not file.exists()
    assert (folder / "theirs.gguf").exists()


def test_a_model_of_other_words_is_told_what_to_do() -> None:
    at = page("directions", Comparison(runs.run("teach-copy", "the ! fox ?", True)))
    assert "cannot be used with teach-copy" in said(at)
    assert not at.error

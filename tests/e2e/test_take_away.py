"""The box under each view: every file comes, and is what its ending says."""

import io
import zipfile
from pathlib import Path

import pytest

from app.registry import View
from tests.e2e.driver import PROMPTED_VIEWS, Driver

TABLES_OF_NO_PROMPT = {"heads": "scores.csv", "weights": "directions.csv"}  # of the model alone
PROMPT, OTHER = "The cat sat. The cat", "The dog sat. The dog"


@pytest.mark.parametrize("view", PROMPTED_VIEWS, ids=lambda view: view.slug)
def test_every_file_of_a_comparison_can_be_had(app: Driver, view: View) -> None:
    app.open(view, prompt=PROMPT, prompt_b=OTHER)
    files = app.take_away()
    names = {ending: f"headlight_{view.slug}.{ending}" for ending in ("html", "py", "zip", "svg", "png")}
    assert {ending: file.suggested_filename for ending, file in files.items()} == names
    made = {ending: Path(file.path()).read_bytes() for ending, file in files.items()}
    compile(made["py"], "script.py", "exec")
    assert ("mini" if view.slug in TABLES_OF_NO_PROMPT else PROMPT) in made["py"].decode()
    with zipfile.ZipFile(io.BytesIO(made["zip"])) as archive:
        table = TABLES_OF_NO_PROMPT.get(view.slug, "prompts.csv" if view.slug == "prompts" else "tokens.csv")
        assert {"about.json", "arrays.npz", table} <= set(archive.namelist())
    assert made["html"].startswith(b"<!doctype html>")
    assert b"<svg" in made["svg"]
    assert made["png"].startswith(b"\x89PNG")

"""The box under each view: every file comes, and is what its ending says."""

import io
import zipfile
from pathlib import Path

import pytest

from headlight.app.frame.view import View
from headlight.app.registry import VIEWS
from tests.e2e.driver import PROMPTED_VIEWS, Driver

TABLES_OF_NO_PROMPT = {
    "heads": "scores.csv",
    "weights": "directions.csv",
    "corpus": "figures.csv",
}  # of the model alone
PROMPT, OTHER = "The cat sat. The cat", "The dog sat. The dog"


PICTURES = ("svg", "png")  # which take seconds to draw, and are drawn of every comparison in the tests of exports


@pytest.mark.parametrize("view", PROMPTED_VIEWS, ids=lambda view: view.slug)
def test_every_file_of_a_comparison_can_be_had(app: Driver, view: View) -> None:
    app.open(view, prompt=PROMPT, prompt_b=OTHER)
    drawn = PICTURES if view is VIEWS[0] else ()
    files = app.take_away(but=set(PICTURES).difference(drawn))
    assert set(files) == {"html", "py", "zip", *drawn}
    assert {ending: file.suggested_filename for ending, file in files.items()} == {
        ending: f"headlight_{view.slug}.{ending}" for ending in files
    }
    made = {ending: Path(file.path()).read_bytes() for ending, file in files.items()}
    compile(made["py"], "script.py", "exec")
    assert ("mini" if view.slug in TABLES_OF_NO_PROMPT else PROMPT) in made["py"].decode()
    with zipfile.ZipFile(io.BytesIO(made["zip"])) as archive:
        table = TABLES_OF_NO_PROMPT.get(view.slug, "prompts.csv" if view.slug == "prompts" else "tokens.csv")
        assert {"about.json", "arrays.npz", table} <= set(archive.namelist())
    assert made["html"].startswith(b"<!doctype html>")
    if drawn:
        assert b"<svg" in made["svg"]
        assert made["png"].startswith(b"\x89PNG")

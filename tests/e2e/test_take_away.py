"""The row under each view: every file comes, and is what its ending says."""

import io
import zipfile
from pathlib import Path

import pytest
from playwright.sync_api import Download, Locator

from app.registry import View
from tests.e2e.driver import PROMPTED_VIEWS, Driver

TABLES_OF_NO_PROMPT = {"heads": "scores.csv", "weights": "directions.csv"}  # of the model alone
PROMPT, OTHER = "The cat sat. The cat", "The dog sat. The dog"


def downloaded(app: Driver, button: Locator) -> tuple[str, bytes]:
    with app.page.expect_download() as waiting:
        button.click()
    done: Download = waiting.value
    return done.suggested_filename, Path(done.path()).read_bytes()


@pytest.mark.parametrize("view", PROMPTED_VIEWS, ids=lambda view: view.slug)
def test_every_file_of_a_comparison_can_be_had(app: Driver, view: View) -> None:
    app.open(view, prompt=PROMPT, prompt_b=OTHER)
    row = app.page.locator(".st-key-headlight-take-away")
    found = dict([downloaded(app, row.get_by_role("button", name="Page"))])
    for opener, buttons in (("Code", ["py"]), ("Data", ["zip"]), ("Picture", ["svg", "png"])):
        row.get_by_role("button", name=opener).click()
        for ending in buttons:
            button = app.page.locator(f".st-key-headlight-take-{ending}").get_by_role("button")
            found |= dict([downloaded(app, button)])
        app.page.keyboard.press("Escape")
    assert set(found) == {f"headlight_{view.slug}.{ending}" for ending in ("html", "py", "zip", "svg", "png")}
    made = {name.rpartition(".")[2]: content for name, content in found.items()}
    compile(made["py"], "script.py", "exec")
    assert ("mini" if view.slug in TABLES_OF_NO_PROMPT else PROMPT) in made["py"].decode()
    with zipfile.ZipFile(io.BytesIO(made["zip"])) as archive:
        table = TABLES_OF_NO_PROMPT.get(view.slug, "prompts.csv" if view.slug == "prompts" else "tokens.csv")
        assert {"about.json", "arrays.npz", table} <= set(archive.namelist())
    assert made["html"].startswith(b"<!doctype html>")
    assert b"<svg" in made["svg"]
    assert made["png"].startswith(b"\x89PNG")

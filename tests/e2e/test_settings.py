"""A server with settings of its own: which models its page opens, and which it refuses."""

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from headlight.model import embedded_models
from tests.e2e.driver import Driver
from tests.serving import headlight

PROMPT = "The keys to the cabinet"


@pytest.fixture
def restricted(browser: Browser, tmp_path: Path) -> Iterator[Driver]:
    """A page that offers one folder of models, and opens no path that is typed."""
    shutil.copytree(embedded_models()["mini"], tmp_path / "models" / "ours")
    flags = ("--models-folder", str(tmp_path / "models"), "--any-model", "0")
    with headlight(tmp_path, *flags) as url:
        driver = Driver(browser, url)
        yield driver
        driver.close()
        assert not driver.complaints


def test_the_models_folder_is_in_the_list_and_other_paths_are_refused(restricted: Driver, tmp_path: Path) -> None:
    restricted.open(prompt=PROMPT)
    restricted.choose("Model", "ours")
    restricted.run_button.click()
    expect(restricted.fed).to_contain_text("ours")
    restricted.open(prompt=PROMPT, model=str(tmp_path / "models" / "ours"))
    expect(restricted.refused).to_contain_text(
        re.compile(r"is not offered here\. Choose one of mini, .*ours, smollm2, gpt2")
    )
    restricted.open(prompt=PROMPT, model="nobody/nothing")
    expect(restricted.refused).to_contain_text("is not offered here")

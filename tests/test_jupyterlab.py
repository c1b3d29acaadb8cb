"""A real JupyterLab draws what `headlight.show` returns, with its hover."""

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.notebook import ARRAYS
from tests.places import ROOT
from tests.serving import PATIENCE, jupyter_lab

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = [pytest.mark.real, pytest.mark.thorough]


def test_a_notebook_opened_and_run_in_jupyterlab_has_pictures_with_their_hover(
    browser: "Browser", tmp_path: Path
) -> None:
    pytest.importorskip("jupyterlab")
    from playwright.sync_api import expect

    shutil.copy(ARRAYS, tmp_path)
    (tmp_path / "model").symlink_to(ROOT / "model")  # by which the notebook knows the project's folder
    with jupyter_lab(tmp_path) as url, browser.new_context() as context:
        page = context.new_page()
        page.set_default_timeout(PATIENCE)
        page.goto(f"{url}/lab/tree/{ARRAYS.name}?reset")
        offered = page.get_by_role("button", name="Select", exact=True)  # where it asks for the kernel
        page.add_locator_handler(offered, lambda button: button.click())
        page.get_by_text("| Idle").wait_for()
        page.locator(".lm-MenuBar-itemLabel", has_text="Run").click()
        page.locator("[data-command='runmenu:run-all']").click()
        picture = page.frame_locator(".jp-OutputArea iframe").first
        panel = picture.locator("figure.panel").first
        panel.locator("canvas").last.hover(position={"x": 100, "y": 12})
        expect(picture.locator(".tooltip:popover-open")).to_contain_text("L0H1")

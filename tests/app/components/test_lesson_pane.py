"""Where a lesson's step scrolls the page to, in a browser without Streamlit."""

from pathlib import Path

import pytest
from playwright.sync_api import Browser

from headlight.app import components
from headlight.app.components.shared import mount

FOLDER = Path(components.__file__).parent
PAGE = """<div class="st-key-headlight-left"><div></div></div><div class="st-key-headlight-view"><div></div></div>
<script>
  const headings = { left: ["Scale"], view: ["All heads", "5  Dot products", "6  Scale"] };
  for (const [place, texts] of Object.entries(headings)) {
    const root = document.querySelector(`.st-key-headlight-${place} div`).attachShadow({ mode: "open" });
    root.innerHTML = texts.map((text) => `<h4>${text}</h4>`).join("");
  }
</script>"""


@pytest.mark.parametrize(
    ("part", "heading"), [("Scale", "6  Scale"), ("All heads", "All heads"), ("Dot", "5  Dot products"), ("x", None)]
)
def test_a_part_of_the_page_is_found_by_its_heading(browser: Browser, part: str, heading: str | None) -> None:
    """By the beginning of its words without its number, and not on the page that has just been left."""
    page = browser.new_page()
    page.set_content(PAGE)
    page.add_script_tag(content=mount.scripts(FOLDER / "shared", FOLDER / "lesson_pane"))
    assert page.evaluate("(part) => headingOf(part)?.textContent ?? null", part) == heading
    page.close()


@pytest.mark.parametrize(("notice", "part"), [("", "view"), ("link", "link"), ("refused-view", "refused-view")])
def test_above_a_sheet_stands_the_page_or_what_is_asked_of_its_link(browser: Browser, notice: str, part: str) -> None:
    """Whether to open a stranger's model was asked above the window's edge, and the step seemed to do nothing."""
    page = browser.new_page(viewport={"width": 390, "height": 844})
    page.set_content(f'<div class="st-key-headlight-{notice}"></div>{PAGE}')
    page.add_script_tag(content=mount.scripts(FOLDER / "shared", FOLDER / "lesson_pane"))
    script = """() => {
      let shown = "";
      Element.prototype.scrollIntoView = function () { shown = this.className; };
      showBeginning();
      return shown;
    }"""
    assert page.evaluate(script) == f"st-key-headlight-{part}"
    page.close()


@pytest.mark.parametrize(("pinned", "is_scrolled"), [(2, False), (11, True)])
def test_of_a_long_text_the_pinned_token_is_above_the_sheet(browser: Browser, pinned: int, is_scrolled: bool) -> None:
    """Two texts in columns ended under the sheet, and the token that the step asks about with them."""
    page = browser.new_page(viewport={"width": 390, "height": 844})
    page.set_content(
        """<div style="height: 300px">the bar</div>
        <div class="st-key-headlight-view"><div class="st-key-headlight-place-text"><div></div></div></div>
        <div style="height: 900px">below</div>"""
    )
    page.add_script_tag(content=mount.scripts(FOLDER / "shared", FOLDER / "lesson_pane"))
    script = """([pinned, count]) => {
      const root = document.querySelector(".st-key-headlight-place-text div").attachShadow({ mode: "open" });
      const chips = upTo(count).map((place) => `<div class="chip${place === pinned ? " pinned" : ""}"></div>`);
      root.innerHTML = `<style>.chip { height: 40px }</style><div class="body">${chips.join("")}</div>`;
      showBeginning();
      const { top, bottom } = root.querySelector(".pinned").getBoundingClientRect();
      return [top, bottom, scrollY, (1 - SHEET) * innerHeight];
    }"""
    count = 14 if is_scrolled else 6
    _, bottom, scrolled, sheet = page.evaluate(script, [pinned, count])
    assert bottom < sheet
    assert (scrolled > 308) == is_scrolled  # with the body's margin, where the page's view begins
    page.close()

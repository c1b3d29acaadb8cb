"""What the links to pages report to the server, in a browser without Streamlit."""

from pathlib import Path

from playwright.sync_api import Browser

from headlight.app import components
from headlight.app.components.shared import mount

FOLDER = Path(components.__file__).parent


def test_heads_are_named_with_the_kind_of_their_attention(browser: Browser) -> None:
    page = browser.new_page()
    page.add_script_tag(content=mount.scripts(FOLDER / "shared", FOLDER / "nav_bar"))
    text = "cross L1H12 looks, itself L0H1 too, self L0H1, and L2H3 twice: L2H3"
    named = [[1, 12, "cross"], [0, 1], [0, 1, "self"], [2, 3]]
    assert page.evaluate("text => headsIn(text)", text) == named
    assert page.evaluate("() => headsIn('L4', 'H2')") == [[4, 2]]
    names = ["cross L1H12", "L0H1", "self L0H1", "L2H3"]
    assert page.evaluate("heads => heads.map(headName)", named) == names
    page.close()


def test_a_change_of_theme_is_reported_without_a_page(browser: Browser) -> None:
    """The page that was open may be left by the browser's Back before the report arrives, and would come back."""
    page = browser.new_page()
    page.add_script_tag(content=mount.scripts(FOLDER / "shared", FOLDER / "nav_bar"))
    script = """() => {
      const slugs = [];
      const link = { latest: () => true, send: () => {} };
      const view = { root: element("div"), link, announce: () => {}, report: ([slug]) => slugs.push(slug) };
      const bar = new NavBar(view);
      const groups = [["", [["attention", "Attention"], ["why", "Why"]]]];
      bar.update({ groups, current: "why", status: "", ofHead: [["why", "Why"]], picture: null });
      for (const id of ["light", "light", "dark"]) bar.draw({ id }, 900);
      bar.slugs.keys().next().value.click();
      return slugs;
    }"""
    assert page.evaluate(script) == ["", "attention"]
    page.close()

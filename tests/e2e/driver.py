"""Headlight's page as a user has it: what can be typed and clicked, and what is then to be seen."""

import re
from collections.abc import Container
from typing import Any, Literal
from urllib.parse import parse_qs, urlencode, urlparse

from playwright.sync_api import Browser, ConsoleMessage, Download, Locator, Position, expect
from playwright.sync_api import TimeoutError as PlaywrightTimeout

from headlight.app.frame.view import PROMPTED, View
from headlight.app.registry import VIEWS
from tests.e2e.settling import LISTENING, settle
from tests.serving import PATIENCE
from tests.sessions.client import CLEAR_CACHES

Theme = Literal["light", "dark"]
PROMPTED_VIEWS = tuple(view for view in VIEWS if view.kind is PROMPTED)
LOOPBACK = ("http://127.0.0.1:", "ws://127.0.0.1:", "data:", "blob:")
HEIGHT = 1000

TAKEN = {
    "Code": ["py"],
    "Data": ["zip"],
    "Image": ["svg", "pdf", "png"],
    "Web page": ["html"],
}  # endings by tab
DRAWN = ".headlight canvas, .headlight table, [data-testid=data-grid-canvas], [class*=st-key-headlight-missing]"
# Our canvases' pixels, and the texts of tables and of lists of bars.
PICTURE = """() => {
    const main = document.querySelector("[data-testid=stMain]");
    const shadows = [...main.querySelectorAll("*")].map(element => element.shadowRoot).filter(root => root);
    const all = selector => [main, ...shadows].flatMap(root => [...root.querySelectorAll(selector)]);
    return [
        ...all(".headlight canvas").map(canvas => canvas.toDataURL()),
        ...all("[role=gridcell], .headlight td, .headlight [role=listitem]").map(cell => cell.textContent),
    ].join();
}"""

# To another address of the same page, whose session goes on; a page that is loaded anew takes a second more.
GO_BACK_TO = """address => new Promise((done) => {
    history.pushState(null, "", address);
    history.pushState(null, "", address);
    addEventListener("popstate", done, { once: true });
    history.back();
}).then(() => undefined)"""

TO_THE_TOP = """() => {
    document.activeElement?.blur();
    document.querySelector("[data-testid=stMain]")?.scrollTo(0, 0);
}"""


def query_of(view: View, **chosen: str) -> str:
    """The address's query for a view on which something is chosen; that of the first does not name it."""
    return urlencode(chosen if view is VIEWS[0] else chosen | {"page": view.slug})


def page_of(url: str) -> str:
    """The page that an address names, or the first; none before Headlight has written its address."""
    query = parse_qs(urlparse(url).query)
    return query.get("page", [VIEWS[0].slug])[0] if query else ""


class Driver:
    """One browser window on Headlight, and everything that it asked for or complained about."""

    def __init__(
        self, browser: Browser, url: str, theme: Theme = "light", width: int = 1280, newcomer: bool = False
    ) -> None:
        context = browser.new_context(viewport={"width": width, "height": HEIGHT}, color_scheme=theme)
        context.add_init_script(LISTENING)
        if not newcomer:
            context.add_init_script("localStorage.setItem('headlight.tour', 'seen')")
        self.url, self.page = url, context.new_page()
        self.page.set_default_timeout(PATIENCE)
        self.requests: list[str] = []
        self.complaints: list[str] = []
        context.on("request", lambda request: self.requests.append(request.url))
        self.page.on("websocket", lambda socket: self.requests.append(socket.url))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("console", self._note)

    def _note(self, line: ConsoleMessage) -> None:
        # On a page below "/" Streamlit looks for its server below that page first, and finds it one level up.
        if line.type == "error" and "/_stcore/" not in line.location["url"]:
            self.complaints.append(f"{line.text} ({line.location['url']})")

    def clear(self) -> None:
        """Leave the page and its session."""
        self.page.goto("about:blank")
        self.begin()

    def begin(self) -> None:
        """Look at the top of the page as if one had just come, and forget what it asked for and complained about."""
        self.page.set_viewport_size({"width": 1280, "height": HEIGHT})
        self.page.mouse.move(0, 0)
        self.page.evaluate(TO_THE_TOP)
        self.requests.clear()
        self.complaints.clear()

    def close(self) -> None:
        """Close the window."""
        self.page.context.close()

    @property
    def outside(self) -> list[str]:
        """The addresses beyond this machine that were asked for."""
        return [url for url in self.requests if not url.startswith(LOOPBACK)]

    def open(self, view: View = VIEWS[0], **query: str) -> None:
        """Open a view by its address and wait until it is drawn: where Headlight is open already, as Back would do.

        An address that names nothing is a newcomer's.
        """
        named = query_of(view, **query)
        address = f"{self.url}/?{named}"
        if named and page_of(self.page.url):
            self.page.evaluate(GO_BACK_TO, address)
        else:
            self.page.goto(address)
        self.settle()
        if (offer := self.page.locator(".st-key-headlight-link")).is_visible():
            offer.get_by_role("button", name="Open").click()  # what the link names and the server does not offer
            self.settle()
        self.page.locator(DRAWN).or_(self.refused).filter(visible=True).first.wait_for()

    def go_to(self, view: View) -> None:
        """Change to another view by the navigation, and take the pointer off it."""
        self.link(view).click()
        self.page.mouse.move(0, 0)
        self.page.wait_for_url(lambda url: page_of(url) == view.slug)
        self.settle()

    def link(self, view: View) -> Locator:
        """A view's link in the navigation, whose group is opened if it has one."""
        pages = self.page.get_by_role("navigation", name="Pages")
        group = pages.get_by_role("button", name=view.group)
        if view.group and group.count():
            group.click()
        return pages.get_by_role("link", name=view.title, exact=True)

    def settle(self) -> None:
        """Wait until the server has answered, its script has ended and the page has done all that it began."""
        settle(self.page)

    def clear_caches(self) -> None:
        """What Streamlit's menu can ask for; the server then forgets the session too."""
        self.page.evaluate("message => window.socket.send(new Uint8Array(message))", [*CLEAR_CACHES])

    def changed_from(self, picture: str) -> None:
        """Wait until something else is drawn than was before."""
        self.settle()
        self.page.wait_for_function(f"before => ({PICTURE})() !== before", arg=picture)
        self.settle()

    def becomes(self, picture: str) -> None:
        """Wait until exactly this is drawn."""
        self.settle()
        self.page.wait_for_function(f"expected => ({PICTURE})() === expected", arg=picture)

    def run(self, prompt: str) -> None:
        """Type a prompt and run it."""
        self.prompt.fill(prompt)
        self.run_button.click()

    def open_example(self, title: str) -> None:
        """Choose one of the examples from their menu."""
        self.page.get_by_role("button", name="Examples").click()
        self.page.get_by_role("menuitem", name=title).or_(self.page.get_by_role("option", name=title)).click()

    def open_model(self, name: str) -> None:
        """Type the name of a model and run the prompt on it."""
        chooser = self.page.get_by_role("combobox", name="Model")
        chooser.fill(name)
        chooser.press("Enter")
        self.run_button.click()

    def result_texts(self) -> list[str]:
        """Which result the attention page shows: model, tokens and chosen heads."""
        return [*self.fed.all_inner_texts(), *self.chips.all_text_contents(), *self.panels.all_inner_texts()]

    def picture(self) -> str:
        """All that is drawn: equal exactly when it looks equal."""
        return str(self.page.evaluate(PICTURE))

    @property
    def run_button(self) -> Locator:
        """What submits the bar."""
        return self.page.locator(".st-key-headlight-bar").get_by_role("button", name="Run")

    @property
    def prompt(self) -> Locator:
        """The prompt box."""
        return self.page.get_by_role("textbox", name=re.compile(r"^Prompt( A)?$"))

    @property
    def fed(self) -> Locator:
        """The line that says which model was fed how many tokens."""
        return self.page.locator("[class*=st-key-headlight-fed]")

    @property
    def refused(self) -> Locator:
        """The boxes that say why something is not shown."""
        return self.page.locator("[class*=st-key-headlight-refused]")

    @property
    def board(self) -> Locator:
        """The grid of all heads."""
        return self.page.locator(".board")

    @property
    def panels(self) -> Locator:
        """The chosen heads side by side."""
        return self.page.locator("figure.panel")

    @property
    def chips(self) -> Locator:
        """The tokens of the strip."""
        return self.page.locator(".chip")

    def choose(self, name: str, option: str) -> None:
        """Choose from a drop-down list, once nothing more moves, which would close it."""
        box = self.reveal(self.page.get_by_role("combobox", name=name, exact=True))
        box.scroll_into_view_if_needed()
        self.settle()
        if box.evaluate("box => box.localName === 'select'"):  # the browser's own, or Streamlit's
            box.focus()  # a long list is filled then
            box.select_option(option)
        else:
            box.click()
            self.page.get_by_role("option", name=option, exact=True).click()

    def reveal(self, option: Locator) -> Locator:
        """An option of the page, from behind the button of its row where it stands there."""
        openers = self.page.locator(".opener:visible")
        for place in range(openers.count()):
            if option.count():
                break
            openers.nth(place).click()
            if not option.count():
                self.page.keyboard.press("Escape")
        return option

    def upload(self, file: Any) -> None:
        """Upload a file of prompts, by its path or its contents."""
        box = self.page.locator("input[type=file]")
        if not box.count():
            self.page.get_by_role("button", name="Upload prompts").click()
        box.set_input_files(file)

    @property
    def take_with_you(self) -> Locator:
        """What opens the box under the view."""
        return self.page.get_by_text(re.compile("^Export: code"))

    def open_take_away(self) -> None:
        """Open the box under the view, and wait for the end of the run that fills it: a file that is asked for before
        may never come.
        """
        self.take_with_you.click()
        self.settle()

    def take_away(self, but: Container[str] = ()) -> dict[str, Download]:
        """Every file that the box under the view offers, by its ending; those in `but` are seen to be offered."""
        files: dict[str, Download] = {}
        self.open_take_away()
        for what, endings in TAKEN.items():
            self.page.get_by_role("tab", name=what).click()
            for ending in endings:
                button = self.page.get_by_role("button", name=re.compile(rf"\({ending}\)|^{ending}$", re.IGNORECASE))
                expect(button).to_be_visible()
                if ending not in but:
                    files[ending] = self.downloaded(button)
        return files

    def downloaded(self, button: Locator) -> Download:
        """What a button gives; as a user would, it is pressed again where nothing comes.

        Streamlit forgets a file that it made on demand once two runs of any session have ended after that, whether the
        browser has fetched it or not, and the sessions of earlier tests may still be at work.
        """
        for tries_left in reversed(range(3)):
            try:
                with self.page.expect_download(timeout=PATIENCE / 3) as waiting:
                    button.click()
                return waiting.value
            except PlaywrightTimeout:
                if not tries_left:
                    raise

    def point_at(self, query: int, key: int, n_places: int, panel: int = 0) -> str:
        """Move the pointer to a cell of a large heatmap; what the tooltip then says."""
        self.page.locator(".plot .marks").nth(panel).hover(position=self.cell(query, key, n_places, panel))
        tooltip = self.page.locator(".tooltip:popover-open")
        expect(tooltip).to_be_visible()
        return tooltip.inner_text()

    def cell(self, query: int, key: int, n_places: int, panel: int = 0) -> Position:
        """A cell's middle in a panel, whose matrix begins 6 pixels below the top and is as wide as its caption."""
        read = "caption => ['marginLeft', 'marginRight'].map((side) => parseFloat(getComputedStyle(caption)[side]))"
        left, right = self.panels.nth(panel).locator("figcaption").evaluate(read)
        box = self.page.locator(".plot .marks").nth(panel).bounding_box()
        assert box
        size = (box["width"] - left - right) / n_places
        return {"x": left + (key + 0.5) * size, "y": 6 + (query + 0.5) * size}

    def click_head(self, layer: int, head: int, shape: tuple[int, int]) -> None:
        """Click a head's thumbnail in a grid of so many layers and heads."""
        box = self.board.locator("canvas").bounding_box()
        assert box
        across, down = (head + 0.5) / shape[1], (layer + 0.5) / shape[0]
        self.board.click(position={"x": box["width"] * across, "y": box["height"] * down})

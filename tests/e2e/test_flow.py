"""The page *Flow* in a browser: its numbers are the library's, and what is clicked is what is told."""

import re

import pytest
import torch
from playwright.sync_api import Locator, expect

from headlight.app.registry import VIEWS
from headlight.model import Transformer, load
from headlight.model.flow.information_flow import Flow, flow
from headlight.model.flow.shares import Summands
from tests.e2e.driver import Driver

PROMPT = "The cat sat on the mat. The cat sat on the mat."
START, N_TOKENS = 10, 17
FLOW = next(view for view in VIEWS if view.slug == "flow")
CHOSEN = {"prompt": PROMPT, "position": str(START)}
# As in the script: rows of a small model are 44 pixels apart, the top one below the edge and the prediction.
ROW, MARGIN, TOP = 44, 14, 14 + 20


@pytest.fixture(scope="module")
def mini() -> Transformer:
    return load("mini")


@pytest.fixture(scope="module")
def expected(mini: Transformer) -> Flow:
    with torch.inference_mode():
        cache = mini.run_with_cache(mini.to_tokens(PROMPT, prepend_bos=True))[1]

        def supply(layer: int, positions: list[int]) -> Summands:
            pre, mid, mlp_out, post = (
                cache[name, layer][0, positions] for name in ("resid_pre", "resid_mid", "mlp_out", "resid_post")
            )
            W_O, b_O = (mini.get_parameter(f"blocks.{layer}.attn.{name}") for name in ("W_O", "b_O"))
            pattern, v = cache["pattern", layer][0][:, positions], cache["v", layer][0]
            return Summands(pre, pattern, v, W_O, b_O, mid, mlp_out, post)

        return flow(supply, mini.cfg.n_layers, 2, START, 0.04)


def _graph(app: Driver) -> Locator:
    return app.page.get_by_role("application", name="information flow")


def _click(app: Driver, flow: Flow, depth: int, position: int) -> None:
    """Click where a state is drawn: columns fill the canvas from the names of the rows on."""
    graph = _graph(app).locator("canvas")
    box = graph.bounding_box()
    assert box
    read = """canvas => {
      const context = canvas.getContext("2d");
      return Math.ceil(context.measureText("L0 attention").width) + 12;
    }"""
    left = float(graph.evaluate(read))
    taken = {node.place.position for node in flow.nodes}
    n_empty = N_TOKENS - len(taken)
    wide = min(120, int((box["width"] - left - MARGIN - 14 * n_empty) / len(taken)))
    narrow = min(wide // 2, int((box["width"] - left - MARGIN - wide * len(taken)) / max(1, n_empty)))
    widths = [wide if at in taken else narrow for at in range(N_TOKENS)]
    x = left + sum(widths[:position]) + widths[position] / 2
    graph.click(position={"x": x, "y": TOP + (8 - depth) * ROW})


def test_the_heads_of_a_line_are_the_librarys(app: Driver, expected: Flow) -> None:
    edge = next(each for each in expected.edges if each.kind == "attention" and each.target.depth == 3)
    chosen = f"{edge.target.depth} {edge.target.position} {edge.source.position}"
    app.open(FLOW, **CHOSEN, flow_chosen=chosen)
    expect(app.page.get_by_text(f"{len(expected.nodes)} nodes and {len(expected.edges)} edges")).to_be_visible()
    expect(app.page.get_by_role("heading", name=re.compile("Heads of layer 1 from"))).to_be_visible()
    rows = app.page.get_by_role("region", name="Heads of the chosen line").locator("tbody tr")
    expect(rows).to_have_count(len(edge.heads))
    for row, (head, share) in zip(rows.all(), edge.heads, strict=True):
        cells = row.locator("td").all_inner_texts()
        assert cells[0] == f"L1H{head}"
        assert float(cells[1]) == pytest.approx(share, rel=2e-3)  # four digits are shown
    app.page.get_by_role("button", name=f"Why does L1H{edge.heads[0][0]} look there?").click()
    app.page.wait_for_url(re.compile(rf"heads=1\.{edge.heads[0][0]}.*page=why"))


def test_a_click_on_a_dot_tells_its_tokens_and_on_the_top_row_starts_there(
    app: Driver, mini: Transformer, expected: Flow
) -> None:
    app.open(FLOW, **CHOSEN)
    narrow = max(set(range(START)) - {node.place.position for node in expected.nodes})  # one without a node
    _click(app, expected, 8, START)
    app.page.wait_for_url(re.compile(r"flow_chosen=8\+10"))
    with torch.inference_mode():
        logits = mini(mini.to_tokens(PROMPT, prepend_bos=True))[0, START]
    best = mini.to_str_tokens(logits.argmax()[None])[0].replace(" ", "␣")
    table = app.page.get_by_role("region", name="Top tokens of the chosen node")
    expect(table.locator("tbody tr").first).to_contain_text(best)
    before = app.picture()
    _click(app, expected, 8, narrow)
    app.page.wait_for_url(re.compile(rf"position={narrow}(?!\d)"))
    app.changed_from(before)
    assert "flow_chosen" not in app.page.url
    expect(app.page.get_by_role("combobox", name="Start from")).to_have_value(re.compile(f"^{narrow} "))


def test_a_line_is_reached_by_the_keyboard(app: Driver, expected: Flow) -> None:
    app.open(FLOW, **CHOSEN)
    _graph(app).focus()
    tooltip = app.page.locator(".tooltip:popover-open")
    app.page.keyboard.press("ArrowUp")
    expect(tooltip).to_contain_text("L3 MLP")
    app.page.keyboard.press("ArrowDown")
    expect(tooltip).to_contain_text("L3 attention")
    into = [edge for edge in expected.edges if edge.target == (7, START)]
    best = sorted(into, key=lambda edge: -edge.share)
    place = next(place for place, edge in enumerate(best) if edge.kind == "attention")
    for _ in range(place + 1):
        app.page.keyboard.press("PageDown")
    expect(tooltip).to_contain_text("attention into L3 attention")
    expect(tooltip).to_contain_text(f"{best[place].share:.3f}"[:4])
    app.page.keyboard.press("Enter")
    app.page.wait_for_url(re.compile(rf"flow_chosen=7\+{START}\+{best[place].source.position}"))
    expect(app.page.get_by_role("region", name="Heads of the chosen line")).to_be_visible()
    _graph(app).focus()
    app.page.keyboard.press("m")
    head, _ = max(best[place].heads, key=lambda each: each[1])
    expect(app.page.get_by_role("menu", name=re.compile(rf"\bL3H{head}\b"))).to_be_visible()
    app.page.keyboard.press("Escape")
    app.page.keyboard.press("Escape")
    expect(app.page.get_by_role("region", name="Heads of the chosen line")).to_have_count(0)


def test_a_higher_threshold_leaves_less(app: Driver) -> None:
    app.open(FLOW, **CHOSEN, flow_threshold="0.1")
    few = app.page.get_by_text(re.compile(r"^\d+ nodes and \d+ edges with a share of at least 0\.1")).inner_text()
    slider = app.page.get_by_role("slider")
    slider.focus()
    for _ in range(3):
        slider.press("ArrowLeft")
    app.page.wait_for_url(re.compile(r"flow_threshold=0\.085"))
    more = app.page.get_by_text(re.compile(r"^\d+ nodes and \d+ edges with a share of at least 0\.085")).inner_text()
    assert int(more.split()[0]) >= int(few.split()[0])
    assert int(more.split()[3]) > int(few.split()[3])


def test_two_runs_are_side_by_side_with_their_difference(app: Driver, mini: Transformer) -> None:
    """B − A is told by key, chosen in place of the runs' own panels, and stands in tables where these are asked for."""
    other = "The cat sat on the red mat. The dog sat on the mat."
    app.open(FLOW, prompt=PROMPT, prompt_b=other, flow_threshold="0.02")
    expect(app.page.get_by_role("application", name=re.compile("information flow"))).to_have_count(3)
    graph = app.page.get_by_role("application", name=re.compile("^B − A: information flow"))
    expect(graph).to_have_accessible_name(re.compile("edges changed by at least 0.02"))
    graph.focus()
    app.page.keyboard.press("ArrowUp")
    tooltip = app.page.locator(".tooltip:popover-open")
    expect(tooltip).to_contain_text("of the start in B")
    app.page.keyboard.press("Enter")
    table = app.page.get_by_role("region", name="Top tokens of the chosen node B − A")
    with torch.inference_mode():
        best, a, b = _likeliest(mini, PROMPT, other)
    row = table.locator("tbody tr").first
    expect(row).to_contain_text(best.replace(" ", "␣"))
    cells = row.locator("td").all_inner_texts()
    assert [float(cell.replace("−", "-")) for cell in cells[1:4]] == pytest.approx([a, b, b - a], rel=2e-3, abs=1e-4)
    app.page.get_by_text("As tables").click()
    for graph_name in ("A", "B", "B − A"):
        rows = app.page.get_by_role("region", name=f"Lines of the flow {graph_name}", exact=True).locator("tbody tr")
        expect(rows.first).to_contain_text("L")
    first = rows.first.locator("td").all_inner_texts()
    a, b, change = (float(cell.replace("−", "-")) for cell in first[4:7])
    assert b - a == pytest.approx(change, abs=2e-4)  # four digits are shown
    expect(app.page.get_by_role("application", name=re.compile("information flow"))).to_have_count(0)


def _likeliest(mini: Transformer, a: str, b: str) -> tuple[str, float, float]:
    """The token that is likeliest next in either prompt, and its probability in both."""
    of_a, of_b = (mini(mini.to_tokens(text, prepend_bos=True))[0, -1].softmax(-1) for text in (a, b))
    best = torch.maximum(of_a, of_b).argmax()
    return mini.to_str_tokens(best[None])[0], float(of_a[best]), float(of_b[best])


def test_the_last_token_is_seen_with_the_margin_behind_it_after_a_shorter_prompt_too(app: Driver) -> None:
    app.open(FLOW, prompt="The cat sat on the mat.")
    graph = app.page.get_by_role("application", name=re.compile("information flow"))
    before = graph.get_attribute("aria-label")
    app.run("The cat sat on the mat. " * 12)
    expect(graph).not_to_have_attribute("aria-label", str(before))
    app.settle()
    ends = "(box) => [box.scrollLeft + box.clientWidth, box.scrollWidth]"
    seen, whole = app.page.locator(".scroller").first.evaluate(ends)
    assert whole - seen <= 1  # scrollLeft may lie between two pixels

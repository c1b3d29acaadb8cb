"""A researcher's walk with SmolLM2: six clicks from the lens to a head that is knocked out, and what that does."""

import pytest
import torch
from playwright.sync_api import Locator, expect

from headlight.app.registry import VIEWS
from headlight.model import load
from tests.e2e.driver import Driver
from tests.serving import PATIENCE

PROMPT = "When Mary and John went to the shop, John gave a drink to"
NAMES = (" Mary", " John")
LENS = next(view for view in VIEWS if view.slug == "lens")
LONG = 3 * PATIENCE  # milliseconds, for a model of 270 heads on a busy machine
HEAD, LAYER, NUMBER = "L23H3", 23, 3


class Clicks:
    """Counts what is clicked, and waits until all is drawn."""

    def __init__(self, app: Driver) -> None:
        self.app, self.count = app, 0

    def __call__(self, button: Locator) -> None:
        button.click()
        self.count += 1
        self.app.settle()


def _differences() -> tuple[float, float]:
    """By how many logits the first name leads, with the head and without it, with a hook by hand."""
    model = load("smollm2")
    tokens = model.to_tokens(PROMPT, prepend_bos=True)
    first, second = map(model.to_single_token, NAMES)

    def silence(z: torch.Tensor, hook: object) -> torch.Tensor:
        z[:, :, NUMBER] = 0
        return z

    hooked = model.run_with_hooks(tokens, fwd_hooks=[(f"blocks.{LAYER}.attn.hook_z", silence)])
    with_it, without = (float(logits[0, -1, first] - logits[0, -1, second]) for logits in (model(tokens), hooked))
    return with_it, without


@pytest.mark.real
def test_six_clicks_lead_from_the_lens_to_a_knocked_out_head(with_smollm2: Driver) -> None:
    app, page, click = with_smollm2, with_smollm2.page, Clicks(with_smollm2)
    with_it, without = _differences()
    app.open(LENS, model="smollm2", prompt=PROMPT, target=NAMES[0], distractor=NAMES[1])
    expect(page.get_by_text("becomes the best guess only in the last layer, L29.")).to_be_visible(timeout=LONG)
    click(page.get_by_role("button", name="Why?", exact=True))
    answer = page.locator(".st-key-headlight-heading-why_finding")
    expect(answer).to_contain_text(f"by {with_it:.2f} logits. Largest effects: {HEAD}", timeout=LONG)
    click(answer.get_by_role("button", name=HEAD, exact=True))
    click(page.get_by_role("menuitem", name="Attention"))
    looks = page.locator(".st-key-headlight-heading-finding")
    expect(looks).to_contain_text(f"“to” looks at “John”, 4 tokens back (head {HEAD}, ", timeout=LONG)
    click(looks.get_by_role("button", name=HEAD, exact=True))
    click(page.get_by_role("menuitem", name="Ablate in run A"))
    expect(app.fed).to_have_count(2, timeout=LONG)
    expect(page.locator(".st-key-headlight-drawer")).to_contain_text(f"+{with_it:.2f} → +{without:.2f}", timeout=LONG)
    click(page.get_by_role("button", name="Why?", exact=True))
    expect(page.get_by_text(f"difference {without:.3f} logits")).to_be_visible(timeout=LONG)
    assert click.count == 6

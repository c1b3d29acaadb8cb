"""The page *Generate* as a file: every step can be looked at, and the chosen heads' attention when it was written."""

from app import generation
from app.components import Pin, heads, token_bars, token_strip
from app.components.shared.mount import recorded
from app.exports.pages.document import document
from app.selection.chosen import Selection
from app.shown import Shown
from app.views.generate import GROUP
from app.views.written import axis, heads_of, panel, step_of, steps_of


def page(shown: Shown, chosen: Selection) -> bytes:
    """A file in which the steps can be gone through; nothing is written anew there."""
    found = generation.of(shown.a, chosen)
    with recorded() as mounted:
        if found.labels:
            step = step_of(found, chosen)
            prompt = found.run.labels[: found.n_prompt]
            token_bars(prompt, steps_of(found), step=step, epoch=0, key="bars", group=GROUP, in_file=True)
            if panels := [panel(found, head) for head in heads_of(found, chosen)]:
                pin = Pin((found.query(step),), ())
                token_strip(axis(found), panels[0], key="strip", group=GROUP, scale=chosen.scale)
                heads(
                    panels,
                    axis(found),
                    pinned=pin,
                    epoch=0,
                    key="heads",
                    group=GROUP,
                    scale=chosen.scale,
                    own_scale=chosen.own_scale,
                )
    return document("What follows a prompt, step by step,", shown, mounted, "plain")

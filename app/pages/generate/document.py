"""The page *Generate* as a file: every step can be looked at, and the chosen heads' attention when it was written."""

from headlight.app.components import Pin, heads, token_bars, token_strip
from headlight.app.components.shared.mount import recorded
from headlight.app.exports.html.document import document
from headlight.app.pages.generate import generation
from headlight.app.pages.generate.view import GROUP
from headlight.app.pages.generate.written import beside, heads_of, panel, queries, step_of, steps_of, token_axis
from headlight.app.selection.chosen import Selection
from headlight.model.comparison import Comparison


def page(shown: Comparison, chosen: Selection) -> bytes:
    """A file in which the steps can be gone through; nothing is written anew there."""
    found = generation.both(shown, chosen)
    with recorded() as mounted:
        if found.a.labels:
            step, steps = step_of(found, chosen), steps_of(found)
            token_bars(
                found.a.run.labels[: found.a.n_prompt],
                steps["A"],
                queries=queries(found),
                step=step,
                epoch=0,
                key="bars",
                group=GROUP,
                beside=None if found.b is None else beside(found, steps["B"]),
                in_file=True,
            )
            if panels := [panel(found, head) for head in heads_of(found, chosen)]:
                token_strip(token_axis(found), panels[0], key="strip", group=GROUP, scale=chosen.scale)
                heads(
                    panels,
                    token_axis(found),
                    pinned=Pin((found.place(step),), ()),
                    epoch=0,
                    key="heads",
                    group=GROUP,
                    scale=chosen.scale,
                    own_scale=chosen.own_scale,
                )
    return document("What follows a prompt, step by step,", shown, mounted, "plain")

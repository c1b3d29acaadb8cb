"""The page *Generate* as a file: every step can be looked at, and the chosen heads' attention when it was written."""

from app import continuations
from app.components import Pin, heads, token_bars, token_strip
from app.components.shared.mount import recorded
from app.exports.pages.document import document
from app.selection.chosen import Selection
from app.shown import Shown
from app.views.generate import GROUP
from app.views.written import beside, heads_of, panel, queries, step_of, steps_of, token_axis


def page(shown: Shown, chosen: Selection) -> bytes:
    """A file in which the steps can be gone through; nothing is written anew there."""
    found = continuations.of(shown, chosen)
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

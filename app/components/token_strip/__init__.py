"""Tokens in reading order, coloured by one head's attention from or to those that are pinned or hovered."""

from headlight.app.components.heads import (
    HeadPanel,
    Scale,
    Show,
    Sink,
    TokenAxis,
    axis_props,
    panel_arrays,
    panel_props,
)
from headlight.app.components.shared.mount import mount, register

_render = register(__file__)


def token_strip(
    axis: TokenAxis,
    panel: HeadPanel,
    *,
    columns: TokenAxis | None = None,
    key: str,
    group: str,
    show: Show = "weight",
    sink: Sink = "keep",
    scale: Scale = "sqrt",
) -> None:
    """Tokens that recolour by what `panel`'s head shows from (as query) or to (as key) the token hovered or pinned.

    Where the keys are other tokens than the queries (`columns`), they have a line of their own, Source, above
    that of the queries, Target: a target token colours the sources by where it looks, a source token the targets by how
    much each looks at it. The attention of several pinned tokens is summed (scores are averaged). With B everything is
    there three times: A, B and B - A. The pin is the group's: `heads` in the same group shows it and returns it.
    """
    mount(
        _render,
        key=key,
        group=group,
        props={**axis_props(axis, columns), **panel_props(panel), "show": show, "sink": sink, "scale": scale},
        arrays=panel_arrays(panel),
    )

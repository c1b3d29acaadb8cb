"""The prompt's tokens in reading order, coloured by one head's attention from or to the tokens pinned or hovered."""

from pathlib import Path

from app.components.heads import HeadPanel, Scale, Show, Sink, TokenAxis, axis_props, panel_arrays, panel_props
from app.components.shared.mount import mount, register

_render = register(Path(__file__).parent)


def token_strip(
    axis: TokenAxis,
    panel: HeadPanel,
    *,
    key: str,
    group: str,
    show: Show = "weight",
    sink: Sink = "keep",
    scale: Scale = "sqrt",
) -> None:
    """Tokens that recolour by what `panel`'s head shows from (as query) or to (as key) the token hovered or pinned.

    The attention of several pinned tokens is summed (scores are averaged). With B there are three lines: A, B and
    B - A. The pin is the group's: `heads` in the same group shows it and returns it.
    """
    mount(
        _render,
        key=key,
        group=group,
        props={**axis_props(axis), **panel_props(panel), "show": show, "sink": sink, "scale": scale},
        arrays=panel_arrays(panel),
    )

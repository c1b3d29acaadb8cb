"""The text, coloured by one head's attention from or to tokens that are pinned or hovered, with lines between them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from headlight.app.components.heads import (
    HeadPanel,
    Kind,
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


@dataclass(frozen=True, eq=False)
class TokenStrip:
    """Tokens coloured by `panel`'s head from (as query) or to (as key) the token hovered or pinned.

    Without such a token it is the last one. Lines as wide as the attention lead to the tokens that it looks at, unless
    the text is long. `predictions`, of A and of B a token and its probability as texts, stand behind the last tokens.
    `turns` are the role of each turn of a conversation, and the place that it begins at: there a line of text begins.

    Where the keys are other tokens than the queries (`columns`), they have a line of their own, Source, above
    that of the queries, Target: a target token colours the sources by where it looks, a source token the targets by how
    much each looks at it. The attention of several pinned tokens is summed (scores are averaged). With B everything is
    there three times: A, B and B - A. `quantity` says which weights they are, as of units of several tokens. A
    `caption` that says what the colours are stands in place of the head's name. Colours go as far as `others` on the
    page do.
    """

    axis: TokenAxis
    panel: HeadPanel
    columns: TokenAxis | None = None
    show: Show = "weight"
    sink: Sink = "keep"
    scale: Scale = "sqrt"
    predictions: Sequence[tuple[str, str]] = ()
    turns: Sequence[tuple[str, int]] = ()
    quantity: str = ""
    caption: str = ""
    others: Mapping[Kind, float] = field(default_factory=dict)


def token_strip(
    drawn: TokenStrip, *, key: str, group: str, open_prediction: Callable[[int], None] = lambda side: None
) -> None:
    """Show the tokens; `open_prediction` is called with the side (A 0, B 1) of a prediction that was clicked.

    The pin is the group's: `heads` in the same group shows it and returns it.
    """
    props = {
        **axis_props(drawn.axis, drawn.columns),
        **panel_props(drawn.panel),
        "show": drawn.show,
        "quantity": drawn.quantity,
        "sink": drawn.sink,
        "scale": drawn.scale,
        "predictions": [list(each) for each in drawn.predictions],
        "turns": [list(turn) for turn in drawn.turns],
        "caption": drawn.caption,
        "others": drawn.others,
    }
    arrays = panel_arrays(drawn.panel)
    mount(
        _render, key=key, group=group, props=props, arrays=arrays, opened=lambda side: open_prediction("AB".index(side))
    )

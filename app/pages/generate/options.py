"""How tokens are drawn, and what run B writes: with each of these all is written anew."""

from typing import Any

from headlight.app import selection
from headlight.app.components import Button, Choice, Number, Slider, Switch
from headlight.app.pages.generate.choices import LEAST_TOP_P, MOST_NEW, MOST_TEMPERATURE, Choices
from headlight.app.parts import options
from headlight.model.comparison import Comparison
from headlight.model.decoding.continued import end_of_text

LARGEST = 999_999  # that a link holds
B_WRITES = {"same": "A's tokens", "own": "its own tokens"}


def draw(shown: Comparison) -> None:
    """The row of options."""
    reads_end = end_of_text(shown.a.tokenizer) is not None
    options.row(
        _bind(Choice, "b_writes", "B writes", options=B_WRITES) if shown.b is not None else None,
        _bind(Slider, "n_new", "New tokens", least=1, most=MOST_NEW),
        _bind(Slider, "temperature", "Temperature", least=0.0, most=MOST_TEMPERATURE, step=0.05),
        _bind(Number, "top_k", "Top-k", least=1, most=LARGEST, placeholder="off", width=90, folded=True),
        _bind(Slider, "top_p", "Top-p", least=LEAST_TOP_P, most=1.0, step=0.01, folded=True),
        _bind(Number, "seed", "Seed", least=0, most=LARGEST, width=110, folded=True),
        _reroll(),
        _bind(Switch, "stop", "Stop at the text's end", folded=True) if reads_end else None,
        options.as_tables(),
    )


def _bind(kind: type[options.Kind], field: str, label: str, **look: Any) -> options.Kind:
    """An option with which all is written anew."""
    return options.bind(kind, field, label, page=Choices, change=selection.choose, **look)


def _reroll() -> Button:
    own = selection.current().of(Choices)

    def next_seed() -> None:
        selection.choose(Choices, seed=(own.seed + 1) % (LARGEST + 1))

    help = "The next seed: other tokens from the same distributions. At temperature 0 nothing is drawn."
    return options.button("reroll", "Re-roll", next_seed, help, disabled=own.temperature == 0)

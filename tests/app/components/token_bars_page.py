"""A Streamlit page with the steps of a text, hostile tokens among them, and what the user did in them."""

import math
from dataclasses import replace

import streamlit as st

from headlight.app.components import Beside, TokenBars, TokenChoice, WritingStep, clicked, token_bars

HOSTILE = "<img src=x onerror=alert(1)>"
LABELS = [HOSTILE, "␣the", "שלום", "␣the", "$x$"]
BEFORE, AFTER = [0.5, 0.25, 0.2, 0.05], [0.8, 0.2, 0.0, 0.0]


def steps(count: int) -> list[WritingStep]:
    """Steps that write the first, second, third or fourth of their choices in turn; the second is the user's."""
    return [
        WritingStep(
            token=10 * step + step % 4,
            label=LABELS[(step + step % 4) % 5],
            is_given=step == 1,
            log_prob=math.log(BEFORE[step % 4]),
            entropies=(1.25, 0.5),
            choices=[
                TokenChoice(10 * step + place, LABELS[(step + place) % 5], place + 1, BEFORE[place], AFTER[place])
                for place in range(4)
            ],
        )
        for step in range(count)
    ]


def beside(count: int) -> Beside:
    """A run B of one step less, which makes every token likelier than A does or less likely by turns."""
    shares = [0.25, 0.5, 0.05, 0.2]
    of_b = [
        replace(
            step,
            choices=[replace(choice, before=shares[at], after=shares[at]) for at, choice in enumerate(step.choices)],
        )
        for step in steps(count)[:-1]
    ]
    own = [(LABELS[(2 * step) % 5], math.log(0.5)) for step in range(count)]
    return Beside(["b0", "b1"], own, of_b, [(math.log(2) / 4, 0.5)] * (count - 1))


def main() -> None:
    """The component as a page uses it: what was done in it is known before it is drawn."""
    st.set_page_config(layout="wide")
    count = int(st.query_params.get("steps", "6"))
    epoch = st.session_state.setdefault("epoch", 0)
    if st.button("first"):
        epoch = st.session_state["epoch"] = epoch + 1
    st.text(f"asked {tuple(clicked(0, epoch, 'bars'))}")
    prompt = [f"word{place}" for place in range(40)]
    token_bars(
        TokenBars(
            prompt,
            steps(count),
            queries=[39 + step for step in range(count)],
            step=0,
            beside=beside(count) if "beside" in st.query_params else None,
        ),
        epoch=epoch,
        key="bars",
        group="bars",
        in_file="file" in st.query_params,
    )


if __name__ == "__main__":
    main()

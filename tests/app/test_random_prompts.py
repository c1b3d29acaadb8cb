"""Random prompts through what every page is made of: a whole result, or a refusal in words."""

from collections.abc import Callable
from typing import get_args

import hypothesis
import pytest
import torch
from hypothesis import strategies as st
from streamlit.testing.v1 import AppTest

from headlight.app.pages.attention.choices import Choices
from headlight.app.runs import comparisons
from headlight.app.selection import Selection, from_query, to_query
from headlight.model.attention import fields
from headlight.model.attention.axis import Unit, axis_of
from headlight.model.attention.fields import How
from headlight.model.base.errors import InputError
from headlight.model.measure.alignment import Align
from tests.examples import examples
from tests.places import MAIN

SECONDS = 60  # for one script run on a busy machine
HEAD = (1, 2)

PIECES = [
    *(
        "the cat",
        " the",
        "The mat. ",
        "2019 2020",
        "=1+1",
        "~",
        "\n\t",
        "\r",
        "\x00",
        "\x1f",
        "\u2028",
        "\u202e",
        "\ufeff",
    ),
    *("🙂", "👩‍👩‍👧", "שלום", "é", "ﷺ", "<|endoftext|>", "<b>x</b>", '<a href="%">', "![i](https://e.example/p.png)"),
    *("$x^2$", "&amp;", "%s{}", "'\"\\"),
]
PROMPTS = st.text(max_size=30) | st.lists(st.sampled_from(PIECES) | st.text(max_size=3), max_size=8).map("".join)


def _shown_or_refusal(chosen: Selection) -> comparisons.Comparison | str:
    try:
        return comparisons.for_selection(chosen)
    except InputError as error:
        return str(error)


# What one example leaves in the fixtures is a cache, which no other minds.
FIXTURES_STAY = hypothesis.HealthCheck.function_scoped_fixture


@hypothesis.given(
    a=PROMPTS,
    b=PROMPTS,
    bos=st.booleans(),
    align=st.sampled_from(get_args(Align)),
    unit=st.sampled_from(get_args(Unit)),
)
@hypothesis.settings(max_examples=examples(1000), suppress_health_check=[FIXTURES_STAY])  # two prompts each
def test_random_prompts_are_shown_whole_or_refused_in_words(
    settings: dict[str, object], folder: str, a: str, b: str, bos: bool, align: Align, unit: Unit
) -> None:
    settings["cache_gib"] = 0.01
    chosen = Selection(model=folder, prompt=a, prompt_b=b, bos=bos, align=align).updated(Choices, unit=unit)
    assert from_query(to_query(chosen), [Choices]) == (chosen, ())
    outcome = _shown_or_refusal(chosen)
    if isinstance(outcome, str):
        assert "tokens" in outcome or not (a.strip() and b.strip())
        return
    assert "".join(outcome.labels).isprintable()
    axis = axis_of(outcome, unit, align)
    a_cells, difference = (fields.on_axis(outcome, side, HEAD, How(), axis) for side in ("a", "difference"))
    assert a_cells.shape == difference.shape == (len(axis.labels), len(axis.labels))
    # Rows of a softmax in float32: the sum of up to a hundred weights is off by some units of the seventh digit.
    in_a = torch.tensor([position is not None for position in axis.positions[0]])
    torch.testing.assert_close(a_cells.nansum(-1), in_a.float(), rtol=0, atol=1e-5)
    torch.testing.assert_close(difference.nansum(-1), torch.zeros(len(in_a)), rtol=0, atol=1e-5)


@pytest.fixture
def type_in(settings: dict[str, object]) -> Callable[[str], AppTest]:
    """Types a prompt into the page, always the same, and runs it."""
    page = AppTest.from_file(MAIN, default_timeout=SECONDS).run()

    def typed(prompt: str) -> AppTest:
        page.text_area[0].set_value(prompt)
        return page.button[0].click().run()

    return typed


@hypothesis.given(prompt=PROMPTS)
@hypothesis.settings(max_examples=25, suppress_health_check=[FIXTURES_STAY])
def test_a_random_prompt_typed_into_the_page_is_shown_or_refused(
    type_in: Callable[[str], AppTest], prompt: str
) -> None:
    page = type_in(prompt)
    assert not page.exception
    texts = [element.value for element in [*page.text, *page.caption]]
    assert not [text for text in texts if "Unexpected error" in text]
    refused = any("Below is still the result" in text for text in texts)
    assert refused != (from_query(page.query_params)[0].prompt == prompt)

"""What the page says of special tokens that are spelled out in a prompt, and the switch between the readings."""

import pytest
from streamlit.testing.v1 import AppTest
from transformers import AutoTokenizer

from headlight.app.frame.special_tokens import special_spellings
from headlight.app.runs import runs
from headlight.app.selection import Selection, from_query, to_query
from headlight.model import load, run_prompt
from headlight.model.text.chat import Begin, as_literal

PROMPT = "one <|endoftext|> two<|endoftext|>"
SECONDS = 60  # for one script run on a busy machine
BEGINNINGS: list[Begin] = [True, False, "chat", "literal", "bos_literal"]


def draw(folder: str, prompt: str, bos: Begin) -> AppTest:
    """The line alone, for the selection that is asked for."""

    def script(folder: str, prompt: str, bos: object) -> None:
        import streamlit as st

        from headlight.app import selection
        from headlight.app.frame import special_tokens
        from headlight.app.runs import comparisons

        if selection.active() is None:
            selection.accept(selection.Selection(model=folder, prompt=prompt, bos=bos))  # type: ignore[arg-type]
        if (pending := selection.pending()) is not None:
            selection.accept(pending)
        special_tokens.draw(comparisons.for_selection(selection.current()))
        st.text(" ".join(map(str, comparisons.for_selection(selection.current()).a.tokens.tolist())))

    at = AppTest.from_function(script, default_timeout=SECONDS, args=(folder, prompt, bos)).run()
    assert not at.exception
    return at


@pytest.mark.parametrize("bos", [True, False])
def test_a_special_token_that_is_typed_is_said_and_can_be_read_as_text(folder: str, bos: bool) -> None:
    theirs = AutoTokenizer.from_pretrained(folder)
    before = [theirs.bos_token_id] if bos else []
    at = draw(folder, PROMPT, bos)
    said, ids = (each.value for each in at.text)
    assert said == "“<|endoftext|>” (2×) in the prompt: read as the token itself, as in transformers."
    assert ids.split() == list(map(str, [*before, *theirs(PROMPT)["input_ids"]]))
    at.button[0].click().run()
    said, ids = (each.value for each in at.text)
    assert said == "“<|endoftext|>” (2×) in the prompt: read as text."
    assert ids.split() == list(map(str, [*before, *theirs(PROMPT, split_special_tokens=True)["input_ids"]]))
    at.button[0].click().run()
    assert at.text[0].value.endswith("as in transformers.")


def test_nothing_is_said_of_any_other_text(folder: str) -> None:
    at = draw(folder, "one <|end of text|> $x$ **two**", True)
    assert (len(at.text), len(at.button)) == (1, 0)


@pytest.mark.parametrize("bos", BEGINNINGS)
def test_the_reading_goes_through_the_address_and_into_a_script(folder: str, bos: Begin) -> None:
    selection = Selection(model=folder, prompt=PROMPT, bos=bos)
    assert from_query(to_query(selection)) == (selection, ())
    if bos != "chat":
        run = runs.run(folder, PROMPT, bos)
        assert run_prompt(load(folder), PROMPT, prepend_bos=run.bos).tokens.equal(run.tokens)
        assert special_spellings(run) == {"<|endoftext|>": 2}
        assert as_literal(as_literal(bos, True), False) == (bos in (True, "bos_literal"))

"""What is refused before a model sees it, and the example prompts."""

import pytest

from headlight.app.registry import VIEWS
from headlight.app.runs import models
from headlight.app.runs.prompts import MAX_CHARACTERS, check_length, check_text, examples
from headlight.model.base.errors import InputError


@pytest.mark.parametrize(
    ("prompt", "said"),
    [
        ("", "empty. Enter a sentence"),
        ("   ", "3 spaces"),
        (" \n\t", "nothing else"),
        ("a" * 1_000_000, rf"1,000,000 characters; at most {MAX_CHARACTERS:,}"),
    ],
)
def test_a_prompt_that_cannot_be_run_is_refused_with_the_reason(prompt: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        check_text(prompt)


@pytest.mark.parametrize("prompt", ["a", " a ", "\x00", "‮", "<b>x</b>", "a" * MAX_CHARACTERS])
def test_odd_prompts_are_taken(prompt: str) -> None:
    check_text(prompt)


def test_a_prompt_over_the_context_is_refused_with_both_counts() -> None:
    check_length(1024, 1024, bos=True)
    with pytest.raises(InputError, match=r"1,025 tokens, the beginning.*holds 1,024\. That is 1 too many"):
        check_length(1025, 1024, bos=True)
    with pytest.raises(InputError, match=r"1,030 tokens; this"):
        check_length(1030, 1024, bos=False)


def test_examples_can_be_shown() -> None:
    assert len({example.title for example in examples()}) == len({example.prompt for example in examples()}) >= 3
    for example in examples():
        check_text(example.prompt)
        assert example.model in models.offered_models()
        assert example.view in {view.slug for view in VIEWS}
        assert example.look_at.endswith((".", "?"))
        assert example.heads is None or len(set(example.heads)) == len(example.heads) > 0


def test_the_first_example_repeats_a_phrase() -> None:
    once, again = examples()[0].prompt.split(". ")
    assert len(again.split()) > 5
    assert once.startswith(again)

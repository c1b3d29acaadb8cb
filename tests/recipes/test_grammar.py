"""The grammar's families: what is drawn, what is held out, and that it is right."""

import math
import random
import re
from collections.abc import Iterator
from functools import cache
from itertools import islice

import pytest

from headlight.recipes.grammar import FAMILIES, Example, Family, Split
from headlight.recipes.grammar.agreement import HELD_OUT_NOUNS
from headlight.recipes.grammar.giving import NAMES
from headlight.recipes.grammar.words import CAPITALS, DAYS, NOUNS, VERBS
from tests.annotations import unchecked_annotations

SPLITS: tuple[Split, ...] = ("train", "held_out_templates", "held_out_fillers")
PLURAL_VERBS = set(VERBS.values())


@pytest.fixture(scope="module", autouse=True)
def _kept_for_these_tests() -> Iterator[None]:
    yield
    _stream.cache_clear()


@cache
def _stream(family: str, split: Split, seed: int) -> tuple[list[Example], Iterator[Example]]:
    """What was drawn so far, and what draws on."""
    return [], FAMILIES[family].examples(random.Random(seed), split)


def draw(family: str, split: Split, count: int = 4000, seed: int = 0) -> list[Example]:
    """The first so many, of which each is drawn once for all tests; annotations are checked where few are drawn."""
    drawn, further = _stream(family, split, seed)
    with unchecked_annotations():
        drawn += islice(further, max(0, count - len(drawn)))
    return drawn[:count]


def words(text: str) -> set[str]:
    return set(re.findall(r"\w+", text))


def names_in(text: str) -> list[str]:
    return [word for word in re.findall(r"\w+", text) if word in NAMES]


@pytest.mark.parametrize("family", FAMILIES.values(), ids=FAMILIES)
def test_templates_are_many_and_distinct(family: Family) -> None:
    sources = [template.source for template in (*family.templates, *family.held_out_templates)]
    assert len(set(sources)) == len(sources) >= 30
    assert len(family.held_out_templates) == 5
    assert all("<" in template.source for template in family.held_out_templates)


@pytest.mark.parametrize("split", SPLITS)
@pytest.mark.parametrize("family", FAMILIES)
def test_a_question_stands_in_its_text(family: str, split: Split) -> None:
    examples = draw(family, split, 2000)
    for example in examples:
        if example.answer:
            assert example.text.startswith(example.prompt + example.answer)
            assert re.fullmatch(r" \S+", example.answer)
            assert re.fullmatch(r" \S+", example.distractor)
            assert example.answer != example.distractor
        else:
            assert (example.prompt, example.distractor) == ("", "")
    assert sum(bool(example.answer) for example in examples) > 1000


@pytest.mark.parametrize("family", [name for name in FAMILIES if name != "brackets"])
def test_every_slot_is_filled(family: str) -> None:
    for split in SPLITS:
        assert not any(re.search(r"[{}<>]|  ", example.text) for example in draw(family, split, 2000))


@pytest.mark.parametrize("family", FAMILIES)
def test_the_same_seed_draws_the_same_examples(family: str) -> None:
    first, again, other = (list(islice(FAMILIES[family].examples(random.Random(seed)), 50)) for seed in (7, 7, 8))
    assert first == again != other


@pytest.mark.parametrize("family", FAMILIES)
def test_training_never_draws_a_held_out_question(family: str) -> None:
    # With the answer, because "The keys" goes on with other verbs in other templates.
    trained = {(example.prompt, example.answer) for example in draw(family, "train", 20_000) if example.answer}
    for split in SPLITS[1:]:
        questions = {
            (example.prompt, example.answer) for example in draw(family, split, 1000, seed=1) if example.answer
        }
        assert not trained & questions


def test_giving_holds_out_pairs_of_names_in_either_order() -> None:
    pairs = {
        split: {frozenset(names_in(example.text)) for example in draw("giving", split, 10_000)} for split in SPLITS
    }
    assert all(len(pair) == 2 for drawn in pairs.values() for pair in drawn)
    assert not pairs["held_out_fillers"] & (pairs["train"] | pairs["held_out_templates"])
    assert set().union(*pairs["train"]) == set(NAMES)
    assert 0.07 < len(pairs["held_out_fillers"]) / math.comb(len(NAMES), 2) < 0.13  # about one in ten


@pytest.mark.parametrize("split", SPLITS)
def test_the_giver_is_named_first_as_often_as_second(split: Split) -> None:
    examples = draw("giving", split, 10_000)
    for example in examples:
        assert names_in(example.prompt).count(example.distractor.strip()) == 2
        assert names_in(example.prompt).count(example.answer.strip()) == 1
    first = sum(names_in(example.prompt)[0] == example.distractor.strip() for example in examples)
    assert abs(first / len(examples) - 0.5) < 0.02  # four standard deviations of 10,000 fair coins


def test_agreement_never_trains_on_held_out_nouns() -> None:
    held_out = HELD_OUT_NOUNS | {NOUNS[noun] for noun in HELD_OUT_NOUNS}
    assert 0.1 < len(HELD_OUT_NOUNS) / len(NOUNS) < 0.2
    for split in SPLITS[:2]:
        assert not any(words(example.text) & held_out for example in draw("agreement", split, 20_000))
    assert all(words(example.prompt) & held_out for example in draw("agreement", "held_out_fillers"))
    seen = set().union(*(words(example.text) for example in draw("plain_agreement", "train", 20_000)))
    assert held_out <= seen


@pytest.mark.parametrize("split", SPLITS)
def test_agreement_follows_the_first_noun_and_not_the_last(split: Split) -> None:
    """The verb agrees with the first noun of the prompt, and in half of the sentences the last noun misleads."""
    number = dict.fromkeys(NOUNS, False) | dict.fromkeys(NOUNS.values(), True)
    misleading = 0
    examples = draw("agreement", split)
    for example in examples:
        numbers = [number[word] for word in re.findall(r"\w+", example.prompt) if word in number]
        if example.prompt.startswith("For the"):  # here the attractor comes first
            numbers = numbers[1:]
        assert numbers[0] == (example.answer.strip() in PLURAL_VERBS)
        misleading += numbers[0] != numbers[-1]
    assert misleading / len(examples) > 0.5


def test_the_facts_are_right() -> None:
    capitals = {(f"The capital of {country} is", f" {capital}") for country, capital in CAPITALS.items()}
    drawn = draw("capitals", "train", 20_000)
    questions = {(e.prompt, e.answer) for e in drawn if re.fullmatch(r"The capital of \w+ is", e.prompt)}
    assert len(questions) > 50
    assert questions <= capitals
    following = {(f"The day after {day} is", f" {DAYS[(index + 1) % 7]}") for index, day in enumerate(DAYS)}
    days = {(e.prompt, e.answer) for e in draw("days", "train", 20_000) if e.prompt.startswith("The day after ")}
    assert len(days) > 4
    assert days <= following


def test_brackets_balance() -> None:
    closing = {")": "(", "]": "[", "}": "{"}
    for split in SPLITS:
        for example in draw("brackets", split):
            stack: list[str] = []
            for character in example.text:
                if character in closing.values():
                    stack.append(character)
                elif character in closing:
                    assert stack.pop() == closing[character], example.text
            assert not stack, example.text


@pytest.mark.parametrize("family", ["lists", "quotes"])
def test_the_answer_was_said_before(family: str) -> None:
    for split in SPLITS:
        for example in draw(family, split, 2000):
            said = words(example.prompt)
            singulars = {singular for singular, plural in NOUNS.items() if plural in said}
            assert example.answer.strip() in said | singulars

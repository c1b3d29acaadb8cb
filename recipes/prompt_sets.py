"""The sets of prompts that ship, written from the grammar's words: `python -m headlight.recipes.prompt_sets`."""

import json
from typing import Any

from headlight.model.base.files import write_text
from headlight.model.prompt_sets.shipped import SHIPPED
from headlight.model.prompt_sets.templates import replaced
from headlight.recipes.grammar.words import CAPITALS, NAMES, NOUNS, PEOPLE

ALL = ["mini", "mini-llama", "smollm2"]
PLACES = "store park school office library market station museum garden restaurant"
GIFTS = "book ring drink letter ball hat key phone cup bag"
THINGS = [noun for noun in NOUNS if noun not in PEOPLE][:16]
SOME_PEOPLE = [person for person in PEOPLE if person not in ("baker", "waiter", "man", "woman", "child")][:16]
LONGER = ("Donna", "Nora", "Ida", "Irene", "Zoe", "Chloe")  # names of two tokens in SmolLM2
COUNTRIES = [  # that are one token, as their capitals are, in all three
    *("France", "Italy", "Spain", "Germany", "Portugal", "Austria", "Greece", "Poland", "Hungary", "Norway", "Sweden"),
    *("Finland", "Denmark", "Ireland", "Russia", "Belgium", "Switzerland", "Egypt", "Kenya", "Tunisia", "Japan"),
    *("China", "Iran", "Iraq", "Syria", "Canada", "Cuba", "Peru", "Chile", "Australia", "Jamaica", "Bulgaria"),
]
WORDS = (
    "key cup book ring ball hat coat lamp map card coin clock chair plate rope shirt spoon stone apple cake bell box"
)
CODE = (  # one token in all three, behind a space and behind a full stop
    "name size path line data user code index group state value result text mode node key host port file type args msg "
    "url parent root base count start end string pattern prefix source target config context default format handler "
    "module message address timeout buffer token level stream object item width id"
)
EVENTS = "war siege plan voyage project contract strike journey campaign famine drought reign"


def giving() -> dict[str, Any]:
    """Two people are named and one of them gives: who is the other?"""
    orders = ("{IO} and {S}", "{S} and {IO}")
    texts = [f"When {order} went to the {{place}}, {{S}} gave a {{thing}} to" for order in orders]
    return {
        "title": "Indirect object",
        "about": "Two people are named and one of them gives; the other is the one given to. In the corrupted prompt "
        "the other one gives.",
        "models": ALL,
        "metric": "logit_diff",
        "templates": [
            {
                "title": title,
                "text": text,
                "corrupted": replaced(text, "S", "IO", 2),
                "answers": [" {IO}"],
                "wrong_answers": [" {S}"],
                "names": {"S": "S1", "S 2": "S2", "IO 2": "IO2"},
            }
            for title, text in zip(("ABB", "BAB"), texts, strict=True)
        ],
        "values": {"IO": [name for name in NAMES if name not in LONGER], "S": "@IO", "place": PLACES, "thing": GIFTS},
    }


def agreement() -> dict[str, Any]:
    """The verb agrees with the subject and not with the noun before it."""
    return {
        "title": "Subject-verb agreement",
        "about": "The verb agrees with the subject and not with the noun beside it. In the corrupted prompt the "
        "subject has the other number.",
        "models": ALL,
        "metric": "logit_diff",
        "templates": [
            {
                "title": "singular",
                "text": "The {subject} near the {attractor.plural}",
                "corrupted": "The {subject.plural} near the {attractor.plural}",
                "answers": [" is"],
                "wrong_answers": [" are"],
                "names": {"attractor.plural": "attractor"},
                "labels": {"number": "singular"},
            },
            {
                "title": "plural",
                "text": "The {subject.plural} near the {attractor}",
                "corrupted": "The {subject} near the {attractor}",
                "answers": [" are"],
                "wrong_answers": [" is"],
                "names": {"subject.plural": "subject"},
                "labels": {"number": "plural"},
            },
        ],
        "values": {
            "subject": THINGS,
            "subject.plural": [NOUNS[noun] for noun in THINGS],
            "attractor": SOME_PEOPLE,
            "attractor.plural": [PEOPLE[noun] for noun in SOME_PEOPLE],
        },
    }


def induction() -> dict[str, Any]:
    """Words are listed twice: what came next the first time comes next again."""
    return {
        "title": "Induction",
        "about": "Words in any order are said twice; what came next the first time comes next again. In the corrupted "
        "prompt another word came next.",
        "models": ALL,
        "metric": "logit_diff",
        "templates": [
            {
                "title": "repeat",
                "text": "The {a} {b} {c} {d} {e} {f} {a} {b} {c}",
                "corrupted": "The {a} {b} {c} {other} {e} {f} {a} {b} {c}",
                "answers": [" {d}"],
                "wrong_answers": [" {other}"],
                "names": {"d": "first copy", "c": "before it", "c 2": "last"},
            }
        ],
        "values": {"a": WORDS, **dict.fromkeys(("b", "c", "d", "e", "f", "other"), "@a")},
    }


def capitals() -> dict[str, Any]:
    """The capital of a country."""
    return {
        "title": "Capitals",
        "about": "The capital of a country. In the corrupted prompt it is another country.",
        "models": ALL,
        "metric": "logit_diff",
        "templates": [
            {
                "title": "capital",
                "text": "The capital of {country} is",
                "corrupted": "The capital of {other} is",
                "answers": [" {country.capital}"],
                "wrong_answers": [" {other.capital}"],
            }
        ],
        "values": {
            "country": COUNTRIES,
            "country.capital": [CAPITALS[country] for country in COUNTRIES],
            "other": "@country",
            "other.capital": "@country.capital",
        },
    }


def greater_than() -> dict[str, Any]:
    """A year that ends something comes after the one that began it; one digit a token."""
    digits = range(1, 9)
    return {
        "title": "Greater than",
        "about": "What lasts from one year to another ends in a later one: the next digit is above the first year's. "
        "In the corrupted prompt that digit is 0, so that every other is above. For tokenizers with a token a digit.",
        "models": ["smollm2"],
        "metric": "prob_diff",
        "templates": [
            {
                "title": "years",
                "text": "The {event} lasted from the year {century}{decade}{year} to the year {century}",
                "corrupted": "The {event} lasted from the year {century}0{year} to the year {century}",
                "answers": ["{decade.above}"],
                "wrong_answers": ["{decade.below}"],
            }
        ],
        "values": {
            "event": EVENTS,
            "century": "11 12 13 14 15 16 17 18",
            "decade": [str(digit) for digit in digits],
            "decade.above": ["|".join(map(str, range(digit + 1, 10))) for digit in digits],
            "decade.below": ["|".join(map(str, range(digit))) for digit in digits],
            "year": "0 1 2 3 4 5 6 7 8 9",
        },
    }


def code() -> dict[str, Any]:
    """A method keeps its argument."""
    return {
        "title": "Arguments in code",
        "about": "A method keeps its argument as an attribute. In the corrupted prompt it has another argument.",
        "models": ["mini-llama", "smollm2"],
        "metric": "logit_diff",
        "templates": [
            {
                "title": "init",
                "text": "def __init__(self, {name}):\n    self.{name} =",
                "corrupted": "def __init__(self, {other}):\n    self.{other} =",
                "answers": [" {name}"],
                "wrong_answers": [" {other}"],
                "names": {"name": "argument", "name 2": "attribute"},
            }
        ],
        "values": {"name": CODE, "other": "@name"},
    }


SETS = {
    "indirect-object": giving,
    "agreement": agreement,
    "induction": induction,
    "capitals": capitals,
    "greater-than": greater_than,
    "code": code,
}

if __name__ == "__main__":
    for name, make in SETS.items():
        write_text(SHIPPED / f"{name}.json", json.dumps(make(), indent=1, ensure_ascii=False) + "\n")

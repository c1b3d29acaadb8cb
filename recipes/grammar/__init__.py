"""Sentences of the project's own grammar: one module a family."""

from headlight.recipes.grammar import (
    agreement,
    brackets,
    capitals,
    days,
    giving,
    lists,
    numbers,
    places,
    plain_agreement,
    pronouns,
    quotes,
)
from headlight.recipes.grammar.template import Example, Family, Split

__all__ = ["FAMILIES", "Example", "Family", "Split"]

FAMILIES: dict[str, Family] = {
    module.FAMILY.name: module.FAMILY
    for module in (
        giving,
        agreement,
        plain_agreement,
        pronouns,
        places,
        days,
        numbers,
        capitals,
        quotes,
        lists,
        brackets,
    )
}

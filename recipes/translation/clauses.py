"""Clauses of both languages: the same parts in two orders.

German: the finite verb second, first in questions and last in subordinate clauses, with participle, infinitive and
separated particle at the end. English: subject, verb, object, place, time.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise

from headlight.recipes.translation.actions import Time, Verb
from headlight.recipes.translation.determiners import NO
from headlight.recipes.translation.nouns import Adjective
from headlight.recipes.translation.phrases import Nominal, NounPhrase, Pronoun, word
from headlight.recipes.translation.predicate import Predicate, Tense
from headlight.recipes.translation.words import English, German, Phrase, fixed, joined

# A direct object stands in one of three places of the German clause: pronoun, definite, indefinite.
GERMAN_ORDER = [
    *("subject", "pronoun", "time", "indirect", "definite"),
    *("frequency", "negation", "indefinite", "state", "place"),
]
OBJECTS = ["pronoun", "definite", "indefinite", "indirect"]
ENGLISH_ORDER = ["subject", "auxiliary", "negation", "frequency", "verb", "state", *OBJECTS, "place", "time"]
INVERTED_ORDER = ["auxiliary", "subject", *ENGLISH_ORDER[2:]]
FRONTED_IN_ENGLISH = ("time", "place")


@dataclass(frozen=True)
class Clause:
    """Content of a clause, in neither language's order. Without a verb it is a state: subject, "is", adjective."""

    subject: Nominal
    verb: Verb | None = None
    tense: Tense = "present"
    direct: Nominal | None = None
    indirect: Nominal | None = None
    state: Adjective | None = None
    time: Time | None = None
    frequency: str | None = None
    place: str | None = None
    negated: bool = False

    @property
    def direct_place(self) -> str:
        """Place of its direct object in German."""
        if isinstance(self.direct, Pronoun):
            return "pronoun"
        return "indefinite" if isinstance(self.direct, NounPhrase) and not self.direct.definite else "definite"


def statement(clause: Clause, front: str = "subject") -> Phrase:
    """A main clause: the part called `front`, then the finite verb. English fronts time and place as well."""
    laid = Laid(clause, verb_last=False)
    german = (*laid.parts[front].german, laid.finite, *laid.middle(without=front), *laid.rest)
    fronted = [front] if front in FRONTED_IN_ENGLISH else []
    return Phrase(german, laid.english([*fronted, *(name for name in ENGLISH_ORDER if name not in fronted)]))


def question(clause: Clause, asking: str = "|") -> Phrase:
    """A question that yes or no answers, or one that begins with a word like "warum"."""
    laid = Laid(clause, verb_last=False, inverted=True)
    return joined((fixed(asking), Phrase(laid.verb_first, laid.english(INVERTED_ORDER))))


def subordinate(introduction: Phrase, clause: Clause) -> Phrase:
    """A clause with its verb at the end, after the word that introduces it; without commas."""
    laid = Laid(clause, verb_last=True)
    return joined((introduction, Phrase((*laid.middle(), *laid.rest, laid.finite), laid.english(ENGLISH_ORDER))))


def relative(pronoun: Phrase, clause: Clause) -> Phrase:
    """A relative clause between its German commas."""
    return joined((_comma(), subordinate(pronoun, clause), _comma()))


def before_subordinate(main: Phrase, sub: Phrase) -> Phrase:
    """A main clause and a subordinate clause after it: a comma in German alone."""
    return joined((main, _comma(), sub))


def after_subordinate(sub: Phrase, clause: Clause) -> Phrase:
    """A subordinate clause first, so that the main clause begins with its finite verb; a comma in both languages."""
    laid, mark = Laid(clause, verb_last=False), German(",")
    commas = Phrase((mark,), (English(",", (mark,)),))
    return joined((sub, commas, Phrase(laid.verb_first, laid.english(ENGLISH_ORDER))))


class Laid:
    """A clause's parts in both languages, each word of which exists once."""

    def __init__(self, clause: Clause, verb_last: bool, inverted: bool = False) -> None:
        predicate = Predicate(clause.verb, clause.tense, clause.subject.person, clause.time, clause.negated)
        self.finite, self.rest = predicate.german(verb_last)
        auxiliary, verb = predicate.english(self.finite, self.rest, inverted)
        self.parts = {**_parts(clause), "auxiliary": auxiliary, "verb": verb}

    @property
    def verb_first(self) -> tuple[German, ...]:
        """The German clause with its finite verb first."""
        return (self.finite, *self.middle(), *self.rest)

    def middle(self, without: str = "") -> list[German]:
        """The German words between the places of the verb."""
        names = [name for name in GERMAN_ORDER if name in self.parts and name != without]
        return [each for name in names for each in self.parts[name].german]

    def english(self, order: Iterable[str]) -> tuple[English, ...]:
        """The English words of the parts in that order."""
        return _cannot([each for name in order if name in self.parts for each in self.parts[name].english])


def _parts(clause: Clause) -> dict[str, Phrase]:
    parts = {"subject": clause.subject.render("nominative")}
    if clause.direct is not None:
        dative = clause.verb is not None and clause.verb.frame == "dative"
        parts[clause.direct_place] = clause.direct.render("dative" if dative else "accusative")
    if clause.indirect is not None:
        parts["indirect"] = _with_to(clause.indirect.render("dative"))
    if clause.state is not None:
        parts["state"] = word(clause.state.german, clause.state.english)
    if clause.time is not None:
        parts["time"] = fixed(clause.time.entry)
    if clause.frequency is not None:
        parts["frequency"] = fixed(clause.frequency)
    if clause.place is not None:
        parts["place"] = fixed(clause.place)
    if clause.negated:
        parts["negation"] = _negation(clause, parts)
    return parts


def _negation(clause: Clause, parts: dict[str, Phrase]) -> Phrase:
    """`nicht`; or in English alone, where `kein` says it in German."""
    if isinstance(clause.direct, NounPhrase) and clause.direct.determiner is NO:
        return Phrase((), (English("not", parts[clause.direct_place].german[:1]),))
    return word("nicht", "not")


def _with_to(dative: Phrase) -> Phrase:
    """English says the German dative by "to"."""
    return Phrase(dative.german, (English("to", dative.german[:1]), *dative.english))


def _cannot(words: list[English]) -> tuple[English, ...]:
    """English writes "can" and "not" as one word."""
    for index, (first, second) in enumerate(pairwise(words)):
        if (first.text, second.text) == ("can", "not"):
            return (*words[:index], English("cannot", first.german + second.german), *words[index + 2 :])
    return tuple(words)


def _comma() -> Phrase:
    return Phrase((German(","),))

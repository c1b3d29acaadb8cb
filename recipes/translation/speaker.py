"""Draws what is said: who does what to whom, when and where."""

import random
from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import TypeVar

from headlight.recipes.translation import actions, nouns
from headlight.recipes.translation.actions import Time, Verb
from headlight.recipes.translation.clauses import Clause
from headlight.recipes.translation.determiners import (
    BARE,
    EVERY,
    MANY,
    MY,
    NO,
    OUR,
    THE,
    THIS,
    THREE,
    TWO,
    A,
    Determiner,
)
from headlight.recipes.translation.nouns import Adjective, Noun
from headlight.recipes.translation.phrases import PRONOUNS, WE, Gap, I, Name, Nominal, NounPhrase
from headlight.recipes.translation.predicate import Tense

# Relative frequency of each determiner.
SUBJECT = {THE: 12, A: 2, THIS: 2, MY: 3, OUR: 1, EVERY: 1, TWO: 1, THREE: 1, MANY: 1}
OBJECT = {THE: 10, A: 5, THIS: 2, MY: 2, OUR: 1, TWO: 1, THREE: 1, MANY: 1, BARE: 3}
RECEIVER = {THE: 6, THIS: 1, MY: 2, OUR: 1}
KNOWN = (THE, THIS, MY, OUR)

VerbObject = tuple[str, str]
T = TypeVar("T")


class Speaker:
    """Draws the parts of one sentence from `rng`, and keeps which verb met which object noun on the way."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.verb_objects: set[VerbObject] = set()

    def happens(self, probability: float) -> bool:
        """A coin that falls so."""
        return self.rng.random() < probability

    def weighted(self, weights: dict[T, int]) -> T:
        """A key, by its weight."""
        return self.rng.choices(list(weights), list(weights.values()))[0]

    def clause(
        self,
        verbs: Sequence[Verb] = actions.VERBS,
        *,
        subject: Nominal | None = None,
        direct: Gap | None = None,
        timeless: bool = False,
        plain: bool = False,
    ) -> Clause:
        """Somebody does something; timeless without a time and not in the past, plain also without "not" and modal."""
        verb = self.rng.choice(verbs)
        subject = subject or self.subject(verb.subjects, other=_noun(direct))
        tense = "present" if plain else self._tense(verb, past=not timeless)
        clause = Clause(
            subject,
            verb,
            tense,
            direct=self._object(verb, direct or self._direct(verb, subject)),
            indirect=self._indirect(verb, subject),
            time=None if plain or timeless or verb.mental or self.happens(0.5) else self._time(tense),
            place=self._place(verb),
        )
        if plain:
            return clause
        if self.happens(0.2) and (clause.time is None or clause.time.negatable):
            return negated(clause)
        if self.happens(0.2) and clause.time is None:
            return replace(clause, frequency=self.rng.choice(actions.FREQUENCIES))
        return clause

    def subject(self, kinds: Collection[str], other: str = "") -> Nominal:
        """Subject: a noun phrase, or for persons a name or a pronoun."""
        if "person" in kinds and self.happens(0.3):
            return self.rng.choice(PRONOUNS) if self.happens(0.6) else self._name()
        return self.noun_phrase(kinds, SUBJECT, other)

    def noun_phrase(self, kinds: Collection[str], determiners: dict[Determiner, int], other: str = "") -> NounPhrase:
        """A noun phrase of one of the kinds, of another noun than `other`."""
        noun = self.rng.choice([each for each in nouns.NOUNS if each.kind in kinds and each.singular != other])
        determiner = self.weighted({each: weight for each, weight in determiners.items() if _fits(each, noun)})
        adjective = self.adjective(noun) if self.happens(0.35) else None
        return NounPhrase(determiner, noun, self._plural(determiner, noun), adjective)

    def adjective(self, noun: Noun) -> Adjective:
        """One that goes with the noun."""
        return self.rng.choice([each for each in nouns.ADJECTIVES + nouns.STATES if noun.kind in each.kinds])

    def _plural(self, determiner: Determiner, noun: Noun) -> bool:
        if noun.mass or determiner.plural is None:
            return False
        return determiner.singular is None or determiner is BARE or self.happens(0.25)

    def _name(self) -> Name:
        name = self.rng.choice(list(nouns.NAMES))
        return Name(name, nouns.NAMES[name])

    def _direct(self, verb: Verb, subject: Nominal) -> Nominal | None:
        if verb.frame == "intransitive":
            return None
        if verb.frame == "accusative" and "person" in verb.objects and subject not in (I, WE) and self.happens(0.12):
            return self.rng.choice((I, WE))
        return self.noun_phrase(verb.objects, RECEIVER if verb.frame == "dative" else OBJECT, _noun(subject))

    def _object(self, verb: Verb, direct: Nominal | None) -> Nominal | None:
        if noun := _noun(direct):
            self.verb_objects.add((verb.particle + verb.infinitive, noun))
        return direct

    def _indirect(self, verb: Verb, subject: Nominal) -> Nominal | None:
        if verb.frame != "giving":
            return None
        if self.happens(0.15) and not isinstance(subject, Name):
            return self._name()
        return self.noun_phrase({"person"}, RECEIVER, _noun(subject))

    def _tense(self, verb: Verb, past: bool) -> Tense:
        draw = self.rng.random()
        if past and draw < 0.3:
            return "perfect"
        return self.rng.choice(actions.MODALS) if draw > 0.72 and not verb.mental else "present"

    def _time(self, tense: Tense) -> Time:
        return self.rng.choice(
            [time for time in actions.TIMES if (time.perfect if tense == "perfect" else time.present)]
        )

    def _place(self, verb: Verb) -> str | None:
        if not verb.places or not self.happens(0.3):
            return None
        return self.rng.choice(actions.PLACES[self.rng.choice(sorted(verb.places))])


def negated(clause: Clause) -> Clause:
    """The clause with "nicht" or "kein", or as it is where "not" would leave open what it denies."""
    if isinstance(clause.subject, NounPhrase) and clause.subject.determiner not in KNOWN:
        return clause
    if not isinstance(clause.direct, NounPhrase) or clause.direct.determiner in KNOWN:
        return replace(clause, negated=True)
    if clause.direct.determiner not in (A, BARE):
        return clause
    return replace(clause, negated=True, direct=replace(clause.direct, determiner=NO))


def _fits(determiner: Determiner, noun: Noun) -> bool:
    if noun.mass and determiner not in (*KNOWN, BARE):
        return False
    return not (determiner in (MY, OUR) and noun.singular in nouns.NOT_OWNED)


def _noun(nominal: Nominal | None) -> str:
    head = nominal.head if isinstance(nominal, Gap) else nominal
    return head.noun.singular if isinstance(head, NounPhrase) else ""

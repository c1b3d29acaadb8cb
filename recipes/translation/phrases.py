"""Noun phrases of both languages: who and what a sentence speaks of, inflected by case, gender and number."""

from dataclasses import dataclass
from typing import Literal

from headlight.recipes.translation.determiners import DEFINITE, EVERY, MY, NO, OUR, THE, THIS, Case, Determiner, Gender
from headlight.recipes.translation.nouns import Adjective, Noun
from headlight.recipes.translation.words import English, German, Phrase, joined

Person = Literal[0, 1, 2]  # I; he, she, it; we, they: the columns of a verb's finite forms


@dataclass(frozen=True)
class NounPhrase:
    """Determiner, perhaps an adjective, noun, perhaps a relative clause."""

    determiner: Determiner
    noun: Noun
    plural: bool = False
    adjective: Adjective | None = None
    relative: Phrase | None = None

    @property
    def person(self) -> Person:
        """The verb's form."""
        return 2 if self.plural else 1

    @property
    def definite(self) -> bool:
        """Whether it speaks of something known: it then stands before "nicht" and "oft"."""
        return self.determiner in (THE, THIS, EVERY, MY, OUR)

    @property
    def gender(self) -> Gender:
        """Gender with which determiner and pronouns agree."""
        return "plural" if self.plural else self.noun.gender

    def render(self, case: Case) -> Phrase:
        """The phrase in that case."""
        return joined((self._determiner(case), self._adjective(case), self._noun(case), self.relative or Phrase()))

    def _determiner(self, case: Case) -> Phrase:
        text = self.determiner.stem + self.determiner.endings[case, self.gender]
        many = self.plural or (self.noun.mass and self.determiner is NO)  # any milk, as any dogs
        english = self.determiner.plural if many else self.determiner.singular
        return word(text, english or "") if text else Phrase()

    def _adjective(self, case: Case) -> Phrase:
        if self.adjective is None:
            return Phrase()
        return word(self.adjective.inflected(self.determiner.adjective[case, self.gender]), self.adjective.english)

    def _noun(self, case: Case) -> Phrase:
        german = self.noun.plural if self.plural or (self.noun.weak and case != "nominative") else self.noun.singular
        if self.plural and case == "dative" and german[-1] not in "ns":
            german += "n"
        return word(german, self.noun.english_plural if self.plural else self.noun.english)


@dataclass(frozen=True)
class Name:
    """A person by name, the same in every case."""

    name: str
    gender: Gender
    person: Person = 1

    def render(self, case: Case) -> Phrase:
        """The name."""
        return word(self.name, self.name)


@dataclass(frozen=True)
class Pronoun:
    """A personal pronoun as a subject, and as an object where both languages have one word for it."""

    german: str
    english: str
    person: Person
    gender: Gender | None = None
    object: tuple[str, str] | None = None

    def render(self, case: Case) -> Phrase:
        """The pronoun; the dative is not in the grammar."""
        return word(*(self.object if case == "accusative" and self.object else (self.german, self.english)))


@dataclass(frozen=True)
class Gap:
    """The place in a relative clause that its pronoun fills, for the noun phrase that the clause describes."""

    head: NounPhrase

    @property
    def person(self) -> Person:
        """The head's."""
        return self.head.person

    @property
    def gender(self) -> Gender:
        """The head's."""
        return self.head.gender

    def render(self, case: Case) -> Phrase:
        """Nothing."""
        return Phrase()


Nominal = NounPhrase | Name | Pronoun | Gap

I = Pronoun("ich", "I", 0, object=("mich", "me"))  # noqa: E741
WE = Pronoun("wir", "we", 2, object=("uns", "us"))
HE = Pronoun("er", "he", 1, "m")
SHE = Pronoun("sie", "she", 1, "f")
THEY = Pronoun("sie", "they", 2, "plural")
PRONOUNS = (I, WE, HE, SHE, THEY)


def word(german: str, english: str) -> Phrase:
    """One German word and its English, of one word or more, or none."""
    source = German(german)
    return Phrase((source,), tuple(English(text, (source,)) for text in english.split()))


def pronoun_for(nominal: Nominal) -> Pronoun | None:
    """The pronoun that speaks of the same; None where the grammar has none (a neuter: the child is he or she)."""
    if isinstance(nominal, Pronoun):
        return nominal
    return next((pronoun for pronoun in (HE, SHE, THEY) if pronoun.gender == nominal.gender), None)


def relative_pronoun(head: NounPhrase, case: Case) -> Phrase:
    """`der`, `den`, ...: who or whom of a person, that of anything else."""
    english = {"nominative": "who", "accusative": "whom"}[case] if head.noun.kind == "person" else "that"
    return word(DEFINITE[case, head.gender], english)

"""The verbs of a clause: one finite form and what stands at the end in German, auxiliary and verb in English."""

from dataclasses import dataclass
from typing import Literal

from headlight.recipes.translation.actions import Modal, Time, Verb
from headlight.recipes.translation.phrases import Person
from headlight.recipes.translation.words import English, German, Phrase

HABEN, SEIN = ("habe", "hat", "haben"), ("bin", "ist", "sind")
# By person: I, he, we.
CONJUGATED = {
    "do": ("do", "does", "do"),
    "have": ("have", "has", "have"),
    "be": ("am", "is", "are"),
    "want to": ("want to", "wants to", "want to"),
}

Tense = Modal | Literal["present", "perfect"]


@dataclass(frozen=True)
class Predicate:
    """A verb in a tense, for a subject of some person; without a verb it is "to be" in the present."""

    verb: Verb | None
    tense: Tense
    person: Person
    time: Time | None
    negated: bool

    def german(self, last: bool) -> tuple[German, tuple[German, ...]]:
        """The finite verb, and what stands at the clause's end; the particle leaves the verb unless that is last."""
        if self.verb is None:
            return German(SEIN[self.person]), ()
        if isinstance(self.tense, Modal):
            return German(self.tense.finite[self.person]), (German(self.verb.particle + self.verb.infinitive),)
        if self.tense == "perfect":
            auxiliary = SEIN if self.verb.auxiliary == "sein" else HABEN
            return German(auxiliary[self.person]), (German(self.verb.participle),)
        finite, particle = self.verb.finite[self.person], self.verb.particle
        if last or not particle:
            return German(particle + finite), ()
        return German(finite), (German(particle),)

    def english(self, finite: German, rest: tuple[German, ...], inverted: bool) -> tuple[Phrase, Phrase]:
        """The auxiliary, which is empty where English needs none, and the verb; each knows its German words."""
        auxiliary, carried, lexical = self._english_words()
        if auxiliary in ("do", "did") and not (self.negated or inverted):
            if carried:
                carried = CONJUGATED[carried][self.person]
            else:
                lexical = self._finite_english(past=auxiliary == "did")
            auxiliary = ""
        auxiliary = CONJUGATED[auxiliary][self.person] if auxiliary in CONJUGATED else auxiliary
        apart = self.tense != "present" and bool(auxiliary or carried)
        verb = _words(carried, (finite,)) + _words(lexical, rest if apart else (finite, *rest))
        return Phrase((), _words(auxiliary, (finite,))), Phrase((), verb)

    def _english_words(self) -> tuple[str, str, str]:
        """Auxiliary, a modal's verb after it, and the verb itself."""
        if self.verb is None:
            return "be", "", ""
        if isinstance(self.tense, Modal):
            return *(self.tense.negated if self.negated else self.tense.english), self.verb.english.base
        forms = {
            "simple": ("do", "", self.verb.english.base),
            "progressive": ("be", "", self.verb.english.ing),
            "future": ("will", "", self.verb.english.base),
            "perfect": ("have", "", self.verb.english.participle),
            "past": ("did", "", self.verb.english.base),
        }
        return forms[self._english_tense(self.tense, self.verb.stative)]

    def _english_tense(self, tense: Literal["present", "perfect"], stative: bool) -> str:
        plain = {"present": "simple", "perfect": "perfect"}[tense]
        timed = (self.time.present if tense == "present" else self.time.perfect) if self.time else None
        return plain if timed is None or (timed == "progressive" and stative) else timed

    def _finite_english(self, past: bool) -> str:
        assert self.verb is not None  # "to be" has its auxiliary
        if past:
            return self.verb.english.past
        return self.verb.english.third if self.person == 1 else self.verb.english.base


def _words(text: str, german: tuple[German, ...]) -> tuple[English, ...]:
    return tuple(English(each, german) for each in text.split())

"""The kinds of sentences, and which of them are held out of training."""

import random
from collections.abc import Iterator
from dataclasses import replace
from typing import Literal

from headlight.recipes.grammar.template import in_held_out_share
from headlight.recipes.translation import actions, nouns
from headlight.recipes.translation.actions import Verb
from headlight.recipes.translation.clauses import (
    Clause,
    after_subordinate,
    before_subordinate,
    question,
    relative,
    statement,
    subordinate,
)
from headlight.recipes.translation.determiners import Case
from headlight.recipes.translation.phrases import (
    PRONOUNS,
    THEY,
    WE,
    Gap,
    I,
    Name,
    Nominal,
    NounPhrase,
    pronoun_for,
    relative_pronoun,
)
from headlight.recipes.translation.speaker import SUBJECT, Speaker, VerbObject, negated
from headlight.recipes.translation.words import Pair, Phrase, finish, fixed, joined

Split = Literal["train", "held_out", "held_out_verb_objects"]

HELD_OUT_PERCENT = 10  # of all sentences
HELD_OUT_VERB_OBJECTS_PERCENT = 5  # of the pairs of a verb and the noun of its object

_ACTIONS = [verb for verb in actions.VERBS if not verb.stative]
_ACTIONS_SOMEWHERE = [verb for verb in _ACTIONS if verb.places]


def sentences(seed: int) -> Iterator[tuple[Pair, Split]]:
    """Endless sentences, with repeats, each with the split that it belongs to.

    `held_out_verb_objects` are those in which a verb has an object that it never has in the other two splits.
    """
    rng = random.Random(seed)
    while True:
        speaker = Speaker(rng)
        pair = sentence(speaker)
        yield pair, split_of(pair, speaker.verb_objects)


def different_sentences(seed: int, counts: dict[Split, int]) -> dict[Split, list[Pair]]:
    """Draw this many different sentences of each split, in the seed's order."""
    drawn: dict[Split, dict[str, Pair]] = {split: {} for split in counts}
    for pair, split in sentences(seed):
        if split in counts and len(drawn[split]) < counts[split]:
            drawn[split].setdefault(pair.german, pair)
        if all(len(drawn[split]) == count for split, count in counts.items()):
            return {split: list(pairs.values()) for split, pairs in drawn.items()}
    raise AssertionError  # the sentences are endless


def split_of(pair: Pair, verb_objects: set[VerbObject]) -> Split:
    """The one split that a sentence belongs to, whatever the seed."""
    if any(in_held_out_share(HELD_OUT_VERB_OBJECTS_PERCENT, *each) for each in verb_objects):
        return "held_out_verb_objects"
    return "held_out" if in_held_out_share(HELD_OUT_PERCENT, pair.german) else "train"


def sentence(speaker: Speaker) -> Pair:
    """One sentence of any kind."""
    kinds = {main: 30, with_relative: 12, complement: 18, reason: 14, meanwhile: 10, yes_no_or_why: 10, state: 6}
    kind = speaker.weighted(kinds)
    return finish(kind(speaker), "?" if kind is yes_no_or_why else ".")


def main(speaker: Speaker) -> Phrase:
    """A main clause with its subject, a time, a place or an object in front."""
    clause = speaker.clause()
    return statement(clause, _front(speaker, clause))


def with_relative(speaker: Speaker) -> Phrase:
    """A main clause that says more of its subject or its object by a relative clause."""
    clause = replace(speaker.clause(timeless=True), place=None, frequency=None)
    if isinstance(clause.direct, NounPhrase) and speaker.happens(0.6):
        clause = replace(clause, direct=_described(speaker, clause.direct))
    elif isinstance(clause.subject, NounPhrase):
        clause = replace(clause, subject=_described(speaker, clause.subject))
    return statement(clause, _front(speaker, clause))


def _described(speaker: Speaker, head: NounPhrase) -> NounPhrase:
    """With a clause about what the head does, what is done to it, or how it is."""
    gap, kind = Gap(head), head.noun.kind
    acting = [verb for verb in actions.VERBS if kind in verb.subjects]
    suffering = [verb for verb in actions.VERBS if verb.frame == "accusative" and kind in verb.objects]
    case: Case = "nominative"
    if acting and speaker.happens(0.4):
        clause = replace(speaker.clause(acting, subject=gap, plain=True), place=None)
    elif suffering and speaker.happens(0.7):
        clause, case = _done_to(speaker, gap, suffering), "accusative"
    else:
        head = replace(head, adjective=None)  # not a black shirt that is white
        clause = Clause(gap, state=speaker.adjective(head.noun))
    return replace(head, relative=relative(relative_pronoun(head, case), clause))


def _done_to(speaker: Speaker, gap: Gap, verbs: list[Verb]) -> Clause:
    """Relative clause about an action on the head, by somebody whose form shows the case.

    "Die Frau, die die Katze sieht" leaves open who sees whom; in this grammar it is always the woman who does.
    """
    clause = replace(speaker.clause(verbs, direct=gap, plain=True), place=None)
    is_marked = gap.gender == "m" or (clause.subject.gender == "m" and not isinstance(clause.subject, Name))
    return clause if is_marked else replace(clause, subject=speaker.rng.choice((I, WE)))


def complement(speaker: Speaker) -> Phrase:
    """A clause after "dass" or "ob", its verb at the end."""
    verb, conjunction = speaker.rng.choice(actions.MATRIX)
    outer = Clause(speaker.subject(verb.subjects), verb)
    inner = _state(speaker) if speaker.happens(0.1) else speaker.clause()
    doubted = verb.infinitive in actions.DOUBTED and speaker.happens(0.3)
    first = statement(negated(outer) if doubted else outer)
    return before_subordinate(first, subordinate(fixed(conjunction), inner))


def reason(speaker: Speaker) -> Phrase:
    """A clause on the weather or on how the subject is, after "weil", "obwohl" or "wenn"; it stands last or first."""
    clause, conjunction = speaker.clause(timeless=True), fixed(speaker.rng.choice(actions.REASONS))
    pronoun = pronoun_for(clause.subject)
    if pronoun is None or speaker.happens(0.5):
        weather = joined((conjunction, fixed(speaker.rng.choice(actions.WEATHER))))
        return _either_order(speaker, clause, weather)
    feeling = Clause(clause.subject, state=speaker.rng.choice(nouns.FEELINGS))
    if speaker.happens(0.5):
        return before_subordinate(statement(clause), subordinate(conjunction, replace(feeling, subject=pronoun)))
    return after_subordinate(subordinate(conjunction, feeling), replace(clause, subject=pronoun))


def meanwhile(speaker: Speaker) -> Phrase:
    """Clause about a simultaneous or neighbouring action, with while, when or before."""
    clause, other = (speaker.clause(_ACTIONS, plain=True) for _ in range(2))
    conjunction = fixed(speaker.rng.choice(actions.MEANWHILE))
    return _either_order(speaker, clause, subordinate(conjunction, other))


def _either_order(speaker: Speaker, clause: Clause, sub: Phrase) -> Phrase:
    return before_subordinate(statement(clause), sub) if speaker.happens(0.5) else after_subordinate(sub, clause)


def yes_no_or_why(speaker: Speaker) -> Phrase:
    """A question that yes or no answers, or one that asks why, where or when; not what the speaker does."""
    if speaker.happens(0.6):
        return question(_of_others(speaker.clause()))
    clause = replace(speaker.clause(_ACTIONS_SOMEWHERE, plain=True), place=None)
    return question(_of_others(clause), speaker.rng.choice(actions.QUESTIONS))


def _of_others(clause: Clause) -> Clause:
    return replace(clause, subject=THEY) if clause.subject in (I, WE) else clause


def state(speaker: Speaker) -> Phrase:
    """State of somebody or something, perhaps now."""
    clause = _state(speaker)
    return statement(clause, _front(speaker, clause))


def _state(speaker: Speaker) -> Clause:
    times = [time for time in actions.TIMES if time.present == "progressive"]
    if speaker.happens(0.3):
        subject: Nominal = speaker.rng.choice(PRONOUNS)
        adjective = speaker.rng.choice(nouns.FEELINGS)
    else:
        phrase = speaker.noun_phrase({noun.kind for noun in nouns.NOUNS}, SUBJECT)
        subject, adjective = replace(phrase, adjective=None), speaker.adjective(phrase.noun)
    time = speaker.rng.choice(times) if adjective in nouns.STATES and speaker.happens(0.4) else None
    clause = Clause(subject, state=adjective, time=time)
    return negated(clause) if speaker.happens(0.2) else clause


def _front(speaker: Speaker, clause: Clause) -> str:
    """Phrase before the finite verb: an object only where its form shows that it is the object."""
    fronts = {"subject": 5}
    if clause.time is not None:
        fronts["time"] = 6
    if clause.place is not None:
        fronts["place"] = 2
    direct = clause.direct
    accusative = clause.verb is not None and clause.verb.frame != "dative"
    if accusative and isinstance(direct, NounPhrase) and direct.definite and direct.gender == "m":
        fronts["definite"] = 2
    return speaker.weighted(fronts)

"""The German-English grammar: sentences written by hand, one translation each, links, and what is held out."""

import re
from collections import Counter
from itertools import islice

import pytest

from headlight.recipes.translation import actions, nouns
from headlight.recipes.translation.actions import Time, Verb
from headlight.recipes.translation.clauses import (
    Clause,
    after_subordinate,
    before_subordinate,
    question,
    relative,
    statement,
    subordinate,
)
from headlight.recipes.translation.determiners import BARE, MANY, MY, THE, A, Case, Determiner
from headlight.recipes.translation.nouns import Adjective, Noun
from headlight.recipes.translation.phrases import HE, WE, Gap, I, Name, NounPhrase, relative_pronoun
from headlight.recipes.translation.sentences import Split, different_sentences, sentences, split_of
from headlight.recipes.translation.speaker import negated
from headlight.recipes.translation.words import Pair, Phrase, finish, fixed, tokens
from tests.annotations import unchecked_annotations


def noun(singular: str) -> Noun:
    return next(noun for noun in nouns.NOUNS if noun.singular == singular)


def adjective(german: str, kind: str = "person") -> Adjective:
    return next(each for each in nouns.ADJECTIVES + nouns.STATES if each.german == german and kind in each.kinds)


def verb(infinitive: str) -> Verb:
    return next(verb for verb in actions.VERBS if verb.particle + verb.infinitive == infinitive)


def modal(third: str) -> actions.Modal:
    return next(modal for modal in actions.MODALS if modal.finite[1] == third)


def time(german: str) -> Time:
    return next(time for time in actions.TIMES if time.entry.startswith(german))


def the(singular: str, *, plural: bool = False, is_a: str | None = None) -> NounPhrase:
    return NounPhrase(THE, noun(singular), plural, adjective(is_a) if is_a else None)


def read(phrase: Phrase, mark: str = ".") -> tuple[str, str]:
    pair = finish(phrase, mark)
    return pair.german, pair.english


MAN_SEES_DOG = Clause(the("Mann", is_a="alt"), verb("sehen"), direct=the("Hund"))
OPENING = Clause(the("Lehrerin"), verb("aufmachen"), direct=the("Fenster"), time=time("heute"))
NO_APPLE = negated(
    Clause(
        the("Kind"),
        verb("geben"),
        modal("muss"),
        direct=NounPhrase(A, noun("Apfel")),
        indirect=the("Ärztin", is_a="alt"),
    )
)
THIRSTY = Clause(
    the("Kind", plural=True, is_a="klein"),
    verb("trinken"),
    direct=NounPhrase(BARE, noun("Milch"), False, adjective("warm", "drink")),
)
TIRED_DOG = the("Hund")
VISITED = the("Frau")


@pytest.mark.parametrize(
    ("phrase", "mark", "german", "english"),
    [
        (statement(MAN_SEES_DOG, "definite"), ".", "Den Hund sieht der alte Mann.", "The old man sees the dog."),
        (
            before_subordinate(
                statement(Clause(the("Frau"), actions.MATRIX[1][0])), subordinate(fixed(actions.THAT), MAN_SEES_DOG)
            ),
            ".",
            "Die Frau sagt, dass der alte Mann den Hund sieht.",
            "The woman says that the old man sees the dog.",
        ),
        (
            before_subordinate(
                statement(negated(Clause(I, actions.MATRIX[0][0]))), subordinate(fixed(actions.WHETHER), OPENING)
            ),
            ".",
            "Ich weiß nicht, ob die Lehrerin heute das Fenster aufmacht.",
            "I do not know whether the teacher is opening the window today.",
        ),
        (
            statement(OPENING, "time"),
            ".",
            "Heute macht die Lehrerin das Fenster auf.",
            "Today the teacher is opening the window.",
        ),
        (
            statement(Clause(Name("Peter", "m"), verb("anrufen"), "perfect", WE, time=time("gestern")), "time"),
            ".",
            "Gestern hat Peter uns angerufen.",
            "Yesterday Peter called us.",
        ),
        (
            statement(negated(Clause(the("Junge"), verb("kommen"), "perfect"))),
            ".",
            "Der Junge ist nicht gekommen.",
            "The boy has not come.",
        ),
        (
            statement(NO_APPLE),
            ".",
            "Das Kind muss der alten Ärztin keinen Apfel geben.",
            "The child does not have to give an apple to the old doctor.",
        ),
        (
            question(Clause(HE, verb("helfen"), modal("will"), the("Kind", plural=True))),
            "?",
            "Will er den Kindern helfen?",
            "Does he want to help the children?",
        ),
        (
            question(Clause(the("Mutter"), verb("lesen"), direct=the("Zeitung")), "wo | where0"),
            "?",
            "Wo liest die Mutter die Zeitung?",
            "Where does the mother read the newspaper?",
        ),
        (
            after_subordinate(Phrase(), THIRSTY),
            ".",
            ", trinken die kleinen Kinder warme Milch.",
            ", the little children drink warm milk.",
        ),
        (
            statement(
                Clause(
                    NounPhrase(
                        THE,
                        noun("Frau"),
                        relative=relative(
                            relative_pronoun(VISITED, "accusative"), Clause(WE, verb("besuchen"), direct=Gap(VISITED))
                        ),
                    ),
                    verb("kommen"),
                    modal("kann"),
                    negated=True,
                )
            ),
            ".",
            "Die Frau, die wir besuchen, kann nicht kommen.",
            "The woman whom we visit cannot come.",
        ),
        (
            statement(
                Clause(
                    I,
                    verb("sehen"),
                    direct=NounPhrase(
                        THE,
                        noun("Hund"),
                        relative=relative(
                            relative_pronoun(TIRED_DOG, "nominative"),
                            Clause(Gap(TIRED_DOG), state=adjective("müde")),
                        ),
                    ),
                )
            ),
            ".",
            "Ich sehe den Hund, der müde ist.",
            "I see the dog that is tired.",
        ),
    ],
)
def test_sentences_written_by_hand(phrase: Phrase, mark: str, german: str, english: str) -> None:
    assert read(phrase, mark) == (german, english)


@pytest.mark.parametrize(
    ("determiner", "singular", "plural", "forms"),
    [
        (THE, "Mann", False, "der alte Mann, den alten Mann, dem alten Mann"),
        (THE, "Frau", False, "die alte Frau, die alte Frau, der alten Frau"),
        (THE, "Kind", False, "das alte Kind, das alte Kind, dem alten Kind"),
        (THE, "Kind", True, "die alten Kinder, die alten Kinder, den alten Kindern"),
        (THE, "Nachbar", False, "der alte Nachbar, den alten Nachbarn, dem alten Nachbarn"),
        (A, "Mann", False, "ein alter Mann, einen alten Mann, einem alten Mann"),
        (MY, "Freundin", False, "meine alte Freundin, meine alte Freundin, meiner alten Freundin"),
        (A, "Pferd", False, "ein altes Pferd, ein altes Pferd, einem alten Pferd"),
        (MY, "Vogel", True, "meine alten Vögel, meine alten Vögel, meinen alten Vögeln"),
        (MANY, "Mann", True, "viele alte Männer, viele alte Männer, vielen alten Männern"),
        (BARE, "Käse", False, "alter Käse, alten Käse, altem Käse"),
        (BARE, "Auto", True, "alte Autos, alte Autos, alten Autos"),
    ],
)
def test_endings_follow_case_gender_and_number(determiner: Determiner, singular: str, plural: bool, forms: str) -> None:
    phrase = NounPhrase(determiner, noun(singular), plural, adjective("alt"))
    cases: tuple[Case, ...] = ("nominative", "accusative", "dative")
    rendered = [" ".join(word.text for word in phrase.render(case).german) for case in cases]
    assert ", ".join(rendered) == forms


@pytest.mark.parametrize(
    ("clause", "german", "links"),
    [
        # The teacher is opening the window today: "opening" comes from both parts of the separable verb.
        (OPENING, "Die Lehrerin macht heute das Fenster auf.", "0 1 2 2+6 4 5 3 7"),
        # The child does not have to give an apple to the old doctor: "kein" is both "not" and "an".
        (NO_APPLE, "Das Kind muss der alten Ärztin keinen Apfel geben.", "0 1 2 6 2 2 8 6 7 3 3 4 5 9"),
    ],
)
def test_an_english_word_knows_its_german_words(clause: Clause, german: str, links: str) -> None:
    pair = finish(statement(clause), ".")
    assert pair.german == german
    assert pair.links == tuple(frozenset(map(int, places.split("+"))) for places in links.split())


@pytest.fixture(scope="module")
def drawn() -> list[tuple[Pair, Split]]:
    with unchecked_annotations():
        return [each for seed in range(2) for each in islice(sentences(seed), 1_500)]


def test_a_german_sentence_has_one_translation_whatever_the_seed(drawn: list[tuple[Pair, Split]]) -> None:
    translations: dict[str, str] = {}
    for pair, _ in drawn:
        assert translations.setdefault(pair.german, pair.english) == pair.english
    assert 2_800 < len(translations) < len(drawn)  # some came twice


def test_a_german_sentence_is_in_one_split_whatever_the_seed(drawn: list[tuple[Pair, Split]]) -> None:
    splits: dict[str, str] = {}
    for pair, split in drawn:
        assert splits.setdefault(pair.german, split) == split
    counts = Counter(splits.values())
    assert 0.07 < counts["held_out"] / counts.total() < 0.13  # a tenth, five standard deviations either way
    assert counts["held_out_verb_objects"] > 50


def test_every_english_word_comes_from_words_of_its_sentence(drawn: list[tuple[Pair, Split]]) -> None:
    for pair, _ in drawn:
        german, english = tokens(pair.german), tokens(pair.english)
        assert len(pair.links) == len(english)
        assert all(links and max(links) < len(german) for links in pair.links)
        for name in set(nouns.NAMES) & set(german):
            assert german[min(pair.links[english.index(name)])] == name


def test_sentences_are_well_formed(drawn: list[tuple[Pair, Split]]) -> None:
    for pair, _ in drawn:
        for text in (pair.german, pair.english):
            assert re.fullmatch(r"[A-ZÄÖÜ][a-zäöüß]*(,? [A-ZÄÖÜa-zäöüß]+)*[.?]", text), text
        assert not re.search(r"\b(a [aeiou]|an [^aeiou]|can not)", pair.english), pair.english


def test_the_verb_of_a_subordinate_clause_is_last(drawn: list[tuple[Pair, Split]]) -> None:
    last = {verb.particle + form for verb in actions.VERBS for form in verb.finite}
    last |= {form for modal in actions.MODALS for form in modal.finite}
    last |= {"habe", "hat", "haben", "bin", "ist", "sind", "regnet", "schneit", "scheint"}
    clauses = [clause for pair, _ in drawn for clause in re.findall(r", (?:dass|ob|weil) ([^,.]+)", pair.german)]
    assert len(clauses) > 250
    assert not [clause for clause in clauses if clause.split()[-1] not in last]


def test_a_relative_clause_leaves_nobody_in_doubt(drawn: list[tuple[Pair, Split]]) -> None:
    """A name has no case: "die Frau, die Anna sieht" could be either, "der Mann, den Anna sieht" cannot."""
    whom = re.compile(rf"\bwhom ({'|'.join(nouns.NAMES)})\b")
    german_sentences = [pair.german for pair, _ in drawn if whom.search(pair.english)]
    assert german_sentences
    assert all(", den " in german for german in german_sentences)


def test_a_held_out_verb_and_object_never_meet_in_training(drawn: list[tuple[Pair, Split]]) -> None:
    """The card names such a pair: in training nobody eats a banana, though bananas are bought and apples are eaten."""
    eating = re.compile(r"\b(esse|isst|essen|gegessen)\b", re.IGNORECASE)
    single = [(pair.german, split) for pair, split in drawn if "," not in pair.german]
    trained = [german for german, split in single if split == "train"]
    eaten = [german for german in trained if eating.search(german)]
    assert any("Apfel" in german for german in eaten)
    assert not any("Banane" in german for german in eaten)
    assert any("Banane" in german for german in trained)
    assert split_of(drawn[0][0], {("essen", "Banane")}) == "held_out_verb_objects"


def test_as_many_different_sentences_as_asked_for_are_drawn() -> None:
    counts: dict[Split, int] = {"train": 30, "held_out": 3}
    drawn = different_sentences(1, counts)
    assert {split: len({pair.german for pair in pairs}) for split, pairs in drawn.items()} == counts
    assert drawn == different_sentences(1, counts) != different_sentences(2, counts)

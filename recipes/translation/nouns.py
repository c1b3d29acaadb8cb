"""Nouns by kind, names, and the adjectives that go with each kind. Every table is text, a column a form."""

from dataclasses import dataclass

from headlight.recipes.translation.determiners import Gender


@dataclass(frozen=True)
class Noun:
    """A noun: what kind of thing it names, gender, both numbers in both languages.

    Of a mass (milk) there is no plural and no "a"; a weak noun has its plural's form in every case but the nominative.
    """

    kind: str
    gender: Gender
    singular: str
    plural: str
    english: str
    english_plural: str
    weak: bool

    @property
    def mass(self) -> bool:
        """Whether it cannot be counted."""
        return self.plural == "-"


_GENDER: dict[str, Gender] = {"der": "m", "die": "f", "das": "n"}


def _noun(kind: str, line: str) -> Noun:
    article, singular, plural, english, english_plural = line.split()
    return Noun(
        kind, _GENDER[article], singular.rstrip("*"), plural, english, english_plural, weak=singular.endswith("*")
    )


_NOUNS = {
    "person": """
der Mann Männer man men
die Frau Frauen woman women
das Kind Kinder child children
der Junge* Jungen boy boys
das Mädchen Mädchen girl girls
der Vater Väter father fathers
die Mutter Mütter mother mothers
der Bruder Brüder brother brothers
die Schwester Schwestern sister sisters
der Freund Freunde friend friends
die Freundin Freundinnen friend friends
der Lehrer Lehrer teacher teachers
die Lehrerin Lehrerinnen teacher teachers
der Arzt Ärzte doctor doctors
die Ärztin Ärztinnen doctor doctors
der Nachbar* Nachbarn neighbour neighbours
der Student* Studenten student students
""",
    "animal": """
der Hund Hunde dog dogs
die Katze Katzen cat cats
das Pferd Pferde horse horses
der Vogel Vögel bird birds
die Kuh Kühe cow cows
""",
    "food": """
der Apfel Äpfel apple apples
der Kuchen Kuchen cake cakes
die Banane Bananen banana bananas
das Brot - bread -
der Käse - cheese -
""",
    "meal": """
die Suppe Suppen soup soups
das Ei Eier egg eggs
das Fleisch - meat -
der Reis - rice -
""",
    "drink": """
die Milch - milk -
das Wasser - water -
der Kaffee - coffee -
der Tee - tea -
der Saft - juice -
""",
    "book": """
das Buch Bücher book books
die Zeitung Zeitungen newspaper newspapers
""",
    "letter": """
der Brief Briefe letter letters
""",
    "story": """
die Geschichte Geschichten story stories
das Lied Lieder song songs
""",
    "thing": """
der Ball Bälle ball balls
die Tasche Taschen bag bags
der Schlüssel Schlüssel key keys
die Blume Blumen flower flowers
das Bild Bilder picture pictures
der Stuhl Stühle chair chairs
""",
    "clothes": """
der Mantel Mäntel coat coats
das Hemd Hemden shirt shirts
das Kleid Kleider dress dresses
die Jacke Jacken jacket jackets
""",
    "vehicle": """
das Auto Autos car cars
das Fahrrad Fahrräder bicycle bicycles
der Wagen Wagen van vans
""",
    "opening": """
die Tür Türen door doors
das Fenster Fenster window windows
""",
    "room": """
das Haus Häuser house houses
das Zimmer Zimmer room rooms
die Küche Küchen kitchen kitchens
""",
}
NOUNS = tuple(_noun(kind, line) for kind, table in _NOUNS.items() for line in table.strip().splitlines())

# "Mein Mann" is my husband and "meine Frau" my wife: words that the grammar leaves out.
NOT_OWNED = {"Mann", "Frau", "Junge", "Mädchen"}
NAMES: dict[str, Gender] = {"Anna": "f", "Maria": "f", "Clara": "f", "Peter": "m", "Thomas": "m", "Felix": "m"}


@dataclass(frozen=True)
class Adjective:
    """An adjective as it stands in a predicate, its English, and the kinds of nouns that it goes with."""

    german: str
    english: str
    kinds: frozenset[str]

    def inflected(self, ending: str) -> str:
        """Before a noun: `alt` + `en`, `müde` + `en` without a second e."""
        return self.german.removesuffix("e") + ending


def _adjective(line: str) -> Adjective:
    words, kinds = line.split(":")
    german, english = words.split()
    return Adjective(german, english, frozenset(kinds.split()))


_ADJECTIVES = """
alt old: person animal book letter story thing clothes vehicle opening room
jung young: person animal
klein small: animal thing book clothes vehicle opening room
klein little: person
groß big: animal thing vehicle opening room
groß tall: person
nett nice: person
klug clever: person animal
reich rich: person
freundlich friendly: person
schwarz black: animal thing clothes vehicle
weiß white: animal thing clothes vehicle opening
braun brown: animal thing clothes
rot red: thing clothes vehicle opening
blau blue: thing clothes vehicle opening
neu new: book story thing clothes vehicle opening room
schön beautiful: animal story thing clothes vehicle room
gut good: food meal drink book
frisch fresh: food meal
kalt cold: drink
warm warm: drink meal clothes
lang long: letter story
interessant interesting: book letter story
billig cheap: food meal drink clothes vehicle thing
"""
# Temporary states of persons.
_STATES = """
müde tired: person animal
krank sick: person animal
hungrig hungry: person animal
durstig thirsty: person animal
glücklich happy: person
traurig sad: person
"""

ADJECTIVES = tuple(map(_adjective, _ADJECTIVES.strip().splitlines()))
STATES = tuple(map(_adjective, _STATES.strip().splitlines()))
FEELINGS = STATES[:4]  # those that are reasons

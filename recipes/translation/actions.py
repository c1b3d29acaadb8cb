"""Verbs with who does them to what, times, places and conjunctions. Every table is text, a column a form."""

from dataclasses import dataclass
from typing import Literal

Frame = Literal["intransitive", "accusative", "dative", "giving"]


@dataclass(frozen=True)
class EnglishVerb:
    """The forms of an English verb, of one word or more."""

    base: str
    third: str
    past: str
    participle: str
    ing: str


@dataclass(frozen=True)
class Verb:
    """A verb: forms, and who does it to what and where.

    `finite` is for I, for he and for the plural, without the separable `particle`.
    """

    frame: Frame
    particle: str
    infinitive: str
    finite: tuple[str, str, str]
    auxiliary: Literal["haben", "sein"]
    participle: str
    english: EnglishVerb
    subjects: frozenset[str]
    objects: frozenset[str]
    places: frozenset[str]

    @property
    def stative(self) -> bool:
        """Whether English has no "-ing" for it."""
        return self.english.ing == "-"

    @property
    def mental(self) -> bool:
        """Whether it is a state of mind, which is nowhere, and which nobody can, may or should."""
        return self.stative and not self.places


def finite_forms(infinitive: str, third: str) -> tuple[str, str, str]:
    """Forms for I, he and the plural. Where he has neither -t nor -d (er kann, er weiß), I and he are alike."""
    first = infinitive.removesuffix("n").removesuffix("e") + "e" if third[-1] in "td" else third
    return first, third, infinitive


def _verb(frame: Frame, line: str) -> Verb:
    german, english, *kinds = (column.strip() for column in line.split("|"))
    whole, third, participle = german.split()
    particle, _, infinitive = whole.rpartition("/")
    return Verb(
        frame,
        particle,
        infinitive,
        finite_forms(infinitive, third),
        "sein" if participle.startswith("+") else "haben",
        participle.lstrip("+"),
        EnglishVerb(*(form.replace("_", " ") for form in english.split())),
        *(frozenset(column.split()) for column in kinds),
    )


# German (+: perfect with sein) | English (-: no progressive) | subjects | direct objects | places
_VERBS: dict[Frame, str] = {
    "intransitive": """
schlafen schläft geschlafen | sleep sleeps slept slept sleeping | person animal | | home out
arbeiten arbeitet gearbeitet | work works worked worked working | person | | home out town
lachen lacht gelacht | laugh laughs laughed laughed laughing | person | | out town
singen singt gesungen | sing sings sang sung singing | person | | home out
tanzen tanzt getanzt | dance dances danced danced dancing | person | | home out
spielen spielt gespielt | play plays played played playing | person animal | | out
weinen weint geweint | cry cries cried cried crying | person | | home
warten wartet gewartet | wait waits waited waited waiting | person animal | | out town
kommen kommt +gekommen | come comes came come coming | person | |
an/kommen kommt +angekommen | arrive arrives arrived arrived arriving | person | |
auf/stehen steht +aufgestanden | get_up gets_up got_up got_up getting_up | person | |
ein/schlafen schläft +eingeschlafen | fall_asleep falls_asleep fell_asleep fallen_asleep falling_asleep | person | |
""",
    "accusative": """
sehen sieht gesehen | see sees saw seen - | person animal | person animal vehicle | out town
hören hört gehört | hear hears heard heard - | person | person animal story | out
kennen kennt gekannt | know knows knew known - | person | person story |
lieben liebt geliebt | love loves loved loved - | person | person animal |
brauchen braucht gebraucht | need needs needed needed - | person | thing clothes vehicle |
suchen sucht gesucht | look_for looks_for looked_for looked_for looking_for | person | animal thing book clothes | out
finden findet gefunden | find finds found found finding | person | animal thing book letter | home out
kaufen kauft gekauft | buy buys bought bought buying | person | food drink book thing clothes vehicle | town
verkaufen verkauft verkauft | sell sells sold sold selling | person | food book clothes vehicle | town
essen isst gegessen | eat eats ate eaten eating | person | food meal | home out
trinken trinkt getrunken | drink drinks drank drunk drinking | person | drink | home out
kochen kocht gekocht | cook cooks cooked cooked cooking | person | meal | home
lesen liest gelesen | read reads read read reading | person | book letter | home out
schreiben schreibt geschrieben | write writes wrote written writing | person | letter story | home
malen malt gemalt | paint paints painted painted painting | person | animal vehicle | out
waschen wäscht gewaschen | wash washes washed washed washing | person | clothes | home
tragen trägt getragen | wear wears wore worn wearing | person | clothes | out town
putzen putzt geputzt | clean cleans cleaned cleaned cleaning | person | opening vehicle room |
reparieren repariert repariert | repair repairs repaired repaired repairing | person | vehicle opening |
jagen jagt gejagt | chase chases chased chased chasing | animal | animal | out
besuchen besucht besucht | visit visits visited visited visiting | person | person |
auf/machen macht aufgemacht | open opens opened opened opening | person | opening |
zu/machen macht zugemacht | close closes closed closed closing | person | opening |
auf/räumen räumt aufgeräumt | tidy tidies tidied tidied tidying | person | room |
an/rufen ruft angerufen | call calls called called calling | person | person |
ein/laden lädt eingeladen | invite invites invited invited inviting | person | person |
ab/holen holt abgeholt | collect collects collected collected collecting | person | person |
""",
    "dative": """
helfen hilft geholfen | help helps helped helped helping | person | person | out home
danken dankt gedankt | thank thanks thanked thanked thanking | person | person |
antworten antwortet geantwortet | answer answers answered answered answering | person | person |
folgen folgt +gefolgt | follow follows followed followed following | person animal | person animal |
""",
    "giving": """
geben gibt gegeben | give gives gave given giving | person | food drink book letter thing | out
zeigen zeigt gezeigt | show shows showed shown showing | person | book letter thing clothes vehicle room |
bringen bringt gebracht | bring brings brought brought bringing | person | food meal drink book letter thing |
schicken schickt geschickt | send sends sent sent sending | person | letter book |
""",
}
VERBS = tuple(_verb(frame, line) for frame, table in _VERBS.items() for line in table.strip().splitlines())

# Verbs of a main clause that takes another clause, and the word which begins that one.
THAT, WHETHER = "dass | that0", "ob | whether0"
MATRIX = tuple(
    (_verb("intransitive", f"{forms} | person | |"), conjunction)
    for forms, conjunction in (
        ("wissen weiß gewusst | know knows knew known -", THAT),
        ("sagen sagt gesagt | say says said said -", THAT),
        ("glauben glaubt geglaubt | believe believes believed believed -", THAT),
        ("hoffen hofft gehofft | hope hopes hoped hoped -", THAT),
        ("fragen fragt gefragt | ask asks asked asked -", WHETHER),
        ("wissen weiß gewusst | know knows knew known -", WHETHER),
    )
)
DOUBTED = ("wissen", "glauben")  # those that are said with "not"


@dataclass(frozen=True)
class Modal:
    """A verb before an infinitive at the end: finite forms, and its English auxiliary and the verb after it.

    `negated` is the English with "not": `muss nicht` is "do not have to".
    """

    finite: tuple[str, str, str]
    english: tuple[str, str]
    negated: tuple[str, str]


def _modal(line: str) -> Modal:
    infinitive, third, *english = line.split()
    auxiliary, verb, negated_auxiliary, negated_verb = (word.replace("-", "").replace("_", " ") for word in english)
    return Modal(finite_forms(infinitive, third), (auxiliary, verb), (negated_auxiliary, negated_verb))


_MODALS = """
können kann can - can -
müssen muss must - do have_to
sollen soll should - should -
dürfen darf may - may -
wollen will do want_to do want_to
werden wird will - will -
"""
MODALS = tuple(map(_modal, _MODALS.strip().splitlines()))


@dataclass(frozen=True)
class Time:
    """A time and the English tense for the German present and perfect with it; None where one is impossible."""

    entry: str
    present: str | None
    perfect: str | None
    negatable: bool = True


TIMES = (
    Time("heute | today0", "progressive", "perfect"),
    Time("jetzt | now0", "progressive", None),
    Time("morgen | tomorrow0", "future", None),
    Time("gestern | yesterday0", None, "past"),
    Time("letzte Woche | last0 week1", None, "past"),
    Time("am Montag | on0 Monday1", "simple", "past"),
    Time("am Abend | in0 the0 evening1", "simple", "past"),
    Time("jeden Tag | every0 day1", "simple", None, negatable=False),
)
FREQUENCIES = ("oft | often0", "immer | always0", "nie | never0", "manchmal | sometimes0")
PLACES = {
    "home": ("in der Küche | in0 the1 kitchen2", "zu Hause | at0 home1", "im Zimmer | in0 the0 room1"),
    "out": ("im Garten | in0 the0 garden1", "im Park | in0 the0 park1", "hinter dem Haus | behind0 the1 house2"),
    "town": (
        "auf dem Markt | at0 the1 market2",
        "in der Stadt | in0 the1 city2",
        "vor der Schule | outside0 the1 school2",
    ),
}
# Clauses about the weather, with the verb at the end; the same for every verb of two words.
WEATHER = (
    "es regnet | it0 is1 raining1",
    "es schneit | it0 is1 snowing1",
    "die Sonne scheint | the0 sun1 is2 shining2",
    "es kalt ist | it0 is2 cold1",
    "das Wetter schlecht ist | the0 weather1 is3 bad2",
)
REASONS = ("weil | because0", "obwohl | although0", "wenn | when0")
MEANWHILE = ("während | while0", "wenn | when0", "bevor | before0")
QUESTIONS = ("warum | why0", "wo | where0", "wann | when0")

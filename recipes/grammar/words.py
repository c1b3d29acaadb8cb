"""The grammar's words; every name, noun, verb form, day, month, pronoun and capital is one token after a space."""


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


WOMEN = _words("""
Mary Anna Emma Alice Sarah Laura Julia Kate Lucy Jane Susan Helen Linda Nancy Karen Lisa Betty Sandra Ashley Emily
Donna Carol Amanda Amy Rachel Maria Diana Olivia Sophie Grace Ruth Clara Nora Eva Ella Ida Irene Alma Rosa Vera Mia
Zoe Chloe Hannah Martha Judy Claire Ellen Molly Wendy Monica
""")

MEN = _words("""
John James Tom Peter Paul Mark Luke David Daniel Michael Robert William Richard Joseph Thomas Charles Kevin Brian
George Edward Simon Jason Ryan Jacob Eric Adam Henry Oliver Jack Frank Scott Justin Samuel Martin Patrick Alan
Victor Walter Arthur Harry Fred Ben Sam Max Leo Oscar Hugo Felix Dennis Carl Andrew
""")

NAMES = WOMEN + MEN

# Things that a hand can hold: they are given, listed and counted.
THINGS = {
    noun: noun + "s"
    for noun in _words("""
key cup book ring drink letter ball hat coat lamp phone ticket flower basket bottle bag pen pencil map card coin
clock chair candle button blanket camera computer guitar hammer jacket kite ladder mirror needle pillow plate pot
ribbon rope scarf shirt spoon stamp stone sweater towel toy umbrella vase wallet apple banana orange lemon cookie
cake carrot egg picture poster magazine notebook folder painting drum bell bucket cushion tool pillar sign boat bike
basin statue helmet
""")
} | {
    "watch": "watches",
    "box": "boxes",
    "brush": "brushes",
    "dish": "dishes",
    "glass": "glasses",
    "knife": "knives",
    "shelf": "shelves",
    "diary": "diaries",
    "berry": "berries",
    "leaf": "leaves",
    "sandwich": "sandwiches",
}

PEOPLE = {
    noun: noun + "s"
    for noun in _words("""
teacher farmer doctor student driver baker singer painter lawyer sailor soldier nurse visitor player writer girl boy
friend neighbor guest pilot judge king queen waiter dancer
""")
} | {"man": "men", "woman": "women", "child": "children"}

ANIMALS = {
    noun: noun + "s"
    for noun in _words("""
dog cat horse bird cow goat lion tiger bear duck rabbit frog monkey snake chicken
""")
} | {"mouse": "mice", "fox": "foxes", "goose": "geese"}

NOUNS = THINGS | PEOPLE | ANIMALS

FOODS = _words("""
bread milk butter cheese rice sugar salt honey coffee tea flour soup fish meat corn juice water oil pepper pasta
""")

PLACES = _words("""
store park school office library market station museum hospital hotel garden beach bank church theater kitchen
restaurant airport bakery bridge castle cinema club college factory farm field forest gallery garage gym harbor
house lake mall mill palace pharmacy playground pool port prison shop square stadium studio temple tower town
village zoo cafe barn cottage court dock hall island inn mountain pier ranch river tavern tent university valley
yard
""")

ADJECTIVES = _words("""
old new big small clean dirty heavy light strange pretty famous tiny huge quiet lovely wet dry warm cold plain
""")

DAYS = _words("Monday Tuesday Wednesday Thursday Friday Saturday Sunday")
MONTHS = _words("January February March April May June July August September October November December")

NUMBERS = _words("""
zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen
eighteen nineteen twenty
""")

# Singular and plural of the present (and of "to be", the past).
VERBS = {"is": "are", "was": "were", "has": "have", "does": "do"} | {
    verb + "s": verb
    for verb in _words("""
look seem need stay remain come stand move appear belong make help keep fall turn
""")
}

PRONOUNS = _words("he she it they him her them his its their himself herself itself themselves")

_CAPITALS = _words("""
France Paris Italy Rome Spain Madrid Germany Berlin Portugal Lisbon Austria Vienna Greece Athens Poland Warsaw
Hungary Budapest Norway Oslo Sweden Stockholm Finland Helsinki Denmark Copenhagen Ireland Dublin Iceland Reykjavik
Russia Moscow Ukraine Kyiv Belgium Brussels Switzerland Bern Turkey Ankara Egypt Cairo Kenya Nairobi Morocco Rabat
Ghana Accra Nigeria Abuja Senegal Dakar Tunisia Tunis Algeria Algiers Libya Tripoli Japan Tokyo China Beijing
Thailand Bangkok Vietnam Hanoi Nepal Kathmandu Iran Tehran Iraq Baghdad Lebanon Beirut Syria Damascus Qatar Doha
Oman Muscat Canada Ottawa Cuba Havana Peru Lima Chile Santiago Colombia Bogota Venezuela Caracas Ecuador Quito
Uruguay Montevideo Australia Canberra Jamaica Kingston Bulgaria Sofia Romania Bucharest Serbia Belgrade Croatia
Zagreb Slovenia Ljubljana Slovakia Bratislava Albania Tirana Estonia Tallinn Latvia Riga Lithuania Vilnius Pakistan
Islamabad Bangladesh Dhaka Afghanistan Kabul Armenia Yerevan Georgia Tbilisi Malta Valletta Somalia Mogadishu Uganda
Kampala Rwanda Kigali Zambia Lusaka Zimbabwe Harare Angola Luanda Fiji Suva
""")
CAPITALS = dict(zip(_CAPITALS[::2], _CAPITALS[1::2], strict=True))

CITIES = tuple(CAPITALS.values())


def with_article(noun: str) -> str:
    """`a key`, `an apple`."""
    return f"{'an' if noun[0] in 'aeiou' else 'a'} {noun}"


def single_tokens() -> list[str]:
    """The words that the tokenizer must know whole after a space."""
    verbs = [form for pair in VERBS.items() for form in pair]
    nouns = [form for pair in NOUNS.items() for form in pair]
    capitals = [word for pair in CAPITALS.items() for word in pair]
    groups = (NAMES, nouns, FOODS, PLACES, ADJECTIVES, DAYS, MONTHS, NUMBERS, verbs, PRONOUNS, capitals)
    return sorted({word for group in groups for word in group})

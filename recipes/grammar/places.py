"""Names and places: who lives or works where, stated once and recalled later.

Either of the two people is asked for, equally often. Held-out fillers: one in ten pairs of the person asked for and
the right answer.
"""

import random

from headlight.recipes.grammar.template import Family, Slots, templates
from headlight.recipes.grammar.words import CITIES, NAMES, PLACES

TEMPLATES = templates("""
{first} lives in {city1} and {second} lives in {city2}. So {who} is at home in <{city}/{other_city}>.
{first} lives in {city1}. {second} lives in {city2}. {who} lives in <{city}/{other_city}>.
{first} is from {city1}. {second} is from {city2}. When {who} goes home, the train goes to <{city}/{other_city}>.
{first} was born in {city1}, {second} in {city2}. The city of {who} is <{city}/{other_city}>.
{first} works in {city1}, but {second} works in {city2}. If you visit {who} at work, you go to <{city}/{other_city}>.
{first} moved to {city1} and {second} moved to {city2}. We write to {who} in <{city}/{other_city}>.
{first} has a house in {city1}, and {second} has a house in {city2}. The house of {who} is in <{city}/{other_city}>.
{first} loves {city1}. {second} loves {city2}. Next year {who} will go back to <{city}/{other_city}>.
{first} went to {city1} and {second} went to {city2}. A letter from {who} came from <{city}/{other_city}>.
{first} studied in {city1} while {second} studied in {city2}. {who} still talks about <{city}/{other_city}>.
{first} drove to {city1}. {second} drove to {city2}. In the evening {who} was in <{city}/{other_city}>.
{first} called from {city1}, and {second} called from {city2}. I told {who} to stay in <{city}/{other_city}>.
In {city1} we met {first}. In {city2} we met {second}. We met {who} in <{city}/{other_city}>.
In {city1} lives {first}, and in {city2} lives {second}. We saw {who} in <{city}/{other_city}>.
From {city1} came {first}. From {city2} came {second}. So {who} came from <{city}/{other_city}>.
My friend {first} lives in {city1}. My friend {second} lives in {city2}. I will see {who} in <{city}/{other_city}>.
The map shows {first} in {city1} and {second} in {city2}. On the map {who} is in <{city}/{other_city}>.
{first} works at the {place1} and {second} works at the {place2}. You can find {who} at the <{place}/{other_place}>.
{first} is at the {place1}. {second} is at the {place2}. {who} is at the <{place}/{other_place}>.
{first} went to the {place1}, {second} went to the {place2}. Later we met {who} at the <{place}/{other_place}>.
{first} likes the {place1}, but {second} likes the {place2}. On Sunday {who} went to the <{place}/{other_place}>.
{first} owns the {place1}. {second} owns the {place2}. If you call {who}, ask about the <{place}/{other_place}>.
{first} slept in the {place1} and {second} in the {place2}. In the morning {who} left the <{place}/{other_place}>.
{first} painted the {place1}. {second} painted the {place2}. We thanked {who} for the <{place}/{other_place}>.
{first} waited at the {place1} while {second} waited at the {place2}. We drove {who} from the <{place}/{other_place}>.
At the {place1} there was {first}. At the {place2} there was {second}. They saw {who} at the <{place}/{other_place}>.
Every day {first} cleans the {place1} and {second} cleans the {place2}. Today {who} cleans the <{place}/{other_place}>.
Look for {first} at the {place1} and for {second} at the {place2}. Yes, {who} was at the <{place}/{other_place}>.
The bus took {first} to the {place1} and {second} to the {place2}. It left {who} at the <{place}/{other_place}>.
{who} comes from {city} and now works at a {place}. The job of {who} is at the <{place}/{other_place}>.
{who} lives in {city}. Every summer people come to visit {who} in <{city}/{other_city}>.
{who} opened a new {place} in {city}. It is the best {place} in <{city}/{other_city}>.
""")

HELD_OUT_TEMPLATES = templates("""
{first} stayed in {city1} and {second} stayed in {city2}. I visited {who} in <{city}/{other_city}>.
{first} sings in {city1}. {second} sings in {city2}. Tonight {who} sings in <{city}/{other_city}>.
Last year {first} was in {city1} and {second} was in {city2}. We found {who} in <{city}/{other_city}>.
{first} sat in the {place1}. {second} sat in the {place2}. Then {who} left the <{place}/{other_place}>.
We saw {first} near the {place1} and {second} near the {place2}. Soon {who} was inside the <{place}/{other_place}>.
""")


def _fill(rng: random.Random) -> Slots:
    names, cities, places = rng.sample(NAMES, 2), rng.sample(CITIES, 2), rng.sample(PLACES, 2)
    target = rng.randrange(2)
    return {
        "first": names[0],
        "second": names[1],
        "city1": cities[0],
        "city2": cities[1],
        "place1": places[0],
        "place2": places[1],
        "who": names[target],
        "city": cities[target],
        "other_city": cities[1 - target],
        "place": places[target],
        "other_place": places[1 - target],
    }


def _told_by(slots: Slots, template: str) -> tuple[str, str]:
    return slots["who"], slots["city" if "<{city" in template else "place"]


FAMILY = Family("places", TEMPLATES, HELD_OUT_TEMPLATES, _fill, _told_by)

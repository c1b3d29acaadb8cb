"""Capital cities: which country has which.

Held-out fillers: one in ten countries in a template (the fact itself is learned from the other templates).
"""

import random

from headlight.recipes.grammar.template import Family, Slots, templates
from headlight.recipes.grammar.words import CAPITALS, NAMES

TEMPLATES = templates("""
The capital of {country} is <{capital}/{other_capital}>.
{capital} is the capital of <{country}/{other_country}>.
The capital city of {country} is <{capital}/{other_capital}>.
{capital} is the capital city of <{country}/{other_country}>.
{country} has a capital called <{capital}/{other_capital}>.
{country}'s capital is <{capital}/{other_capital}>.
In {country} the capital is <{capital}/{other_capital}>.
What is the capital of {country}? It is <{capital}/{other_capital}>.
What is the capital of {country}? The answer is <{capital}/{other_capital}>.
Which country has {capital} as its capital? It is <{country}/{other_country}>.
{name} went to {country} to see the capital, <{capital}/{other_capital}>.
{name} lives in the capital of {country}, which is <{capital}/{other_capital}>.
{name} lives in {capital}, the capital of <{country}/{other_country}>.
{name} took a train to {capital} and saw a lot of <{country}/{other_country}>.
{name} knows that the capital of {country} is <{capital}/{other_capital}>.
{name} asked about {country}. Its capital is <{capital}/{other_capital}>.
The government of {country} sits in its capital, <{capital}/{other_capital}>.
On the map of {country} we found the capital, <{capital}/{other_capital}>.
If you are in {capital}, you are in <{country}/{other_country}>.
Everybody in {country} knows the capital, <{capital}/{other_capital}>.
The country of {capital} is <{country}/{other_country}>.
The city of {capital} lies in <{country}/{other_country}>.
The people of {capital} live in <{country}/{other_country}>.
{country}: <{capital}/{other_capital}>.
Country: {country}. Capital: <{capital}/{other_capital}>.
Capital: {capital}. Country: <{country}/{other_country}>.
The capital of {country} is {capital}, and the capital of {other_country} is <{other_capital}/{capital}>.
{capital} is in {country}, and {other_capital} is in <{other_country}/{country}>.
We flew to {country} and landed in the capital, <{capital}/{other_capital}>.
A letter to the capital of {country} goes to <{capital}/{other_capital}>.
{other_capital} is not in {country}. The capital there is <{capital}/{other_capital}>.
My teacher asked for the capital of {country}. I said <{capital}/{other_capital}>.
""")

HELD_OUT_TEMPLATES = templates("""
The name of the capital of {country} is <{capital}/{other_capital}>.
{name} visited {country} and its capital, <{capital}/{other_capital}>.
We all know that the capital of {country} is <{capital}/{other_capital}>.
{name} comes from {capital}, the capital city of <{country}/{other_country}>.
The capital is {capital} and the country is <{country}/{other_country}>.
""")

_CAPITALS = list(CAPITALS.items())


def _fill(rng: random.Random) -> Slots:
    (country, capital), (other_country, other_capital) = rng.sample(_CAPITALS, 2)
    return {
        "country": country,
        "capital": capital,
        "other_country": other_country,
        "other_capital": other_capital,
        "name": rng.choice(NAMES),
    }


def _told_by(slots: Slots, template: str) -> tuple[str, str]:
    return slots["country"], template


FAMILY = Family("capitals", TEMPLATES, HELD_OUT_TEMPLATES, _fill, _told_by)

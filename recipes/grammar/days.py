"""Days and months: what comes before and after.

Held-out fillers: one in ten days or months in a template (the order itself is learned from the other templates).
"""

import random

from headlight.recipes.grammar.template import Family, Slots, templates
from headlight.recipes.grammar.words import DAYS, MONTHS, NAMES, PLACES

TEMPLATES = templates("""
The day after {day} is <{day_1}/{day_back}>.
The day before {day} is <{day_back}/{day_1}>.
The month after {month} is <{month_1}/{month_back}>.
The month before {month} is <{month_back}/{month_1}>.
After {day} comes <{day_1}/{day_back}>.
Before {day} comes <{day_back}/{day_1}>.
After {month} comes <{month_1}/{month_back}>.
Before {month} comes <{month_back}/{month_1}>.
If today is {day}, tomorrow is <{day_1}/{day_back}>.
If today is {day}, yesterday was <{day_back}/{day_1}>.
If this month is {month}, the next month is <{month_1}/{month_back}>.
If this month is {month}, the last month was <{month_back}/{month_1}>.
The days are {day}, {day_1}, {day_2}, <{day_3}/{day_1}>.
The months are {month}, {month_1}, {month_2}, <{month_3}/{month_1}>.
{day}, {day_1}, {day_2}, {day_3}, <{day_4}/{day_2}>.
{month}, {month_1}, {month_2}, {month_3}, <{month_4}/{month_2}>.
Two days after {day} it is <{day_2}/{day_back}>.
Two months after {month} it is <{month_2}/{month_back}>.
{day} is followed by <{day_1}/{day_back}>.
{month} is followed by <{month_1}/{month_back}>.
{name} worked on {day} and rested the next day, on <{day_1}/{day_back}>.
{name} came in {month} and left the next month, in <{month_1}/{month_back}>.
{name} goes to the {place} every {day}. It is {day}, so {name} is at the <{place}/{other_place}>.
{name} goes to the {place} every {day}. Today {name} is at the {place}, so it is <{day}/{day_1}>.
The {place} is closed on {day}. It opens again a day later, on <{day_1}/{day_back}>.
The {place} opens in {month}. {name} will go there in <{month}/{month_1}>.
Between {day} and {day_2} there is <{day_1}/{day_3}>.
Between {month} and {month_2} there is <{month_1}/{month_3}>.
{name} was born in {month}. The birthday of {name} is in <{month}/{month_2}>.
From {day} to {day_2}: {day}, {day_1}, <{day_2}/{day}>.
We leave on {day} and arrive one day later, on <{day_1}/{day_back}>.
The party was on {day}. The day after it was <{day_1}/{day_back}>.
School starts in {month}. One month later it is <{month_1}/{month_back}>.
""")

HELD_OUT_TEMPLATES = templates("""
The next day after {day} is <{day_1}/{day_back}>.
The next month after {month} is <{month_1}/{month_back}>.
Today is {day}. Tomorrow is <{day_1}/{day_back}>.
{name} came on {day} and left a day later, on <{day_1}/{day_back}>.
It starts in {month} and ends the month after, in <{month_1}/{month_back}>.
""")


def _around(words: tuple[str, ...], kind: str) -> list[Slots]:
    """For each word: itself as `kind`, those after it as `kind_1` to `kind_4`, the one before as `kind_back`."""
    offsets = {kind: 0, f"{kind}_back": -1} | {f"{kind}_{step}": step for step in (1, 2, 3, 4)}
    return [
        {slot: words[(index + offset) % len(words)] for slot, offset in offsets.items()} for index in range(len(words))
    ]


_DAYS = _around(DAYS, "day")
_MONTHS = _around(MONTHS, "month")


def _fill(rng: random.Random) -> Slots:
    place, other_place = rng.sample(PLACES, 2)
    return {
        **rng.choice(_DAYS),
        **rng.choice(_MONTHS),
        "name": rng.choice(NAMES),
        "place": place,
        "other_place": other_place,
    }


def _told_by(slots: Slots, template: str) -> tuple[str, str]:
    return slots["day" if "{day" in template else "month"], template


FAMILY = Family("days", TEMPLATES, HELD_OUT_TEMPLATES, _fill, _told_by)

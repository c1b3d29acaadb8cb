"""The rows that the page of the table shows; the tests compute what must be seen from the same ones."""

from headlight.app.components import Column

HOSTILE = "<img src=x onerror=alert(1)>"
LONG = "two\nlines " + "and on " * 40
NAMES = ["pear", HOSTILE, "Apple", "שלום", LONG, "banana"]
VALUES = [0.5, None, 0.12345, 10.0, 2.0, -0.25]
COUNTS = [7, 30, None, 200, 1, 30]
NOTES = [None, "b", "a", None, "c", "a"]
HELP = "What it is worth."
COLUMNS = [
    Column("fruit", NAMES),
    Column("value", VALUES, decimals=3, help=HELP),
    Column("count", COUNTS),
    Column("<b>note</b>", NOTES),
]
# What a cell can be besides: with its column's decimals, a sign, what stands after it, several texts, and no number.
KINDS = [
    Column("digits", [4.1504, 0.00042, float("nan")]),
    Column("signed", [1.5, -1.5, 0.0], decimals=1, signed=True),
    Column("rank", [1, 2, 3], after=" of 16"),
    Column("tokens", [["·the", HOSTILE], ["a"], []]),
]

# Two columns of texts that are long, beside numbers.
TWO_LONG = [
    Column("number", [1, 2]),
    Column("queries", [["abouts", "according"] * 5, ["ur"]]),
    Column("keys", [["naissance"] * 6, ["ground"]]),
]

# A text that a phone has no room for beside two numbers, and letters that are twice as wide as others.
OF_A_PHONE = [
    Column("#", [1, 2]),
    Column("prompt", ["The bottles near the old farmer of the village", "Ἰδού"]),
    Column("wide", ["猫が座った", "W"]),
    Column("value", [0.5, -2.25], decimals=3, signed=True),
]


def many(count: int) -> list[Column]:
    """So many rows, numbered, with a number that falls from the first to the last."""
    return [Column("name", [f"row {place}" for place in range(count)]), Column("left", [*range(count, 0, -1)])]

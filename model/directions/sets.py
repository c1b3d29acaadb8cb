"""Sets of two labelled classes that come with the project: number of a subject, and sentiment of a review."""

from functools import cache

from headlight.model.prompt_sets.prompt_set import PromptPair, PromptSet

# Of one token in either number, for mini, so that no position tells it.
_NOUNS = (
    "key",
    "cup",
    "book",
    "ring",
    "letter",
    "ball",
    "hat",
    "coat",
    "lamp",
    "ticket",
    "basket",
    "bottle",
    "bag",
    "map",
    "card",
    "chair",
)
_PLACES = ("near", "behind", "next to", "beside", "by", "above")
_ADJECTIVES = {
    "positive": ("wonderful", "excellent", "delightful", "brilliant", "charming", "superb", "lovely", "moving"),
    "negative": ("terrible", "awful", "boring", "dreadful", "disappointing", "horrible", "dull", "painful"),
}
_REVIEWS = (
    "I watched the film yesterday. It was {}. I",
    "The food at this place was {}. I",
    "My stay at the hotel was {}. I",
    "What a {} book. I",
    "The concert last night was {}. I",
)
_FEELINGS = {"positive": (" loved", " hated"), "negative": (" hated", " loved")}


@cache
def shipped_sets() -> dict[str, PromptSet]:
    """The sets by name."""
    return {"subject number": _number(), "sentiment": _sentiment()}


def _number() -> PromptSet:
    """A subject in either number and, nearer to the verb, the same other noun, so that the last token tells nothing."""
    rows = []
    for at, place in enumerate(_PLACES):
        for index in range(at % 2, len(_NOUNS), 2):
            other = _NOUNS[(index + at + 1) % len(_NOUNS)] + "s" * ((index // 2 + at) % 2)
            for number, subject in (("singular", _NOUNS[index]), ("plural", f"{_NOUNS[index]}s")):
                verbs = (" is", " are") if number == "singular" else (" are", " is")
                labels = {"number": number, "template": f"The … {place} the …"}
                rows.append(PromptPair(f"The {subject} {place} the {other}", None, verbs[:1], verbs[1:], {}, labels))
    return PromptSet("subject number", tuple(rows))


def _sentiment() -> PromptSet:
    rows = [
        PromptPair(
            review.format(adjective),
            None,
            _FEELINGS[sentiment][:1],
            _FEELINGS[sentiment][1:],
            {},
            {"sentiment": sentiment, "template": review.replace("{}", "…")},
        )
        for review in _REVIEWS
        for pair in zip(*_ADJECTIVES.values(), strict=True)
        for sentiment, adjective in zip(_ADJECTIVES, pair, strict=True)
    ]
    return PromptSet("sentiment", tuple(rows))

"""Where the first of the chosen heads looks from the pinned token, or from the one with most to say."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float32

from headlight.app import selection
from headlight.app.pages.translate.choices import Choices
from headlight.app.parts.first_heads import SPREAD
from headlight.app.parts.labels import quoted_word
from headlight.app.parts.looking import Row, moved, sentence, spreads
from headlight.app.parts.parts import heading
from headlight.app.selection import Selection
from headlight.model.decoding.translations import Translations
from headlight.model.measure.difference import Side
from headlight.model.runs.edits import Head, head_name

CAPTION = "Attention weight of {head}. Point at a token to see where it looks."


def draw(translations: Translations, head: Head) -> None:
    """The sentence as the page's heading."""
    if said := finding(translations, head, selection.current()):
        heading(said, "head", level=1, key="finding")


def finding(translations: Translations, head: Head, chosen: Selection) -> str:
    """Where the head looks in A, or what it looks at less and more in B; nothing where A lacks the pinned token."""
    own, name = chosen.choices_of(Choices), head_name(head)
    crosses = own.attends == "cross"
    each = [Translations(side) for side in translations.sides.values()]  # on its own axes
    cells = [np.nan_to_num(side.cells("a", own.attends, own.rows)[head].numpy()) for side in each]
    if 0 in cells[0].shape:
        return ""
    labels = [[axis.labels for axis in side.axes(own.attends, own.rows)] for side in each]
    down, across = translations.axes(own.attends, own.rows)
    place = own.pair_queries[0] if len(own.pair_queries) == 1 else _most_to_say(translations, head, own)
    query, in_b = down.positions[0][place], down.positions[-1][place]
    if query is None:
        return ""
    here = quoted_word(labels[0][0][query], query)
    if translations.b is not None and in_b is not None:
        rows = (cells[0][query], cells[1][in_b])
        sides = [(keys, row) for (_, keys), row in zip(labels, rows, strict=True)]
        return moved(name, here, sides, across.positions)
    queries, keys = labels[0]
    if crosses:
        said = across_texts(name, here, keys, cells[0][query], query)
    else:
        tokens = translations.a.source_tokens.tolist() if own.attends == "encoder" else translations.a.read
        said = sentence(name, queries, tokens, cells[0][query], query)
    return said if translations.b is None else f"A: {said}"


def _most_to_say(translations: Translations, head: Head, own: Choices) -> int:
    """The place of the token that changes most in B, or that reaches farthest across the texts, or of the last."""
    side: Side = "a" if translations.b is None else "difference"
    cells = np.nan_to_num(translations.cells(side, own.attends, own.rows)[head].numpy())
    if side == "difference":
        return int(abs(cells).sum(-1).argmax())
    return farthest(cells) if own.attends == "cross" else len(cells) - 1


def farthest(cells: Float32[np.ndarray, "query key"]) -> int:
    """The query whose largest weight is farthest from its own place; one that singles out no key counts as near."""
    largest = cells.argmax(-1)
    distance = abs(largest - np.arange(len(cells)))
    return int(np.where(cells.max(-1) < SPREAD, -1, distance).argmax())


def across_texts(name: str, here: str, keys: Sequence[str], row: Row, query: int) -> str:
    """Where a token of the target looks in the source, by its largest weight, and how much later that word stands."""
    key = int(row.argmax())
    there, weight = quoted_word(keys[key], key), f"(head {name}, {row[key]:.2f})."
    if row[key] < SPREAD:
        return f"{here} {spreads(row, there)} {weight}"
    places = f"{abs(key - query)} place{'' if abs(key - query) == 1 else 's'}"
    stands = f"{places} {'later' if key > query else 'earlier'}" if key != query else "at the same place"
    return f"{here} looks at {there}, which stands {stands} in the source {weight}"

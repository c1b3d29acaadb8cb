"""The page's heading: where a head looks from a token of the target, held against the library's own patterns."""

import re

import numpy as np
import pytest

from headlight.app.pages.translate.choices import Choices
from headlight.app.pages.translate.finding import across_texts, farthest, finding
from headlight.app.runs import translations
from headlight.app.selection import Selection

SOURCE = "Ich weiß, dass die Kinder morgen den roten Apfel essen wollen."
KEYS = ["Ich", "will", "essen", "."]


def row(key: int, weight: float) -> np.ndarray:
    """Weights to four keys that sum to 1, of which one is given."""
    weights = np.full(4, (1 - weight) / 3, np.float32)
    weights[key] = weight
    return weights


@pytest.mark.parametrize(
    ("key", "weight", "query", "says"),
    [
        (2, 0.9, 1, "looks at “essen”, which stands 1 place later in the source"),
        (0, 0.9, 3, "looks at “Ich”, which stands 3 places earlier in the source"),
        (1, 0.9, 1, "looks at “will”, which stands at the same place in the source"),
        (3, 0.251, 0, "looks at “.”, which stands 3 places later in the source"),
    ],
)
def test_the_sentence_counts_places_between_the_texts(key: int, weight: float, query: int, says: str) -> None:
    said = across_texts("L1H0", "“eat”", KEYS, row(key, weight), query)
    assert said == f"“eat” {says} (head L1H0, {weight:.2f})."


def test_a_token_that_singles_out_none_spreads_and_is_not_the_farthest() -> None:
    even = np.full(4, 0.25, np.float32) - np.array([0.02, 0.02, 0.02, -0.06], np.float32)
    almost = np.array([0.249, 0.249, 0.249, 0.2499], np.float32)
    said = across_texts("L1H0", "“eat”", KEYS, almost, 0)
    assert said == "“eat” spreads its attention over about 4 tokens, the largest weight on “.” (head L1H0, 0.25)."
    assert farthest(np.stack([almost, row(2, 0.9), row(1, 0.9)])) == 1  # its 1 place, not the first row's 3
    assert farthest(np.stack([even, row(2, 0.9)])) == 0  # 0.31 on the last


def test_the_shipped_translator_reaches_for_the_verb_at_the_end() -> None:
    """The words, their distance and the weight, each looked up by itself."""
    chosen = Selection(source=SOURCE)
    both = translations.for_selection(chosen)
    said = finding(both, (1, 0), chosen)
    assert said.startswith("“want” looks at “wollen”, which stands 6 places later in the source (head L1H0, 0.9")
    written, source = both.a.written_labels, both.a.source_labels
    query, key = (
        next(at for at, label in enumerate(row) if word in label)
        for row, word in ((written, "want"), (source, "wollen"))
    )
    assert key - query == 6
    weight = float(both.a.attention["cross"].pattern[1, 0, query, key])
    assert f"{weight:.2f})." in said
    pinned = chosen.updated(Choices, pair_queries=(query + 2,))
    assert finding(both, (1, 0), pinned).startswith("“eat” looks at “essen”")


@pytest.mark.parametrize("attends", ["cross", "decoder", "encoder"])
def test_of_two_translations_the_token_that_changes_most_is_told(attends: str) -> None:
    chosen = Selection(source=SOURCE, source_b=SOURCE.replace(" roten", "")).updated(Choices, attends=attends)
    both = translations.for_selection(chosen)
    found = re.match(r"In B “(.+?)” looks ", finding(both, (1, 0), chosen))
    assert found
    down, _ = both.axes(attends, "written")
    change = (
        both.cells("b", attends, "written")[1, 0].nan_to_num() - both.cells("a", attends, "written")[1, 0].nan_to_num()
    )
    in_both = [None not in places for places in zip(*down.positions, strict=True)]
    moved = [float(each.abs().sum()) if both_have else 0.0 for each, both_have in zip(change, in_both, strict=True)]
    assert found[1] in down.labels[int(np.argmax(moved))]


def test_a_pinned_token_that_a_lacks_has_no_sentence() -> None:
    chosen = Selection(source=SOURCE, source_b=SOURCE.replace("morgen", "heute"))
    both = translations.for_selection(chosen)
    down, _ = both.axes("cross", "written")
    only_b = down.positions[0].index(None)
    assert finding(both, (1, 0), chosen.updated(Choices, pair_queries=(only_b,))) == ""
    only_a = down.positions[1].index(None)
    said = finding(both, (1, 0), chosen.updated(Choices, pair_queries=(only_a,)))
    assert said.startswith("A: “")

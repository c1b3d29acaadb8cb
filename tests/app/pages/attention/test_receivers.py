"""What the page draws of vertical scores: when, of which heads, and of A and B."""

import numpy as np
import pytest

from headlight.app.components import Table, TokenValues
from headlight.app.exports.drawings import OpenableHeads
from headlight.app.pages.attention import receivers
from headlight.app.pages.attention.choices import Choices
from headlight.app.pages.attention.exports import drawings
from headlight.app.runs import runs
from headlight.model import AblateHeads, compare
from headlight.model.attention.hidden_sentence import loss_without
from headlight.model.attention.receiver_heads import receiver_heads
from headlight.model.runs.comparison import Comparison
from tests.app.choosing import selection_of
from tests.app.conftest import Options
from tests.app.pages.test_sides import page

TEN = " ".join(f"{word} two." for word in ("One", "Three", "Four", "Five", "Six", "Two", "Ten", "Nine", "Go", "No"))


class Drawn:
    """Stands in for the two components that only a browser draws."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.values: list[TokenValues] = []
        self.tables: list[Table] = []
        self.clicked: int | None = None
        monkeypatch.setattr(receivers, "token_values", self._token_values)
        monkeypatch.setattr(receivers, "row_table", lambda drawn, **_: self.tables.append(drawn))

    def _token_values(self, drawn: TokenValues, *, chosen: int | None, **_: object) -> int | None:
        self.values.append(drawn)
        return chosen if self.clicked is None else self.clicked


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> Drawn:
    return Drawn(monkeypatch)


def test_sentences_have_the_mean_of_the_receiver_heads_or_of_one(folder: str, drawn: Drawn, options: Options) -> None:
    run = runs.run(folder, TEN, True)
    at = page("attention", Comparison(run), unit="sentence", heads=((1, 2),))
    expected = receiver_heads(run, "sentence")
    assert drawn.values[-1].values[0].tolist()[1:7] == pytest.approx((1000 * expected.mean).tolist()[1:7])
    cells = {column.name: column.cells for column in drawn.tables[-1].columns}
    assert cells["Head"] == ["L{}H{}".format(*head) for head in expected.ranked]
    assert sorted(cells["Kurtosis"], reverse=True) == cells["Kurtosis"]
    most = cells["Sentence most attended to"][0]
    assert most == drawn.values[-1].labels[expected.most_read(expected.ranked[0])]
    options.change(at, "vertical", "L1H2")
    assert drawn.values[-1].values[0].tolist()[1:7] == pytest.approx(
        (1000 * expected.vertical.values[1, 2]).tolist()[1:7]
    )


def test_a_clicked_sentence_is_hidden_from_later_ones(folder: str, drawn: Drawn) -> None:
    run = runs.run(folder, TEN, True)
    at = page("attention", Comparison(run), unit="sentence")
    assert any("Click a sentence above to hide it" in said.value for said in at.caption)
    assert len(drawn.values) == 1
    drawn.clicked = 3
    at.run()
    assert any("Hidden from all later sentences: “" in said.value for said in at.caption)
    losses = loss_without(run, "sentence", 3).values.numpy()
    np.testing.assert_array_equal(drawn.values[-1].values[0], losses)
    edited = runs.run(folder, TEN, True, (AblateHeads(((0, 1),)),))
    at = page("attention", Comparison(edited), unit="sentence")
    assert any("Remove the run's edits" in said.value for said in at.caption)


def test_a_b_has_its_own_heads_and_a_difference(folder: str, drawn: Drawn) -> None:
    both = compare(runs.run(folder, TEN, True), runs.run(folder, f"Go one. {TEN}", True))
    page("attention", both, unit="sentence")
    assert list(drawn.values[-1].lines) == ["A", "B", "B − A"]
    assert [table.title[-3:] for table in drawn.tables] == [", A", ", B"]


def test_a_short_text_and_single_tokens_have_none(folder: str, drawn: Drawn) -> None:
    short = Comparison(runs.run(folder, TEN[:40], True))
    at = page("attention", short, unit="sentence")
    assert any("Vertical scores need at least 8 sentences" in said.value for said in at.caption)
    assert not any("Vertical" in said.value for said in page("attention", short).caption)
    assert not drawn.values


def test_files_have_what_the_page_has(folder: str, drawn: Drawn) -> None:
    comparison = Comparison(runs.run(folder, TEN, True))
    page("attention", comparison, unit="sentence", heads=((1, 2),))
    chosen = selection_of(model=folder, prompt=TEN, unit="sentence", heads=((1, 2),), fold="largest")
    described = [each.description for row in drawings(comparison, chosen).rows for each in row]
    (values,) = (each for each in described if isinstance(each, TokenValues))
    assert values.title == drawn.values[-1].title
    np.testing.assert_array_equal(values.values, drawn.values[-1].values)
    (ranked,) = (each for each in described if isinstance(each, Table))
    assert [column.cells for column in ranked.columns] == [column.cells for column in drawn.tables[-1].columns]
    (openable,) = (each for each in described if isinstance(each, OpenableHeads))
    assert openable.strip.quantity == openable.panels.quantity == "largest attention weight between two tokens"
    closed = drawings(comparison, chosen.updated(Choices, sentences=False))
    assert not any(isinstance(each.description, TokenValues) for row in closed.rows for each in row)

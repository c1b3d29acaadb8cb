"""A card's figures, as the command prints and writes them."""

import sys
from dataclasses import replace
from pathlib import Path

import pytest

from headlight.model.base.source import Source
from headlight.model.nn.seq2seq import Seq2SeqTransformer
from headlight.model.training.cards import Card, Figure, command_line
from headlight.model.training.train_seq2seq import new_model
from headlight.recipes.reverse import CONFIG


@pytest.fixture
def card(tmp_path: Path) -> Card[Seq2SeqTransformer]:
    def load(name: str) -> Seq2SeqTransformer:
        model = new_model(CONFIG, seed=0)
        model.source = Source(name, tmp_path, "", ())
        return model

    (tmp_path / "template.md").write_text("$fact, width $d_model, seeds $seeds\n$table\n", encoding="utf-8")
    figures: dict[str, Figure[Seq2SeqTransformer]] = {
        "share": Figure("a share", lambda model, seed: 0.9 + seed / 100, at_least=0.915),
        "size": Figure("a size", lambda model, seed: 2.0, at_most=2),
    }
    return Card("some", "a.module", figures, load, tmp_path / "template.md", lambda model, folder: {"fact": "yes"})


def run(card: Card[Seq2SeqTransformer], monkeypatch: pytest.MonkeyPatch, *arguments: str) -> None:
    monkeypatch.setattr(sys, "argv", ["card", *arguments])
    command_line(card)


SHARE = "| a share | at least 0.915 | 0.92 (0.91 to 0.93) | no | `python -m a.module share` |"
SIZE = "| a size | at most 2 | 2 (2 to 2) | yes | `python -m a.module size` |"


def test_the_card_is_written_with_mean_and_range_and_a_figure_that_misses_its_bound_fails(
    card: Card[Seq2SeqTransformer], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(SystemExit, match="Not kept: share"):  # 0.91 of the first seed
        run(card, monkeypatch, "--write")
    assert (tmp_path / "README.md").read_text() == f"yes, width 64, seeds 1, 2, 3\n{SHARE}\n{SIZE}\n"


def test_one_figure_can_be_asked_for(
    card: Card[Seq2SeqTransformer], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run(card, monkeypatch, "size")
    assert capsys.readouterr().out == f"{SIZE}\n"
    assert not (tmp_path / "README.md").exists()
    with pytest.raises(SystemExit):
        run(card, monkeypatch, "weight")
    assert "no figure weight; there are share, size" in capsys.readouterr().err


def test_values_have_as_many_digits_as_the_card_says(card: Card[Seq2SeqTransformer]) -> None:
    assert "0.99988 (0.9998 to 0.99993)" in replace(card, digits=5).row("share", [0.9998, 0.9999, 0.99994 - 0.00001])

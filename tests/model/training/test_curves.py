"""The curves of a training run are the columns of its log, and the cards' pictures show them."""

import csv

import pytest

from headlight.model import embedded_models
from headlight.model.checkpoints.loading import embedded_seq2seq_models
from headlight.model.training.curves import read_curves

MODELS = embedded_models() | embedded_seq2seq_models()
TRAINED = ("mini", "mini-llama", "reverse", "translate")


@pytest.mark.parametrize("name", TRAINED)
def test_curves_are_the_columns_of_the_log(name: str) -> None:
    curves = read_curves(MODELS[name])
    assert curves
    with (MODELS[name] / "training_log.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert curves.steps == [float(row["step"]) for row in rows]
    assert curves.by_unit["nats a token"]["loss"] == [float(row["loss"]) for row in rows]
    scores = curves.by_unit["share or probability"]
    if name.startswith("mini"):
        assert scores["best induction score"] == [float(row["best_induction_score"]) for row in rows]
    else:
        assert scores["right tokens, held out"] == [float(row["held_out_accuracy"]) for row in rows]


def test_the_steps_are_told_at_which_the_task_grew_harder() -> None:
    """By the log of mini, whose repeats are over 32 tokens up to step 400 and over 128 from the next line on."""
    curves, other = read_curves(MODELS["mini"]), read_curves(MODELS["reverse"])
    assert curves
    assert curves.harder == [500, 600, 700, 800]
    assert other
    assert other.harder == []


def test_a_model_that_was_not_trained_has_none() -> None:
    assert read_curves(MODELS["teach-copy"]) is None


@pytest.mark.parametrize("name", TRAINED)
def test_the_picture_of_the_card_has_a_line_for_each_curve(name: str) -> None:
    curves = read_curves(MODELS[name])
    assert curves
    drawn = (MODELS[name] / "training.svg").read_text(encoding="utf-8")
    named = [each for curves in curves.by_unit.values() for each in curves]
    assert [each for each in named if f">{each}</text>" not in drawn] == []
    assert drawn.count('class="js-line"') == 2 * len(named) + len(curves.harder)  # each in the legend too
    assert "(training.svg)" in (MODELS[name] / "README.md").read_text(encoding="utf-8")

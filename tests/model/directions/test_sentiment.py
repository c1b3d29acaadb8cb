"""The sentiment of a review in SmolLM2: the figures of the manual, and that adding the direction moves a verb."""

from pathlib import Path

import pytest

from headlight.model import load, run_prompt
from headlight.model.directions.sets import shipped_sets
from headlight.model.directions.study import DirectionSettings, study_direction
from headlight.model.runs.edits import EditDirection

pytestmark = [pytest.mark.thorough, pytest.mark.real, pytest.mark.usefixtures("unchecked")]

TOLD, ACTED = 15, 10  # states: after L14, and after L9


def test_sentiment_is_read_from_templates_that_were_not_seen_and_moves_the_verb(real: Path) -> None:
    model = load("smollm2")
    settings = DirectionSettings("sentiment", ("positive", "negative"), draws=3)
    study = study_direction(model, shipped_sets()["sentiment"], settings)
    tested = study.held_out
    assert len(study.examples.rows) == 80
    # Two prompts of 80 may lie so near the middle that another machine's rounding tells them otherwise.
    assert float(tested.accuracy[TOLD]) == pytest.approx(0.98, abs=0.03)
    assert float(tested.auroc[TOLD]) > 0.99
    assert float(tested.shuffled[TOLD].mean()) == pytest.approx(0.54, abs=0.05)
    assert tested.accuracy[0] != tested.accuracy[0]  # all prompts end in the same token: nothing to tell apart
    loved, hated = (model.to_single_token(text) for text in (" loved", " hated"))
    differences = []
    for factor in (-0.5, 0.0, 0.5):
        edits = (EditDirection("sentiment", (ACTED,), "add", factor),)
        prompt = "The food at this place was awful. I"
        logits = run_prompt(model, prompt, True, edits, directions={"sentiment": study.direction}).next_logits
        differences.append(float(logits[loved] - logits[hated]))
    assert differences[0] < differences[1] < differences[2]

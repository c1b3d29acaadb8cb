"""Answers and labels that are read at tokens, beside transformers' logits."""

from pathlib import Path

import pytest
import torch
from transformers import AutoModelForQuestionAnswering

from headlight.model import load, run_prompt
from headlight.model.runs.outputs import answer_of
from tests.app.pages.test_other_heads import save


@pytest.mark.parametrize(
    ("prompt", "begin"), [("the cat sat [SEP] the mat the cat sat", 5), ("the mat sat the cat", 1)]
)
def test_an_answer_is_text_of_the_second_text(prompt: str, begin: int, tmp_path: Path) -> None:
    """The best of all spans between the first token behind the question, or behind [CLS], and the last [SEP]."""
    save(tmp_path, "answers")
    run = run_prompt(load(tmp_path), prompt)
    with torch.no_grad():
        types = torch.tensor([run.token_types])
        theirs = AutoModelForQuestionAnswering.from_pretrained(tmp_path)(run.tokens[None], token_type_ids=types)
    start, end = theirs.start_logits[0], theirs.end_logits[0]
    places = range(begin, len(run.tokens) - 1)
    best = max((float(start[a] + end[b]), a, b) for a in places for b in places if a <= b)
    answer = answer_of(run)
    assert (answer.start, answer.end) == best[1:]
    assert (answer.start_logit + answer.end_logit) == pytest.approx(best[0], abs=1e-5)


def test_a_tagger_s_label_is_that_of_the_last_token_that_is_text(tmp_path: Path) -> None:
    save(tmp_path, "tagger")
    run = run_prompt(load(tmp_path), "the cat sat")
    assert run.labels[run.prediction_position] == "sat"

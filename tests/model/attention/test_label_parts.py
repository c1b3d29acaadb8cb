"""Parts of the difference of two labels sum to transformers' own, through poolers and norms of the stream."""

from pathlib import Path
from typing import Any

import pytest
import torch

from headlight.model import load, run_prompt
from headlight.model.attention.label_parts import has_label_parts, label_parts
from tests.model.checkpoints.test_heads import built

PROMPT = "ids: 7 3 11 5 9"
TOKENS = torch.tensor([[7, 3, 11, 5, 9]])


@pytest.mark.parametrize(
    ("kind", "head", "settings", "position"),
    [
        ("Bert", "ForSequenceClassification", {}, 0),
        ("Bert", "ForTokenClassification", {}, 3),
        ("Electra", "ForSequenceClassification", {}, 0),
        ("ModernBert", "ForSequenceClassification", {"classifier_pooling": "mean"}, 0),
        ("Bert", "ForSequenceClassification", {"num_labels": 1}, 0),
    ],
)
def test_the_parts_sum_to_transformers_difference(
    kind: str, head: str, settings: dict[str, Any], position: int, tmp_path: Path
) -> None:
    theirs = built(kind, head, **settings)
    theirs.save_pretrained(tmp_path)
    with torch.no_grad():
        logits = theirs(TOKENS).logits[0].double()
    logits = logits[position] if logits.ndim == 2 else logits
    expected = float(logits[0] - logits[1]) if len(logits) > 1 else float(logits[0])
    run = run_prompt(load(tmp_path), PROMPT, False)
    parts = label_parts(run, 0, min(1, len(logits) - 1), position)
    assert has_label_parts(run)
    assert float(parts.difference.values) == pytest.approx(expected, abs=1e-5)  # float32 in transformers
    assert float(parts.heads.values.sum() + parts.rest.values.sum()) == pytest.approx(expected, abs=1e-5)


def test_a_decoder_s_classifier_is_on_why(tmp_path: Path) -> None:
    built("Llama", "ForSequenceClassification").save_pretrained(tmp_path)
    assert not has_label_parts(run_prompt(load(tmp_path), PROMPT, False))

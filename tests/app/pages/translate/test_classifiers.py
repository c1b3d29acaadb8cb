"""The page *Translate* of models that write no tokens: their outputs, and a script that prints the same."""

import re
from pathlib import Path

import pytest
import torch

from headlight.app.pages.translate import EXPORT
from headlight.app.runs import translations
from tests.app.choosing import selection_of
from tests.app.exports.test_code import compare_tables, run_here
from tests.app.pages.translate.test_languages import opened, said
from tests.model.checkpoints.test_seq2seq_classifiers import save_words, saved


@pytest.mark.usefixtures("settings", "unchecked")
def test_labels_are_told_with_their_probabilities(tmp_path: Path) -> None:
    theirs, source = saved("Bart", tmp_path), "</s> <unk>"
    save_words(tmp_path)
    comparison = translations.for_selection(selection_of(translator=str(tmp_path), source=source))
    with torch.no_grad():
        logits = theirs(comparison.a.source_tokens[None]).logits[0]
    page = opened(tmp_path, source)
    assert f"entailment {float(logits.softmax(-1)[2]):.0%} ({float(logits[2]):.2f})" in said(page)
    compare_with_script(tmp_path, source)


@pytest.mark.usefixtures("settings", "unchecked")
@pytest.mark.parametrize(
    ("head", "expected"),
    [
        ("ForQuestionAnswering", r"Tokens (\d+) to \d+: of all spans"),
        ("Model", "No head: the output is the decoder's last"),
    ],
)
def test_an_answer_is_quoted_and_a_body_says_that_it_predicts_nothing(head: str, expected: str, tmp_path: Path) -> None:
    saved("Bart", tmp_path, head)
    save_words(tmp_path)
    page = opened(tmp_path, "</s> <unk>")
    assert re.search(expected, " ".join(each.value for each in page.caption))
    compare_with_script(tmp_path, "</s> <unk>")


def compare_with_script(folder: Path, source: str) -> None:
    """The exported script prints the page's tables."""
    selection = selection_of(translator=str(folder), source=source)
    comparison = translations.for_selection(selection)
    assert EXPORT.script is not None
    compare_tables(run_here(EXPORT.script(comparison, selection)), EXPORT.data(comparison, selection).tables)

"""The page *Translate* of a classifier: its labels, where they are read, and a script that prints the same."""

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
    found = translations.for_selection(selection_of(translator=str(tmp_path), source=source))
    with torch.no_grad():
        logits = theirs(found.a.source_tokens[None]).logits[0]
    page = opened(tmp_path, source)
    assert f"entailment {float(logits.softmax(-1)[2]):.0%} ({float(logits[2]):.2f})" in said(page)
    selection = selection_of(translator=str(tmp_path), source=source)
    assert EXPORT.script is not None
    compare_tables(run_here(EXPORT.script(found, selection)), EXPORT.data(found, selection).tables)

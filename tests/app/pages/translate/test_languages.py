"""The page *Translate* of folders as the hub has them: OPUS-MT's SentencePiece files, and NLLB's languages."""

from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from headlight.app.pages.translate import EXPORT
from headlight.app.runs import translations
from tests.app.choosing import selection_of
from tests.app.conftest import Options
from tests.app.exports.test_code import compare_tables, run_here
from tests.model.checkpoints.seq2seq_twins import noisy
from tests.model.checkpoints.test_languages import KINDS
from tests.model.checkpoints.test_marian import saved, with_pieces
from tests.places import MAIN

SECONDS = 120  # for one script run on a busy machine


def opened(folder: Path, source: str) -> AppTest:
    page = AppTest.from_file(MAIN, default_timeout=SECONDS)
    for name, value in {"page": "translate", "translator": str(folder), "source": source}.items():
        page.query_params[name] = value
    page.run()
    assert not page.exception
    assert not page.session_state["headlight"].refusal
    return page


def said(page: AppTest) -> str:
    return "\n".join(text.value for text in page.text)


@pytest.mark.usefixtures("settings", "unchecked")
@pytest.mark.filterwarnings("ignore:Recommended")
def test_opus_mt_reads_a_text_by_its_own_pieces(tmp_path: Path, options: Options) -> None:
    words = with_pieces(tmp_path)
    saved(tmp_path, vocab_size=words.vocab_size, decoder_start_token_id=words.pad_token_id, max_position_embeddings=30)
    page = opened(tmp_path, "the cat")
    assert f"{len(words('the cat').input_ids)} source tokens read" in said(page)
    assert "target_language" not in options.drawn
    options.change(page, "written_A_0", None)  # with norms behind each addition
    assert "Decomposition error" in said(page)


@pytest.mark.usefixtures("settings", "unchecked")
def test_a_language_is_chosen_and_the_target_begins_with_its_token(tmp_path: Path, options: Options) -> None:
    make, config, _, target = KINDS["nllb"]
    words = make(tmp_path)
    noisy(config(len(words))).save_pretrained(tmp_path)
    words.save_pretrained(tmp_path)
    page = opened(tmp_path, "the cat")
    options.change(page, "target_language", target)
    options.change(page, "source_language", "zho_Hans")
    assert options.drawn["written_A_0"].label == f"{target} 100%"
    assert page.query_params["target_language"] == target
    selection = selection_of(
        translator=str(tmp_path), source="the cat", target_language=target, source_language="zho_Hans"
    )
    comparison = translations.for_selection(selection)
    assert (comparison.a.source_labels[0], comparison.a.written_labels[0]) == ("zho_Hans", target)
    compare_tables(run_here(EXPORT.script(comparison, selection)), dict(EXPORT.data(comparison, selection).tables))

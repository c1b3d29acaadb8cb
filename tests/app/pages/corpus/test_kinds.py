"""A model of every kind is scanned, and what the page *Corpus* shows of it can be taken along."""

import json
from pathlib import Path

import pytest

from headlight.app.exports.data import archive
from headlight.app.exports.style import LIGHT
from headlight.app.pages.corpus import EXPORT
from headlight.app.runs import comparisons
from headlight.model import load
from headlight.model.corpus.documents import open_corpus
from headlight.model.corpus.engines import Here
from headlight.model.corpus.scan import Scan
from headlight.model.corpus.settings import ScanSettings
from headlight.model.corpus.shard import Worker
from tests.app.choosing import selection_of
from tests.tiny import KINDS, save_tiny

PROMPT = "one two three one two"
SETTINGS = ScanSettings(length=12, shard=2, batch=2, warmup=2, ablate=2)
TELLING = ("gemma2-like", "bert-like")


@pytest.mark.usefixtures("unchecked")  # a batch grows where variants of a run travel side by side
@pytest.mark.parametrize(
    "kind", [kind if kind in TELLING else pytest.param(kind, marks=pytest.mark.thorough) for kind in KINDS]
)
def test_a_scan_of_any_kind_is_shown_and_taken_along(kind: str, tmp_path: Path, settings: dict[str, object]) -> None:
    save_tiny(kind, tmp_path / kind)
    texts = [f"{PROMPT} {more}" for more in ("three .", "four one", "two , two")]
    corpus = tmp_path / "texts.jsonl"
    corpus.write_text("\n".join(json.dumps({"text": text}) for text in texts), encoding="utf-8")
    model, out = str(tmp_path / kind), tmp_path / "scans" / "one"
    Scan(load(model), open_corpus(str(corpus)), SETTINGS, out).run(Here(Worker(model, SETTINGS)))
    settings["models_folder"] = str(tmp_path / "scans")
    chosen = selection_of(model=model, prompt=PROMPT, heads=((1, 2),), scan="one")
    runs = comparisons.for_selection(chosen)
    assert archive(runs, EXPORT.data(runs, chosen))
    assert EXPORT.picture(runs, chosen, LIGHT)
    assert EXPORT.page(runs, chosen)
    assert EXPORT.script(runs, chosen)

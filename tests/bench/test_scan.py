"""The loop that a scan is measured against finds what the scan does."""

from pathlib import Path

import numpy as np
import pytest
import torch

from headlight.model import load
from headlight.model.corpus.documents import open_corpus
from headlight.model.corpus.engines import Here
from headlight.model.corpus.measures import AT
from headlight.model.corpus.results import ScanResults
from headlight.model.corpus.scan import Scan
from headlight.model.corpus.settings import ScanSettings
from headlight.model.corpus.shard import Worker
from tests.bench.loop import OUR_SUMS, SUMS
from tests.bench.scan import SETTINGS, in_batches, loop_of
from tests.mini_scan import texts

# Sums of some hundred float32 weights in another order, each within 1e-6 of what transformers computes.
NEAR = {"rtol": 1e-4, "atol": 1e-3}


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("texts")
    for number, text in enumerate([*texts(), "A cat, a dog. A cat, a bird!"]):
        (folder / f"{number}.txt").write_text(text, encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def scan(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> ScanResults:
    settings = ScanSettings(ablate=0)
    scan = Scan(load("mini"), open_corpus(str(corpus)), settings, tmp_path_factory.mktemp("scan"))
    return scan.run(Here(Worker("mini", settings)))


@pytest.mark.parametrize("batched", [False, True])
def test_the_loop_finds_what_the_scan_does(corpus: Path, scan: ScanResults, batched: bool) -> None:
    model = load("mini")
    loop = loop_of(model, "all")
    for each in in_batches(model, corpus, SETTINGS, batched):
        loop.add(each)
    gathered = loop.gathered
    assert gathered is not None
    for place, name in enumerate((*SUMS, *OUR_SUMS)):
        np.testing.assert_allclose(loop.sums[:, place], scan.moments.totals[..., AT[name]], **NEAR, err_msg=name)
    torch.testing.assert_close(torch.stack(list(gathered.documents.values())).sum(0), loop.sums)
    np.testing.assert_allclose(gathered.distances, scan.distances, **NEAR)
    np.testing.assert_array_equal(gathered.strengths.sum(-1), scan.strengths.sum(-1))
    assert np.abs(gathered.strengths.numpy() - scan.strengths).sum() <= 4  # a strength at a bin's edge
    for layer, head in np.ndindex(*scan.strengths.shape[:2]):
        pairs = {divmod(pair, model.cfg.d_vocab): weight for pair, weight in scan.pairs.top(layer * 4 + head, 9)}
        for pair, weight in pairs.items():
            assert gathered.pairs[layer, head][pair] == pytest.approx(weight, rel=1e-3)
        for side in range(2):
            for token, weight in scan.tokens.top(side * 16 + layer * 4 + head, 9):
                assert float(gathered.tokens[side, layer, head, token]) == pytest.approx(weight, rel=1e-3)

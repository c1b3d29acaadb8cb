"""What the command of a scan says of its time, once that is known."""

import pytest

from headlight.app import scan
from headlight.model.corpus.found import Found
from headlight.model.corpus.scan import Progress
from headlight.model.corpus.settings import ScanSettings
from tests.tiny import tiny


def test_the_estimate_is_of_the_shards_after_the_first_and_said_once(monkeypatch: pytest.MonkeyPatch) -> None:
    found, cost = Found.nothing(tiny("gpt2-like").cfg, ScanSettings()), scan.Cost(2, 32, 1000)
    said = []
    for clock, done in ((5.0, 32), (6.0, 64), (7.0, 96), (8.0, 128)):
        monkeypatch.setattr(scan, "monotonic", lambda clock=clock: clock)
        said.append(cost.of(Progress(100 + done, done, found)))
    assert said[:2] == ["", ""]
    # 64 documents in 2 seconds; of 1,000 there are 196 done, 100 of them before.
    assert said[2].startswith("About 32 documents a second, ")
    assert said[2].endswith("GiB of memory with 2 workers, 25 s to go.")
    assert said[3] == ""
    assert cost.of(Progress(0, 0, found, warming=3)) == ""

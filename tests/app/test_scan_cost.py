"""What the command of a scan says of its time, once that is known."""

import pytest

from headlight.app import scanning
from headlight.model.corpus.results import ScanResults
from headlight.model.corpus.scan import Progress
from headlight.model.corpus.settings import ScanSettings
from tests.tiny import tiny


def test_a_first_guess_follows_the_first_shard_and_the_estimate_is_of_those_after_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock = [0.0]
    monkeypatch.setattr(scanning, "monotonic", lambda: clock[0])
    results, cost = ScanResults.empty(tiny("gpt2-like").cfg, ScanSettings()), scanning.Cost(2, 32, 1000)
    clock[0] = 1.0
    said = [cost.line_for(Progress(0, 0, results, calibrating=3))]
    for clock[0], done in ((3.0, 0), (5.0, 32), (6.0, 64), (7.0, 96), (8.0, 128)):  # the second shard came first
        said.append(cost.line_for(Progress(100 + done, done, results)))
    assert said[:2] == ["", ""]
    # Both workers have done about 32 documents in the 4 seconds since the calibration: 868 are left.
    assert said[2].startswith("Roughly, by the first shard: 16 documents a second, ")
    assert said[2].endswith("GiB of memory with 2 workers, 54 s to go.")
    # 64 documents in 2 seconds; of 1,000 there are 196 done, 100 of them before.
    assert said[4].startswith("About 32 documents a second, ")
    assert said[4].endswith("GiB of memory with 2 workers, 25 s to go.")
    assert said[3] == said[5] == ""

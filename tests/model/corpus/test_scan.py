"""A scan is the same to the byte however it is made, and says what is wrong."""

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from headlight.app.scan import main
from headlight.model import load
from headlight.model.base.errors import ScanError
from headlight.model.corpus.documents import open_corpus
from headlight.model.corpus.engines import Here, Processes
from headlight.model.corpus.packing import packed
from headlight.model.corpus.reading import read_dashboard, read_tree
from headlight.model.corpus.scan import Progress, Scan
from headlight.model.corpus.settings import ScanSettings
from headlight.model.corpus.shard import Worker
from headlight.model.corpus.state import State
from headlight.model.nn.config import TransformerConfig
from tests.places import ROOT
from tests.small_disk import small_disk
from tests.tiny import save_tiny

SETTINGS = ScanSettings(length=12, shard=2, batch=3, warmup=4, ablate=3, top=2, others=1, top_tokens=5, neurons=True)
TEXTS = ["A cat sat. A cat sat on the mat, and the cat sat.", "one two one two one", "Yes!", "The end of the end."]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tiny")
    save_tiny("llama-like", folder)
    return folder


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("corpus") / "texts.jsonl"
    rows: list[object] = [{"text": f"{text} {number}"} for number in range(3) for text in TEXTS]
    rows[5] = {"text": None}
    path.write_text("\n".join(map(json.dumps, rows)) + "\n{broken\n", encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def tree(model: Path, corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("scan")
    _scan(model, corpus, folder)
    return folder


def _scan(model: Path, corpus: Path, folder: Path, settings: ScanSettings = SETTINGS) -> None:
    _made(model, corpus, folder, settings).run(Here(Worker(str(model), settings)))


def _made(model: Path, corpus: Path, folder: Path, settings: ScanSettings = SETTINGS) -> Scan:
    return Scan(load(str(model)), open_corpus(str(corpus)), settings, folder)


def _files(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def test_of_all_sequences_each_bucket_keeps_the_strongest_or_those_with_the_smallest_lots(
    model: Path, corpus: Path, tmp_path: Path
) -> None:
    """Held against a scan with room for every sequence, where nothing is left out."""
    few, whole = SETTINGS, replace(SETTINGS, top=1000, others=1000)
    scans = [
        _made(model, corpus, tmp_path / name, each).run(Here(Worker(str(model), each)))
        for name, each in (("few", few), ("all", whole))
    ]
    kept, known = (scan.samples for scan in scans)
    left_out = 0
    for layer, head in product(range(known.n_layers), range(known.n_heads)):
        assert len(list(known.of_head(layer, head))) == scans[1].counts["sequences"]
        for bucket in range(1, few.intervals + 1):
            rows, is_last = known.kept.get((layer, head, bucket), []), bucket == few.intervals
            places = sorted((-row.strength if is_last else row.sampling_key, row.sequence) for row in rows)
            expected = [sequence for _, sequence in places][: few.top if is_last else few.others]
            assert [row.sequence for row in kept.kept.get((layer, head, bucket), [])] == expected
            left_out += len(rows) - len(expected)
    assert left_out > 0


class _StopError(Exception):
    """As good as a kill: nothing is tidied up."""


def test_a_scan_that_is_stopped_after_each_shard_gives_the_same_bytes(
    model: Path, corpus: Path, tree: Path, tmp_path: Path
) -> None:
    def stop(progress: Progress) -> None:
        if progress.fresh:
            raise _StopError

    for _ in range(6):  # of seven shards, one at a time
        with pytest.raises(_StopError):
            _made(model, corpus, tmp_path).run(Here(Worker(str(model), SETTINGS)), stop)
    _scan(model, corpus, tmp_path)
    assert _files(tmp_path) == _files(tree)


def test_shards_that_come_in_another_order_give_the_same_bytes(
    model: Path, corpus: Path, tree: Path, tmp_path: Path
) -> None:
    class Backwards(Here):
        def run(self, jobs):  # type: ignore[no-untyped-def]
            return reversed(list(super().run(jobs)))

    _made(model, corpus, tmp_path).run(Backwards(Worker(str(model), SETTINGS)))
    assert _files(tmp_path) == _files(tree)


def test_the_tree_is_read_and_counts_what_was_skipped(tree: Path) -> None:
    read = read_tree(tree)
    assert read.provenance is not None
    assert (read.provenance.n_documents, read.provenance.n_skipped) == (11, 2)
    assert [each["document"] for each in read.provenance.skipped] == ["texts.jsonl:6", "texts.jsonl:13"]
    assert read.provenance.loss is not None
    for head in read.rows:
        dashboard = read_dashboard(read, head)
        assert dashboard.histogram is not None
        assert sum(dashboard.histogram.bin_values) == read.provenance.n_sequences
        assert dashboard.matters is not None
        assert dashboard.matters.loss_change is not None
        # Every query's weights sum to 1, and there are as many queries as tokens; each bin is rounded to 1e-4.
        assert dashboard.qk_distance_histogram is not None
        assert sum(dashboard.qk_distance_histogram.bin_values) == pytest.approx(read.provenance.n_tokens, abs=1e-2)
        best = dashboard.sequences[0]
        assert best.interval == read.n_intervals
        assert best.strongest is not None
        assert best.attention_values.max() <= 1


def test_a_changed_setting_is_refused_with_what_has_changed(model: Path, corpus: Path, tree: Path) -> None:
    with pytest.raises(ScanError, match="settings length was 12 and is 11"):
        _ = _made(model, corpus, tree, ScanSettings(**{**SETTINGS.as_dict(), "length": 11})).is_complete
    assert _made(model, corpus, tree).is_complete


def test_an_empty_corpus_is_refused(model: Path, tmp_path: Path) -> None:
    (tmp_path / "empty.txt").write_text("")
    with pytest.raises(ScanError, match="nothing to scan"):
        _scan(model, tmp_path / "empty.txt", tmp_path / "out")


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["mini", "nowhere.jsonl"], "There is no file or folder nowhere.jsonl"),
        (["mini", "{corpus}", "--column", "txt"], "Nearest: text"),
        (["mini", "{corpus}", "--length", "1"], "--length is 1"),
        (["nobody", "{corpus}"], "There is no folder, file or model 'nobody'"),
    ],
)
def test_what_is_wrong_is_said_in_a_sentence(
    flags: list[str], message: str, corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*(flag.format(corpus=corpus) for flag in flags), "--out", str(tmp_path / "out")]) == 1
    assert message in capsys.readouterr().err


@pytest.mark.thorough
def test_two_workers_give_the_same_bytes(model: Path, corpus: Path, tree: Path, tmp_path: Path) -> None:
    engine = Processes(Worker(str(model), SETTINGS), 2)
    _made(model, corpus, tmp_path).run(engine)
    engine.close()
    assert _files(tmp_path) == _files(tree)


@pytest.mark.thorough
@pytest.mark.real
@pytest.mark.filterwarnings("ignore")  # Ray's own
@pytest.mark.parametrize("killed", [False, True])
def test_two_actors_of_a_cluster_give_the_same_bytes(
    killed: bool, model: Path, corpus: Path, tree: Path, tmp_path: Path
) -> None:
    """Also where the kernel ends one of them in the middle, with the shards that it had."""
    pytest.importorskip("ray", reason="the extra ray is not installed")
    from headlight.model.corpus.clusters import Ray

    actors: list[int] = []

    def kill(progress: Progress) -> None:
        if killed and progress.fresh and not actors:
            actors.extend(_processes("ray::MapWorker(MapBatches(_Actor))"))
            os.kill(actors[0], signal.SIGKILL)

    engine = Ray(Worker(str(model), SETTINGS), 2)
    _made(model, corpus, tmp_path).run(engine, kill)
    engine.close()
    assert len(actors) == 2 * killed
    assert _files(tmp_path) == _files(tree)


def _processes(name: str) -> list[int]:
    """Those whose command line begins so."""
    lines = {path.parent.name: path.read_bytes() for path in Path("/proc").glob("[0-9]*/cmdline")}
    return [int(number) for number, line in lines.items() if line.startswith(name.encode())]


@pytest.mark.thorough
def test_a_scan_that_is_killed_gives_the_same_bytes(model: Path, corpus: Path, tree: Path, tmp_path: Path) -> None:
    """SIGKILL as soon as one more shard lies on the disk, as often as there are shards."""
    command = [sys.executable, "-m", "headlight.app.scan", str(model), str(corpus), "--out", str(tmp_path)]
    changed = {name: value for name, value in SETTINGS.as_dict().items() if value != getattr(ScanSettings, name)}
    command += [
        "--neurons",
        *(f"--{name.replace('_', '-')}={value}" for name, value in changed.items() if name != "neurons"),
    ]
    for count in (1, 3):
        process = subprocess.Popen(command, cwd=ROOT, stderr=subprocess.DEVNULL)
        while process.poll() is None and len(list(tmp_path.glob(".scan/shard-*.npz"))) < count:
            pass
        process.send_signal(signal.SIGKILL)
        process.wait()
    subprocess.run(command, cwd=ROOT, check=True, stderr=subprocess.DEVNULL)
    assert _files(tmp_path) == _files(tree)


@pytest.mark.thorough
def test_workers_end_with_a_scan_that_is_killed(tmp_path: Path) -> None:
    corpus = tmp_path / "many.jsonl"
    corpus.write_text("\n".join(json.dumps({"text": f"{TEXTS[0]} {number}"}) for number in range(20_000)))
    command = [sys.executable, "-m", "headlight.app.scan", "mini", str(corpus), "--out", str(tmp_path), "--workers=2"]
    process = subprocess.Popen(command, cwd=ROOT, stderr=subprocess.DEVNULL)
    while process.poll() is None and len(workers := _children(process.pid)) < 3:  # one of them tracks resources
        time.sleep(0.1)
    process.send_signal(signal.SIGKILL)
    process.wait()
    ends = time.monotonic() + 30  # on a busy machine
    while any(Path(f"/proc/{worker}").exists() for worker in workers):
        assert time.monotonic() < ends
        time.sleep(0.1)


def _children(process: int) -> list[str]:
    return Path(f"/proc/{process}/task/{process}/children").read_text().split()


def test_a_full_disk_is_said_and_loses_nothing(tmp_path: Path) -> None:
    from headlight.model.corpus.disk import write_whole

    write_whole(tmp_path / "file", b"before")
    with small_disk(), pytest.raises(ScanError, match="make room"):
        write_whole(tmp_path / "file", b"x" * 1000)
    assert _files(tmp_path) == {"file": b"before"}


@pytest.mark.parametrize("name", ["identity.json", "warm.npz", "state.npz", "shard-00000000.npz"])
def test_a_file_of_a_scan_that_was_cut_short_is_named(name: str, tmp_path: Path) -> None:
    """A zip that is cut short, JSON that is, and arrays of other names, each of which Python has another error for."""
    cfg = TransformerConfig(n_layers=1, d_model=4, n_ctx=8, n_heads=1, d_head=4, d_vocab=9)
    identity = {"model": {}, "corpus": {}, "settings": {}}
    whole = packed({"boundaries": np.zeros(3), "next": np.array(1)})
    for damaged in (whole[:-30], whole[:50], b"", whole, b"\x00" * 99, b'{"model": 1', b"[" * 9000):
        (tmp_path / ".scan").mkdir(exist_ok=True)
        (tmp_path / ".scan" / "identity.json").write_text(json.dumps(identity))
        (tmp_path / "config.json").write_text(json.dumps({"headlight": {"identity": identity}}))
        (tmp_path / ".scan" / name).write_bytes(damaged)
        with pytest.raises(ScanError, match=rf"\.scan/{name} is damaged .*[Dd]elete"):
            _taken_up(State(tmp_path, cfg, SETTINGS), identity)
        (tmp_path / ".scan" / name).unlink()


def _taken_up(state: State, identity: dict[str, Any]) -> None:
    state.begin(identity)
    assert state.calibration is None

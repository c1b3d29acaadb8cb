"""An experiment in a folder: it goes on where it was, is read again, and refuses what is not its own."""

import json
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest
import torch

from headlight.app.experiment import parser
from headlight.app.scanning import engine as engine_of
from headlight.model import Transformer
from headlight.model.base.errors import ScanError
from headlight.model.corpus.engines import Engine, Here
from headlight.model.experiments.cost import estimate_seconds
from headlight.model.experiments.jobs import Job, Worker
from headlight.model.experiments.results import CONFIG, VALUES, Experiment, clear, read_results
from headlight.model.experiments.running import Progress, run
from headlight.model.experiments.settings import ExperimentSettings
from headlight.model.prompt_sets.encoding import TokenSet
from tests.model.experiments.cases import pairs, settings

CHOSEN = settings(batch=2)
ROWS = pairs(5, d_vocab=4096)


class StoppedError(Exception):
    """Raised by a watcher."""


def _made(model: Transformer, folder: Path, chosen: ExperimentSettings = CHOSEN, rows: TokenSet = ROWS) -> Experiment:
    return Experiment(model, rows, chosen, folder)


def _stop_at(done: int) -> object:
    def watch(progress: Progress) -> None:
        if progress.done >= done:
            raise StoppedError

    return watch


class Backwards:
    """Gives what is finished in another order."""

    def __init__(self, worker: Worker) -> None:
        self._worker, self.numbers = worker, list[int]()

    def run(self, jobs: Iterable[Job]) -> Iterator[tuple[int, bytes]]:
        for job in reversed(list(jobs)):
            self.numbers.append(job.number)
            yield job.number, self._worker(job)

    def close(self) -> None:
        pass


def test_a_stopped_experiment_goes_on_with_what_is_left(small: Transformer, tmp_path: Path) -> None:
    expected = run(small, ROWS, CHOSEN)
    experiment = _made(small, tmp_path)
    with pytest.raises(StoppedError):
        experiment.run(experiment.plan(), Here, _stop_at(2))
    partly = read_results(tmp_path)
    assert (partly.measurement.rows, partly.n_rows, partly.is_complete) == ((1, 2), 5, False)
    assert partly.measurement.raw is not None
    assert expected.raw is not None
    assert torch.equal(partly.measurement.raw.values, expected.raw.values[:2])
    engines = list[Backwards]()

    def backwards(worker: Worker) -> Engine:
        engines.append(Backwards(worker))
        return engines[0]

    again = _made(small, tmp_path, settings(batch=1))  # of another batch it is the same experiment
    measurement = again.run(again.plan(), backwards)
    assert engines[0].numbers == [5, 4, 3]
    # A batch of another size sums in another order.
    assert measurement.raw is not None
    torch.testing.assert_close(measurement.raw.values, expected.raw.values, rtol=1e-5, atol=2e-5)
    results = read_results(tmp_path)
    assert results.is_complete
    assert torch.equal(results.measurement.measure.values, measurement.measure.values)
    assert results.measurement.rows == (1, 2, 3, 4, 5)
    assert {path.name for path in tmp_path.iterdir()} == {CONFIG, VALUES}
    assert again.run(again.plan(), backwards).rows == (1, 2, 3, 4, 5)
    assert len(engines) == 1  # there was nothing left to compute


@pytest.mark.parametrize("chosen", [{"measure": "dla", "part": "all"}, {"part": "resid_pre"}, {"measure": "patterns"}])
def test_what_is_read_is_what_was_measured(small: Transformer, tmp_path: Path, chosen: dict[str, str]) -> None:
    experiment = _made(small, tmp_path, settings(**chosen))
    measured = experiment.run(experiment.plan(), Here)
    read = read_results(tmp_path)
    assert read.settings == settings(**chosen)
    assert (read.set_name, read.model_name) == ("pairs", "random")
    assert read.measurement.labels == measured.labels
    assert read.measurement.measure.axes == measured.measure.axes
    assert torch.equal(read.measurement.measure.values.nan_to_num(), measured.measure.values.nan_to_num())


def test_another_experiment_s_folder_is_refused(small: Transformer, tmp_path: Path) -> None:
    experiment = _made(small, tmp_path)
    experiment.run(experiment.plan(), Here)
    with pytest.raises(ScanError, match=r"settings part was z and is q.*--restart"):
        _made(small, tmp_path, settings(part="q")).begin()
    with pytest.raises(ScanError, match="set rows was 5 and is 4"):
        _made(small, tmp_path, rows=pairs(4, d_vocab=4096)).begin()
    clear(tmp_path)
    assert not list(tmp_path.iterdir())
    _made(small, tmp_path, settings(part="q")).begin()
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(ScanError, match="holds files and no experiment"):
        _made(small, tmp_path).begin()
    with pytest.raises(ScanError, match="holds no experiment"):
        clear(tmp_path)
    assert (tmp_path / "notes.txt").exists()
    with pytest.raises(ScanError, match="is no folder"):
        _made(small, tmp_path / "notes.txt").begin()


def test_damaged_files_are_named(small: Transformer, tmp_path: Path) -> None:
    with pytest.raises(ScanError, match="holds no experiment"):
        read_results(tmp_path)
    experiment = _made(small, tmp_path)
    experiment.run(experiment.plan(), Here)
    (tmp_path / VALUES).write_bytes(b"not numpy's")
    with pytest.raises(ScanError, match=VALUES):
        read_results(tmp_path)
    (tmp_path / CONFIG).write_text(json.dumps({"kind": "another"}))
    with pytest.raises(ScanError, match="no experiment of Headlight"):
        read_results(tmp_path)


@pytest.mark.thorough
@pytest.mark.filterwarnings("ignore")  # Ray's own
@pytest.mark.parametrize("engine", ["processes", pytest.param("ray", marks=pytest.mark.real)])
def test_other_processes_measure_the_same(engine: str, small: Transformer, tmp_path: Path) -> None:
    if engine == "ray":
        pytest.importorskip("ray", reason="the extra ray is not installed")
    flags = parser().parse_args(["mini", "pairs.csv", "--engine", engine, "--workers", "2"])
    experiment = _made(small, tmp_path, settings(batch=2, measure="ablation"))
    measured = experiment.run(experiment.plan(), lambda worker: engine_of(flags, worker))
    expected = run(small, ROWS, settings(batch=2, measure="ablation"))
    torch.testing.assert_close(measured.measure.values, expected.measure.values, rtol=1e-5, atol=2e-5)


def test_an_estimate_is_a_time(small: Transformer) -> None:
    for chosen in ({}, {"measure": "path", "receiver": "L2H0"}, {"measure": "dla"}, {"measure": "attribution"}):
        experiment = Experiment(small, ROWS, settings(**chosen), Path("nowhere"))
        assert 0 < estimate_seconds(small, experiment.plan()) < 60

"""What writes or removes files is killed, or fails, at each change: what is read then is old or new, and whole."""

import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import pytest
import torch

from headlight.model import Transformer, load
from headlight.model.base.errors import HeadlightError
from headlight.model.base.files import PART, write_text
from headlight.model.checkpoints.families.headlight import save_transformer
from headlight.model.circuits.settings import CircuitSettings
from headlight.model.corpus.documents import open_corpus
from headlight.model.corpus.engines import Here
from headlight.model.corpus.folder import WORK, empty
from headlight.model.corpus.reading import read_tree
from headlight.model.corpus.scan import Scan
from headlight.model.corpus.settings import ScanSettings
from headlight.model.corpus.shard import Worker
from headlight.model.directions.files import open_direction
from headlight.model.directions.keeping import keep_direction, kept_files, remove_kept
from headlight.model.experiments import circuit_results, results
from headlight.model.features.opening import open_dictionary
from headlight.model.lens.files import read_lens, write_jacobian, write_tuned
from headlight.model.lens.kinds import Kind
from headlight.model.runs.direction import Direction
from headlight.model.text.tokenizer import Tokenizer
from headlight.model.training.checkpoint import CHECKPOINT
from headlight.model.training.dictionaries.recipe import place_of
from headlight.model.training.dictionaries.saving import save as save_dictionary
from headlight.model.training.dictionaries.sparse import Shape, Sparse
from headlight.model.training.loop import train
from tests.faults import faults
from tests.model.experiments.cases import pairs, settings
from tests.model.text.test_tokenizer import small_backend
from tests.model.training.test_loop import TinyRecipe, new_model
from tests.places import MINI
from tests.tiny import open_tiny, tiny

State = frozenset[object]  # what was read, in parts that are whole by themselves
NOTHING: State = frozenset()
DIRECTION = Direction("plural", {1: torch.tensor([1.0, 2.0])}, "end", "pca", "mini")


@dataclass(frozen=True)
class Work:
    """Something that changes a folder.

    Attributes:
        before: what was done there earlier, with results of its own.
        work: what is stopped, and then done again.
        read: what the folder has of it then, in parts.
    """

    before: Callable[[Path], object]
    work: Callable[[Path], object]
    read: Callable[[Path], State]


def _unchanged(folder: Path) -> None:
    folder.mkdir(exist_ok=True)


def _text() -> Work:
    old, new = (partial(_write, text=text) for text in ("old" * 99, "new" * 99))
    return Work(old, new, lambda folder: frozenset({(folder / "x.txt").read_text()}))


def _write(folder: Path, text: str) -> None:
    write_text(folder / "x.txt", text)


def _model() -> Work:
    """Two models whose shapes are the same, so that the files of both could be read together."""
    old, new = tiny("llama-like", 0), tiny("llama-like", 1)
    new.cfg = replace(new.cfg, eps=0.1)
    old.tokenizer, new.tokenizer = Tokenizer(small_backend()), Tokenizer.from_own_folder(MINI)

    def read(folder: Path) -> State:
        model = load(folder)
        assert model.tokenizer is not None
        return frozenset({(model.cfg.eps, float(model.unembed.W_U.sum()), model.tokenizer.text)})

    return Work(partial(save_transformer, old), partial(save_transformer, new), read)


def _dictionary() -> Work:
    model, place = tiny("gpt2-like"), place_of("blocks.1.hook_resid_pre")

    def save(seed: int, name: str) -> Callable[[Path], object]:
        width = model.cfg.d_model
        sparse = Sparse(Shape("topk", width, width, 8, 2, is_autoencoder=True), seed)
        return lambda folder: save_dictionary(sparse, place, name, model.cfg, folder)

    def read(folder: Path) -> State:
        (dictionary,) = open_dictionary(folder).values()
        return frozenset({(dictionary.origin.model, float(dictionary.W_enc.sum()))})

    return Work(save(0, "old"), save(1, "new"), read)


def _lens(kind: Kind) -> Work:
    model = tiny("gpt2-like")

    def write(value: float, folder: Path) -> None:
        width, n_layers = model.cfg.d_model, model.cfg.n_layers
        if kind == "jacobian":
            write_jacobian(folder, {1: value * torch.eye(width)}, int(value), width)
        else:
            maps = {f"{layer}.weight": value * torch.eye(width) for layer in range(n_layers)}
            biases = {f"{layer}.bias": torch.zeros(width) for layer in range(n_layers)}
            write_tuned(folder, model, maps | biases, f"model {value}")

    def read(folder: Path) -> State:
        lens = read_lens(kind, folder)
        return frozenset({(str(lens.metadata), float(lens.maps[1].W.sum()))})

    return Work(partial(write, 1.0), partial(write, 2.0), read)


def _kept() -> Work:
    def keep(folder: Path) -> None:
        if not list(kept_files(folder)):
            keep_direction(DIRECTION, folder)

    return Work(_unchanged, keep, _directions)


def _removed() -> Work:
    def remove(folder: Path) -> None:
        for path in kept_files(folder):
            remove_kept(path)

    return Work(partial(keep_direction, DIRECTION), remove, _directions)


def _directions(folder: Path) -> State:
    return frozenset({open_direction(path).identity for path in kept_files(folder)})


def _training() -> Work:
    def state(folder: Path) -> State:
        if not (folder / CHECKPOINT).exists():
            return NOTHING
        saved = torch.load(folder / CHECKPOINT, weights_only=True)
        return frozenset({(saved["step"], float(saved["model"]["embed.W_E"].sum()))})

    return Work(
        lambda folder: train(new_model(), TinyRecipe(steps=2), folder),
        lambda folder: train(new_model(), TinyRecipe(steps=4), folder),
        state,
    )


def _measure(model: Transformer, folder: Path) -> None:
    experiment = results.Experiment(model, pairs(3, d_vocab=4096), settings(batch=2), folder)
    experiment.run(experiment.plan(), Here)


def _measured(folder: Path) -> State:
    measurement = results.read_results(folder).measurement
    assert measurement.raw is not None
    return frozenset(zip(measurement.rows, (float(row.sum()) for row in measurement.raw.values), strict=True))


def _study(model: Transformer, folder: Path) -> None:
    circuit_results.CircuitFolder(model, pairs(6, d_vocab=4096), CircuitSettings("eap", share=0.1), folder).run()


def _studied(model: Transformer, folder: Path) -> State:
    study = circuit_results.read_study(folder, model.cfg).study
    return frozenset({(float(study.scores.mean.sum()), study.evaluation.cpr)})


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Transformer:
    return open_tiny("gpt2-like", tmp_path_factory.mktemp("tiny"))


SCAN = ScanSettings(length=12, shard=2, batch=3, warmup=4, ablate=3, top=2, others=1, top_tokens=5)


def _scan(model: Transformer, folder: Path) -> None:
    corpus = folder.parent / "texts.txt"
    if not corpus.exists():
        corpus.write_text("\n\n".join(f"A cat sat on the mat {number}." for number in range(6)))
    assert model.source is not None
    Scan(model, open_corpus(str(corpus)), SCAN, folder).run(Here(Worker(str(model.source.path), SCAN)))


def _scanned(folder: Path) -> State:
    read_tree(folder)
    paths = (path for path in folder.rglob("*.json") if path.parent.name != WORK)  # which goes last
    return frozenset({(path.name, path.read_bytes()) for path in paths})


WORKS: dict[str, Callable[[Transformer], Work]] = {
    "text": lambda model: _text(),
    "model": lambda model: _model(),
    "dictionary": lambda model: _dictionary(),
    "tuned lens": lambda model: _lens("tuned"),
    "Jacobian lens": lambda model: _lens("jacobian"),
    "direction kept": lambda model: _kept(),
    "direction removed": lambda model: _removed(),
    "training": lambda model: _training(),
    "experiment": lambda model: Work(_unchanged, partial(_measure, model), _measured),
    "experiment cleared": lambda model: Work(partial(_measure, model), results.clear, _measured),
    "circuit": lambda model: Work(_unchanged, partial(_study, model), partial(_studied, model)),
    "circuit cleared": lambda model: Work(partial(_study, model), circuit_results.clear, partial(_studied, model)),
    "scan": lambda model: Work(_unchanged, partial(_scan, model), _scanned),
    "scan emptied": lambda model: Work(partial(_scan, model), empty, _scanned),
}
# Where only every so many changes are stopped, but for thorough tests.
LONG = {"model": 3, "training": 3, "experiment": 5, "circuit": 5, "scan": 17, "scan emptied": 3}
MAY_BE_REFUSED = set(WORKS) - {"text", "direction kept", "direction removed", "training"}


def _cases() -> Iterator[object]:
    for name in WORKS:
        yield pytest.param(name, LONG.get(name, 1), id=name)
        if name in LONG:
            yield pytest.param(name, 1, id=f"{name}, each change", marks=pytest.mark.thorough)


@pytest.mark.parametrize("kills", [True, False], ids=["killed", "failed"])
@pytest.mark.parametrize(("name", "step"), list(_cases()))
def test_no_fault_between_two_changes_of_files_loses_or_mixes_anything(
    name: str, step: int, kills: bool, model: Transformer, tmp_path: Path
) -> None:
    does = WORKS[name](model)
    before, whole, place = tmp_path / "before", tmp_path / "whole", tmp_path / "place"
    does.before(before)
    is_fresh = not any(before.iterdir())
    if not is_fresh:
        (before / "mine.txt").write_text("mine")
    shutil.copytree(before, whole)
    with faults(whole) as watched:
        does.work(whole)
    states = {_state(does, before), _state(does, whole)}
    assert watched.changes
    for at in range(0, len(watched.changes), step):
        what = watched.changes[at]
        shutil.rmtree(place, ignore_errors=True)
        shutil.copytree(before, place)
        with faults(place, at, kills=kills):
            try:
                does.work(place)
            except HeadlightError:
                assert not kills, what
        state = _state(does, place)
        assert any(state <= each for each in states), what
        assert state or NOTHING in states or name in MAY_BE_REFUSED, what
        does.work(place)
        assert _state(does, place) == _state(does, whole), what
        assert not list(place.rglob(f"*{PART}")), what
        assert is_fresh or (place / "mine.txt").read_text() == "mine", what


def _state(does: Work, folder: Path) -> State:
    """What can be read, or nothing where it is refused in words."""
    try:
        return does.read(folder)
    except HeadlightError:
        return NOTHING

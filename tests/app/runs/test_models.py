"""Which models the page may open, and how many stay open."""

import errno
import gc
import os
import shutil
import socket
import threading
import time
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save, save_file

from headlight.app.runs import comparisons, cost, dictionaries, limits, models, models_folder, passes, runs, scans
from headlight.app.selection import Selection
from headlight.app.server.settings import settings as server_settings
from headlight.model import load
from headlight.model.base import file_copies, memory
from headlight.model.base.errors import CheckpointError, ConfigError, HeadlightError, ModelNotFoundError, TooLargeError
from headlight.model.checkpoints import room

PROMPT = "one two three"


@pytest.fixture
def with_folder(settings: dict[str, object], folder: str, tmp_path: Path) -> Path:
    """A models folder of two models, one of them called gpt2, and of what may not be opened."""
    inside = tmp_path / "models"
    for name in ("mine", "gpt2", ".hidden", "mini"):
        shutil.copytree(folder, inside / name)
    save_file({"x": torch.zeros(1)}, inside / "toy.safetensors")
    (inside / "notes.txt").write_text("hello")
    shutil.copytree(folder, tmp_path / "secret")
    (inside / "link").symlink_to(tmp_path / "secret")
    (inside / "link.safetensors").symlink_to(tmp_path / "secret" / "model.safetensors")
    settings.update(model="mini", models_folder=str(inside), any_model=False)
    return inside


OTHERS = ("mini-llama", "teach-copy", "teach-induction")


def test_the_models_folder_joins_the_list(with_folder: Path) -> None:
    hub = [name for name in models.HUB_MODELS if name != "gpt2"]
    assert models.offered_models() == ("mini", *OTHERS, "gpt2", "mine", "toy.safetensors", *hub)


def test_a_model_of_the_folder_opens_by_its_name_and_no_path_is_shown(with_folder: Path) -> None:
    run = runs.run("mine", PROMPT, True)
    assert run.source.name == "mine"
    assert run.cfg.n_layers == 3
    assert runs.run("mine", PROMPT, True) is run
    assert models.open_model("gpt2").cfg.n_layers == 3  # the folder's own, not the hub's
    assert models.open_model("mini").cfg.n_layers != 3  # the embedded one, whatever the folder calls so
    with pytest.raises(CheckpointError, match="no TransformerLens state dict") as refused:
        models.open_model("toy.safetensors")
    assert str(with_folder) not in str(refused.value)


def test_whether_a_model_knows_conversations_is_seen_before_it_is_opened(
    folder: str, chat_folder: str, settings: dict[str, object]
) -> None:
    """So that the option does not turn into another when the page is drawn for a second time."""
    known = {name: models.may_know_chat(name) for name in (folder, chat_folder, "mini", "gpt2", "of/the-hub")}
    assert known == {folder: False, chat_folder: True, "mini": False, "gpt2": False, "of/the-hub": True}
    for name in (folder, chat_folder):
        assert models.open_model(name).tokenizer is not None
        assert models.may_know_chat(name) == known[name]


@pytest.mark.usefixtures("with_folder")
def test_no_file_outside_the_models_folder_is_looked_at_for_it(folder: str) -> None:
    assert models.may_know_chat(folder)  # it has no template, but for all that is known it is a name of the hub
    assert not models.may_know_chat("mine")


@pytest.mark.parametrize(
    "name", ["../secret", "link", "link.safetensors", ".hidden", "mine/../../secret", "notes.txt", "."]
)
def test_nothing_outside_the_folder_is_opened(with_folder: Path, name: str) -> None:
    for attempt in (name, str(with_folder / name)):
        with pytest.raises(ModelNotFoundError, match=r"is not offered here\. Choose one of mini, "):
            models.open_model(attempt)


def test_a_folder_that_a_link_leads_to_is_the_folder(with_folder: Path, settings: dict[str, object]) -> None:
    """macOS' temporary folders and mounted disks are such links."""
    link = with_folder.parent / "link"
    link.symlink_to(with_folder)
    settings["models_folder"] = str(link)
    assert "mine" in models.offered_models()


@pytest.mark.parametrize(
    ("loopback", "any_model", "opens"), [(True, True, True), (True, False, False), (False, True, False)]
)
def test_any_path_opens_only_on_loopback_and_if_nobody_forbids_it(
    folder: str,
    settings: dict[str, object],
    monkeypatch: pytest.MonkeyPatch,
    loopback: bool,
    any_model: bool,
    opens: bool,
) -> None:
    monkeypatch.setattr(models, "only_this_machine", lambda: loopback)
    settings.update(model="mini", any_model=any_model)
    assert models.any_model_allowed() == opens
    if opens:
        assert models.open_model(folder).cfg.n_layers == 3
    else:
        with pytest.raises(ModelNotFoundError, match="is not offered here"):
            models.open_model(folder)


def test_the_servers_own_model_opens_wherever_it_is(folder: str, settings: dict[str, object]) -> None:
    settings.update(model=folder, any_model=False)
    assert models.open_model(folder).cfg.n_layers == 3


@pytest.mark.parametrize("name", ["model.pt", "model.pth", "pytorch_model.bin", "training.ckpt"])
def test_the_page_reads_a_pickle_without_running_what_is_in_it(tmp_path: Path, name: str) -> None:
    class Code:
        def __reduce__(self) -> tuple[Any, ...]:
            return os.mkdir, (str(tmp_path / "ran"),)

    torch.save({"model": Code()}, tmp_path / name)
    with pytest.raises(HeadlightError, match=f"{name} holds no state dict but model"):
        models.open_model(str(tmp_path / name))
    assert not (tmp_path / "ran").exists()


@pytest.fixture
def sized(folder: str, settings: dict[str, object]) -> Callable[[float], None]:
    """Sets the memory for open models, in models of the folder's size."""
    one = sum(file.stat().st_size for file in Path(folder).glob("*.safetensors"))

    def allow(how_many: float) -> None:
        settings["models_gib"] = how_many * one / limits.GIB
        server_settings.cache_clear()
        models._opened.cache_clear()

    return allow


def test_models_stay_open_as_far_as_their_bytes_fit(folder: str, sized: Callable[[float], None]) -> None:
    sized(2.5)
    names = [folder + "/" * times for times in range(4)]
    first = models.open_model(names[0])
    for name in names[1:3]:
        models.open_model(name)
    assert [models.is_open(name) for name in names] == [False, True, True, False]
    assert models.open_model(names[0]) is not first
    assert models.open_model(names[2]) is models.open_model(names[2])


def test_a_model_larger_than_the_budget_opens_and_stays_until_the_next(
    folder: str, sized: Callable[[float], None]
) -> None:
    sized(0.5)
    assert models.open_model(folder) is models.open_model(folder)
    models.open_model(f"{folder}/")
    assert not models.is_open(folder)


def test_runs_do_not_keep_a_closed_model_in_memory(folder: str, sized: Callable[[float], None]) -> None:
    sized(0.5)
    first = runs.run(folder, PROMPT, True)
    runs.run(f"{folder}/", PROMPT, True)
    assert len(runs._results().keys) == 1
    assert runs.run(folder, PROMPT, True).model is not first.model


def test_a_slow_model_keeps_nobody_waiting_for_another(
    folder: str, settings: dict[str, object], monkeypatch: pytest.MonkeyPatch
) -> None:
    load, names, arrived, opened = models.load, [], threading.Event(), threading.Event()

    def slow(name: str, **how: bool) -> object:
        names.append(name)
        if name == f"{folder}/":
            arrived.set()
            assert opened.wait(20)
        return load(name, **how)

    monkeypatch.setattr(models, "load", slow)
    waiting = [threading.Thread(target=models.open_model, args=(f"{folder}/",)) for _ in range(2)]
    for thread in waiting:
        thread.start()
    assert arrived.wait(20)
    models.open_model(folder)
    opened.set()
    for thread in waiting:
        thread.join(20)
    assert sorted(names) == [folder, f"{folder}/"]  # the second that wanted the slow one waited for the first


def test_the_models_folder_is_walked_once_for_a_while(with_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    looked, clock, is_dictionary = list[Path](), [1.0], models_folder.is_dictionary

    def count(path: Path) -> bool:
        looked.append(path)
        return is_dictionary(path)

    monkeypatch.setattr(models_folder, "is_dictionary", count)
    monkeypatch.setattr(models_folder.time, "monotonic", lambda: clock[0])
    for _ in range(3):
        assert "mine" in models.offered_models()
        models.offered_seq2seq_models()
    assert len(looked) == len(set(looked))
    shutil.copytree(with_folder / "mine", with_folder / "new")
    clock[0] += models_folder.LOOK_SECONDS
    assert "new" in models.offered_models()


CONFIGS: dict[str, Callable[[Path], object]] = {
    "no JSON": lambda path: path.write_text("{"),
    "a list": lambda path: path.write_text("[1]"),
    "empty": lambda path: path.write_bytes(b""),
    "not UTF-8": lambda path: path.write_bytes(b'{"model_type": "\xff"}'),
    "deep": lambda path: path.write_text('{"a":' * 100_000),
    "huge": lambda path: (path.write_bytes(b"{"), os.truncate(path, 8 * 2**30)),
    "a folder": Path.mkdir,
    "a pipe": os.mkfifo,
    "a loop": lambda path: path.symlink_to(path.name),
    "nowhere": lambda path: path.symlink_to("gone"),
    "a device": lambda path: path.symlink_to("/dev/zero"),
}


def _left_out(names: list[str], listing: models_folder.Listing) -> None:
    """Exactly these are left out, each with a reason that names the file, and everything else is offered."""
    assert list(listing.unreadable) == names
    assert {"mini", "mine", "toy.safetensors"} <= set(models.offered_models())
    assert not set(names) & {*models.offered_models(), *models.offered_seq2seq_models()}
    for name in names:
        with pytest.raises(CheckpointError, match="in the models folder is not in the list"):
            models.open_model(name)


@pytest.mark.parametrize("file", ["config.json", "adapter_config.json"])
def test_what_cannot_be_read_is_left_out_of_the_list_with_its_reason(with_folder: Path, file: str) -> None:
    for name, spoil in CONFIGS.items():
        (with_folder / name).mkdir()
        spoil(with_folder / name / file)
    _left_out(sorted(CONFIGS), listing := models_folder.listing())
    for name, reason in listing.unreadable.items():
        wanted = file if name not in ("a loop", "nowhere", "a device") else ""
        assert wanted in reason
        assert str(with_folder) not in reason
    assert "a named pipe" in listing.unreadable["a pipe"]
    assert "more than 32 MiB" in listing.unreadable["huge"]


def test_only_regular_files_are_in_the_list_and_names_that_can_be_written(with_folder: Path) -> None:
    os.mkfifo(with_folder / "pipe.safetensors")
    shutil.copytree(with_folder / "mine", with_folder / "bad\udcff")
    with socket.socket(socket.AF_UNIX) as bound:
        bound.bind(str(with_folder / "s.safetensors"))
        _left_out(["bad<0xFF>", "pipe.safetensors", "s.safetensors"], models_folder.listing())


def test_what_may_not_be_read_is_left_out(with_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The tests may run as root, whom no permission stops: so the system is asked in its place."""
    shutil.copytree(with_folder / "mine", with_folder / "locked")
    listdir = os.listdir

    def refuse(path: Path) -> list[str]:
        if Path(path).name == "locked":
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
        return listdir(path)

    monkeypatch.setattr(models_folder.os, "listdir", refuse)
    _left_out(["locked"], listing := models_folder.listing())
    assert listing.unreadable["locked"] == "It cannot be read (Permission denied). Let the server's user read it."


def test_a_lora_without_its_base_takes_nothing_else_out_of_the_list(with_folder: Path) -> None:
    (with_folder / "lora").mkdir()
    (with_folder / "lora" / "adapter_config.json").write_text('{"base_model_name_or_path": "' + "gone" * 100 + '"}')
    _left_out(["lora"], models_folder.listing())


def test_without_its_models_folder_a_server_goes_on_and_says_so(with_folder: Path) -> None:
    shutil.rmtree(with_folder)
    assert "mini" in models.offered_models()
    assert "mine" not in models.offered_models()
    assert models.offered_seq2seq_models()
    assert scans.offered()
    assert dictionaries.offered()
    assert models_folder.listing().gone.startswith("The models folder cannot be read (No such file or directory).")


def test_a_slow_folder_is_looked_at_less_often(with_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clock, looks = [1.0], list[Path]()

    def slow(path: Path) -> int:
        looks.append(path)
        clock[0] += 3.0
        return len(looks)

    monkeypatch.setattr(models_folder.time, "monotonic", lambda: clock[0])
    for _ in range(3):
        models_folder.looked_up(slow, with_folder)
        clock[0] += models_folder.SPARING * 3.0 / 2
    assert len(looks) == 2


def _write_over(path: Path) -> None:
    """Other numbers in the same place, as a training writes them that does not write beside first."""
    tensors = load_file(path)
    with path.open("r+b") as file:
        file.write(save({name: 2 * tensor.clone() for name, tensor in tensors.items()}, {"format": "pt"}))


def _cut_short(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2)


def _put_another_in_its_place(path: Path) -> None:
    save_file({name: 2 * tensor for name, tensor in load_file(path).items()}, path.with_name("new"), {"format": "pt"})
    path.with_name("new").replace(path)


@pytest.fixture
def copies(monkeypatch: pytest.MonkeyPatch) -> None:
    """Weights are in memory, as in a server."""
    monkeypatch.setattr(file_copies, "_copies", True)


@pytest.mark.usefixtures("copies")
@pytest.mark.parametrize("change", [_write_over, _cut_short, _put_another_in_its_place, Path.unlink])
def test_a_model_whose_file_changes_is_closed_and_others_stay(
    with_folder: Path, change: Callable[[Path], None]
) -> None:
    before, other = runs.run("mine", PROMPT, True), runs.run("mini", PROMPT, True).model
    runs.z_sum("mine", PROMPT, True)
    change(with_folder / "mine" / "model.safetensors")
    with pytest.raises(CheckpointError, match=r"mine was closed: model\.safetensors changed on disk or disappeared"):
        runs.run("mine", PROMPT, True)
    assert not models.is_open("mine")
    assert models.open_model("mini") is other
    if change in (_cut_short, Path.unlink):
        with pytest.raises(CheckpointError, match=r"model\.safetensors"):
            runs.run("mine", PROMPT, True)
        return
    now = runs.run("mine", PROMPT, True)
    expected = load(with_folder / "mine").run_with_cache(now.tokens[None])
    torch.testing.assert_close(now.next_logits, expected[0][0, -1], rtol=1e-5, atol=1e-5)  # float32, once in pieces
    assert not torch.allclose(now.next_logits, before.next_logits)
    z = expected[1]["z", 0].sum((0, 1))
    torch.testing.assert_close(
        runs.z_sum("mine", PROMPT, True).values[0].float(), z, rtol=1e-4, atol=1e-4
    )  # of a few tokens


def test_a_file_that_is_written_while_it_is_opened_is_not_taken(
    with_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def slow(source: Path, **how: object) -> object:
        model = load(source, allow_pickle=False)
        os.utime(with_folder / "mine" / "model.safetensors", (1, 1))
        return model

    monkeypatch.setattr(models, "load", slow)
    with pytest.raises(CheckpointError, match=r"model\.safetensors changed while the model was opened"):
        models.open_model("mine")
    assert not models.is_open("mine")


def test_a_model_that_goes_while_it_is_opened_is_named_without_its_path(
    with_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def gone(source: Path, **how: object) -> object:
        shutil.rmtree(with_folder / "mine")
        return load(source)

    monkeypatch.setattr(models, "load", gone)
    with pytest.raises(ModelNotFoundError, match="There is no folder, file or model 'mine'"):
        models.open_model("mine")


def test_a_server_waits_for_who_writes_over_a_file_in_pieces(
    with_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file_copies, "_copies", True)
    path = with_folder / "mine" / "model.safetensors"
    tensors = {name: tensor + 1 for name, tensor in load_file(path).items()}
    save_file(tensors, with_folder / "new", metadata={"format": "pt"})
    data = (with_folder / "new").read_bytes()
    half = len(data) // 2

    def write() -> None:
        with path.open("r+b", buffering=0) as file:
            file.write(data[:half])
            is_half.set()
            time.sleep(0.7)
            file.write(data[half:])

    is_half, writer = threading.Event(), threading.Thread(target=write)
    writer.start()
    is_half.wait()
    model = models.open_model("mine")
    writer.join()
    expected = load(with_folder / "mine").state_dict()
    assert all(parameter.equal(expected[name]) for name, parameter in model.state_dict().items())


def test_the_copy_on_a_device_is_kept_as_long_as_its_model_and_no_longer(
    folder: str, settings: dict[str, object], monkeypatch: pytest.MonkeyPatch
) -> None:
    settings["device"] = "meta"  # which every machine has, and where nothing can be computed
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    model = models.open_model(folder)
    copy = models.on_device(model)
    assert copy.embed.W_E.device.type == "meta"
    assert models.on_device(model) is copy
    assert models._opened().nbytes == 2 * cost.weights_bytes(model)
    gone = weakref.ref(model), weakref.ref(copy)
    models._opened().drop(lambda kept: kept is model)
    del model, copy
    gc.collect()
    assert [each() for each in gone] == [None, None]


def test_a_device_that_is_not_there_is_said(folder: str, settings: dict[str, object]) -> None:
    if torch.cuda.is_available():
        pytest.skip("there is one")
    settings["device"] = "cuda"
    with pytest.raises(ConfigError, match=r"torch finds none here\. Start it without --device"):
        runs.run(folder, PROMPT, True)


@pytest.fixture
def large(monkeypatch: pytest.MonkeyPatch, settings: dict[str, object]) -> None:
    """Every model is large, on a disk that gives 1,000 bytes a second."""
    monkeypatch.setattr(room, "LARGE", 1)
    monkeypatch.setattr(room, "_rate", lambda files: 1e3)


@pytest.mark.usefixtures("large")
def test_what_opening_a_large_model_takes_is_told_while_it_is_awaited(folder: str, tmp_path: Path) -> None:
    stored = sum(file.stat().st_size for file in Path(folder).glob("*.safetensors"))
    seconds = int(models.told_of_opening(folder).rpartition("about ")[2].removesuffix(" s").replace(",", ""))
    assert 0.9 * stored <= 1e3 * seconds <= stored  # less the file's header
    text = comparisons.waiting_text(Selection(folder, PROMPT, model_b="mini"))
    assert text.startswith("Opening the model: 0.0 GB of float32, which the first pass reads, about ")
    models.open_model(folder)
    models.open_model("mini")
    for name in (folder, str(tmp_path), "no such model"):  # open, or refused when it is asked for
        assert models.told_of_opening(name) == ""
    assert comparisons.waiting_text(Selection(folder, PROMPT, model_b="mini")) == "Running the model…"


def test_of_a_small_model_nothing_is_told(folder: str, settings: dict[str, object]) -> None:
    assert comparisons.waiting_text(Selection(folder, PROMPT)) == "Running the model…"


def test_a_model_that_is_converted_is_refused_where_memory_does_not_hold_it(
    folder: str, settings: dict[str, object], monkeypatch: pytest.MonkeyPatch
) -> None:
    settings["dtype"] = "bfloat16"
    monkeypatch.setattr(memory, "free", lambda: 1000)
    with pytest.raises(TooLargeError, match="a server: --dtype stored"):
        models.open_model(folder)


def test_opening_is_stopped_and_begun_again(folder: str, settings: dict[str, object]) -> None:
    class Ended(BaseException):
        """What Streamlit raises in a script's run that is to end."""

    def end(done: int, total: int, steps: str) -> None:
        raise Ended

    with passes.heard_by(end), pytest.raises(Ended):
        models.open_model(folder)
    assert not models.is_open(folder)
    assert models.open_model(folder).cfg.n_layers == 3


def test_a_run_may_take_no_more_memory_than_there_is_and_waits_for_the_disk(
    folder: str, settings: dict[str, object], monkeypatch: pytest.MonkeyPatch
) -> None:
    model, quick = models.open_model(folder), cost.cost_of(models.open_model(folder))(3)
    size = cost.weights_bytes(model)
    assert cost.reading_seconds(model) == 0
    monkeypatch.setattr(model, "reads_ahead", True)
    monkeypatch.setattr(memory, "free", lambda: size)
    assert cost.reading_seconds(model) == 0  # all of it stays
    monkeypatch.setattr(memory, "free", lambda: size - 1)
    assert cost.cost_of(model)(3) == limits.Cost(quick.nbytes, size / room.ASSUMED)
    assert cost.budget().nbytes == size - 1
    monkeypatch.setattr(memory, "free", lambda: 1)
    with pytest.raises(HeadlightError, match="choose a smaller model"):
        runs.run(folder, PROMPT, True)

"""A scan writes over and removes its own files alone: what else lies in a folder, or behind a link, stays."""

import json
from itertools import product
from pathlib import Path

import pytest

from headlight.app.scan import main
from headlight.model.base.errors import ScanError
from headlight.model.corpus.folder import check_folder, empty
from headlight.recipes import scans

IDENTITY = {"model": {"name": "m"}, "corpus": {"corpus": "c"}, "settings": {}}
OURS = {
    "config.json": json.dumps({"headlight": {"identity": IDENTITY}}),
    "scatter_data.json": "[]",
    "server_config.json": "{}",
    "attributions/manifest.json": "{}",
    "heads/L0H0.json": "{}",
    "heads/.L11H3.json.part": "half",
    "units/neurons/L0.safetensors": "",
    "units/features/L0.safetensors": "",
    ".scan/warm.npz": "",
    ".scan/shard-00000001.npz": "",
    ".scan/identity.json": json.dumps(IDENTITY),
}
# The user's own, some with names that are nearly those of a scan.
OWN = {
    "novel.txt": "years of work",
    "README.md": "mine",
    "heads/notes.md": "L0H0 is odd",
    "heads/L0H0.json.bak": "an older one",
    "heads/L0H0.png": "",
    "units/neurons/list.csv": "",
    ".scan/mine": "",
    "config.json.orig": "{}",
    "other/heads/L0H0.json": "{}",
}


def _lay(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


def _files(folder: Path) -> dict[str, str]:
    return {str(path.relative_to(folder)): path.read_text() for path in folder.rglob("*") if path.is_file()}


def test_a_scans_folder_is_emptied_of_what_a_scan_writes_alone(tmp_path: Path) -> None:
    _lay(tmp_path, OURS | OWN)
    empty(tmp_path)
    assert _files(tmp_path) == OWN
    alone = _lay(tmp_path / "alone", OURS)
    empty(alone)
    assert list(alone.iterdir()) == []


@pytest.mark.parametrize("left_out", ["config.json", ".scan/identity.json"])
def test_a_scan_that_goes_on_and_one_that_has_ended_are_told_by_their_identities(left_out: str, tmp_path: Path) -> None:
    _lay(tmp_path, {name: text for name, text in OURS.items() if name != left_out})
    check_folder(tmp_path)
    empty(tmp_path)
    assert _files(tmp_path) == {}


@pytest.mark.parametrize(
    "files",
    [
        OWN,
        {"config.json": '{"model_type": "gpt2"}', "heads/L0H0.json": "{}"},
        {"config.json": json.dumps({"headlight": {"version": 1}}), "scatter_data.json": "[]"},  # HeadVis's, or damaged
        {"config.json": "no json", ".scan/identity.json": json.dumps(IDENTITY)},  # laid there since
        {".scan/identity.json": "[]"},
        {"heads/L0H0.json": "{}"},
    ],
)
def test_a_folder_without_the_identity_of_a_scan_is_left_as_it_is(files: dict[str, str], tmp_path: Path) -> None:
    _lay(tmp_path, files)
    with pytest.raises(ScanError, match=r"no scan of ours.*--out"):
        empty(tmp_path)
    assert _files(tmp_path) == files


def test_the_root_of_the_disk_is_no_scans_folder() -> None:
    with pytest.raises(ScanError, match="and no scan of ours"):
        empty(Path("/"))


def test_a_new_and_an_empty_folder_need_nothing_removed(tmp_path: Path) -> None:
    for folder in (tmp_path, tmp_path / "new"):
        check_folder(folder)
        empty(folder)


def test_what_lies_behind_a_link_is_not_removed(tmp_path: Path) -> None:
    elsewhere = _lay(tmp_path / "elsewhere", {"L0H0.json": "mine", "text": "mine"})
    for name in ("heads", "scatter_data.json"):
        folder = _lay(tmp_path / f"with {name}", {other: OURS[other] for other in ("config.json", ".scan/warm.npz")})
        (folder / name).symlink_to(elsewhere if name == "heads" else elsewhere / "text")
        with pytest.raises(ScanError, match="leads elsewhere"):
            empty(folder)
        assert _files(elsewhere) == {"L0H0.json": "mine", "text": "mine"}
        assert (folder / "config.json").is_file()
    # A link to the whole folder is its owner's way to name it.
    target = _lay(tmp_path / "target", OURS | OWN)
    (tmp_path / "link").symlink_to(target)
    empty(tmp_path / "link")
    assert _files(target) == OWN
    assert (tmp_path / "link").is_symlink()


CORPUS = Path(__file__)


PLACES = list(product(("a file", "a dead link", "a model"), ([], ["--restart"])))


@pytest.mark.parametrize(("out", "flags"), PLACES)
def test_the_command_refuses_such_a_place_and_changes_nothing(
    out: str, flags: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _lay(tmp_path, {"a file": "mine", "a model/config.json": '{"model_type": "gpt2"}'})
    (tmp_path / "a dead link").symlink_to(tmp_path / "nowhere")
    before = _files(tmp_path)
    assert main(["mini", str(CORPUS), "--out", str(tmp_path / out), *flags]) == 1
    assert "--out" in capsys.readouterr().err
    assert _files(tmp_path) == before
    assert (tmp_path / "a dead link").is_symlink()


def test_a_restart_with_a_corpus_that_cannot_be_read_keeps_the_scan(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = _lay(tmp_path / "out", OURS)
    (tmp_path / "corpus.csv").write_text("words\none\n")
    assert main(["mini", str(tmp_path / "corpus.csv"), "--out", str(folder), "--restart"]) == 1
    assert "no column 'text'" in capsys.readouterr().err
    assert _files(folder) == OURS


def test_the_recipe_of_the_shipped_scans_never_empties_the_folder_of_a_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A model by its path has its scan among the others, under its last name."""
    into: list[Path] = []
    monkeypatch.setattr(scans, "make", lambda name, folder: into.append(folder))
    monkeypatch.setattr("sys.argv", ["scans", str(tmp_path / "model")])
    scans.main()
    assert into == [scans.SCANS / "model"]

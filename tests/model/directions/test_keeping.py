"""Directions kept in a folder: never over another file, and only what was kept there is removed."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from headlight.model.base.errors import InputError
from headlight.model.directions.files import open_direction, save_direction
from headlight.model.directions.keeping import is_kept, keep_direction, kept_files, remove_kept
from headlight.model.runs.direction import Direction

DIRECTION = Direction("plural ↑ 1", {1: torch.tensor([1.0, 2.0]), 3: torch.tensor([0.5, -1.0])}, "end", "pca", "mini")


def test_a_kept_direction_is_opened_again_and_no_file_is_written_over(tmp_path: Path) -> None:
    path = keep_direction(DIRECTION, tmp_path / "new")
    assert path.name == "plural_1.safetensors"
    assert open_direction(path).identity == DIRECTION.identity
    before = path.read_bytes()
    with pytest.raises(InputError, match=r"already a file plural_1\.safetensors.*by another name"):
        keep_direction(replace(DIRECTION, vectors={1: torch.ones(2)}), path.parent)
    assert path.read_bytes() == before


def test_only_what_was_kept_is_removed(tmp_path: Path) -> None:
    """A file that somebody sent, even a direction's that Headlight wrote elsewhere, is its owner's."""
    ours, theirs = keep_direction(DIRECTION, tmp_path), tmp_path / "sent.safetensors"
    save_direction(DIRECTION, theirs)
    save_direction(DIRECTION, tmp_path / "sent.gguf")
    (tmp_path / "link.safetensors").symlink_to(theirs)
    (tmp_path / "notes.txt").write_text("x")
    assert [path.name for path in kept_files(tmp_path)] == [ours.name, "sent.gguf", "sent.safetensors"]
    for path in (theirs, tmp_path / "sent.gguf"):
        assert not is_kept(path)
        with pytest.raises(InputError, match="not kept by Headlight"):
            remove_kept(path)
        assert path.exists()
    remove_kept(ours)
    assert not ours.exists()
    assert not list(kept_files(tmp_path / "nowhere"))

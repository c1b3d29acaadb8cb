"""What of memory is left, as Linux tells it, to a process that may be in control groups of either version."""

from pathlib import Path

import pytest

from headlight.model.base import memory

AVAILABLE = 8000 * 1024


@pytest.fixture
def system(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine with 8,000 KiB left, whose files of control groups a test may write."""
    (tmp_path / "meminfo").write_text("MemTotal:  9000 kB\nMemFree:  100 kB\nMemAvailable:  8000 kB\n")
    for name, file in (("MEMINFO", "meminfo"), ("OWN_GROUPS", "own"), ("GROUPS", "groups")):
        monkeypatch.setattr(memory, name, tmp_path / file)
    return tmp_path


def _group(folder: Path, **files: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / name.replace("memory_", "memory.", 1)).write_text(f"{text}\n")


def test_without_groups_it_is_what_the_machine_has_left(system: Path) -> None:
    assert memory.free() == AVAILABLE


def test_of_a_group_what_is_in_files_counts_as_free(system: Path) -> None:
    (system / "own").write_text("0::/app\n")
    _group(system / "groups" / "app", memory_max="5000000", memory_stat="anon 1000000\nfile 3900000")
    assert memory.free() == 4_000_000


def test_the_tightest_of_the_groups_around_a_process_counts(system: Path) -> None:
    (system / "own").write_text("0::/outer/inner\n")
    _group(system / "groups" / "outer", memory_max="3000000", memory_stat="anon 2500000")
    _group(system / "groups" / "outer" / "inner", memory_max="max", memory_stat="anon 2400000")
    assert memory.free() == 500_000


def test_the_first_version_is_understood_and_a_container_that_does_not_see_its_own_path(system: Path) -> None:
    (system / "own").write_text("4:memory:/docker/abc\n1:cpu:/\n0::/\n")
    _group(system / "groups" / "memory", memory_limit_in_bytes="2000000", memory_stat="rss 1\ntotal_rss 300000")
    assert memory.free() == 1_700_000


def test_a_group_that_is_over_its_limit_leaves_nothing(system: Path) -> None:
    (system / "own").write_text("0::/\n")
    _group(system / "groups", memory_max="1000", memory_stat="anon 2000")
    assert memory.free() == 0


def test_other_systems_do_not_tell(system: Path) -> None:
    (system / "meminfo").unlink()
    assert memory.free() is None

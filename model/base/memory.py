"""Memory that a process may still allocate, by its machine and by the control groups of its container."""

from collections.abc import Iterator
from pathlib import Path

MEMINFO, OWN_GROUPS, GROUPS = Path("/proc/meminfo"), Path("/proc/self/cgroup"), Path("/sys/fs/cgroup")
# Of each version of control groups: where they lie, the file of the limit, and the line of memory.stat that has what
# is in memory and in no file. What is in files too can be forgotten, and counts as free.
VERSIONS = (("memory", "memory.limit_in_bytes", "total_rss"), ("", "memory.max", "anon"))


def free() -> int | None:
    """Bytes that this process can take before something has to be swapped out or ended; None where no system tells.

    Source: Linux' documentation of /proc/meminfo, and of control groups, versions 1 and 2.
    """
    if not MEMINFO.is_file():
        return None
    return max(0, min([1024 * _line(MEMINFO, "MemAvailable:"), *_left_in_groups()]))


def _left_in_groups() -> Iterator[int]:
    """The memory left by the limits of this process' control group, and of each parent group."""
    lines = OWN_GROUPS.read_text(encoding="utf-8").splitlines() if OWN_GROUPS.is_file() else []
    for _, controllers, path in (line.split(":", 2) for line in lines):
        for controller, limit, in_memory in VERSIONS:
            if controller not in controllers.split(","):
                continue
            own = GROUPS / controller / path.lstrip("/")
            for group in (own, *own.parents):
                if (group / limit).is_file() and (most := (group / limit).read_text().strip()) != "max":
                    yield int(most) - _line(group / "memory.stat", in_memory)


def _line(path: Path, name: str) -> int:
    """The number behind a name in a file of such lines."""
    lines = (line.split() for line in path.read_text(encoding="utf-8").splitlines())
    return next(int(words[1]) for words in lines if words[0] == name)

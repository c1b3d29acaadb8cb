"""Commands that are killed again and again, and go on until what they write is that of one that was not."""

import json
import os
import random
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from itertools import permutations
from pathlib import Path
from threading import Event

from tests.places import ROOT

SECONDS = 15.0  # a command is killed within so many
Files = dict[str, bytes]


def _commands(folder: Path) -> dict[str, list[str]]:
    texts, pairs = folder / "texts.txt", folder / "pairs.jsonl"
    texts.write_text("\n\n".join(f"One cat sat on the mat {number}. One cat sat." for number in range(400)))
    rows = [
        {
            "clean": f"{a} and {b} went home. {b} gave a ball to",
            "corrupted": f"{a} and {b} went home. {a} gave a ball to",
            "answers": [f" {a}"],
            "wrong_answers": [f" {b}"],
        }
        for a, b in permutations(("Anna", "Ben", "Tom", "Mary"), 2)
    ]
    pairs.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return {
        "scan": ["scan", "mini", str(texts), "--shard=8", "--ablate=40"],
        "experiment": ["experiment", "mini", str(pairs), "--batch=1"],
    }


def _run(arguments: list[str], out: Path, seconds: float | None = None) -> bool:
    """Whether it ended by itself, and well."""
    name, *flags = arguments
    command = [sys.executable, "-m", f"headlight.app.{name}", *flags, f"--out={out}"]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE}
    process = subprocess.Popen(command, cwd=ROOT, env=os.environ | {"OMP_NUM_THREADS": "1"}, **quiet)  # type: ignore[call-overload]
    with suppress(subprocess.TimeoutExpired):
        _, said = process.communicate(timeout=seconds)
        assert process.returncode == 0, said
        return True
    process.kill()
    process.communicate()
    return False


def _files(folder: Path) -> Files:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def interrupted(folder: Path, seed: int, is_over: Event, count: Callable[[str], None], wrong: list[str]) -> None:
    """Scan and measure, killed at any moment, until it is over; what is written at the end is compared."""
    rng = random.Random(seed)
    folder.mkdir()
    commands, whole = _commands(folder), dict[str, Files]()
    for number in range(10**6):
        for name, arguments in commands.items():
            if is_over.is_set():
                return
            if name not in whole:
                _run(arguments, folder / name)
                whole[name] = _files(folder / name)
            out = folder / f"{name}-{number}"
            while not _run(arguments, out, rng.uniform(1, SECONDS) if rng.random() < 0.8 else None):
                count(f"{name} killed")
                if is_over.is_set():
                    return
            count(f"{name} finished")
            if _files(out) != whole[name]:
                wrong.append(f"{name}: {sorted(set(_files(out).items()) ^ set(whole[name].items()))[0][0]} differs")

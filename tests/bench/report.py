"""The table on the terminal, and the file of all figures and raw times that the manual's plots are made of."""

import json
import textwrap
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from tests.bench.bench import Bench
from tests.bench.figures import Figure
from tests.bench.machine import machine
from tests.bench.notes import NOTES
from tests.places import ROOT

REPORT = ROOT / "assets" / "benchmarks" / "bench.json"
HEADER = f"{'median':>9}{'least':>9}{'most':>9} {'':4}{'by processor':>13}{'goal':>8}  {'':8}what"
MET = {True: "met", False: "MISSED", None: ""}


def number(value: float) -> str:
    """Three digits, all of them where there are more before the point."""
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:.3g}"


def show(figure: Figure) -> None:
    """Print its line, and what holds it where it misses its goal."""
    median, least, most = map(number, (figure.value, min(figure.values), max(figure.values)))
    processor = "" if figure.by_processor is None else number(figure.by_processor)
    goal = "" if figure.goal is None else str(figure.goal)
    line = f"{median:>9}{least:>9}{most:>9} {figure.unit:4}{processor:>13}{goal:>8}  "
    print(f"{line}{MET[figure.met]:8}{figure.name}", flush=True)
    if figure.met is False and figure.name in NOTES:
        print(textwrap.indent(textwrap.fill(f"held by: {NOTES[figure.name]}", 96), " " * 24))


def row(figure: Figure) -> dict[str, object]:
    """A figure with what is computed of it."""
    goal = None if figure.goal is None else str(figure.goal)
    return asdict(figure) | {"name": figure.name, "goal": goal, "value": figure.value, "met": figure.met}


def write(bench: Bench, figures: Sequence[Figure], path: Path = REPORT) -> None:
    """All figures and times, with what they were measured on. A time is [seconds, seconds of processor time]."""
    turns = {
        title: {name: [[each.clock, each.processor] for each in costs] for name, costs in those.items()}
        for title, those in bench.turns.items()
    }
    setting = asdict(bench.setting) | {"fastest exact product": bench.fastest}
    report = {"machine": machine(), "versions": bench.versions, "setting": setting}
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(report | {"figures": [row(each) for each in figures], "turns": turns}, indent=1) + "\n")

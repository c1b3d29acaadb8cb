"""The manual's table of figures that have a goal, made of what `make bench` wrote."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.bench.notes import NOTES
from tests.bench.report import number
from tests.places import DOCS

BENCHMARKS = DOCS / "benchmarks.md"
BEGIN, END = "<!-- figures: make bench ARGS=plots -->", "<!-- end of figures -->"


def line(figure: Mapping[str, Any]) -> str:
    """A row: what, its median and range, the goal, and where that is missed what holds it."""
    values: Sequence[float] = figure["values"]
    measured = f"{number(figure['value'])} {figure['unit']}".strip()
    between = f" ({number(min(values))} – {number(max(values))})" if len(values) > 1 else ""
    met = "met" if figure["met"] else f"**missed**. {NOTES.get(figure['name'], '')}".strip()
    return f"| {figure['name']} | {measured}{between} | {figure['goal']} | {met} |"


def markdown(report: Mapping[str, Any]) -> str:
    """What it was measured on, and the table."""
    setting, versions = report["setting"], sorted(set(report["versions"].values()))
    on = f"On {report['machine']}, {setting['threads']} threads: {', '.join(versions)}."
    rows = [line(figure) for figure in report["figures"] if figure["goal"]]
    return "\n".join([on, "", "| figure | median (least – most) | goal | |", "|---|---|---|---|", *rows])


def put_into(page: Path, table: str, begin: str = BEGIN, end: str = END) -> None:
    """Put the table in place of what stands between the marks; without them leave the file alone."""
    before, _, rest = page.read_text().partition(begin)
    _, marker, after = rest.partition(end)
    if marker:
        page.write_text(f"{before}{begin}\n{table}\n{end}{after}")

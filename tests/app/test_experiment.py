"""The command that measures over a set of prompts."""

import csv
import json
import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import pytest

from headlight.app.experiment import CIRCUIT_FLAGS, main, parser
from headlight.model import CircuitSettings, circuit_study_tables, load, read_circuit, study_circuit
from headlight.model.experiments.results import read_results
from headlight.model.experiments.running import run
from headlight.model.experiments.settings import ExperimentSettings
from headlight.model.prompt_sets.encoding import to_tokens
from headlight.model.prompt_sets.reading import read_prompt_set
from tests.places import ROOT

NAMES = ("Anna", "Ben", "Tom", "Mary")


@pytest.fixture
def pairs(tmp_path: Path) -> Path:
    """A set of twelve pairs as a file."""
    rows = [
        {
            "clean": f"{a} and {b} went home. {b} gave a ball to",
            "corrupted": f"{a} and {b} went home. {a} gave a ball to",
            "answers": [f" {a}"],
            "wrong_answers": [f" {b}"],
        }
        for a in NAMES
        for b in NAMES
        if a != b
    ]
    path = tmp_path / "pairs.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_a_set_is_measured_into_a_folder_with_its_table(pairs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = pairs.parent / "out"
    assert main(["mini", str(pairs), "--out", str(out), "--rows", "5", "--interval", "t"]) == 0
    output = capsys.readouterr()
    assert f"The experiment is in {out}" in output.out
    assert "5 rows; about" in output.err
    model = load("mini")
    assert model.tokenizer is not None
    tokens = to_tokens(read_prompt_set(pairs), model.tokenizer, True, cfg=model.cfg)
    expected = run(model, tokens, ExperimentSettings(rows=5))
    results = read_results(out)
    assert results.is_complete
    assert results.measurement.rows == expected.rows == (1, 2, 3, 4, 5)
    assert (results.measurement.measure.values - expected.measure.values).abs().max() < 1e-4  # of shares
    table = list(csv.DictReader((out / "means.csv").read_text().splitlines()))
    assert [(row["layer"], row["head"]) for row in table][:5] == [
        *(("L0", f"H{head}") for head in range(4)),
        ("L1", "H0"),
    ]
    mean = expected.measure.values[:, 0, 0].mean()
    assert float(table[0]["mean"]) == pytest.approx(float(mean), abs=1e-4)
    assert main(["mini", str(pairs), "--out", str(out), "--rows", "5"]) == 0  # nothing is left to compute
    assert main(["mini", str(pairs), "--out", str(out), "--part", "q"]) == 1
    assert "--restart" in capsys.readouterr().err
    assert main(["mini", str(pairs), "--out", str(out), "--rows", "2", "--part", "q", "--restart"]) == 0
    assert read_results(out).settings.part == "q"


def test_a_circuit_is_scored_into_a_folder_and_goes_on(pairs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = pairs.parent / "circuit"
    flags = ["mini", str(pairs), "--out", str(out), "--measure", "circuit", "--method", "eap", "--share", "0.1"]
    assert main(flags) == 0
    output = capsys.readouterr()
    assert "6 rows are scored and 6 held out; 0 are left out" in output.err
    model = load("mini")
    study = study_circuit(model, read_prompt_set(pairs), CircuitSettings("eap", share=0.1))
    expected = circuit_study_tables(study)
    for name in ("curve", "circuit", "overlaps"):
        rows = list(csv.DictReader((out / f"{name}.csv").read_text(encoding="utf-8-sig").splitlines()))
        column = list(expected[name])[-1]
        numbers = [float(row[column]) for row in rows]
        assert numbers == pytest.approx(list(expected[name][column]), abs=1e-4)  # float32 in batches of other sizes
    read = read_circuit(out / "circuit.json", model.cfg)
    assert read.edges.equal(study.mask.edges)
    (lost, *_) = sorted(out.glob("score-*.npz"))
    before = {path: path.stat().st_mtime_ns for path in out.glob("*.npz")}
    lost.unlink()
    assert main(flags) == 0
    assert {path.stat().st_mtime_ns == before[path] for path in out.glob("*.npz") if path != lost} == {True}
    assert main([*flags[:-4], "--method", "clean_corrupted"]) == 1
    assert "--restart" in capsys.readouterr().err
    assert main([*flags[:-1], "0.3", "--restart"]) == 1
    assert "share is 0.3; choose one of 0.001" in capsys.readouterr().err
    written = sorted(path.name for path in out.iterdir())
    assert main([*flags, "--restart"]) == 0
    assert sorted(path.name for path in out.iterdir()) == written


def test_what_cannot_be_measured_is_said(pairs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for flags, what in (
        (["--measure", "path"], "such as L5H1"),
        (["--memory", "0"], "--memory is 0"),
        (["--workers", "0"], "--workers is 0"),
    ):
        assert main(["mini", str(pairs), "--out", str(pairs.parent / "none"), *flags]) == 1
        assert what in capsys.readouterr().err
    assert main(["mini", str(pairs.parent / "missing.csv")]) == 1
    assert "missing.csv" in capsys.readouterr().err


def test_every_setting_is_a_flag_that_is_told_without_waiting_for_torch() -> None:
    code = "import sys; from headlight.app.experiment import parser; parser().format_help(); print(*sys.modules)"
    output = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert "headlight.model.experiments.settings" in output.split()
    assert not {"torch", "numpy", "headlight.app.experimenting"} & set(output.split())
    flags = parser().parse_args(["mini", "pairs.csv"])
    defaults = ExperimentSettings().as_dict()
    assert {name: getattr(flags, name) for name in defaults} == defaults
    assert {field.name for field in fields(CircuitSettings)} == {*CIRCUIT_FLAGS, *shared(defaults)}


def shared(defaults: dict[str, object]) -> set[str]:
    """The settings that circuits share with measures."""
    return {field.name for field in fields(CircuitSettings)} & set(defaults)

"""The circuit of a set on the page *Experiments*, without a browser: what it says, draws, compares and saves."""

import re
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from headlight.app.exports.data import archive
from headlight.app.exports.style import LIGHT
from headlight.app.pages.experiments import circuit, exports
from headlight.app.pages.experiments.choices import Choices
from headlight.app.pages.experiments.circuit import CircuitView
from headlight.app.pages.experiments.experiment import rows_of
from headlight.app.runs import circuits, comparisons, prompt_sets
from headlight.app.selection.chosen import Selection
from headlight.model import load
from headlight.model.base.errors import HeadlightError, ScanError
from headlight.model.circuits import edge_scores, select_edges, split_rows
from headlight.model.circuits.evaluation import evaluate
from headlight.model.circuits.settings import CircuitSettings
from headlight.model.circuits.stability import overlap
from headlight.model.experiments.circuit_results import CircuitFolder, read_study
from headlight.model.prompt_sets.encoding import to_tokens
from headlight.model.prompt_sets.reading import read_prompt_set
from headlight.model.runs.comparison import Comparison
from tests.app.choosing import selection_of
from tests.app.conftest import Options
from tests.app.exports.test_code import compare_tables, run_here
from tests.app.pages.experiments.test_page import PAIRS, jsonl, opened, said

TURNED = [(corrupted, clean, wrong, right) for clean, corrupted, right, wrong in PAIRS]
UNUSABLE = ("one two", "one two", " no such answer", " four")
OPTIONS = {"exp_circuit": "1", "exp_circ_method": "eap", "exp_circ_share": "0.1"}


@pytest.fixture
def pairs(tmp_path: Path) -> str:
    """A file with nine pairs, of which the model can take eight."""
    path = tmp_path / "pairs.jsonl"
    path.write_text(jsonl([*PAIRS, *TURNED, UNUSABLE]), encoding="utf-8")
    return str(path)


def circuit_view(folder: str, pairs: str, **more: object) -> tuple[CircuitView, Selection, Comparison]:
    """What the page has of a circuit, without the page."""
    options = {"exp_circuit": True, "exp_circ_method": "eap", "exp_circ_share": 0.1, **more}
    chosen = selection_of(model=folder, prompt="one two three one", prompt_set=pairs, **options)
    comparison = comparisons.for_selection(chosen)
    return circuit.view_of(rows_of([prompt_sets.named(pairs, "")], comparison, chosen), chosen), chosen, comparison


def test_the_page_says_what_the_library_measures_on_rows_that_were_held_out(
    settings: dict[str, object], folder: str, pairs: str
) -> None:
    page = opened(prompt_set=pairs, **OPTIONS)
    model = load(folder)
    assert model.tokenizer is not None
    train, held_out = split_rows(to_tokens(read_prompt_set(pairs), model.tokenizer, True).rows, 0.5)
    scores = edge_scores(model, train, "eap")
    result = evaluate(model, held_out, scores)
    place = result.shares.index(0.1)
    text = said(page)
    assert f"10% of the edges ({int(0.1 * scores.wires.n_edges)} of {scores.wires.n_edges}" in text
    assert f"{result.n_edges[place]} of them on a way" in text
    assert f"keep {float(result.faithfulness[place]):.2f} [".replace("-", "−") in text
    assert "Scored on 4 rows, measured on 4 others" in text
    assert f"CPR {result.cpr:.2f}" in text.replace("−", "-")
    assert "1 of 9 rows are left out. Row 9: Its answer" in text


@pytest.mark.parametrize(
    ("n_edges", "chosen", "share"), [(479, 0, 0.1), (70_651, 0, 0.01), (4_000, 0, 0.01), (12, 0, 1), (479, 0.011, 0.01)]
)
def test_a_size_that_nobody_has_chosen_is_a_hundredth_and_at_least_forty_edges(
    n_edges: int, chosen: float, share: float
) -> None:
    assert Choices(exp_circ_share=chosen).circuit_settings(n_edges, "logit_diff", False).share == share


def test_a_circuit_without_edges_offers_the_smallest_that_has_some(
    settings: dict[str, object], folder: str, pairs: str, options: Options
) -> None:
    page = opened(prompt_set=pairs, **OPTIONS | {"exp_circ_share": "0.001"})
    assert circuit.NONE_LEFT in said(page)
    assert "exp_circ_clear" not in options.drawn
    options.change(page, "exp_circ_larger", "")
    result = circuit_view(folder, pairs)[0].whole().evaluation
    share, count = next((share, count) for share, count in zip(result.shares, result.n_edges, strict=True) if count)
    assert re.search(rf"{100 * share:g}% of the edges \(.*{count} of them on a way", said(page))
    assert "exp_circ_larger" not in options.drawn


def test_another_size_scores_nothing_anew_and_a_method_beside_only_its_own(
    settings: dict[str, object], folder: str, pairs: str
) -> None:
    view, *_ = circuit_view(folder, pairs)
    view.whole()
    larger, *_ = circuit_view(folder, pairs, exp_circ_share=0.2, exp_circ_beside="clean_corrupted")
    left = [piece for piece in larger.pieces if not circuits.is_done(piece)]
    assert {(piece.stage, piece.question.settings.method) for piece in left} == {
        ("resample", "eap"),
        ("score", "clean_corrupted"),
    }


def test_what_is_taken_along_is_what_the_script_prints(settings: dict[str, object], folder: str, pairs: str) -> None:
    view, chosen, comparison = circuit_view(folder, pairs, exp_circ_beside="clean_corrupted")
    known = [prompt_sets.named(pairs, "")]
    assert exports.circuit_exports.export(known, chosen) is None  # nothing is done yet
    study = view.whole()
    export = exports.circuit_exports.export(known, chosen)
    assert export is not None
    data = export.data(comparison, chosen)
    compare_tables(run_here(export.script(comparison, chosen)), dict(data.tables))
    assert archive(comparison, data)
    assert torch.equal(torch.as_tensor(data.arrays["scores"].values), study.scores.by_row)
    assert b"10% of the edges" in export.page(comparison, chosen)
    assert export.picture(comparison, chosen, LIGHT).axes
    model = load(folder)
    assert model.tokenizer is not None
    train, _ = split_rows(to_tokens(read_prompt_set(pairs), model.tokenizer, True).rows, 0.5)
    own, other = (edge_scores(model, train, method) for method in ("eap", "clean_corrupted"))
    n = int(0.1 * own.wires.n_edges)
    theirs = overlap(*(select_edges(own.wires, each.mean, n) for each in (own, other)))
    listed = dict(zip(*data.tables["overlaps"].values(), strict=True))
    assert listed["clean-corrupted"] == pytest.approx(float(theirs))


@pytest.mark.parametrize("suffix", [".json", ".pt"])
def test_a_saved_circuit_is_compared_and_one_of_another_model_refused(
    settings: dict[str, object], folder: str, pairs: str, suffix: str
) -> None:
    view, *_ = circuit_view(folder, pairs)
    saved = circuits.file_of(view.whole(), folder, suffix)
    key = circuits.add_file(f"mine{suffix}", saved, folder)
    compared, *_ = circuit_view(folder, pairs, exp_circ_file=key)
    assert circuit.overlap_rows(compared.whole())[-1] == (f"mine{suffix}", 1.0)
    with pytest.raises(HeadlightError, match="circuit of another model"):
        circuits.add_file(f"mine{suffix}", saved, "mini")
    with pytest.raises(HeadlightError, match=r"circuits end in .json or .pt"):
        circuits.add_file("mine.csv", saved, folder)
    lost, *_ = circuit_view(folder, pairs, exp_circ_file="gone.json#0")
    assert "not open on this server" in " ".join(lost.notes)


def test_nodes_and_neurons_are_drawn_without_edges(settings: dict[str, object], folder: str, pairs: str) -> None:
    for unit in ("nodes", "neurons"):
        view, *_ = circuit_view(folder, pairs, exp_circ_unit=unit, exp_circ_share=0.5)
        study = view.whole()
        marks = next(trace for trace in circuit.picture(study).traces if trace.get("mode") == "markers")
        kept = study.chosen if unit == "nodes" else study.chosen.any(-1)
        assert len(marks["x"]) == int(kept.sum())
        assert f"50% of the {unit}" in circuit.sentence(study)
        assert study.scores.unit == unit


def test_what_has_no_circuit_is_refused_in_words(
    settings: dict[str, object], folder: str, pairs: str, tmp_path: Path
) -> None:
    alone = tmp_path / "alone.jsonl"
    alone.write_text('{"clean": "one two three one", "answers": " two", "wrong_answers": " four"}\n' * 4)
    with pytest.raises(HeadlightError, match="choose the baseline 'mean' or 'zero'"):
        circuit_view(folder, str(alone))
    view, *_ = circuit_view(folder, str(alone), exp_circ_baseline="zero", exp_circ_beside="flow")
    assert view.question.settings.baseline == "zero"
    page = opened(prompt_set=str(alone), **OPTIONS)
    assert "choose the baseline 'mean' or 'zero'" in said(page) + " ".join(each.value for each in page.error)


def test_the_commands_circuit_is_opened_beside_its_set(
    settings: dict[str, object], folder: str, pairs: str, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    model, chosen = load(folder), CircuitSettings("eap", share=0.2)
    assert model.tokenizer is not None
    tokens = to_tokens(read_prompt_set(pairs), model.tokenizer, True, cfg=model.cfg)
    study = CircuitFolder(model, tokens, chosen, out).run()
    text = said(opened(prompt_set=pairs, exp_results=str(out)))
    assert f"Results of {out}: EAP" in text
    assert circuit.sentence(study) in text
    assert circuit.said_of_rows(study, 9) in text
    assert "Score and measure" not in text
    other = tmp_path / "other.jsonl"
    other.write_text(jsonl(PAIRS), encoding="utf-8")
    assert "Choose that set" in said(opened(prompt_set=str(other), exp_results=str(out)))
    with pytest.raises(ScanError, match="Choose that model"):
        read_study(out, replace(model.cfg, n_ctx=model.cfg.n_ctx + 1))
    (lost, *_) = out.glob("measure-*.npz")
    lost.unlink()
    assert re.search(r"is not finished: \d of 8 rows", said(opened(prompt_set=pairs, exp_results=str(out))))
    (damaged, *_) = out.glob("score-*.npz")
    damaged.write_bytes(damaged.read_bytes()[:100])
    assert damaged.name in said(opened(prompt_set=pairs, exp_results=str(out)))

"""Parts of two runs beside each other: B - A of all parts is the change of what they are parts of.

That change comes from passes of both models whose logits and scores are taken as the model names them.
"""

from collections.abc import Sequence
from pathlib import Path

import pytest
import torch

from headlight.model import Comparison, Run, Transformer, compare, run_prompt
from headlight.model.attention.residual_tables import (
    component_names,
    component_norms,
    component_shares,
    residual_tables,
)
from headlight.model.attribution.explanation import CellQuestion
from headlight.model.attribution.tables import why_tables
from headlight.model.nn.hooks import Chain, Collect
from headlight.model.runs.edits import (
    AblateHeads,
    AblateNeurons,
    ClampNeurons,
    CutEdge,
    Drop,
    Edit,
    FreezePatterns,
    Patch,
    Steer,
)
from headlight.model.runs.linear import no_reading
from headlight.model.runs.tables import Table
from tests.tiny import KINDS, open_tiny

pytestmark = pytest.mark.usefixtures("unchecked")  # a batch grows where interventions run side by side
TEXT, OTHER = "one two three one two three one", "one two four one two four one"
TARGET, DISTRACTOR, LAYER, HEAD = 40, 90, 1, 2
# Every kind against one with another norm, other embeddings, other biases or another order of the parts in a layer.
PAIRS = [
    ("gpt2-like", "llama-like"),
    ("llama-like", "gpt2-like"),
    ("neox-like", "gemma2-like"),
    ("gpt_oss-like", "bloom-like"),
    ("neo-like", "gpt_oss-like"),
    ("granite-like", "olmo2-like"),
    ("bert-like", "gpt2-like"),
    ("qwen3-like", "modernbert-like"),
]
EDITS: list[Edit] = [
    AblateHeads(((0, 1),), "mean"),
    AblateHeads(((1, 2),)),
    CutEdge((LAYER, HEAD), 6, 5),
    FreezePatterns(),
    Patch("blocks.1.attn.hook_z", OTHER, (3,)),
    Patch("blocks.0.hook_resid_pre", OTHER),
    Steer(1, "one two", "four", 1.5),
    Drop(0),
    Drop(1, "attention"),
    AblateNeurons(((0, 3),)),
    ClampNeurons(((1, 4),), 2.0),
]
# Float32 sums of some dozen parts of size 10, taken in another order.
CLOSE = {"rel": 1e-4, "abs": 4e-4}


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Transformer]:
    """A tiny model of each kind."""
    folder: Path = tmp_path_factory.mktemp("models")
    return {kind: open_tiny(kind, folder / kind) for kind in KINDS}


def sum_of(table: Table, side: str) -> float:
    *_, values = table.values()
    return sum(float(value or 0.0) for run, value in zip(table["run"], values, strict=True) if run == side)


def before_cap(values: torch.Tensor, cap: float | None) -> torch.Tensor:
    return values.double() if cap is None else cap * (values.double() / cap).atanh()


@torch.inference_mode()
def measured(run: Run, cell: tuple[int, int]) -> dict[str, float]:
    """The difference of the two logits and the score of a cell, from a pass with the run's edits."""
    name = f"blocks.{LAYER}.attn.hook_attn_scores"
    seen = Collect([name], lambda scores: scores[0, HEAD])
    logits = before_cap(run.model(run.tokens[None], tap=Chain(run.tap, seen))[0, -1], run.cfg.output_logits_soft_cap)
    scores = before_cap(seen.kept[name], run.cfg.attn_scores_soft_cap)
    return {"effects": float(logits[TARGET] - logits[DISTRACTOR]), "score": float(scores[cell])}


def check_why(comparison: Comparison) -> None:
    cell = (6, 5)
    tables = why_tables(comparison, CellQuestion((LAYER, HEAD), *cell, TARGET, DISTRACTOR, len(comparison.labels) - 1))
    truth = {side: measured(run, cell) for side, run in comparison.sides.items()}
    for name in ("effects", "score"):
        change = truth["B"][name] - truth["A"][name]
        assert sum_of(tables[name], "B - A") == pytest.approx(change, **CLOSE), name
    own = {side: sum_of(tables["sources"], side) for side in ("A", "B", "B - A")}
    assert own["B - A"] == pytest.approx(own["B"] - own["A"], **CLOSE)


def check_residual(comparison: Comparison) -> None:
    """Each run's rows are its own parts, by their names; shares sum to 1, and their changes to 0."""
    norms, shares, names = component_norms(comparison), component_shares(comparison), component_names(comparison)
    for side, run in comparison.sides.items():
        own = dict(run.writes())
        by_name = dict(zip(names, norms[side].values, strict=True))
        for name, values in by_name.items():
            if name in own:
                torch.testing.assert_close(values, own[name].norm(dim=-1))
            else:
                assert values.isnan().all()
    sums = {side: measure.values.nansum(0) for side, measure in shares.items() if not measure.values.isnan().all()}
    for side, total in sums.items():
        torch.testing.assert_close(total, torch.full_like(total, 0.0 if side == "B - A" else 1.0), rtol=0, atol=1e-3)
    tables = residual_tables(comparison)["components"]
    for side in ("A", "B", "B - A"):
        assert [name for run, name in zip(tables["run"], tables["component"], strict=True) if run == side] == [*names]


def in_order(names: Sequence[str], whole: Sequence[str]) -> bool:
    places = [whole.index(name) for name in names]
    return places == sorted(places)


@pytest.mark.parametrize(("a", "b"), PAIRS)
def test_parts_of_unlike_models_are_matched_by_name(a: str, b: str, models: dict[str, Transformer]) -> None:
    comparison = compare(run_prompt(models[a], TEXT), run_prompt(models[b], TEXT))
    assert all(in_order([name for name, _ in run.writes()], component_names(comparison)) for run in comparison.runs)
    check_residual(comparison)
    if not any(no_reading(run.model) for run in comparison.runs):
        check_why(comparison)


@pytest.mark.parametrize("edit", EDITS, ids=lambda edit: type(edit).__name__)
@pytest.mark.parametrize("kind", ["gpt2-like", pytest.param("gemma2-like", marks=pytest.mark.thorough)])
def test_what_an_edit_changes_is_the_sum_of_all_parts(kind: str, edit: Edit, models: dict[str, Transformer]) -> None:
    comparison = compare(run_prompt(models[kind], TEXT), run_prompt(models[kind], TEXT, edits=(edit,)))
    check_residual(comparison)
    check_why(comparison)
    check_residual(compare(comparison.runs[1], comparison.a))

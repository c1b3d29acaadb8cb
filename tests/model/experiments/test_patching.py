"""Patching over a set, beside TransformerLens's patching utilities, pair by pair, and beside hooks by hand."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest
import torch
from torch import Tensor
from transformer_lens import patching as theirs

from headlight.model.experiments.batch import measure_batch, with_means
from headlight.model.experiments.plan import plan_of
from headlight.model.experiments.running import run
from headlight.model.experiments.settings import MeasureKind, Part
from headlight.model.prompt_sets.encoding import TokenRow
from tests.model.experiments.cases import N_POS, TOLERANCE, by_hand, pairs, ragged, settings
from tests.model.lens.lens_twin import HookedTransformer, lens_twin
from tests.model.oracles import random_model
from tests.model.stopping import Stopping
from tests.tiny import KINDS, tiny

Utility = Callable[..., Tensor]
WHOLE: dict[Part, Utility] = {
    "z": theirs.get_act_patch_attn_head_out_all_pos,
    "q": theirs.get_act_patch_attn_head_q_all_pos,
    "k": theirs.get_act_patch_attn_head_k_all_pos,
    "v": theirs.get_act_patch_attn_head_v_all_pos,
    "pattern": theirs.get_act_patch_attn_head_pattern_all_pos,
}
BY_POSITION: dict[Part, Utility] = {
    "resid_pre": theirs.get_act_patch_resid_pre,
    "attn_out": theirs.get_act_patch_attn_out,
    "mlp_out": theirs.get_act_patch_mlp_out,
    "z": theirs.get_act_patch_attn_head_out_by_pos,
    "q": theirs.get_act_patch_attn_head_q_by_pos,
    "k": theirs.get_act_patch_attn_head_k_by_pos,
    "v": theirs.get_act_patch_attn_head_v_by_pos,
    "pattern": theirs.get_act_patch_attn_head_pattern_by_pos,
}


def _patched_by_them(twin: HookedTransformer, row: TokenRow, utility: Utility, direction: str) -> Tensor:
    source, base = (row.clean, row.corrupted) if direction == "denoise" else (row.corrupted, row.clean)
    _, cache = twin.run_with_cache(source[None])
    return utility(twin, base[None], cache, lambda logits: torch.tensor(by_hand(logits, row)))


@pytest.fixture(autouse=True)
def _without_bars_and_gradients(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(theirs, "tqdm", lambda steps, *_, **__: steps)
    with torch.no_grad():
        yield


@pytest.mark.usefixtures("unchecked")  # many runs
def test_every_part_is_patched_as_their_utilities_patch_it() -> None:
    model, rows = random_model(), pairs(2)
    twin = lens_twin(model)
    cases = [("head", part, utility, "denoise") for part, utility in WHOLE.items()]
    cases += [("position", part, utility, "denoise") for part, utility in BY_POSITION.items()]
    for by, part, utility, direction in [*cases, ("head", "z", WHOLE["z"], "noise")]:
        chosen = settings(part=part, by=by, positions="tokens", direction=direction, memory=1)
        raw = run(model, rows, chosen).raw
        assert raw is not None
        expected = torch.stack([_patched_by_them(twin, row, utility, direction) for row in rows.rows])
        if expected.ndim == 4 and part != "pattern":
            expected = expected.transpose(2, 3)  # theirs have the head last, but of patterns
        torch.testing.assert_close(raw.values, expected, **TOLERANCE, msg=lambda text, part=part: f"{part}: {text}")


def test_the_mean_share_is_that_of_the_mean_logits() -> None:
    model, rows = random_model(), pairs(4)
    measurement = run(model, rows, settings())
    twin = lens_twin(model)
    clean, corrupted = (
        torch.tensor([by_hand(twin(getattr(row, side)[None]), row) for row in rows.rows])
        for side in ("clean", "corrupted")
    )
    torch.testing.assert_close(measurement.clean, clean, **TOLERANCE)
    torch.testing.assert_close(measurement.corrupted, corrupted, **TOLERANCE)
    assert measurement.raw is not None
    # TransformerLens's normalised logit difference of the mean over the pairs.
    expected = (measurement.raw.values.mean(0) - corrupted.mean()) / (clean.mean() - corrupted.mean())
    torch.testing.assert_close(measurement.measure.values.mean(0), expected, **TOLERANCE)
    assert measurement.rows == (1, 2, 3, 4)
    assert measurement.measure.axes == ("row", "layer", "head")


def test_rows_of_several_lengths_come_by_name_or_from_the_end() -> None:
    model, rows = random_model(), ragged()
    twin = lens_twin(model)
    by_name = run(model, rows, settings(part="resid_pre", batch=2))
    from_end = run(model, rows, settings(part="resid_pre", positions="from_end"))
    assert by_name.labels["position"] == ("name", "end")
    assert from_end.labels["position"] == ("-6", "-5", "-4", "-3", "-2", "-1")
    for place, row in enumerate(rows.rows):
        expected = _patched_by_them(twin, row, theirs.get_act_patch_resid_pre, "denoise")
        assert by_name.raw is not None
        assert from_end.raw is not None
        at = [here for _, here in row.positions.values()]
        torch.testing.assert_close(by_name.raw.values[place], expected[:, at], **TOLERANCE)
        torch.testing.assert_close(from_end.raw.values[place], expected[:, -6:], **TOLERANCE)


def test_probabilities_and_answers_alone_are_measured_too() -> None:
    model, rows = random_model(), pairs(1)
    row, twin = rows.rows[0], lens_twin(model)
    _, cache = twin.run_with_cache(row.clean[None])

    def difference(logits: Tensor) -> Tensor:
        probabilities = logits[0, -1].softmax(-1)
        return probabilities[list(row.answers)].sum() - probabilities[list(row.wrong_answers)].sum()

    raw = run(model, rows, settings(metric="prob_diff")).raw
    assert raw is not None
    assert raw.unit == "probability"
    expected = WHOLE["z"](twin, row.corrupted[None], cache, difference)
    torch.testing.assert_close(raw.values[0], expected, **TOLERANCE)


def _hook(value: Tensor, at: tuple[Any, ...], activation: Tensor, hook: object) -> Tensor:
    activation[at] = value[at]
    return activation


@pytest.mark.thorough
@pytest.mark.usefixtures("unchecked")  # many runs
@pytest.mark.parametrize("kind", KINDS)
def test_parts_of_every_kind_of_architecture(kind: str) -> None:
    """Beside hooks that put the other run's part in place, where TransformerLens has no such model."""
    model, rows = tiny(kind), pairs(2, d_vocab=4096)
    every, group = slice(None), model.cfg.group_of(1)
    cells: dict[Part, tuple[str, tuple[Any, ...], tuple[int, ...]]] = {
        "z": ("attn.hook_z", (every, every, 1), (1, 1)),
        "q": ("attn.hook_q", (every, every, 1), (1, 1)),
        "k": ("attn.hook_k", (every, every, group), (1, group)),
        "v": ("attn.hook_v", (every, every, group), (1, group)),
        "pattern": ("attn.hook_pattern", (every, 1), (1, 1)),
        "resid_pre": ("hook_resid_pre", (every, 3), (1, 3)),
        "attn_out": ("hook_attn_out", (every, 3), (1, 3)),
        "mlp_out": ("hook_mlp_out", (every, N_POS - 1), (1, N_POS - 1)),
    }
    for part, (name, at, cell) in cells.items():
        raw = run(model, rows, settings(part=part, positions="tokens")).raw
        assert raw is not None
        for place, row in enumerate(rows.rows):
            with torch.inference_mode():
                _, cache = model.run_with_cache(row.clean[None], lambda _: True)
                hooks = [(f"blocks.1.{name}", partial(_hook, cache[f"blocks.1.{name}"], at))]
                expected = by_hand(model.run_with_hooks(row.corrupted[None], hooks), row)
            # Logits of size 10 in float32, through three layers in another order.
            assert float(raw.values[place, *cell]) == pytest.approx(expected, abs=2e-3), (part, row.number)


@pytest.mark.parametrize("measure", ["patching", "attribution", "dla", "lens", "patterns", "ablation"])
def test_a_batch_is_stopped_within_a_pass(measure: MeasureKind) -> None:
    """A row of a large model takes seconds, after which a press of Stop would else be heard."""
    model, rows, host = random_model(n_layers=3), pairs(1), Stopping(3)
    with pytest.raises(InterruptedError):
        measure_batch(model, rows.rows, plan_of(model, rows, settings(measure=measure)), host)
    assert host.left == 0


def test_the_means_of_a_whole_set_are_stopped_too() -> None:
    model, rows, host = random_model(n_layers=3), ragged(), Stopping(4)
    with pytest.raises(InterruptedError):
        with_means(model, plan_of(model, rows, settings(measure="ablation", ablation="mean")), host)
    assert host.left == 0

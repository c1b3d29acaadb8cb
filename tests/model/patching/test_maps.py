"""Maps of patches, against one run for each patch, TransformerLens's patching, and what has to come out."""

from typing import Any

import pytest
import torch
from torch import Tensor

from headlight.model.base.errors import InputError
from headlight.model.nn.cache import ActivationCache
from headlight.model.nn.hooks import HookPoint
from headlight.model.patching import Kind, LogitDifference, Patching, Variant, grid, patching_map
from headlight.model.patching.grids import operations, row_bytes
from tests.model.lens.lens_twin import lens_twin
from tests.model.oracles import VARIANTS, random_tokens
from tests.model.patching.cases import ASKED, N_POS, TOLERANCE, Case, case

pytestmark = pytest.mark.usefixtures("unchecked")  # of the batch, which grows on the way

KINDS: tuple[Kind, ...] = ("resid_pre", "attn_out", "mlp_out", "z", "z_by_position")
MODELS = [name for name in VARIANTS if name != "other output vocabulary"] + ["other output vocabulary"]


def one_run(
    each: Case, variant: Variant, into: str, there: ActivationCache, question: LogitDifference = ASKED
) -> float:
    """The logit difference of one variant, by a whole run with one hook that puts in what is `there` in the other."""
    base = each.a if into == "A" else each.b
    name = f"blocks.{variant.layer}.{'attn.' if variant.part == 'z' else ''}hook_{variant.part}"

    def put(activation: Tensor, hook: HookPoint) -> None:
        positions = slice(None) if variant.position is None else variant.position
        if variant.head is None:
            activation[:, positions] = there[name][:, positions]
        else:
            activation[:, positions, variant.head] = there[name][:, positions, variant.head]

    return each.difference(each.model.run_with_hooks(base, [(name, put)]), question)


@pytest.mark.parametrize("variant", MODELS)
@pytest.mark.parametrize("into", ["A", "B"])
def test_every_map_is_what_one_run_for_each_patch_gives(variant: str, into: str) -> None:
    each = case(variant)
    a, b = (each.difference(each.model(tokens)) for tokens in (each.a, each.b))
    _, there = each.model.run_with_cache(each.b if into == "A" else each.a)
    for kind in KINDS:
        if kind == "mlp_out" and each.model.cfg.attn_only:
            continue
        cells_map = patching_map(each.patching(into=into), kind, layer=1)
        cells = grid(kind, each.model.cfg, N_POS, layer=1)
        expected = [(one_run(each, cell, into, there) - a) / (b - a) for cell in cells.variants]
        torch.testing.assert_close(cells_map.values.flatten(), torch.tensor(expected, dtype=torch.float64), **TOLERANCE)
        assert cells_map.axes == cells.axes
        assert cells_map.unit == "share"


@pytest.mark.parametrize("position", [0, 3])
def test_a_difference_in_the_middle_of_the_prompt_needs_only_what_comes_before(position: int) -> None:
    each, question = case(), LogitDifference(2, 7, position)
    patching = each.patching(question)
    a, b = (each.difference(each.model(tokens), question) for tokens in (each.a, each.b))
    _, there = each.model.run_with_cache(each.b)
    for kind in KINDS:
        cells = grid(kind, each.model.cfg, position + 1, layer=1)
        expected = [(one_run(each, cell, "A", there, question) - a) / (b - a) for cell in cells.variants]
        cells_map = patching_map(patching, kind, layer=1)
        torch.testing.assert_close(cells_map.values.flatten(), torch.tensor(expected, dtype=torch.float64), **TOLERANCE)


@pytest.mark.parametrize("variant", VARIANTS)
def test_all_streams_patched_are_b_and_equal_prompts_change_nothing(variant: str) -> None:
    each = case(variant)
    patching = each.patching()
    whole = [Variant("resid_pre", layer) for layer in range(3)]
    torch.testing.assert_close(patching.share(patching.differences(whole)), torch.ones(3).double(), **TOLERANCE)
    alike = Case(each.model, each.a, torch.cat([each.a[:, :3], each.b[:, 3:]], dim=1)).patching()
    before = [Variant("resid_pre", layer, position=0) for layer in range(3)]
    if each.model.cfg.attention_dir == "causal":  # the first token is the same, and sees no other
        torch.testing.assert_close(alike.share(alike.differences(before)), torch.zeros(3).double(), **TOLERANCE)


def test_parts_that_only_see_tokens_of_both_prompts_are_not_run(monkeypatch: pytest.MonkeyPatch) -> None:
    each, first = case(), 4
    other = torch.cat([each.a[:, :first], (each.a[:, first:] + 1) % each.model.cfg.d_vocab], dim=1)
    patching = Case(each.model, each.a, other).patching()
    alike = []
    for kind in KINDS:
        variants = grid(kind, each.model.cfg, N_POS, layer=1).variants
        same = [cell for cell in variants if cell.position is not None and cell.position < first]
        assert [cell for cell in variants if not patching.is_changed(cell)] == same
        alike += same
    monkeypatch.delattr(Patching, "resume_from")
    assert patching.differences(alike).tolist() == [patching.a] * len(alike)


def test_all_heads_of_a_layer_are_its_attention() -> None:
    patching = case().patching()
    heads, layer = (patching.differences([Variant(part, 1)]) for part in ("z", "attn_out"))
    torch.testing.assert_close(heads, layer, **TOLERANCE)


def test_the_two_directions_meet_where_one_state_is_all_that_differs() -> None:
    """Of one token every state is all there is: patched with B's the run is B's, and the other way round."""
    each, question = case(), LogitDifference(2, 7, 0)
    assert (patching_map(each.patching(question), "resid_pre").values - 1).abs().max() < 1e-12  # rounding
    assert patching_map(each.patching(question, into="B"), "resid_pre").values.abs().max() < 1e-12


@pytest.mark.filterwarnings("ignore")  # TransformerLens's own
@pytest.mark.parametrize("variant", ["plain", "LNPre", "no normalisation", "scale by layer"])
def test_against_transformer_lens(variant: str) -> None:
    from transformer_lens import patching as lens

    each = case(variant)
    twin = lens_twin(each.model).double()
    twin.cfg.dtype = torch.float64  # to which its LayerNorm casts
    _, source = twin.run_with_cache(each.b)

    def metric(logits: Tensor) -> Tensor:
        return logits[0, ASKED.position, ASKED.target] - logits[0, ASKED.position, ASKED.distractor]

    theirs: dict[Kind, Any] = {
        "resid_pre": lens.get_act_patch_resid_pre,
        "attn_out": lens.get_act_patch_attn_out,
        "mlp_out": lens.get_act_patch_mlp_out,
        "z": lens.get_act_patch_attn_head_out_all_pos,
    }
    patching = each.patching()
    for kind, function in theirs.items():
        expected = patching.share(function(twin, each.a, source, metric).double())
        # TransformerLens collects its results in float32
        torch.testing.assert_close(patching_map(patching, kind).values, expected, rtol=1e-5, atol=1e-5)
    by_position = lens.get_act_patch_attn_head_out_by_pos(twin, each.a, source, metric)[1].T.double()
    shares = patching_map(patching, "z_by_position", layer=1).values
    torch.testing.assert_close(shares, patching.share(by_position), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("rows", [2, 3, 5])
def test_few_at_once_give_what_all_at_once_give(rows: int) -> None:
    patching = case().patching()
    small = rows * row_bytes(patching.model.cfg, N_POS)
    pieces = list(patching.pieces(grid("z", patching.model.cfg, N_POS).variants, small))
    assert {len(piece) for piece in pieces[:-1]} == {rows - 1}
    at_once = patching_map(patching, "resid_pre").values
    torch.testing.assert_close(patching_map(patching, "resid_pre", at_once=small).values, at_once, **TOLERANCE)


def test_variants_in_any_order_keep_their_places() -> None:
    patching = case().patching()
    cells = [Variant("mlp_out", 2, position=6), Variant("z", 0, 1), Variant("resid_pre", 1, position=2)]
    alone = torch.cat([patching.differences([cell]) for cell in cells])
    torch.testing.assert_close(patching.differences(cells), alone, **TOLERANCE)


def test_the_estimate_of_memory_bounds_the_largest_activation() -> None:
    cfg = case().model.cfg
    assert cfg.d_mlp is not None
    assert row_bytes(cfg, N_POS) >= 4 * N_POS * (2 * cfg.d_mlp + 2 * cfg.d_model)
    assert row_bytes(cfg, N_POS) >= 4 * 2 * cfg.n_heads * N_POS**2


def test_operations_by_hand() -> None:
    """One position, three heads of width 5, model width 12, three layers; multiplying and adding count two."""
    cfg = case().model.cfg
    assert cfg.d_mlp is not None
    attention = 2 * (4 * 12 * 15) + 4 * 15  # q, k, v and o of all heads; one score and one value for each
    mlp = 2 * (2 * 12 * cfg.d_mlp)
    assert operations(cfg, [Variant("resid_pre", 0)], 1) == 3 * (attention + mlp)
    assert operations(cfg, [Variant("z", 1, 0)], 1) == attention + 2 * mlp
    assert operations(cfg, [Variant("mlp_out", 2)], 1) == 0


@pytest.mark.parametrize(
    ("a", "b", "question", "message"),
    [
        (7, 6, ASKED, "A has 7 tokens and B 6"),
        (7, 7, LogitDifference(3, 5, 7), "There is no position 7"),
        (7, 7, LogitDifference(3, 19, 6), "The distractor is token 19; the vocabulary has ids 0 to 18"),
        (7, 7, LogitDifference(-1, 5, 6), "The target is token -1"),
        (7, 7, LogitDifference(3, 3, 6), "are the same token"),
    ],
)
def test_what_cannot_be_patched(a: int, b: int, question: LogitDifference, message: str) -> None:
    model = case().model
    tokens = random_tokens()
    with pytest.raises(InputError, match=message):
        Patching(model, tokens[:1, :a], tokens[1:, :b], question)


def test_two_runs_that_agree_leave_nothing_to_share() -> None:
    each = case()
    with pytest.raises(InputError, match="there is no share of it to measure"):
        Patching(each.model, each.a, each.a, ASKED)


@pytest.mark.parametrize(
    ("variant", "message"),
    [
        (Variant("z", 3, 0), "There is no head L3H0"),
        (Variant("z", 0, 3), "There is no head L0H3"),
        (Variant("attn_out", 0, 1), "no head's own"),
        (Variant("resid_pre", 0, position=7), "Position 7 has no say"),
    ],
)
def test_variants_that_there_are_not(variant: Variant, message: str) -> None:
    with pytest.raises(InputError, match=message):
        case().patching().differences([variant])


def test_maps_that_there_are_not() -> None:
    with pytest.raises(InputError, match="no MLPs"):
        patching_map(case("attention only").patching(), "mlp_out")
    with pytest.raises(InputError, match="give the layer"):
        patching_map(case().patching(), "z_by_position")
    with pytest.raises(InputError, match="Shorten the prompts or allow more"):
        patching_map(case().patching(), "z", at_once=1000)

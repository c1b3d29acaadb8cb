"""Patching of runs that are not alike, of another length, with edits, of another model: a hooked run for each cell."""

import pytest
import torch
from torch import Tensor

from headlight.model.base.errors import InputError
from headlight.model.nn.hooks import NO_TAP, Chain, HookPoint, Tap
from headlight.model.nn.hooks import Edit as Hooks
from headlight.model.nn.transformer import Transformer
from headlight.model.patching import (
    Kind,
    LogitDifference,
    Patching,
    Variant,
    attribution_map,
    grid,
    patching_map,
    path_map,
    rank_correlation,
)
from headlight.model.runs.edits import AblateHeads, CutEdge, Drop, Edit, FreezePatterns
from headlight.model.runs.edits.editing import tap
from tests.model.oracles import random_model, random_tokens
from tests.model.patching.cases import ASKED, N_POS, TOLERANCE, case

pytestmark = pytest.mark.usefixtures("unchecked")  # of the batch, which grows on the way

KINDS: tuple[Kind, ...] = ("resid_pre", "attn_out", "mlp_out", "z", "z_by_position")
MATCHES = ((0, 0), (1, 2), (2, 3), (4, 4))  # of A's seven positions and B's five
UNEQUAL = LogitDifference(target=3, distractor=5, position=6, position_b=4)
Side = tuple[Transformer, Tensor, Tap, int]


def difference(side: Side, put: Tap = NO_TAP) -> float:
    """Target less distractor of a whole run, with a tap after its own."""
    model, tokens, own, position = side
    row = model(tokens, tap=Chain(own, put))[0, position]
    return float(row[UNEQUAL.target] - row[UNEQUAL.distractor])


def one_run(base: Side, source: Side, matches: tuple[tuple[int, int], ...], variant: Variant) -> float:
    """One variant by one hook: the positions that are matched, or one of them, are the other run's."""
    name = f"blocks.{variant.layer}.{'attn.' if variant.part == 'z' else ''}hook_{variant.part}"
    there: dict[str, Tensor] = {}

    def keep(activation: Tensor, hook: HookPoint) -> None:
        there[name] = activation

    def put(activation: Tensor, hook: HookPoint) -> None:
        heads = slice(None) if variant.head is None else variant.head
        for here, other in matches:
            if variant.position not in (None, here):
                continue
            if variant.part == "z":
                activation[:, here, heads] = there[name][:, other, heads]
            else:
                activation[:, here] = there[name][:, other]

    difference(source, Hooks([((name,), keep)]))
    return difference(base, Hooks([((name,), put)]))


def check(patching: Patching, a: Side, b: Side, matches: tuple[tuple[int, int], ...]) -> None:
    """Every map, cell by cell."""
    base, source = (a, b) if patching.into == "A" else (b, a)
    pairs = matches if patching.into == "A" else tuple((there, here) for here, there in matches)
    matched = {here for here, _ in pairs}
    ends = [difference(side) for side in (a, b)]
    assert [patching.a, patching.b] == pytest.approx(ends)
    for kind in KINDS:
        if kind == "mlp_out" and base[0].cfg.attn_only:
            continue
        cells = grid(kind, base[0].cfg, patching.n_pos, layer=1)
        expected = [
            float("nan")
            if cell.position is not None and cell.position not in matched
            else (one_run(base, source, pairs, cell) - ends[0]) / (ends[1] - ends[0])
            for cell in cells.variants
        ]
        shares = patching_map(patching, kind, layer=1).values.flatten()
        torch.testing.assert_close(shares, torch.tensor(expected, dtype=torch.float64), equal_nan=True, **TOLERANCE)


@pytest.mark.parametrize("into", ["A", "B"])
@pytest.mark.parametrize("variant", ["plain", "bidirectional", "attention only"])
def test_only_what_is_matched_is_patched(variant: str, into: str) -> None:
    each = case(variant)
    a, b = (each.model, each.a, NO_TAP, 6), (each.model, each.b[:, :5], NO_TAP, 4)
    patching = Patching(each.model, a[1], b[1], UNEQUAL, into, MATCHES)  # type: ignore[arg-type]
    check(patching, a, b, MATCHES)


def test_all_matched_is_b_and_none_is_a() -> None:
    each = case()
    whole = [Variant("resid_pre", layer) for layer in range(3)]
    everything = Patching(each.model, each.a, each.b, ASKED, matches=[(i, i) for i in range(N_POS)])
    torch.testing.assert_close(everything.share(everything.differences(whole)), torch.ones(3).double(), **TOLERANCE)
    nothing = Patching(each.model, each.a, each.b, ASKED, matches=[])
    torch.testing.assert_close(nothing.share(nothing.differences(whole)), torch.zeros(3).double(), **TOLERANCE)
    assert patching_map(nothing, "resid_pre").values.isnan().all()
    for kind in KINDS:  # without matches they are the equal positions
        same = patching_map(everything, kind, 1).values - patching_map(each.patching(), kind, 1).values
        assert not same.any()


@pytest.mark.parametrize("matches", [((0, 5),), ((7, 0),), ((0, 1), (0, 2)), ((0, 1), (2, 1))])
def test_matches_that_there_are_not(matches: tuple[tuple[int, int], ...]) -> None:
    each = case()
    with pytest.raises(InputError, match="can be matched once"):
        Patching(each.model, each.a, each.b[:, :5], UNEQUAL, matches=matches)


EDITED: list[tuple[Edit, ...]] = [
    (AblateHeads(((1, 2), (0, 0)), "mean"),),
    (CutEdge((1, 1), 6, 3, True), Drop(2, "MLP")),
    (Drop(1, "attention"),),
    (FreezePatterns(), Drop(0, "MLP")),
]


@pytest.mark.parametrize("into", ["A", "B"])
@pytest.mark.parametrize("edits", EDITED)
def test_a_run_with_edits_is_patched_and_patched_from(edits: tuple[Edit, ...], into: str) -> None:
    each = case()
    editing = tap(each.model, each.a, edits)
    a, b = (each.model, each.a, NO_TAP, 6), (each.model, each.a, editing, 6)
    patching = Patching(each.model, each.a, each.a, ASKED, into, tap_b=editing)  # type: ignore[arg-type]
    check(patching, a, b, tuple((i, i) for i in range(N_POS)))


class _Text(Tap):
    """What a steering and a patch of streams do, by hand: edits that name prompts need a tokenizer."""

    def __call__(self, name: str, activation: Tensor) -> Tensor:
        if name in ("blocks.0.hook_resid_pre", "blocks.1.hook_resid_post"):
            activation = activation.clone()
            activation[:, [2, 5]] += torch.linspace(-1, 1, activation.shape[-1], dtype=activation.dtype)
        return activation


@pytest.mark.parametrize("into", ["A", "B"])
def test_a_stream_that_was_edited_is_not_edited_twice(into: str) -> None:
    each = case()
    a, b = (each.model, each.a, NO_TAP, 6), (each.model, each.a, _Text(), 6)
    patching = Patching(each.model, each.a, each.a, ASKED, into, tap_b=_Text())  # type: ignore[arg-type]
    check(patching, a, b, tuple((i, i) for i in range(N_POS)))


def test_the_estimate_goes_through_edits_and_leaves_out_what_is_not_matched() -> None:
    """In the last layer an MLP-free model without a final norm is linear in what a head gives, so it is exact there."""
    model = random_model(normalization_type=None, attn_only=True, d_mlp=None).double().requires_grad_(False)
    tokens = random_tokens(n_pos=N_POS)[:1]
    with torch.no_grad():
        editing = tap(model, tokens, [AblateHeads(((0, 1),)), FreezePatterns((1,))])
    patching = Patching(model, tokens, tokens, ASKED, "B", tap_b=editing, matches=[(i, i) for i in range(3, N_POS)])
    exact, estimated = (compute(patching, "attn_out").values for compute in (patching_map, attribution_map))
    torch.testing.assert_close(estimated, exact, equal_nan=True, **TOLERANCE)
    assert exact[:, :3].isnan().all()
    assert rank_correlation(exact, estimated) == pytest.approx(1)


@pytest.mark.parametrize("into", ["A", "B"])
def test_two_models_of_one_shape(into: str) -> None:
    each = case()
    other = random_model(seed=5, n_layers=3).double().requires_grad_(False).eval()
    a, b = (each.model, each.a, NO_TAP, 6), (other, each.b, NO_TAP, 6)
    patching = Patching(each.model, each.a, each.b, ASKED, into, model_b=other)  # type: ignore[arg-type]
    check(patching, a, b, tuple((i, i) for i in range(N_POS)))


def test_two_models_of_other_shapes_are_refused() -> None:
    each, other = case(), random_model().double()
    with pytest.raises(InputError, match="n_layers is 3 and 2"):
        Patching(each.model, each.a, each.b, ASKED, model_b=other)


def test_paths_are_those_of_a_run_without_edits() -> None:
    each = case()
    editing = tap(each.model, each.a, [AblateHeads(((0, 1),))])
    into_a, into_b = (
        Patching(each.model, each.a, each.a, ASKED, into, tap_b=editing)  # type: ignore[arg-type]
        for into in "AB"
    )
    # the ablated head is all that differs before layer 1, so the receiver's change is its own
    shares = path_map(into_a, (1, 0), "v").values[0]
    assert shares[1].abs() > 1e-3
    assert shares[[0, 2]].abs().max() < 1e-12
    with pytest.raises(InputError, match="without edits"):
        path_map(into_b, (1, 0), "v")

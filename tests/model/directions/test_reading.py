"""What a direction is near to, against scipy's orthonormal bases and sums by hand."""

from pathlib import Path

import numpy as np
import pytest
import torch
from scipy.linalg import orth

from headlight.model import load
from headlight.model.directions.reading import cosines, nearest_tokens, projections, writable
from headlight.model.directions.tables import reading_tables
from headlight.model.features.opening import open_dictionary
from headlight.model.lens.opening import lens_of
from headlight.model.nn.cache import ActivationCache
from headlight.model.runs.comparison import Comparison, compare
from headlight.model.runs.direction import Direction
from headlight.model.runs.run import Run, run_prompt
from tests.model.directions.plural import mini
from tests.tiny import save_tiny

LAYER, POSITION = 2, 3


@pytest.fixture(scope="module")
def run() -> Run:
    return run_prompt(mini(), "The key near the door", True)


@pytest.fixture(scope="module")
def direction() -> Direction:
    generator = torch.Generator().manual_seed(3)
    vectors = {layer: torch.randn(mini().cfg.d_model, generator=generator) for layer in (LAYER, 4)}
    return Direction("random", vectors)


def _cache(run: Run) -> ActivationCache:
    with torch.inference_mode():
        return mini().run_with_cache(run.tokens[None])[1]


def test_projections_are_shares_of_the_directions_length(run: Run, direction: Direction) -> None:
    """A stream that is the vector itself, twice, lies at 2."""
    vector, stream = direction.vectors[LAYER].double(), _cache(run)["resid_pre", LAYER][0].double()
    values = projections(run, direction).values
    np.testing.assert_allclose(values[LAYER], stream @ vector / vector.square().sum(), atol=1e-5)
    assert values[[0, 1, 3]].isnan().all()


def test_a_heads_share_is_that_of_an_orthonormal_basis_of_what_it_writes(run: Run, direction: Direction) -> None:
    shares = writable(run, direction, LAYER).values
    unit = direction.vectors[LAYER].double().numpy() / float(direction.vectors[LAYER].double().norm())
    for layer in range(LAYER):
        for head, W_O in enumerate(mini().block(layer).attn.W_O.detach().double().numpy()):
            assert float(shares[layer, head]) == pytest.approx(np.linalg.norm(orth(W_O.T).T @ unit), abs=1e-5)
    row = mini().block(1).attn.W_O[2, 5].detach().clone()
    assert float(writable(run, Direction("row", {LAYER: row}), LAYER).values[1, 2]) == pytest.approx(1, abs=1e-6)


def test_lenses_carry_the_direction_by_the_linear_part_of_their_maps(run: Run, direction: Direction) -> None:
    """The unembedding of a mapped vector at the final norm's scale; a bias of the map is no part of the direction."""
    vector, model = direction.vectors[LAYER].double(), mini()
    final = _cache(run)["resid_post", run.cfg.n_layers - 1][0, POSITION].double()
    scale = ((final - final.mean()).square().mean() + run.cfg.eps).sqrt()
    for kind in ("tuned", "jacobian"):
        lens = lens_of(run, kind)
        mapped = lens.maps[LAYER].W.double() @ vector + (vector if kind == "tuned" else 0)
        gain = model.ln_final.w.detach().double()
        logits = ((mapped - mapped.mean()) / scale * gain) @ model.unembed.W_U.detach().double()
        promoted = nearest_tokens(run, direction, LAYER, POSITION, lens)
        expected = logits.topk(len(promoted.raised.values))
        assert promoted.raised.values.tolist() == expected.indices.tolist()
        np.testing.assert_allclose(promoted.raised_by.values, expected.values, rtol=1e-4)


def test_the_cosines_of_features_and_of_other_directions_are_torchs(run: Run, direction: Direction) -> None:
    opened = open_dictionary("mini/streams", mini())
    other = Direction("other", {LAYER: direction.vectors[LAYER] + 1})
    tables = reading_tables(Comparison(run), direction, LAYER, POSITION, {"other": other}, opened)
    assert {"nearest tokens, logit lens", "nearest tokens, tuned lens", "nearest tokens, Jacobian lens"} < tables.keys()
    near = list(zip(*(tables["cosines"][name] for name in ("kind", "name", "cosine")), strict=True))
    cosine = torch.nn.functional.cosine_similarity
    by_kind = {kind: value for kind, _, value in reversed(near)}
    expected = cosine(other.vectors[LAYER], direction.vectors[LAYER], dim=0)
    assert by_kind["direction"] == pytest.approx(float(expected), abs=1e-6)
    dictionary = next(each for each in opened.values() if each.hook_in == f"blocks.{LAYER - 1}.hook_resid_post")
    rows = cosine(dictionary.decoder_rows(range(dictionary.n_features)), direction.vectors[LAYER][None])
    assert by_kind["feature"] == pytest.approx(float(rows[rows.abs().argmax()]), abs=1e-5)
    assert "feature" not in {kind for kind, _, _ in cosines(run, direction, LAYER, POSITION)}
    last = reading_tables(Comparison(run), direction, 4, POSITION)
    assert [name for name in last if name.startswith("nearest")] == ["nearest tokens, logit lens"]


def test_beside_a_model_of_another_width_a_direction_is_of_its_own_model_alone(
    run: Run, direction: Direction, tmp_path: Path
) -> None:
    save_tiny("gpt2-like", tmp_path / "tiny")
    other = run_prompt(load(tmp_path / "tiny"), "The key near the door", True)
    assert other.cfg.d_model != run.cfg.d_model
    table = reading_tables(compare(run, other), direction, LAYER, POSITION)["projection"]
    assert list(table) == ["place", "token", "A"]
    vector, stream = direction.vectors[LAYER].double(), _cache(run)["resid_pre", LAYER][0].double()
    expected = (stream @ vector / vector.square().sum()).tolist()
    assert [value for value in table["A"] if value is not None] == pytest.approx(expected, abs=1e-5)

"""Training of dictionaries: known directions are found again, runs resume, and what is saved is what was trained."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

from headlight.model.base.errors import CheckpointError
from headlight.model.features.fits import check_fits
from headlight.model.features.opening import open_dictionary
from headlight.model.nn.transformer import Transformer
from headlight.model.runs.dictionary import Dictionary
from headlight.model.training.dictionaries.measures import agreement, figures, loss_of
from headlight.model.training.dictionaries.recipe import Bundle, DictionaryRecipe, Rows, place_of
from headlight.model.training.dictionaries.saving import save
from headlight.model.training.dictionaries.sparse import Kind, Shape, Sparse
from headlight.model.training.loop import train
from tests.model.oracles import TINY, random_model

WIDTH, TRUE, ACTIVE = 16, 24, 3
STREAM, MLP = "blocks.0.hook_resid_post", "blocks.1.hook_mlp_out"


def combinations(n: int, directions: Tensor, drawn: torch.Generator) -> Tensor:
    """Sums of a few of some directions, with weights between 1 and 2."""
    chosen = torch.rand(n, TRUE, generator=drawn).topk(ACTIVE).indices
    weights = torch.zeros(n, TRUE).scatter(1, chosen, 1 + torch.rand(n, ACTIVE, generator=drawn))
    return weights @ directions


@pytest.mark.parametrize(
    "kind",
    [
        "topk",
        pytest.param("batchtopk", marks=pytest.mark.thorough),
        pytest.param("jumprelu", marks=pytest.mark.thorough),
    ],
)
def test_directions_that_activations_are_made_of_are_found_again(kind: Kind) -> None:
    drawn = torch.Generator().manual_seed(0)
    directions = F.normalize(torch.randn(TRUE, WIDTH, generator=drawn), dim=-1)
    sparse = Sparse(Shape(kind, WIDTH, WIDTH, 48, ACTIVE, is_autoencoder=True, dead_after=5000), seed=1)
    batch = combinations(512, directions, drawn)
    sparse.begin(batch, batch)
    optimizer = torch.optim.Adam(sparse.parameters(), lr=5e-3)
    for _ in range(800):
        batch = combinations(512, directions, drawn)
        losses = sparse.losses(batch, batch)
        loss = losses["unexplained"] + losses.get("too_many", 0.0) + losses.get("revival", 0.0) / 32
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    assert losses["unexplained"].item() < 0.1
    assert losses["l0"].item() == pytest.approx(ACTIVE, rel=0.35)
    cosines = F.normalize(sparse.W_dec.detach(), dim=-1) @ directions.T
    # Random rows of this width come to 0.6.
    assert float(cosines.max(0).values.mean()) > 0.95


def rows() -> Rows:
    tokens = np.random.default_rng(0).integers(0, TINY["d_vocab"], 2000)
    return Rows(tokens, np.arange(0, 2000, 50))


def recipe_of(
    model: Transformer, steps: int = 6, kinds: tuple[Kind, ...] = ("topk", "batchtopk")
) -> tuple[Bundle, DictionaryRecipe]:
    places = [place_of(STREAM), place_of(MLP)]
    d_model = model.cfg.d_model
    bundle = Bundle(
        [
            Sparse(Shape(kind, d_model, d_model, 40, 4, p.is_autoencoder), 3)
            for kind, p in zip(kinds, places, strict=True)
        ]
    )
    recipe = DictionaryRecipe(model, places, rows(), steps=steps, rate=1e-3, seed=3, measure_every=2)
    recipe.begin(bundle)
    return bundle, recipe


def test_a_run_that_was_stopped_goes_on_to_the_same_dictionaries(tmp_path: Path) -> None:
    model = random_model()
    whole, recipe = recipe_of(model)
    train(whole, recipe, tmp_path / "whole")

    stopped, recipe = recipe_of(model)
    batch = recipe.batch

    def until(step: int) -> dict[str, Tensor]:
        if step == 5:
            raise KeyboardInterrupt
        return batch(step)

    recipe.batch = until  # type: ignore[method-assign]
    with pytest.raises(KeyboardInterrupt):
        train(stopped, recipe, tmp_path / "stopped")
    again, recipe = recipe_of(model)
    train(again, recipe, tmp_path / "stopped")
    for one, other in zip(whole.state_dict().values(), again.state_dict().values(), strict=True):
        assert torch.equal(one, other)
    logs = [(tmp_path / run / "log.csv").read_text().splitlines() for run in ("whole", "stopped")]
    assert (
        [line.split(",")[0] for line in logs[0]] == [line.split(",")[0] for line in logs[1]] == ["step", "2", "4", "6"]
    )


@pytest.mark.parametrize("kinds", [("topk", "batchtopk"), ("jumprelu", "topk")])
def test_what_is_saved_computes_what_was_trained(kinds: tuple[Kind, ...], tmp_path: Path) -> None:
    """Scales are folded in; half precision is all that is lost."""
    model = random_model()
    bundle, recipe = recipe_of(model, kinds=kinds)
    train(bundle, recipe, tmp_path / "run")
    batch = recipe.batch(99)
    for sparse, place in zip(bundle.each, recipe.places, strict=True):
        assert isinstance(sparse, Sparse)
        save(sparse, place, "tiny", model.cfg, tmp_path / "out" / place.hook_out)
        opened = next(iter(open_dictionary(tmp_path / "out" / place.hook_out).values()))
        assert (opened.hook_in, opened.hooks_out) == (place.hook_in, (place.hook_out,))
        config = json.loads((tmp_path / "out" / place.hook_out / "cfg.json").read_text())
        assert config["metadata"]["model_name"] == "tiny"
        assert config["reshape_activations"] == "none"
        check_fits(opened, model.cfg)
        with pytest.raises(
            CheckpointError, match=r"trained on tiny with normalization_type 'LN'; this model has 'RMS'"
        ):
            check_fits(opened, replace(model.cfg, normalization_type="RMS"))
        read, target = batch[place.hook_in], batch[place.hook_out]
        left = (target - opened.decode(opened.encode(read), read)).square().sum(-1).mean()
        share = float(left / (target - target.mean(0)).square().sum(-1).mean())
        # A batchtopk's bar is of late batches, in the saved one, and of this batch in training.
        assert share == pytest.approx(sparse.losses(read, target)["unexplained"].item(), rel=0.02)
    assert list(open_dictionary(tmp_path / "out")) == [0, 1]


def identity(hook: str, width: int) -> Dictionary:
    """A dictionary that leaves nothing out: each direction and its opposite."""
    from headlight.model.runs.dictionary import Output

    both = torch.cat([torch.eye(width), -torch.eye(width)])
    return Dictionary(
        "identity",
        hook,
        "standard",
        both.T.contiguous(),
        torch.zeros(2 * width),
        (Output(hook, both, torch.zeros(width)),),
    )


def test_figures_of_a_dictionary_that_leaves_nothing_out_and_of_one_that_leaves_out_all() -> None:
    model = random_model()
    tokens = torch.from_numpy(rows().tokens[:400].reshape(40, 10))
    whole = identity(STREAM, model.cfg.d_model)
    metrics = figures(model, whole, tokens)
    assert metrics.explained == pytest.approx(1, abs=1e-5)
    assert metrics.loss_in_place == pytest.approx(loss_of(model, tokens), abs=1e-5)
    assert metrics.recovered == pytest.approx(1, abs=1e-3) == metrics.recovered_of_mean
    assert (metrics.l0, metrics.alive) == (model.cfg.d_model, 1.0)
    nothing = Dictionary(**{**vars(whole), "W_enc": torch.zeros_like(whole.W_enc)})
    metrics = figures(model, nothing, tokens)
    assert metrics.recovered == pytest.approx(0, abs=1e-5)
    assert (metrics.l0, metrics.alive) == (0.0, 0.0)


def test_agreement_is_the_nearest_rows_cosine() -> None:
    whole = identity(STREAM, 4)
    assert agreement(whole, whole).tolist() == [1.0] * 8
    turned = Dictionary(
        **{**vars(whole), "outputs": (type(whole.outputs[0])(STREAM, torch.ones(8, 4), torch.zeros(4)),)}
    )
    assert agreement(whole, turned).tolist() == pytest.approx([0.5] * 4 + [-0.5] * 4)


# SAELens 6.54.12's SAE_CLASS_REGISTRY, by which SAE.load_from_disk opens a folder.
OPENED_BY_SAELENS = {
    *("standard", "gated", "topk", "abstopk", "jumprelu", "temporal", "matching_pursuit"),
    *("transcoder", "skip_transcoder", "jumprelu_transcoder", "jumprelu_skip_transcoder"),
}


@pytest.mark.parametrize("hook", [STREAM, MLP, "blocks.0.attn.hook_z"])
@pytest.mark.parametrize("kind", ["topk", "batchtopk", "jumprelu"])
def test_saelens_opens_what_is_saved_but_for_topk_transcoders(kind: Kind, hook: str, tmp_path: Path) -> None:
    """As the manual says; SAELens 6.54.12 gave the numbers of ours to 1e-6 where it has a class of that name."""
    place, cfg = place_of(hook), random_model().cfg
    sparse = Sparse(Shape(kind, cfg.d_model, cfg.d_model, 40, 4, place.is_autoencoder), 3)
    save(sparse, place, "tiny", cfg, tmp_path / "out")
    config = json.loads((tmp_path / "out" / "cfg.json").read_text())
    assert (config["architecture"] in OPENED_BY_SAELENS) == (kind != "topk" or place.is_autoencoder)
    assert config["reshape_activations"] == ("hook_z" if hook.endswith("hook_z") else "none")
    assert config["apply_b_dec_to_input"] == place.is_autoencoder  # SAELens refuses it of a transcoder

"""Dictionaries against SAELens's forward, written out here from its description, and sums that must agree."""

import json
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file
from torch import Tensor

from headlight.model.base.errors import CheckpointError
from headlight.model.checkpoints.loading import EMBEDDED
from headlight.model.features import check_fits
from headlight.model.features.opening import open_dictionary, shipped
from headlight.model.nn.config import TransformerConfig

D_IN, D_SAE, K = 12, 40, 5
HOOK = "blocks.2.hook_resid_pre"
# A sum of 40 products of float32, in two orders.
CLOSE = {"rtol": 1e-5, "atol": 1e-5}


def write(
    folder: Path, kind: str, /, *, seed: int = 0, dtype: torch.dtype = torch.float32, **cfg: object
) -> dict[str, Tensor]:
    """A folder as SAELens 6 writes it, of random weights."""
    folder.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(seed)
    tensors: dict[str, Tensor] = {
        "W_enc": torch.randn(D_IN, D_SAE),
        "W_dec": torch.randn(D_SAE, D_IN),
        "b_dec": torch.randn(D_IN),
        **{name: torch.randn(D_SAE) for name in (("r_mag", "b_mag", "b_gate") if kind == "gated" else ("b_enc",))},
    }
    if kind in ("jumprelu", "batchtopk"):
        tensors["threshold"] = torch.rand(D_SAE) * 3
    tensors = {name: tensor.to(dtype) for name, tensor in tensors.items()}
    save_file(tensors, folder / "sae_weights.safetensors")
    config = {
        "architecture": kind,
        "d_in": D_IN,
        "d_sae": D_SAE,
        "apply_b_dec_to_input": True,
        "normalize_activations": "none",
        "metadata": {"hook_name": HOOK, "model_name": "toy"},
        **({"k": K} if kind == "topk" else {}),
    }
    (folder / "cfg.json").write_text(json.dumps(config | cfg))
    return tensors


def written_out(architecture: str, t: dict[str, Tensor], x: Tensor) -> Tensor:
    """SAELens's encode, a feature and a position at a time."""
    acts = torch.zeros(len(x), D_SAE, dtype=torch.float64)
    t = {name: tensor.double() for name, tensor in t.items()}
    for row, read in enumerate(x.double() - t["b_dec"]):
        for feature in range(D_SAE):
            product = sum(float(read[i] * t["W_enc"][i, feature]) for i in range(D_IN))
            if architecture == "gated":
                is_active = product + t["b_gate"][feature] > 0
                value = product * t["r_mag"][feature].exp() + t["b_mag"][feature]
            else:
                value = product + t["b_enc"][feature]
                is_active = value > t["threshold"][feature] if "threshold" in t else True
            acts[row, feature] = max(float(value), 0.0) if is_active else 0.0
        if architecture == "topk":
            kept = acts[row].sort(descending=True).values[K - 1]
            acts[row][acts[row] < kept] = 0.0
    return acts.float()


@pytest.mark.parametrize("architecture", ["standard", "topk", "batchtopk", "jumprelu", "gated"])
def test_activations_and_reconstruction_are_those_of_saelens_forward(architecture: str, tmp_path: Path) -> None:
    tensors = write(tmp_path, architecture)
    dictionary = open_dictionary(tmp_path)[2]
    x = torch.randn(7, D_IN)
    acts = dictionary.encode(x)
    expected = written_out(architecture, tensors, x)
    torch.testing.assert_close(acts, expected, **CLOSE)
    assert 0 < int((acts > 0).sum()) < acts.numel()
    torch.testing.assert_close(dictionary.decode(acts), expected @ tensors["W_dec"] + tensors["b_dec"], **CLOSE)


def checkpoint(folder: Path, kind: str, /, *, threshold: float = 0.7, **cfg: object) -> dict[str, Tensor]:
    """A training checkpoint of SAELens's, which keeps one threshold for all features of a batchtopk."""
    tensors = write(folder, kind, **cfg)
    if kind == "batchtopk":
        tensors = tensors | {"topk_threshold": torch.tensor(threshold, dtype=torch.float64)}
        del tensors["threshold"]
    save_file(tensors, folder / "sae_weights.safetensors")
    return tensors


def in_training(t: dict[str, Tensor], z: Tensor, k: int | None, rescaled: bool) -> tuple[Tensor, Tensor]:
    """What SAELens's training classes activate for what they read, and reconstruct of it, without their batches."""
    norms = t["W_dec"].norm(dim=-1) if rescaled else torch.ones(D_SAE)
    pre = ((z - t["b_dec"]) @ t["W_enc"] + t["b_enc"]) * norms
    least = pre.sort(descending=True).values[:, k - 1 : k] if k else t["topk_threshold"].float()
    acts = pre.relu() * (pre >= least if k else pre > least)
    return acts, (acts / norms) @ t["W_dec"] + t["b_dec"]


@pytest.mark.parametrize("rescaled", [True, False])
@pytest.mark.parametrize("kind", ["topk", "batchtopk", "matryoshka_batchtopk"])
def test_a_checkpoint_chooses_features_by_what_they_write(kind: str, rescaled: bool, tmp_path: Path) -> None:
    """Guards against norms of decoder rows that are folded into topk's weights alone."""
    t = checkpoint(
        tmp_path, "topk" if kind == "topk" else "batchtopk", architecture=kind, rescale_acts_by_decoder_norm=rescaled
    )
    x = torch.randn(7, D_IN)
    acts, made = in_training(t, x, K if kind == "topk" else None, rescaled)
    dictionary = open_dictionary(tmp_path)[2]
    torch.testing.assert_close(dictionary.encode(x), acts, **CLOSE)
    torch.testing.assert_close(dictionary.decode(dictionary.encode(x)), made, **CLOSE)


@pytest.mark.parametrize("rescaled", [True, False])
@pytest.mark.parametrize("kind", ["topk", "batchtopk"])
def test_a_constant_factor_of_training_is_folded_in(kind: str, rescaled: bool, tmp_path: Path) -> None:
    """Activations that say what features write are in units of the activation itself, as SAELens saves them."""
    named = {"normalize_activations": "expected_average_only_in", "rescale_acts_by_decoder_norm": rescaled}
    t = checkpoint(tmp_path, kind, **named)
    with pytest.raises(
        CheckpointError, match=r"times a constant, which is not in these files.*activation_scaler\.json"
    ):
        open_dictionary(tmp_path)
    (tmp_path / "activation_scaler.json").write_text(json.dumps({"scaling_factor": 0.4, "has_whitening": False}))
    x = torch.randn(7, D_IN)
    acts, made = in_training(t, 0.4 * x, K if kind == "topk" else None, rescaled)
    dictionary = open_dictionary(tmp_path)[2]
    torch.testing.assert_close(dictionary.encode(x), acts / 0.4 if rescaled else acts, **CLOSE)
    torch.testing.assert_close(dictionary.decode(dictionary.encode(x)), made / 0.4, **CLOSE)


@pytest.mark.parametrize("reads_b_dec", [True, False])
@pytest.mark.parametrize("kind", ["gated", "topk", "batchtopk"])
def test_whitening_is_folded_in(kind: str, reads_b_dec: bool, tmp_path: Path) -> None:
    config = {"normalize_activations": "covariance_whitening", "apply_b_dec_to_input": reads_b_dec}
    t = checkpoint(tmp_path, kind, rescale_acts_by_decoder_norm=True, **config)
    with pytest.raises(CheckpointError, match=r"matrix is not in these files.*activation_whitening\.safetensors"):
        open_dictionary(tmp_path)
    matrix, mean = torch.randn(D_IN, D_IN, dtype=torch.float64) / 4 + torch.eye(D_IN), torch.randn(D_IN).double()
    inverse = matrix.inverse().contiguous()
    save_file(
        {"mean": mean, "matrix": matrix, "inverse_matrix": inverse}, tmp_path / "activation_whitening.safetensors"
    )
    x = torch.randn(7, D_IN)
    z = ((x - mean) @ matrix).float()
    dictionary = open_dictionary(tmp_path)[2]
    if kind == "gated":
        product = (z - t["b_dec"] if reads_b_dec else z) @ t["W_enc"]
        acts = (product * t["r_mag"].exp() + t["b_mag"]).relu() * (product + t["b_gate"] > 0)
        made = acts @ t["W_dec"] + t["b_dec"]
    else:
        acts, made = in_training(t, z if reads_b_dec else z + t["b_dec"], K if kind == "topk" else None, rescaled=True)
    # The matrix is multiplied into the weights, whose sums are then as many again.
    torch.testing.assert_close(dictionary.encode(x), acts, rtol=1e-4, atol=1e-4)
    whole = (made.double() @ inverse + mean).float()
    torch.testing.assert_close(dictionary.decode(dictionary.encode(x)), whole, rtol=1e-4, atol=1e-4)


def test_factors_of_features_are_read_where_they_are_1(tmp_path: Path) -> None:
    tensors = write(tmp_path, "standard", dtype=torch.float64)
    save_file(tensors | {"scaling_factor": torch.ones(D_SAE)}, tmp_path / "sae_weights.safetensors")
    x = torch.randn(3, D_IN)
    torch.testing.assert_close(open_dictionary(tmp_path)[2].encode(x), written_out("standard", tensors, x), **CLOSE)
    save_file(tensors | {"scaling_factor": torch.full((D_SAE,), 2.0)}, tmp_path / "sae_weights.safetensors")
    with pytest.raises(CheckpointError, match="scaling_factor of each feature"):
        open_dictionary(tmp_path)


@pytest.mark.parametrize("architecture", ["standard", "topk", "jumprelu", "gated"])
def test_an_active_feature_is_its_encoder_row_times_what_is_read_and_its_offset(
    architecture: str, tmp_path: Path
) -> None:
    write(tmp_path, architecture)
    dictionary = open_dictionary(tmp_path)[2]
    x = torch.randn(D_IN)
    acts = dictionary.encode(x)
    active = acts.nonzero().flatten().tolist()
    assert active
    linear = dictionary.encoder_rows(active) @ x + dictionary.offsets(active)
    torch.testing.assert_close(linear, acts[active], **CLOSE)


def test_half_precision_is_computed_in_float32(tmp_path: Path) -> None:
    tensors = write(tmp_path, "standard", dtype=torch.bfloat16)
    dictionary = open_dictionary(tmp_path)[2]
    x = torch.randn(3, D_IN)
    acts = dictionary.encode(x)
    assert acts.dtype == torch.float32
    torch.testing.assert_close(acts, written_out("standard", tensors, x), **CLOSE)
    assert dictionary.decoder_rows([3]).dtype == torch.float32


def test_a_folder_of_folders_is_a_dictionary_for_each_layer(tmp_path: Path) -> None:
    for layer in (3, 1):
        write(tmp_path / f"of {layer}", "standard", metadata={"hook_name": f"blocks.{layer}.hook_resid_post"})
    opened = open_dictionary(tmp_path)
    assert list(opened) == [1, 3]
    assert opened[3].hooks_out == ("blocks.3.hook_resid_post",)
    write(tmp_path / "again", "standard", metadata={"hook_name": "blocks.1.hook_mlp_out"})
    with pytest.raises(CheckpointError, match="two dictionaries of layer 1"):
        open_dictionary(tmp_path)


@pytest.mark.parametrize(
    ("config", "said"),
    [
        (
            {"normalize_activations": "layer_norm"},
            "'layer_norm': what it reads is divided by a number of each position's",
        ),
        ({"normalize_activations": "rms"}, "normalize_activations 'rms', which is not read"),
        ({"normalize_activations": True}, "normalize_activations True: it reads activations times a constant"),
        ({"reshape_activations": "hook_z"}, "reshape_activations 'hook_z' of blocks.2.hook_resid_pre"),
        ({"reshape_activations": "hook_q"}, "reshape_activations 'hook_q'"),
        ({"apply_b_dec_to_input": "yes"}, "apply_b_dec_to_input 'yes'"),
        ({"architecture": "abstopk"}, "architecture 'abstopk'"),
        ({"activation_fn": "tanh-relu"}, "activation_fn 'tanh-relu'"),
        ({"activation_fn": "topk", "activation_fn_kwargs": {"k": 3, "signed": True}}, "signed in activation_fn_kwargs"),
        (
            {"architecture": "transcoder", "d_out": D_IN, "normalize_activations": "covariance_whitening"},
            "of a transcoder, whose output SAELens does not bring back",
        ),
        ({"architecture": "temporal"}, "architecture 'temporal'"),
        ({"d_sae": D_SAE + 1}, "another shape"),
        ({"d_in": -3}, "d_in -3"),
        ({"metadata": {}}, "names no hook_name"),
        ({"metadata": {"hook_name": HOOK, "hook_head_index": 3}}, "hook_head_index 3"),
        ({"architecture": "jumprelu"}, "lacks the tensors threshold"),
    ],
)
def test_what_cannot_be_read_is_refused_by_saying_what(config: dict[str, object], said: str, tmp_path: Path) -> None:
    write(tmp_path, "standard", **config)
    with pytest.raises(CheckpointError, match=said):
        open_dictionary(tmp_path)


def test_damaged_files_are_refused(tmp_path: Path) -> None:
    write(tmp_path, "standard")
    weights = tmp_path / "sae_weights.safetensors"
    whole = weights.read_bytes()
    weights.write_bytes(whole[:-100])
    with pytest.raises(CheckpointError, match="cannot be read as safetensors"):
        open_dictionary(tmp_path)
    weights.unlink()
    with pytest.raises(CheckpointError, match="cannot be read"):
        open_dictionary(tmp_path)
    with pytest.raises(CheckpointError, match="There is no folder"):
        open_dictionary(tmp_path / "nowhere")


def test_older_configs_are_read(tmp_path: Path) -> None:
    write(tmp_path, "topk")
    old = {
        "d_in": D_IN,
        "d_sae": D_SAE,
        "hook_point": HOOK,
        "activation_fn_str": "topk",
        "activation_fn_kwargs": {"k": K},
        "model_name": "gpt2-small",
    }
    (tmp_path / "cfg.json").write_text(json.dumps(old))
    dictionary = open_dictionary(tmp_path)[2]
    assert (dictionary.architecture, dictionary.k, dictionary.b_dec_from_input) == ("topk", K, True)
    assert dictionary.origin.model == "gpt2-small"


def test_it_is_told_what_does_not_fit_a_model(tmp_path: Path) -> None:
    write(tmp_path, "standard")
    dictionary = open_dictionary(tmp_path)[2]
    sizes = {"n_ctx": 8, "d_head": 4, "n_heads": 2, "d_vocab": 20}
    check_fits(dictionary, TransformerConfig(n_layers=3, d_model=D_IN, **sizes))
    with pytest.raises(CheckpointError, match=r"12 wide at blocks\.2\.hook_resid_pre; this model is 16 wide"):
        check_fits(dictionary, TransformerConfig(n_layers=3, d_model=16, **sizes))
    with pytest.raises(CheckpointError, match="of 2 layers does not have"):
        check_fits(dictionary, TransformerConfig(n_layers=2, d_model=D_IN, **sizes))


def test_no_name_leads_out_of_the_folder_of_those_that_are_shipped() -> None:
    assert shipped("../models") == () == shipped("no-such-model")
    assert EMBEDDED.is_dir()

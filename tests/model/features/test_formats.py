"""Gemma Scope's and circuit-tracer's files, written as their own code writes them, with their forward written out."""

import json
import tracemalloc
import zipfile
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import save_file
from torch import Tensor
from torch.nn import functional as F

from headlight.model.base.errors import CheckpointError, NotFiniteError
from headlight.model.features.fits import check_fits
from headlight.model.features.hooks import translated
from headlight.model.features.norms import before_gain, fitted
from headlight.model.features.npz import read_npz
from headlight.model.features.opening import open_dictionary
from headlight.model.features.splice import Splice
from headlight.model.nn.config import TransformerConfig
from headlight.model.nn.hooks import Chain, Collect
from tests.model.oracles import random_model, random_tokens

D, N, LAYERS = 10, 30, 3
# Sums of 30 products of float32 of size 1, in two orders.
CLOSE = {"rtol": 1e-5, "atol": 1e-5}
HOOKS = {"feature_input_hook": "hook_resid_mid", "feature_output_hook": "hook_mlp_out"}


def drawn(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed + sum(shape)))


def jumprelu(pre: Tensor, threshold: Tensor) -> Tensor:
    return pre * (pre > threshold)


def first_release(folder: Path, **more: np.ndarray) -> dict[str, np.ndarray]:
    folder.mkdir(parents=True)
    arrays = {
        "W_enc": drawn(D, N).numpy(),
        "W_dec": drawn(N, D).numpy(),
        "b_enc": drawn(N).numpy(),
        "b_dec": drawn(D).numpy(),
        "threshold": drawn(N, seed=1).abs().numpy(),
    }
    np.savez(folder / "params.npz", **(arrays | more))
    return arrays


@pytest.mark.parametrize(
    ("release", "hook_in", "hook_out"),
    [
        ("gemma-scope-2b-pt-res", "blocks.20.hook_resid_post", "blocks.20.hook_resid_post"),
        ("gemma-scope-9b-pt-att", "blocks.20.attn.hook_z", "blocks.20.attn.hook_z"),
        ("models--google--gemma-scope-2b-pt-transcoders", "blocks.20.ln2.hook_normalized", "blocks.20.hook_mlp_out"),
    ],
)
def test_gemma_scope_1(release: str, hook_in: str, hook_out: str, tmp_path: Path) -> None:
    folder = tmp_path / release / "layer_20" / "width_16k" / "average_l0_71"
    arrays = {name: torch.from_numpy(array) for name, array in first_release(folder).items()}
    opened = open_dictionary(folder)[20]
    assert (opened.hook_in, opened.hooks_out, opened.architecture) == (hook_in, (hook_out,), "jumprelu")
    x = drawn(4, D, seed=2)
    acts = jumprelu(x @ arrays["W_enc"] + arrays["b_enc"], arrays["threshold"])
    torch.testing.assert_close(opened.encode(x), acts, **CLOSE)
    torch.testing.assert_close(opened.decode(acts), acts @ arrays["W_dec"] + arrays["b_dec"], **CLOSE)


def test_gemma_scope_1_without_its_folders_names_is_refused(tmp_path: Path) -> None:
    first_release(tmp_path / "mine")
    with pytest.raises(CheckpointError, match="Keep the names that its folders have on the hub"):
        open_dictionary(tmp_path / "mine")


def second_release(folder: Path, **changes: object) -> dict[str, Tensor]:
    folder.mkdir(parents=True)
    tensors = {"w_enc": drawn(D, N), "w_dec": drawn(N, D), "b_enc": drawn(N), "b_dec": drawn(D)}
    tensors |= {"threshold": drawn(N, seed=1).abs(), "affine_skip_connection": drawn(D, D)}
    save_file(tensors, folder / "params.safetensors")
    settings = {
        "architecture": "jump_relu",
        "model_name": "gemma-v3-1b-pt",
        "hf_hook_point_in": "model.layers.1.pre_feedforward_layernorm.output",
        "hf_hook_point_out": "model.layers.1.post_feedforward_layernorm.output",
        "affine_connection": True,
    }
    (folder / "config.json").write_text(json.dumps(settings | changes))
    return tensors


def test_gemma_scope_2_with_its_affine_skip_connection(tmp_path: Path) -> None:
    """It reads what the MLP reads, behind the norm's gain, of which the activation with a name is before."""
    t = second_release(tmp_path / "one")
    opened = open_dictionary(tmp_path / "one")[1]
    x = drawn(4, D, seed=2)
    acts = jumprelu(x @ t["w_enc"] + t["b_enc"], t["threshold"])
    torch.testing.assert_close(opened.encode(x), acts, **CLOSE)
    # Stored [d_in, d_out].
    torch.testing.assert_close(
        opened.decode(acts, x), acts @ t["w_dec"] + t["b_dec"] + x @ t["affine_skip_connection"], **CLOSE
    )
    with pytest.raises(ValueError, match="decode needs its input"):
        opened.decode(acts)


def test_what_an_mlp_reads_is_brought_before_the_gain_of_its_norm(tmp_path: Path) -> None:
    model = random_model(n_layers=2, d_model=D, n_heads=2, d_head=5)
    with torch.no_grad():
        model.block(1).ln2.w.copy_(drawn(D, seed=5))
        model.block(1).ln2.b.copy_(drawn(D, seed=6))
    second_release(tmp_path / "one")
    opened = open_dictionary(tmp_path / "one")
    with pytest.raises(CheckpointError, match=r"behind the gain of the norm before it: open it with the model"):
        check_fits(opened[1], model.cfg)
    dictionary = fitted(opened, model)[1]
    assert dictionary.hook_in == "blocks.1.ln2.hook_normalized"
    x = drawn(3, D, seed=7)
    behind = x * model.block(1).ln2.w + model.block(1).ln2.b
    torch.testing.assert_close(dictionary.encode(x), opened[1].encode(behind), **CLOSE)
    torch.testing.assert_close(
        dictionary.decode(dictionary.encode(x), x), opened[1].decode(opened[1].encode(behind), behind), **CLOSE
    )
    active = dictionary.encode(x)[0].nonzero().flatten().tolist()
    torch.testing.assert_close(
        dictionary.encoder_rows(active) @ x[0] + dictionary.offsets(active), dictionary.encode(x)[0, active], **CLOSE
    )
    assert before_gain(dictionary, model) is dictionary


def write_layers(folder: Path, *, skip: bool, thresholds: bool) -> list[dict[str, Tensor]]:
    """As SingleLayerTranscoder.to_safetensors writes them: encoders [feature, d]."""
    folder.mkdir()
    (folder / "config.yaml").write_text(
        "model_name: google/tiny\nmodel_kind: transcoder_set\nfeature_input_hook: hook_resid_mid\n"
        "feature_output_hook: hook_mlp_out\n"
    )
    layers = []
    for layer in range(LAYERS):
        t = {
            "W_enc": drawn(N, D, seed=layer),
            "W_dec": drawn(N, D, seed=9 + layer),
            "b_enc": drawn(N),
            "b_dec": drawn(D),
        }
        t |= {"W_skip": drawn(D, D)} if skip else {}
        t |= {"activation_function.threshold": drawn(N, seed=3).abs()} if thresholds else {}
        save_file(t, folder / f"layer_{layer}.safetensors")
        layers.append(t)
    return layers


@pytest.mark.parametrize(("skip", "thresholds"), [(False, False), (True, True)])
def test_per_layer_transcoders_of_circuit_tracer(skip: bool, thresholds: bool, tmp_path: Path) -> None:
    layers = write_layers(tmp_path / "set", skip=skip, thresholds=thresholds)
    opened = open_dictionary(tmp_path / "set")
    assert list(opened) == [0, 1, 2]
    for layer, t in enumerate(layers):
        one = opened[layer]
        assert (one.hook_in, one.hooks_out) == (f"blocks.{layer}.hook_resid_mid", (f"blocks.{layer}.hook_mlp_out",))
        x = drawn(4, D, seed=2)
        pre = F.linear(x, t["W_enc"], t["b_enc"])
        acts = jumprelu(pre, t["activation_function.threshold"]) if thresholds else F.relu(pre)
        torch.testing.assert_close(one.encode(x), acts, **CLOSE)
        expected = acts @ t["W_dec"] + t["b_dec"] + (x @ t["W_skip"].T if skip else 0)
        torch.testing.assert_close(one.decode(acts, x), expected, **CLOSE)


def topk(pre: Tensor, k: int) -> Tensor:
    """circuit-tracer's TopK: the k largest as they are, whatever their sign."""
    least = pre.sort(descending=True).values[:, k - 1 : k]
    return pre * (pre >= least)


def write_topk(folder: Path, config: str, k: int | None) -> list[dict[str, Tensor]]:
    """As circuit-tracer of April 2026 writes topk transcoders, whose k is in the config, the file or both."""
    layers = write_layers(folder, skip=True, thresholds=False)
    with (folder / "config.yaml").open("a") as file:
        file.write(config)
    for layer, t in enumerate(layers):
        save_file(t | ({} if k is None else {"k": torch.tensor(k)}), folder / f"layer_{layer}.safetensors")
    return layers


@pytest.mark.parametrize(("config", "k"), [("activation: topk\nk: 25\n", None), ("", 25), ("activation: topk\n", 25)])
def test_topk_transcoders_of_circuit_tracer(config: str, k: int | None, tmp_path: Path) -> None:
    """25 of 30 are more than are above 0, so that some of the largest are below."""
    layers = write_topk(tmp_path / "set", config, k)
    opened, x = open_dictionary(tmp_path / "set"), drawn(4, D, seed=2)
    for layer, t in enumerate(layers):
        acts = topk(F.linear(x, t["W_enc"], t["b_enc"]), 25)
        assert (acts < 0).any()
        torch.testing.assert_close(opened[layer].encode(x), acts, **CLOSE)
        expected = acts @ t["W_dec"] + t["b_dec"] + x @ t["W_skip"].T
        torch.testing.assert_close(opened[layer].decode(acts, x), expected, **CLOSE)


@pytest.mark.parametrize(
    ("config", "k", "said"),
    [
        ("activation: topk\n", None, "say no number for k"),
        ("activation: topk\nk: 3\n", 4, "for k; topk transcoders have one whole number"),
        ("activation: groupmax\n", None, "activation 'groupmax', which is not read"),
        ("activation: relu\n", 4, "has tensors that its settings do not tell of: k"),
    ],
)
def test_topk_transcoders_that_do_not_say_one_k_are_refused(
    config: str, k: int | None, said: str, tmp_path: Path
) -> None:
    write_topk(tmp_path / "set", config, k)
    with pytest.raises(CheckpointError, match=said):
        open_dictionary(tmp_path / "set")


def test_k_is_known_of_the_published_ones_whose_config_does_not_say_it(tmp_path: Path) -> None:
    """As circuit-tracer knows it: 128, which is more than there are features here, so that all are active."""
    folder = tmp_path / "models--facebook--crv-8b-instruct-transcoders"
    (t, *_), x = write_topk(folder, "activation: topk\n", None), drawn(4, D, seed=2)
    assert open_dictionary(folder)[0].k == 128
    torch.testing.assert_close(open_dictionary(folder)[0].encode(x), F.linear(x, t["W_enc"], t["b_enc"]), **CLOSE)


def test_files_that_a_config_names_are_read_where_they_lie_beside_it(tmp_path: Path) -> None:
    """As in the sets of Gemma Scope's transcoders, whose files are named as the hub's."""
    first_release(tmp_path / "layer_0" / "width_16k")
    second_release(tmp_path / "two")
    files = ["layer_0/width_16k/params.npz", "two/params.safetensors"]
    config = {
        "model_kind": "transcoder_set",
        "transcoders": [f"hf://google/some/{file}?revision=main" for file in files],
    }
    config |= {"feature_input_hook": "ln2.hook_normalized", "feature_output_hook": "hook_mlp_out"}
    (tmp_path / "config.yaml").write_text(json.dumps(config))  # which is YAML too
    opened, second = open_dictionary(tmp_path), open_dictionary(tmp_path / "two")[1]
    x = drawn(4, D, seed=2)
    assert opened[0].hook_in == "blocks.0.ln2.hook_normalized"
    arrays = {name: torch.from_numpy(array) for name, array in np.load(tmp_path / files[0]).items()}
    acts = jumprelu(x @ arrays["W_enc"] + arrays["b_enc"], arrays["threshold"])
    torch.testing.assert_close(opened[0].encode(x), acts, **CLOSE)
    torch.testing.assert_close(opened[1].encode(x), second.encode(x))
    torch.testing.assert_close(opened[1].decode(second.encode(x), x), second.decode(second.encode(x), x))


def write_crossing(folder: Path) -> list[dict[str, Tensor]]:
    """As CrossLayerTranscoder.to_safetensors writes them."""
    folder.mkdir()
    config = {"model_name": "tiny", "model_kind": "cross_layer_transcoder", **HOOKS}
    (folder / "config.yaml").write_text("".join(f"{name}: {value}\n" for name, value in config.items()))
    layers = []
    for i in range(LAYERS):
        t = {
            f"W_enc_{i}": drawn(N, D, seed=i),
            f"b_enc_{i}": drawn(N, seed=i),
            f"b_dec_{i}": drawn(D, seed=i),
            f"threshold_{i}": drawn(N, seed=i + 5).abs(),
        }
        save_file(t, folder / f"W_enc_{i}.safetensors")
        decoder = {f"W_dec_{i}": drawn(N, LAYERS - i, D, seed=i)}
        save_file(decoder, folder / f"W_dec_{i}.safetensors")
        layers.append(t | decoder)
    return layers


def test_a_cross_layer_transcoder_writes_to_its_own_and_every_later_output(tmp_path: Path) -> None:
    layers = write_crossing(tmp_path / "clt")
    opened = open_dictionary(tmp_path / "clt")
    assert opened[1].hooks_out == ("blocks.1.hook_mlp_out", "blocks.2.hook_mlp_out")
    x = drawn(LAYERS, 4, D, seed=2)
    acts = [jumprelu(x[i] @ t[f"W_enc_{i}"].T + t[f"b_enc_{i}"], t[f"threshold_{i}"]) for i, t in enumerate(layers)]
    for at in range(LAYERS):
        # The sum over earlier layers' features, and this output's bias once.
        expected = layers[at][f"b_dec_{at}"] + sum(acts[i] @ layers[i][f"W_dec_{i}"][:, at - i] for i in range(at + 1))
        output = sum(opened[i].decode(opened[i].encode(x[i]), out=at - i) for i in range(at + 1))
        torch.testing.assert_close(output, expected, **CLOSE)


def test_it_stands_in_for_every_mlp_of_a_model(tmp_path: Path) -> None:
    """What was put in early is there for those that read later."""
    write_crossing(tmp_path / "clt")
    opened = open_dictionary(tmp_path / "clt")
    model, tokens = random_model(n_layers=LAYERS, d_model=D, n_heads=2, d_head=5), random_tokens()
    kept = Collect([f"blocks.{i}.{hook}" for i in range(LAYERS) for hook in ("hook_resid_mid", "hook_mlp_out")])
    with torch.no_grad():
        model(tokens, tap=Chain(Splice(opened.values()), kept))
    acts = [opened[i].encode(kept.kept[f"blocks.{i}.hook_resid_mid"]) for i in range(LAYERS)]
    expected = sum(opened[i].decode(acts[i], out=2 - i) for i in range(LAYERS))
    torch.testing.assert_close(kept.kept["blocks.2.hook_mlp_out"], expected, **CLOSE)


def test_centred_writing_weights_are_read_from_streams_as_they_are(tmp_path: Path) -> None:
    """TransformerLens centres what is written; a stream of that model is ours less its mean."""
    folder = tmp_path / "one"
    folder.mkdir()
    t = {"W_enc": drawn(D, N), "W_dec": drawn(N, D), "b_enc": drawn(N), "b_dec": drawn(D)}
    save_file(t, folder / "sae_weights.safetensors")
    config = {"d_in": D, "d_sae": N, "architecture": "standard", "hook_point": "blocks.1.hook_resid_pre"}
    (folder / "cfg.json").write_text(
        json.dumps(config | {"model_from_pretrained_kwargs": {"center_writing_weights": True}})
    )
    opened = open_dictionary(folder)[1]
    x = drawn(4, D, seed=2) + 3
    centred = x - x.mean(-1, keepdim=True)
    torch.testing.assert_close(opened.encode(x), F.relu((centred - t["b_dec"]) @ t["W_enc"] + t["b_enc"]), **CLOSE)
    sizes = {"n_layers": 2, "d_model": D, "n_ctx": 8, "d_head": 5, "n_heads": 2, "d_vocab": 20}
    check_fits(opened, TransformerConfig(**sizes))
    with pytest.raises(CheckpointError, match="do not take off the mean"):
        check_fits(opened, TransformerConfig(**sizes, normalization_type="RMS"))


def test_rows_are_read_from_the_mapped_file_alone(tmp_path: Path) -> None:
    """Opening 40 MB and reading one feature's rows takes next to no memory of Python's or numpy's own."""
    folder = tmp_path / "gemma-scope-2b-pt-res" / "layer_1"
    wide = 100_000
    first_release(
        folder,
        W_enc=np.zeros((D, wide), np.float32),
        W_dec=np.ones((wide, D), np.float32),
        b_enc=np.zeros(wide, np.float32),
        threshold=np.ones(wide, np.float32),
    )
    tracemalloc.start()
    opened = open_dictionary(folder)[1]
    assert opened.decoder_rows([99_999]).tolist() == [[1.0] * D]
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1_000_000


def test_hostile_npz_files_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "params.npz"
    np.savez_compressed(path, W_enc=np.zeros((4, 4), np.float32))
    with pytest.raises(CheckpointError, match="is compressed"):
        read_npz(path)
    np.savez(path, W_enc=np.array([{"a": 1}], dtype=object), allow_pickle=True)
    with pytest.raises(CheckpointError, match="it has to be float32"):
        read_npz(path)
    np.savez(path, W_enc=np.zeros((4, 4), np.float32))
    whole = path.read_bytes()
    path.write_bytes(whole.replace(b"(4, 4)", b"(9, 9)"))
    with pytest.raises(CheckpointError, match=r"cut short|cannot be read"):
        read_npz(path)
    path.write_bytes(whole[:60])
    with pytest.raises(CheckpointError, match="cannot be read"):
        read_npz(path)
    with zipfile.ZipFile(path, "w") as archive:
        for number in range(100):
            archive.writestr(f"{number}.npy", b"")
    with pytest.raises(CheckpointError, match="100 arrays"):
        read_npz(path)


def write_sparsify(folder: Path, **changes: object) -> dict[str, Tensor]:
    """As SparseCoder.save_to_disk writes it."""
    folder.mkdir(parents=True)
    t = {"encoder.weight": drawn(N, D), "encoder.bias": drawn(N), "W_dec": drawn(N, D, seed=4), "b_dec": drawn(D)}
    t |= {"W_skip": drawn(D, D)} if changes.get("skip_connection") else {}
    save_file(t, folder / "sae.safetensors")
    settings = {"activation": "topk", "expansion_factor": 3, "normalize_decoder": True, "num_latents": 0, "k": 4}
    settings |= {"multi_topk": False, "skip_connection": False, "transcode": False, "d_in": D}
    (folder / "cfg.json").write_text(json.dumps(settings | changes))
    return t


@pytest.mark.parametrize("transcode", [False, True])
def test_dictionaries_of_sparsify(transcode: bool, tmp_path: Path) -> None:
    """SparseCoder.encode and forward written out: a transcoder reads what its module is given, without b_dec."""
    t = write_sparsify(tmp_path / "m" / "layers.1.mlp" / "seed0", transcode=transcode, skip_connection=transcode)
    opened = open_dictionary(tmp_path / "m" / "layers.1.mlp" / "seed0")[1]
    assert (opened.hook_in, opened.hooks_out) == ("layers.1.mlp" + ".input" * transcode, ("layers.1.mlp",))
    x = drawn(4, D, seed=2)
    acts = topk(F.relu(F.linear(x if transcode else x - t["b_dec"], t["encoder.weight"], t["encoder.bias"])), 4)
    torch.testing.assert_close(opened.encode(x), acts, **CLOSE)
    made = acts @ t["W_dec"] + t["b_dec"] + (x @ t["W_skip"].mT if transcode else 0)
    torch.testing.assert_close(opened.decode(acts, x), made, **CLOSE)
    model = random_model(n_layers=2, d_model=D, n_heads=2, d_head=5)
    fits = fitted(open_dictionary(tmp_path / "m" / "layers.1.mlp"), model)[1]
    read = "blocks.1.ln2.hook_normalized" if transcode else "blocks.1.hook_mlp_out"
    assert (fits.hook_in, fits.hooks_out) == (read, ("blocks.1.hook_mlp_out",))


@pytest.mark.parametrize(
    ("changes", "said"),
    [({"activation": "groupmax"}, "activation 'groupmax'"), ({"signed": True}, "signed True"), ({"k": 0}, "k 0")],
)
def test_what_is_not_read_of_sparsify_is_said(changes: dict[str, object], said: str, tmp_path: Path) -> None:
    write_sparsify(tmp_path / "layers.1", **changes)
    with pytest.raises(CheckpointError, match=said):
        open_dictionary(tmp_path / "layers.1")


def test_a_folder_of_sparsify_that_is_called_otherwise_is_asked_for_its_name(tmp_path: Path) -> None:
    write_sparsify(tmp_path / "mine")
    with pytest.raises(CheckpointError, match=r"The folder mine does not say what it is of.*layers\.3"):
        open_dictionary(tmp_path / "mine")


def test_dictionary_learning_is_named_and_not_unpickled(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text('{"trainer": {"dict_class": "AutoEncoderTopK"}}')
    (tmp_path / "ae.pt").write_bytes(b"cos\nsystem\n(S'false'\ntR.")  # a pickle that runs a command
    with pytest.raises(CheckpointError, match=r"dictionary of dictionary_learning.*is a pickle.*save_model"):
        open_dictionary(tmp_path)


# TransformerLens 3.9's bridge, whose blocks call these by the older names in `hook_aliases`; and transformers' modules.
NAMES = {
    "blocks.1.hook_in": "blocks.1.hook_resid_pre",
    "blocks.1.hook_out": "blocks.1.hook_resid_post",
    "blocks.1.ln2.hook_in": "blocks.1.hook_resid_mid",
    "blocks.1.attn.hook_out": "blocks.1.hook_attn_out",
    "blocks.1.mlp.hook_out": "blocks.1.hook_mlp_out",
    "blocks.1.attn.o.hook_in": "blocks.1.attn.hook_z",
    "blocks.1.mlp.out.hook_in": "blocks.1.mlp.hook_post",
    "blocks.1.ln2.hook_out": "blocks.1.mlp.hook_in",
    "embed.hook_out": "hook_embed",
    "pos_embed.hook_out": "hook_pos_embed",
    "blocks.1.attn.hook_z": "blocks.1.attn.hook_z",
    "blocks.1.ln1.hook_normalized": "blocks.1.ln1.hook_normalized",
    "transformer.h.1": "blocks.1.hook_resid_post",
    "base_model.model.model.layers.1": "blocks.1.hook_resid_post",
    "model.language_model.layers.1.mlp": "blocks.1.hook_mlp_out",
    "layers.1.output": "blocks.1.hook_resid_post",
}


@pytest.mark.parametrize("name", NAMES)
def test_names_of_the_bridge_and_of_modules_are_translated(name: str) -> None:
    cfg = TransformerConfig(n_layers=2, d_model=D, n_ctx=8, d_head=5, n_heads=2, d_vocab=20)
    assert translated(name, cfg) == NAMES[name]


@pytest.mark.parametrize("name", ["model.layers.1.mlp", "blocks.1.attn.hook_out", "model.layers.1.self_attn.q_proj"])
def test_what_a_norm_behind_changes_is_no_output_of_a_module(name: str) -> None:
    sizes = {"n_layers": 2, "d_model": D, "n_ctx": 8, "d_head": 5, "n_heads": 2, "d_vocab": 20}
    cfg = TransformerConfig(**sizes, use_normalization_before_and_after=True, normalization_type="RMS")
    with pytest.raises(CheckpointError, match=rf"It is of {name}, and nothing of this model"):
        translated(name, cfg)
    assert translated("model.layers.1.post_feedforward_layernorm", cfg) == "blocks.1.hook_mlp_out"


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ("[1, 2]", "holds list"),
        ("a: [", "cannot be read as YAML"),
        ("!!python/object/apply:os.system ['true']", "cannot be read as YAML"),
        ("model_kind: other", "model_kind 'other'"),
        ("feature_input_hook: 3", "names no feature_input_hook"),
        (
            "{feature_input_hook: a, feature_output_hook: b, transcoders: ['hf://a/b/c/d.npz']}",
            "Download it as c/d.npz",
        ),
        ("{feature_input_hook: a, feature_output_hook: b, transcoders: ['../config.yaml']}", "does not lie beside it"),
    ],
)
def test_what_a_config_of_circuit_tracer_cannot_say(config: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_text(config)
    with pytest.raises(CheckpointError, match=said):
        open_dictionary(tmp_path)


def test_a_layer_that_is_missing_is_named(tmp_path: Path) -> None:
    write_layers(tmp_path / "set", skip=False, thresholds=False)
    (tmp_path / "set" / "layer_1.safetensors").unlink()
    with pytest.raises(CheckpointError, match=r"lacks layer_1\.safetensors"):
        open_dictionary(tmp_path / "set")


@pytest.mark.parametrize("name", ["W_enc", "W_dec"])
def test_matrices_with_nan_are_refused_when_opened_or_computed_with(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "gemma-scope-2b-pt-res" / "layer_20" / "width_16k" / "average_l0_71"
    broken = drawn(*((D, N) if name == "W_enc" else (N, D))).numpy()
    broken[3, 4] = np.nan
    first_release(folder, **{name: broken})
    with pytest.raises(CheckpointError, match=f"has NaN or infinite values in {name}"):
        open_dictionary(str(folder))
    monkeypatch.setattr("headlight.model.features.weights.LARGE", 0)  # of which nothing is read before it is needed
    (dictionary,) = open_dictionary(str(folder)).values()
    with pytest.raises(NotFiniteError, match="gives NaN or infinite values: its file is damaged"):
        dictionary.decode(dictionary.encode(drawn(5, D)).clamp(min=1))

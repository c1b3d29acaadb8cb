"""The files of *Features* and *Corpus* on a model of each kind, against what transformers computes."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from torch import Tensor
from torch.nn import functional as F

from headlight.app.pages.corpus import EXPORT as CORPUS
from headlight.app.pages.features import EXPORT as FEATURES
from headlight.app.runs import comparisons
from headlight.model import load
from headlight.model.corpus.documents import open_corpus
from headlight.model.corpus.engines import Here
from headlight.model.corpus.scan import Scan
from headlight.model.corpus.settings import ScanSettings
from headlight.model.corpus.shard import Worker
from tests.app.choosing import selection_of
from tests.app.exports.page_files import Files, image
from tests.app.exports.test_code import compare_tables, run_here
from tests.app.exports.twins import D_MODEL, DECODERS, N_HEADS, N_LAYERS, NEAR, Twin, save_twin
from tests.saved_dictionary import save_dictionary

pytestmark = pytest.mark.usefixtures("unchecked")  # sequences of several lengths pass
PROMPT, FEATURE, PLACE = "one two three one two three one", 7, 5
TEXTS = ("one two three one two three one", "four one four one two", "one one six one two six")
NAMES = [f"L{layer}H{head}" for layer in range(N_LAYERS) for head in range(N_HEADS)]
# Sums of some dozen float32 numbers of size 10, taken in another order.
CLOSE: dict[str, float] = {"rtol": 1e-4, "atol": 2e-4}
ROUNDED: dict[str, float] = {"rtol": 1e-4, "atol": 1e-4}  # a scan's files keep four digits
slow = pytest.mark.thorough
KINDS = ["llama", pytest.param("gpt2", marks=slow), pytest.param("bert", marks=slow)]


class Sae:
    """The saved dictionary by its formula."""

    def __init__(self, folder: Path) -> None:
        tensors = {name: each.double() for name, each in load_file(folder / "sae_weights.safetensors").items()}
        self.W_enc, self.b_enc = tensors["W_enc"], tensors["b_enc"]
        self.W_dec, self.b_dec = tensors["W_dec"], tensors["b_dec"]

    def before(self, x: Tensor) -> Tensor:
        return (x - self.b_dec) @ self.W_enc + self.b_enc

    def decode(self, x: Tensor) -> Tensor:
        return self.before(x).relu() @ self.W_dec + self.b_dec


def opened(kind: str, hook: str, settings: dict[str, object], folder: Path, **fields: Any) -> tuple[Twin, Sae, Files]:
    twin = save_twin(kind, folder / "twin")
    save_dictionary(folder / "models" / "sae", hook, D_MODEL)
    settings["models_folder"] = str(folder / "models")
    layer = int(hook.split(".")[1])
    fields = {"model": twin.folder, "prompt": PROMPT, "dictionary": "sae", "feature": (layer, FEATURE)} | fields
    chosen = selection_of(position=PLACE, **fields)
    comparison = comparisons.for_selection(chosen)
    return twin, Sae(folder / "models" / "sae"), Files(FEATURES, comparison, chosen, torch.empty(0), comparison.a.cache)


@pytest.mark.parametrize("kind", KINDS)
@torch.no_grad()
def test_features(kind: str, settings: dict[str, object], tmp_path: Path) -> None:
    twin, sae, files = opened(kind, "blocks.1.hook_resid_pre", settings, tmp_path)
    data, tokens = files.export.data(files.comparison, files.chosen), files.comparison.a.tokens
    theirs = twin(tokens)
    x = theirs.hidden_states[1][0]
    acts, made = sae.before(x).relu(), sae.decode(x)
    listed = data.shows["features of the arrays"]
    active, missed = acts[:, listed].T, (x - made).norm(dim=-1) / x.norm(dim=-1)
    np.testing.assert_allclose(data.arrays["A activations"].values, active, **CLOSE)
    np.testing.assert_allclose(data.arrays["A missed"].values, missed, **NEAR)
    assert data.arrays["A active features"].values.tolist() == (acts > 0).sum(-1).tolist()
    handle = twin.layers[1].register_forward_pre_hook(lambda module, inputs: (made[None], *inputs[1:]))
    in_place = twin(tokens).logits[0].log_softmax(-1)
    handle.remove()
    before = theirs.logits[0].log_softmax(-1)
    moved = (before.exp() * (before - in_place)).sum(-1)
    np.testing.assert_allclose(data.arrays["A KL with the dictionary in place"].values, moved, rtol=1e-3, atol=2e-4)
    quantities = dict(zip(data.tables["dictionary"]["quantity"], data.tables["dictionary"]["value"], strict=True))
    explained = 1 - (x - made).square().sum() / (x - x.mean(0)).square().sum()
    expected = {"explained variance": float(explained), "active features": float((acts > 0).sum(-1).double().mean())}
    if kind in DECODERS:
        losses = {"loss": before, "loss with the dictionary in place": in_place}
        expected |= {name: float(F.nll_loss(each[:-1], tokens[1:])) for name, each in losses.items()}
    for name, value in expected.items():
        assert quantities[name] == pytest.approx(value, rel=1e-4, abs=2e-4), name
    rows = zip(*(data.tables["features"][name] for name in ("feature", "place", "activation")), strict=True)
    in_table = np.zeros(active.shape)
    for feature, place, value in rows:
        in_table[listed.index(feature), place] = value
    np.testing.assert_allclose(in_table, active, **CLOSE)
    cosines = F.normalize(sae.W_dec, dim=-1) @ F.normalize(sae.W_dec[FEATURE], dim=-1)
    cosines[FEATURE] = -2
    nearest = cosines.topk(len(data.tables["nearest"]["cosine"]))
    np.testing.assert_allclose(data.tables["nearest"]["cosine"], nearest.values, **NEAR)
    assert data.tables["nearest"]["feature"] == nearest.indices.tolist()
    drawn = [axes for axes in files.figure.axes if axes.images and not axes.get_label().startswith("<colorbar")]
    np.testing.assert_allclose(image(drawn[0]), active, **CLOSE)
    assert [label.get_text() for label in drawn[0].get_yticklabels()] == list(map(str, listed))
    np.testing.assert_allclose(image(drawn[1])[0], missed, **NEAR)
    maps = [arrays["values"] for _, arrays in files.mounted if "values" in arrays]
    assert any(each.shape == active.shape and np.allclose(each, active, **CLOSE) for each in maps)
    compare_tables(run_here(files.export.script(files.comparison, files.chosen)), dict(data.tables))
    readers(twin, sae, files)
    if kind in DECODERS:
        makers(twin, sae, files, x, tokens)


def makers(twin: Twin, sae: Sae, files: Files, x: Tensor, tokens: Tensor) -> None:
    """Who made the feature: what adds up to its activation, of which the embedding is told apart by hand."""
    table, column = files.table("made by"), sae.W_enc[:, FEATURE]
    assert sum(table["activation"]) == pytest.approx(float(sae.before(x)[PLACE, FEATURE]), abs=1e-3)
    parts = dict(zip(table["part"], table["activation"], strict=True))
    embedded = twin.model.get_input_embeddings().weight[tokens[PLACE]]
    assert parts["token embedding"] == pytest.approx(float(embedded @ column), abs=1e-4)
    assert parts["encoder's bias"] == pytest.approx(float(sae.b_enc[FEATURE] - sae.b_dec @ column), abs=1e-4)
    assert ("position embedding" in parts) == ("L0 attention bias" in parts) == hasattr(twin.model.base_model, "wpe")


def readers(twin: Twin, sae: Sae, files: Files) -> None:
    """Which heads read the feature: ‖d circuit‖ / (‖d‖ ‖circuit‖), of circuits with the norm before them."""
    table, direction = files.table("read by"), sae.W_dec[FEATURE]
    assert len(table["head"]) == (N_LAYERS - 1) * N_HEADS
    for name, *values in zip(*(table[each] for each in ("head", "query", "key", "value")), strict=True):
        layer, head = map(int, name.removeprefix("L").split("H"))
        W_Q, W_K, W_V, W_O = (twin.heads(layer)[each][head] for each in ("W_Q", "W_K", "W_V", "W_O"))
        W_Q, W_K, W_V = (twin.reading(layer) @ each for each in (W_Q, W_K, W_V))
        circuits = W_Q @ W_K.T, W_K @ W_Q.T, W_V @ W_O
        expected = [float((direction @ each).norm() / (direction.norm() * each.norm())) for each in circuits]
        np.testing.assert_allclose(values, expected, **NEAR, err_msg=name)


@pytest.mark.parametrize("kind", ["llama", pytest.param("gpt2", marks=slow)])
@torch.no_grad()
def test_what_features_of_the_last_stream_carry(kind: str, settings: dict[str, object], tmp_path: Path) -> None:
    """Each feature's part of target − distractor and, with error and biases, the logits' own difference."""
    pair = {"features_by": "effect", "target": "one", "distractor": " two"}
    twin, sae, files = opened(kind, f"blocks.{N_LAYERS - 1}.hook_resid_post", settings, tmp_path, **pair)
    tokens, tokenizer = files.comparison.a.tokens, files.comparison.a.tokenizer
    with twin.record_inputs(twin.final_norm) as inputs:
        logits = twin(tokens).logits[0, PLACE]
    x, norm = inputs[0][PLACE], twin.final_norm
    scaled = twin.scaled(x)
    target, distractor = tokenizer.to_single_token("one"), tokenizer.to_single_token(" two")
    towards = scaled @ (twin.unembedding[:, target] - twin.unembedding[:, distractor])
    acts = sae.before(x).relu()
    expected = {
        f"feature {each}": acts[each] * (sae.W_dec[each] @ towards) for each in acts.nonzero().flatten().tolist()
    }
    expected |= {"the decoder's bias": sae.b_dec @ towards, "the dictionary's error": (x - sae.decode(x)) @ towards}
    table = files.table("carried")
    carried = dict(zip(table["carries"], table["logits"], strict=True))
    assert carried == pytest.approx({name: float(value) for name, value in expected.items()}, rel=1e-4, abs=2e-4)
    rest = float(logits[target] - logits[distractor]) - sum(carried.values())
    of_norm = (
        float(norm.bias @ (twin.unembedding[:, target] - twin.unembedding[:, distractor])) if kind == "gpt2" else 0
    )
    assert rest == pytest.approx(of_norm, abs=1e-3)
    promoted = files.table("promoted")
    effects = (sae.W_dec[FEATURE] @ scaled) @ twin.unembedding
    np.testing.assert_allclose(promoted["by (logits)"], effects.topk(10).values, **CLOSE)
    np.testing.assert_allclose(promoted["by how much (logits)"], effects.topk(10, largest=False).values, **CLOSE)
    assert promoted["promotes"] == tokenizer.labels(effects.topk(10).indices.tolist())


TITLES = {"Induction": "induction_score", "Entropy": "pattern_entropy", "Distance": "qk_distance"}
TITLES |= {"Previous token": "prev_token_score", "First token": "first_token_score"}


def figures(pattern: np.ndarray, tokens: list[int]) -> dict[str, tuple[float, float]]:
    """Above and below of a head's figures on one sequence, cell by cell."""
    n = len(tokens)
    copies = [(q, k) for q in range(n) for k in range(q) if tokens[q] == tokens[k]]
    return {
        "self_attention_score": (sum(pattern[q, q] for q in range(n)), n),
        "prev_token_score": (sum(pattern[q, q - 1] for q in range(1, n)), n - 1),
        "first_token_score": (sum(pattern[q, 0] for q in range(1, n)), n - 1),
        "duplicate_token_score": (sum(pattern[cell] for cell in copies), len({q for q, _ in copies})),
        "induction_score": (sum(w for q, k in copies if (w := pattern[q, k + 1]) >= 0.01), len({q for q, _ in copies})),
        "qk_distance": (sum(abs(q - k) * pattern[q, k] for q in range(n) for k in range(n)), n),
        "pattern_entropy": (-sum(w * np.log(w) for w in pattern.flatten() if w > 0), n),
    }


@pytest.mark.parametrize("kind", KINDS)
def test_corpus(kind: str, settings: dict[str, object], tmp_path: Path) -> None:
    """A scan of the model over three texts, and what the page takes along of it."""
    twin = save_twin(kind, tmp_path / "twin")
    corpus = tmp_path / "texts.jsonl"
    corpus.write_text("".join(json.dumps({"text": text}) + "\n" for text in TEXTS), encoding="utf-8")
    how, model = ScanSettings(length=16, shard=2, batch=2, warmup=3, ablate=2, top=2, others=1), load(twin.folder)
    Scan(model, open_corpus(str(corpus)), how, tmp_path / "models" / "scan").run(Here(Worker(twin.folder, how)))
    settings["models_folder"] = str(tmp_path / "models")
    chosen = selection_of(model=twin.folder, prompt=PROMPT, scan="scan", heads=((1, 2),))
    comparison = comparisons.for_selection(chosen)
    files = Files(CORPUS, comparison, chosen, torch.empty(0), comparison.a.cache)
    every = [model.to_tokens(text, prepend_bos=True)[0] for text in TEXTS]
    if kind == "bert":  # a sequence begins as a prompt does, and ends as it was cut
        every = [tokens[:-1] for tokens in every]
    patterns = [twin.patterns(tokens) for tokens in every]
    expected: dict[str, list[float]] = {}
    for layer in range(N_LAYERS):
        for head in range(N_HEADS):
            by_prompt = [
                figures(each[layer, head], tokens.tolist()) for each, tokens in zip(patterns, every, strict=True)
            ]
            for name in by_prompt[0]:
                above, below = (sum(each[name][end] for each in by_prompt) for end in (0, 1))
                expected.setdefault(name, []).append(above / below)
    table, data = files.table("figures"), files.export.data(comparison, chosen)
    listed: dict[str, dict[str, float]] = {}
    for name, head, value in zip(table["figure"], table["head"], table["value"], strict=True):
        listed.setdefault(name, {})[head] = value
    for name, values in expected.items():
        np.testing.assert_allclose([listed[name][head] for head in NAMES], values, **ROUNDED, err_msg=name)
        of_all = data.arrays[f"A {name}"].values.flatten()
        np.testing.assert_allclose(of_all, values, **ROUNDED, err_msg=name)
    (axes, *_) = files.figure.axes
    points = np.array(axes.collections[0].get_offsets())
    for values, label in zip(points.T, (axes.get_xlabel(), axes.get_ylabel()), strict=True):
        np.testing.assert_allclose(
            values, list(listed[TITLES[label.split(" (")[0]]].values()), rtol=1e-6, err_msg=label
        )
    (cells, title) = next((a["values"], p["title"]) for p, a in files.mounted if a.get("values") is not None)
    np.testing.assert_allclose(
        cells.flatten(), [listed[TITLES[title.split(" (")[0]]][head] for head in NAMES], rtol=1e-5
    )
    compare_tables(run_here(files.export.script(comparison, chosen)), dict(data.tables))

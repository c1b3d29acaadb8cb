"""What a scan keeps of neurons and features, against plain loops over the activations of every sequence."""

import json
import random
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
import torch

from headlight.model import load
from headlight.model.base.errors import HeadlightError, ScanError
from headlight.model.corpus.documents import open_corpus
from headlight.model.corpus.engines import Here
from headlight.model.corpus.reading import read_tree
from headlight.model.corpus.scan import Scan
from headlight.model.corpus.sequences import sampling_key
from headlight.model.corpus.settings import ScanSettings
from headlight.model.corpus.shard import Worker
from headlight.model.corpus.tree import Tree
from headlight.model.corpus.unit_files import UNITS, read_unit
from headlight.model.features import Dictionary
from headlight.model.features.opening import open_dictionary
from tests.tiny import save_tiny

WORDS = ("a", "cat", "sat", "on", "the", "mat", "one", "two", "said", "yes", "no", "end", "again", ",", ".", "!")
LENGTH = 12
FEATURES = 40  # of the dictionary
NEAR = 1e-5  # float32 activations of up to 100, of sequences in a batch there and alone here


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny model, a dictionary of one of its streams, a corpus, and a scan of all."""
    made = tmp_path_factory.mktemp("units")
    save_tiny("llama-like", made / "model")
    draw = random.Random(0)
    rows = [json.dumps({"text": " ".join(draw.choices(WORDS, k=draw.randint(2, 14)))}) for _ in range(16)]
    (made / "texts.jsonl").write_text("\n".join(rows), encoding="utf-8")
    _save_dictionary(made / "dictionary", load(str(made / "model")).cfg.d_model)
    _scan(made, _settings(made)).run(Here(Worker(str(made / "model"), _settings(made))))
    return made


def _save_dictionary(folder: Path, d_model: int) -> None:
    """By SAELens's description: https://github.com/jbloomAus/SAELens."""
    from safetensors.torch import save_file

    folder.mkdir()
    draw = torch.Generator().manual_seed(0)
    weights = {
        "W_enc": torch.randn(d_model, FEATURES, generator=draw),
        "b_enc": torch.randn(FEATURES, generator=draw) - 1,
        "W_dec": torch.randn(FEATURES, d_model, generator=draw),
        "b_dec": torch.zeros(d_model),
    }
    save_file(weights, folder / "sae_weights.safetensors")
    config = {"architecture": "standard", "d_in": d_model, "d_sae": FEATURES, "apply_b_dec_to_input": False}
    config |= {"dtype": "float32", "metadata": {"hook_name": "blocks.1.hook_resid_pre", "model_name": "tiny"}}
    (folder / "cfg.json").write_text(json.dumps(config))


def _settings(folder: Path) -> ScanSettings:
    return ScanSettings(
        length=LENGTH, shard=3, batch=2, warmup=6, ablate=0, neurons=True, features=str(folder / "dictionary")
    )


def _scan(folder: Path, settings: ScanSettings) -> Scan:
    corpus = open_corpus(str(folder / "texts.jsonl"))
    return Scan(load(str(folder / "model")), corpus, settings, folder / "scan")


def _activations(folder: Path, kind: str, layer: int) -> list[tuple[int, list[int], np.ndarray]]:
    """Every sequence's document, tokens and activations [pos, unit], the model given one sequence at a time."""
    model = load(str(folder / "model"))
    assert model.tokenizer is not None
    bos = model.tokenizer.bos_token_id
    before = [] if bos is None else [bos]
    dictionary: Dictionary | None = open_dictionary(folder / "dictionary").get(layer) if kind == "features" else None
    name = f"blocks.{layer}.mlp.hook_post" if dictionary is None else dictionary.hook_in
    documents = []
    for index, line in enumerate((folder / "texts.jsonl").read_text(encoding="utf-8").splitlines()):
        tokens, step = model.to_tokens(json.loads(line)["text"])[0].tolist(), LENGTH - len(before)
        for start in range(0, len(tokens), step):
            row = before + tokens[start : start + step]
            if len(row) < 2:
                continue
            with torch.inference_mode():
                activation = model.run_with_cache(torch.tensor([row]), [name])[1][name][0]
                acts = activation if dictionary is None else dictionary.encode(activation)
            documents.append((index, row, acts.double().numpy()))
    return documents


@pytest.mark.parametrize(("kind", "layer"), [("neurons", 0), ("neurons", 1), ("features", 1)])
def test_units_are_those_of_plain_loops(folder: Path, kind: str, layer: int) -> None:
    tree, sequences = read_tree(folder / "scan"), _activations(folder, kind, layer)
    rest = np.concatenate([acts[1:] for _, _, acts in sequences])
    for index in range(0, rest.shape[1], 3):
        unit = read_unit(tree, kind, layer, index)
        assert unit is not None
        # float32 activations of another batch; near 0 the sign of one may differ.
        assert unit.density == pytest.approx((rest[:, index] > 0).mean(), abs=1.5 / len(rest))
        assert unit.mean == pytest.approx(rest[:, index].mean(), rel=NEAR, abs=NEAR)
        assert unit.largest == pytest.approx(max(rest[:, index].max(), 0), rel=NEAR, abs=NEAR)
        assert sum(unit.histogram.bin_values) == len(sequences)
        peaks: Counter[int] = Counter()
        for _, tokens, acts in sequences:
            peak = int(acts[1:, index].argmax()) + 1
            peaks[tokens[peak]] += max(acts[peak, index], 0)  # type: ignore[assignment]
        strongest = [weight for _, weight in peaks.most_common(3)]
        assert [w for _, w in unit.top_tokens[:3]] == pytest.approx([w for w in strongest if w > 1e-6], rel=1e-4)


@pytest.mark.parametrize(("kind", "layer"), [("neurons", 1), ("features", 1)])
def test_windows_are_the_strongest_and_what_they_say(folder: Path, kind: str, layer: int) -> None:
    tree, sequences = read_tree(folder / "scan"), _activations(folder, kind, layer)
    for index in range(0, sequences[0][2].shape[1], 3):
        unit = read_unit(tree, kind, layer, index)
        assert unit is not None
        strengths = sorted((max(acts[1:, index].max(), 0.0) for _, _, acts in sequences), reverse=True)
        kept = [window.strength for window in unit.windows if window.bucket == 4]
        # The last bucket begins at a quantile of the warm-up, so that fewer may lie in it than are kept.
        assert kept == pytest.approx(strengths[: len(kept)], rel=NEAR, abs=NEAR)
        for window in unit.windows:
            document = int(window.document.split(":")[1]) - 1
            token, whole = window.token_ids[window.peak], [(row, acts) for at, row, acts in sequences if at == document]
            row, acts = next(each for each in whole if tuple(each[0][: len(window.token_ids)]) == window.token_ids)
            assert row[window.peak] == token
            assert acts[1:, index].argmax() + 1 == window.peak
            expected = np.where(np.arange(len(row)) > 0, acts[:, index].clip(min=0), 0)
            # Kept in 255 steps of the peak, half a step off at most.
            np.testing.assert_allclose(window.activations, expected, atol=window.strength / 500 + NEAR)


def test_what_is_not_watched_is_none_and_what_is_damaged_is_said(folder: Path, tmp_path: Path) -> None:
    tree = read_tree(folder / "scan")
    assert [path.name for path in (tree.folder / UNITS / "features").iterdir()] == ["L1.safetensors"]
    assert read_unit(tree, "features", 0, 0) is None
    assert read_unit(tree, "features", 1, FEATURES) is None
    damaged = tmp_path / UNITS / "neurons" / "L0.safetensors"
    damaged.parent.mkdir(parents=True)
    damaged.write_bytes((folder / "scan" / UNITS / "neurons" / "L0.safetensors").read_bytes()[:-50])
    other = Tree(tmp_path, "", "", 1, 1, 1, (), {}, {})
    with pytest.raises(ScanError, match="is damaged"):
        read_unit(other, "neurons", 0, 0)


def test_a_changed_dictionary_and_a_strange_one_are_refused(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(HeadlightError, match="There is no folder"):
        _scan(folder, ScanSettings(features=str(tmp_path / "nowhere")))
    _save_dictionary(tmp_path / "wide", 7)
    settings = ScanSettings(length=LENGTH, features=str(tmp_path / "wide"))
    corpus = open_corpus(str(folder / "texts.jsonl"))
    scan = Scan(load(str(folder / "model")), corpus, settings, tmp_path / "out")
    with pytest.raises(HeadlightError, match="is 7 wide"):
        scan.run(Here(Worker(str(folder / "model"), settings)))


def test_the_lot_decides_which_weaker_ones_are_kept(folder: Path) -> None:
    """Of each weaker bucket the sequence with the smallest lot, whose number its document and place decide."""
    tree, sequences = read_tree(folder / "scan"), _activations(folder, "neurons", 0)
    numbers = [
        sum(other == document for other, _, _ in sequences[:at]) for at, (document, _, _) in enumerate(sequences)
    ]
    keys = [
        sampling_key(0, document * 2**20 + number) for number, (document, _, _) in zip(numbers, sequences, strict=True)
    ]
    in_shards = [sum(document < shard * 3 for document, _, _ in sequences) for shard in range(1, 6)]
    n_warm = next(count for count in in_shards if count >= 6)  # whole shards, until there are as many as asked for
    all_strengths = np.stack([acts[1:].max(0).clip(min=0) for _, _, acts in sequences])
    checked = 0
    for index, strengths in enumerate(all_strengths.T):
        warm = np.sort(strengths[:n_warm])
        begins = [warm[min(round(each * n_warm / 4), n_warm - 1)] for each in (1, 2, 3)]
        if (np.isclose(strengths[:, None], begins, rtol=NEAR, atol=NEAR).sum(0) > 1).any():
            continue  # rounding decides which of them lies where
        unit = read_unit(tree, "neurons", 0, index)
        assert unit is not None
        kept = {window.bucket: window.strength for window in unit.windows}
        for bucket in (1, 2, 3):
            within = [at for at, strength in enumerate(strengths) if sum(b <= strength for b in begins) == bucket - 1]
            first = min((at for at in within if strengths[at] > 0), key=keys.__getitem__, default=None)
            assert (bucket in kept) == (first is not None)
            if first is not None:
                assert kept[bucket] == pytest.approx(strengths[first], rel=NEAR, abs=NEAR)
                checked += 1
    assert checked > 20

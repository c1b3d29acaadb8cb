"""The files of *Prompts*, *Head roles* and *Translate* on a model of each kind, against what transformers computes."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from transformers import AutoTokenizer

from headlight.app.exports.export import Export
from headlight.app.exports.style import LIGHT
from headlight.app.frame.prompt_list import Prompt
from headlight.app.pages.heads import export as export_heads
from headlight.app.pages.prompts import export as export_prompts
from headlight.app.pages.prompts.view import Listed
from headlight.app.pages.translate import EXPORT as TRANSLATE
from headlight.app.runs import comparisons, translations
from headlight.model.runs.comparison import Comparison
from tests.app.choosing import selection_of
from tests.app.exports.page_files import Files, image, titled
from tests.app.exports.test_code import compare_tables, computed, run_here
from tests.app.exports.twins import N_HEADS, N_LAYERS, NEAR, VOCABULARY, Twin, save_twin

pytestmark = pytest.mark.usefixtures("unchecked")  # sequences of several lengths pass
TEXTS = ("one two three , one two three one", "four one , four one two", "one one six , one two six")
HEADS = [(layer, head) for layer in range(N_LAYERS) for head in range(N_HEADS)]
NAMES = [f"L{layer}H{head}" for layer, head in HEADS]
T_OF_2 = 4.302653  # Student's t at 97.5% with two degrees of freedom, from tables


def scores(pattern: np.ndarray, tokens: list[int], commas: list[int]) -> dict[str, float]:
    """A head's scores on a sequence, cell by cell; the first query has no choice, within a window the first five."""
    queries = range(1, len(tokens))
    copies = {q: [k for k in range(q) if tokens[k] == tokens[q]] for q in queries}
    after = {q: [k + 1 for k in keys if k + 1 < q] for q, keys in copies.items()}
    cells = {
        "Previous token": {q: [q - 1] for q in queries},
        "First token": {q: [0] for q in queries},
        "Current token": {q: [q] for q in queries},
        "Same token": copies,
        "Induction": after,
        "Local window": {q: range(q - 4, q + 1) for q in queries if q >= 5},
        "Punctuation": {q: [k for k in commas if k < q] for q in queries},
    }
    return {
        name: float(np.mean([sum(pattern[q, k] for k in keys) for q, keys in keys_of.items() if keys]))
        for name, keys_of in cells.items()
    }


def over_texts(twin: Twin, export: Callable[[str], Comparison]) -> dict[str, np.ndarray]:
    """Each score [text, layer, head]."""
    every, tokenizer = [], AutoTokenizer.from_pretrained(twin.folder)
    for text in TEXTS:
        tokens = export(text).a.tokens
        patterns = twin.patterns(tokens)
        commas = [at for at, token in enumerate(tokens.tolist()) if tokenizer.decode([token]).strip() == ","]
        every.append([scores(patterns[head], tokens.tolist(), commas) for head in HEADS])
    return {
        name: np.array([[of_head[name] for of_head in of_text] for of_text in every]).reshape(-1, N_LAYERS, N_HEADS)
        for name in every[0][0]
    }


@pytest.fixture(params=["llama", *(pytest.param(kind, marks=pytest.mark.thorough) for kind in ("gpt2", "bert"))])
def twin(request: pytest.FixtureRequest, settings: dict[str, object], tmp_path: Path) -> Twin:
    return save_twin(request.param, tmp_path / "twin")


def run_of(twin: Twin, text: str) -> Comparison:
    return comparisons.for_selection(selection_of(model=twin.folder, prompt=text))


def by_head(table: dict[str, list[Any]], column: str) -> np.ndarray:
    order = [table["head"].index(name) for name in NAMES]
    return np.array([table[column][at] for at in order], float).reshape(N_LAYERS, N_HEADS)


@pytest.mark.parametrize(("statistic", "title"), [("induction", "Induction"), ("previous_token", "Previous token")])
def test_prompts(twin: Twin, statistic: str, title: str) -> None:
    expected = over_texts(twin, lambda text: run_of(twin, text))[title]
    export = export_prompts(tuple(Listed(Prompt(text, "typed"), True, "") for text in TEXTS))
    assert export is not None
    chosen = selection_of(model=twin.folder, prompt=TEXTS[0], statistic=statistic)
    files = files_of(export, run_of(twin, TEXTS[0]), chosen)
    mean, sd = expected.mean(0), expected.std(0, ddof=1)
    data = export.data(files.comparison, chosen)
    for name, values in (("statistic", expected), ("mean", mean), ("standard deviation", sd), ("count", 3 + 0 * mean)):
        np.testing.assert_allclose(data.arrays[name].values, values, **NEAR, err_msg=name)
    for name, values in (("mean", mean), ("standard deviation", sd)):
        np.testing.assert_allclose(image(titled(files.figure, f"{name} (")), values, **NEAR, err_msg=name)
        np.testing.assert_allclose(by_head(files.table("heads"), name), values, **NEAR, err_msg=name)
        (cells,) = (arrays["values"] for props, arrays in files.mounted if props.get("title", "").startswith(name))
        np.testing.assert_allclose(cells, values, **NEAR, err_msg=name)
    layer, head = divmod(int(mean.argmax()), N_HEADS)
    listed = next(values for name, values in files.table("prompts").items() if name.startswith(f"L{layer}H{head}"))
    np.testing.assert_allclose(listed, expected[:, layer, head], **NEAR)
    tables = dict(data.tables)
    compare_tables(run_here(export.script(files.comparison, chosen)), tables | {"prompts": computed(tables["prompts"])})


def files_of(export: Export, comparison: Comparison, chosen: Any) -> Files:
    return Files(export, comparison, chosen, torch.empty(0), comparison.a.cache)


def test_head_roles(twin: Twin) -> None:
    """By the prompts: means, intervals and ranks of every head, and what the weights alone say of copying."""
    expected = over_texts(twin, lambda text: run_of(twin, text))
    export = export_heads(TEXTS)
    fields = {"finder_data": "prompts", "finder_score": "previous_token"}
    chosen = selection_of(model=twin.folder, prompt=TEXTS[0], **fields)
    files = files_of(export, run_of(twin, TEXTS[0]), chosen)
    data, table = export.data(files.comparison, chosen), files.table("scores")
    arrays = {"Same token": "duplicate_token"}
    assert {*table["score"]} - {"Copying (OV)"} == {*expected}
    for title, values in expected.items():
        rows = {
            name: [cell for cell, role in zip(cells, table["score"], strict=True) if role == title]
            for name, cells in table.items()
        }
        mean, reach = values.mean(0), T_OF_2 * values.std(0, ddof=1) / 3**0.5
        wide = {"rtol": 1e-4, "atol": 1e-4}  # four times what a mean is rounded by
        np.testing.assert_allclose(by_head(rows, "mean"), mean, **NEAR, err_msg=title)
        np.testing.assert_allclose(by_head(rows, "95% from"), mean - reach, **wide, err_msg=title)
        np.testing.assert_allclose(by_head(rows, "95% to"), mean + reach, **wide, err_msg=title)
        ranks = by_head(rows, "rank").astype(int)
        assert np.all(np.diff(mean.flatten()[np.argsort(ranks.flatten())]) <= 1e-5), title
        array = data.arrays[f"A {arrays.get(title, title.lower().replace(' ', '_'))}"]
        np.testing.assert_allclose(array.values, mean, **NEAR, err_msg=title)
    mean = expected["Previous token"].mean(0)
    axes = next(each for each in files.figure.axes if each.images)
    np.testing.assert_allclose(image(axes), mean, **NEAR)
    said = {(round(text.get_position()[1]), round(text.get_position()[0])): text.get_text() for text in axes.texts}
    assert {at: text.split("\n")[0] for at, text in said.items()} == {head: f"{mean[head]:.2f}" for head in HEADS}
    (captions,) = (props["captions"] for props, _ in files.mounted if "captions" in props)
    assert [[each.split(" ")[0] for each in row] for row in captions] == [
        [f"{each:.2f}" for each in row] for row in mean
    ]
    compare_tables(run_here(export.script(files.comparison, chosen)), dict(data.tables))
    np.testing.assert_allclose(data.arrays["A copying"].values, copying(twin), rtol=1e-4, atol=1e-4)


@torch.no_grad()
def copying(twin: Twin) -> np.ndarray:
    """The eigenvalues of W_E W_V W_O W_U, norms counted by centring and gain: real parts over sizes."""
    if twin.model.config.model_type == "bert":
        return np.full((N_LAYERS, N_HEADS), np.nan)
    W_E, W_U, shares = twin.model.get_input_embeddings().weight, twin.unembedding, np.zeros((N_LAYERS, N_HEADS))
    for layer, head in HEADS:
        weights = {name: each[head] for name, each in twin.heads(layer).items()}
        before, behind = twin.reading(layer) @ weights["W_V"], weights["W_O"] @ twin.linear_norm(twin.final_norm)
        values = torch.linalg.eigvals(behind @ W_U @ W_E @ before)
        shares[layer, head] = float(values.real.sum() / values.abs().sum())
    return shares


@pytest.mark.parametrize(
    "attends", ["cross", *(pytest.param(kind, marks=pytest.mark.thorough) for kind in ("encoder", "decoder"))]
)
@pytest.mark.parametrize("fields", [{"translation": "two one six"}, {}], ids=["given", "by beams"])
def test_translate(attends: str, fields: dict[str, str], settings: dict[str, object], tmp_path: Path) -> None:
    twin = save_twin("t5", tmp_path / "twin")
    chosen = selection_of(translator=twin.folder, source="one two five two", beams=2, attends=attends, **fields)
    comparison = translations.for_selection(chosen)
    assert comparison.a.source_tokens.tolist() == [5, 6, 9, 6, 3]
    if fields:
        assert comparison.a.written.tolist() == [6, 5, 10, 3]
    theirs = twin(comparison.a.source_tokens, decoder_input_ids=torch.tensor([comparison.a.read]))
    patterns = {
        name: torch.stack([each[0] for each in layers]).numpy()
        for name, layers in (
            ("cross", theirs.cross_attentions),
            ("encoder", theirs.encoder_attentions),
            ("decoder", theirs.decoder_attentions),
        )
    }
    data = TRANSLATE.data(comparison, chosen)
    for name, pattern in patterns.items():
        np.testing.assert_allclose(data.arrays[f"A {name} attention"].values, pattern, **NEAR, err_msg=name)
    written, log_probs = comparison.a.written, theirs.logits[0].log_softmax(-1)
    target = data.tables["target"]
    expected = log_probs.gather(-1, written[:, None])[:, 0]
    np.testing.assert_allclose(target["its log-probability (nats)"], expected, **NEAR)
    assert target["token written"] == [VOCABULARY[each] for each in written.tolist()]
    panels = [axes for axes in TRANSLATE.picture(comparison, chosen, LIGHT).axes if axes.get_title().startswith("L")]
    assert panels
    for axes in panels:
        layer, head = map(int, axes.get_title().removeprefix("L").partition(":")[0].split("H"))
        np.testing.assert_allclose(np.nan_to_num(image(axes)), patterns[attends][layer, head], **NEAR)
    if not fields:
        beams = data.tables["beams"]
        of_first = [beams["log-probability (nats)"][at] for at, step in enumerate(beams["step"]) if step == 1]
        tokens = [VOCABULARY.index(beams["token"][at]) for at, step in enumerate(beams["step"]) if step == 1]
        np.testing.assert_allclose(of_first, log_probs[0, tokens], **NEAR)
    compare_tables(run_here(TRANSLATE.script(comparison, chosen)), dict(data.tables))
    assert TRANSLATE.page(comparison, chosen)

"""Every page on A | B of models of unlike shape, where no head is chosen: each head shown is one that both have."""

import re
import shutil
from importlib import import_module
from itertools import permutations, product
from pathlib import Path
from typing import Any

import pytest
import torch
from streamlit.testing.v1 import AppTest

from headlight.app.exports.data import archive
from headlight.app.exports.style import LIGHT
from headlight.app.pages.weights import weight_tables
from headlight.app.parts.first_heads import SPREAD, clearest, head_of
from headlight.app.registry import VIEWS
from headlight.app.runs import comparisons
from headlight.model import Transformer, TransformerConfig, load, save_gpt2
from headlight.model.attention.sinks import looks_of
from headlight.model.runs.edits import head_name
from tests.app.choosing import selection_of
from tests.app.conftest import Options
from tests.places import MAIN, MINI

SECONDS = 120  # for one script run on a busy machine
PROMPT = "one two three one two three one"
OF_TEACH = "a key near the shop a key"
ONE, ONE_TEACH = "one", "one-teach"  # of a single layer with a single head, with mini's vocabulary and teach-copy's
ALIKE = [*permutations(("mini", "mini-llama", ONE), 2), *permutations(("teach-copy", ONE_TEACH), 2)]
OTHERS = [(a, b) for a, b in permutations(("mini", "mini-llama", "teach-copy", ONE, ONE_TEACH), 2)]
UNLIKE = [pair for pair in OTHERS if pair not in ALIKE]
SLUGS = [view.slug for view in VIEWS if view.slug != "translate"]  # which is of encoder-decoders
OF_A_HEAD = {"inside": "inside_head", "weights": "weights_head", "why": "why_head"}  # the option that names the head
WITH_TABLES = ("attention", "inside", "residual", "why")
TELLING, THOROUGH = ("inside", "weights"), pytest.mark.thorough


def _cases(*slugs: str) -> list[Any]:
    """Every pair of models on these pages; all but the two pages of one head, on a B of one head, are thorough."""
    return [
        pytest.param(a, b, slug, marks=() if slug in TELLING and (a, b) == ("mini", ONE) else THOROUGH)
        for a, b in ALIKE
        for slug in slugs
    ]


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What each model is opened by."""
    return {name: name for name in ("mini", "mini-llama", "teach-copy")} | {
        name: str(_save_one(tmp_path_factory.mktemp("models") / name, tokenizer))
        for name, tokenizer in ((ONE, "mini"), (ONE_TEACH, "teach-copy"))
    }


def _save_one(path: Path, tokenizer: str) -> Path:
    torch.manual_seed(0)
    cfg = {"n_layers": 1, "n_heads": 1, "d_model": 16, "d_head": 16, "n_ctx": 100, "tie_word_embeddings": True}
    save_gpt2(Transformer(TransformerConfig(**cfg, d_vocab=load(tokenizer).cfg.d_vocab)), path)
    for file in (MINI.parent / tokenizer).glob("tokenizer*.json"):
        shutil.copy(file, path)
    return path


def _open(slug: str, a: str, b: str, **query: str) -> AppTest:
    page = AppTest.from_file(MAIN, default_timeout=SECONDS)
    for name, value in {"page": slug, "model": a, "model_b": b, "prompt": PROMPT, **query}.items():
        page.query_params[name] = value
    page.run()
    assert not page.exception
    assert not [text.value for text in page.text if "Unexpected error" in text.value]
    return page


@pytest.mark.parametrize(("a", "b", "slug"), _cases(*SLUGS))
@pytest.mark.usefixtures("settings", "unchecked")
def test_a_page_shows_a_head_that_both_models_have(
    a: str, b: str, slug: str, places: dict[str, str], options: Options, headings: list[str]
) -> None:
    prompt = OF_TEACH if "teach" in a else PROMPT
    for table in ("0", "1") if slug in WITH_TABLES else ("0",):
        page = _open(slug, places[a], places[b], prompt=prompt, prompt_b=prompt, table=table)
        assert not page.session_state["headlight"].refusal
    if slug in OF_A_HEAD:
        option = options.drawn[OF_A_HEAD[slug]]
        assert option.value in option.options
        smaller = min((load(places[name]).cfg for name in (a, b)), key=lambda cfg: cfg.n_layers)
        assert len(option.options) == smaller.n_layers * smaller.n_heads
        named = {name for text in headings for name in re.findall(r"\bL\d+H\d+\b", text)}
        if slug == "why":  # whose answer names other heads too
            assert head_name(option.value) in named
        else:
            assert named == ({head_name(option.value)} if slug in TELLING else set())


@pytest.mark.parametrize(("a", "b"), ALIKE)
@pytest.mark.usefixtures("settings", "unchecked")
def test_the_clearest_heads_are_as_clear_as_can_be_of_those_that_both_have(
    a: str, b: str, places: dict[str, str]
) -> None:
    prompt = OF_TEACH if "teach" in a else PROMPT
    chosen = selection_of(model=places[a], model_b=places[b], prompt=prompt, prompt_b=prompt)
    runs = comparisons.for_selection(chosen)
    first, *_ = heads = clearest(runs)
    assert head_of(runs, chosen) == first
    assert len(set(heads)) == len(heads) == min(3, runs.n_layers * runs.n_heads)
    assert all(layer < run.cfg.n_layers and head < run.cfg.n_heads for layer, head in heads for run in runs.runs)
    induction = {
        (layer, head): float(runs.a.scores["induction"].values[layer, head])
        for layer in range(runs.n_layers)
        for head in range(runs.n_heads)
    }
    looks = looks_of(runs.a)
    little = looks.resting | (looks.largest < SPREAD)
    looking = {head: score for head, score in induction.items() if not little[head]} or induction
    assert induction[first] == max(looking.values())
    assert weight_tables.weights_of(runs, chosen).head == first


@pytest.mark.parametrize(("a", "b", "slug"), _cases("inside", "weights", "attention", "generate"))
@pytest.mark.usefixtures("settings", "unchecked")
def test_files_name_a_head_that_both_models_have(a: str, b: str, slug: str, places: dict[str, str]) -> None:
    prompt = OF_TEACH if "teach" in a else PROMPT
    chosen = selection_of(model=places[a], model_b=places[b], prompt=prompt, prompt_b=prompt)
    runs, export = comparisons.for_selection(chosen), import_module(f"headlight.app.pages.{slug}").EXPORT
    data = export.data(runs, chosen)
    assert archive(runs, data)
    assert export.picture(runs, chosen, LIGHT)
    page, script = export.page(runs, chosen).decode(), export.script(runs, chosen)
    heads = {head_name(head) for head in product(range(runs.n_layers), range(runs.n_heads))}
    named = set(re.findall(r"\bL\d+H\d+\b", f"{data.shows} {script}"))
    assert named <= heads
    assert page


@pytest.mark.parametrize(("a", "b"), UNLIKE)
@pytest.mark.usefixtures("settings")
def test_models_of_unlike_vocabularies_are_refused_in_words(a: str, b: str, places: dict[str, str]) -> None:
    page = _open("attention", places[a], places[b], prompt="a", prompt_b="a")
    assert re.search(r"have different tokenizers|knows 30 words", page.session_state["headlight"].refusal)

"""Pages of models without a language model's head: each works with what there is, or says in a sentence what it needs.

The models are of transformers' own making, with a tokenizer of a few words.
"""

from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from safetensors.torch import load_file, save_file
from streamlit.testing.v1 import AppTest
from tokenizers import Tokenizer, models, pre_tokenizers, processors
from transformers import PreTrainedTokenizerFast

from headlight.app.exports.data import archive
from headlight.app.exports.style import LIGHT
from headlight.app.registry import VIEWS
from headlight.app.runs import comparisons
from tests.app.choosing import selection_of
from tests.places import MAIN

SECONDS = 120  # for one script run on a busy machine
WORDS = ("[PAD]", "[CLS]", "[SEP]", "[UNK]", "the", "cat", "sat", "mat")
PROMPT, OTHER = "the cat sat the cat", "the mat sat the cat"
SIZES = {"hidden_size": 16, "intermediate_size": 24, "num_hidden_layers": 2, "num_attention_heads": 2}
LABELS = {"id2label": {0: "positive", 1: "negative", 2: "neither of them <b>"}}
BY_SLUG = {view.slug: view for view in VIEWS if view.slug != "translate"}
KINDS = {
    "body": ("Bert", "Model", {}),
    "labels": ("Bert", "ForSequenceClassification", LABELS),
    "last token": ("Llama", "ForSequenceClassification", LABELS),
    "several labels": ("Llama", "ForSequenceClassification", LABELS | {"problem_type": "multi_label_classification"}),
    "reward": ("Llama", "ForSequenceClassification", {"num_labels": 1}),
    "tagger": ("Bert", "ForTokenClassification", LABELS),
    "answers": ("Bert", "ForQuestionAnswering", {}),
    "value": ("Llama", "ForCausalLM", {}),
}
QUICK = {("labels", "patching"), ("last token", "why"), ("body", "attention"), ("tagger", "residual")}
FURTHER = {
    "body": ("why", "inside", "flow", "lens", "weights", "heads"),
    "labels": ("flow", "heads", "why", "graph", "mlp"),
    "tagger": ("graph",),
    "last token": ("graph", "patching", "mlp"),
    "reward": ("why",),
    "answers": ("attention",),
    "value": ("attention",),
}
CASES = [
    *sorted(QUICK),
    *(pytest.param(kind, slug, marks=pytest.mark.thorough) for kind, slugs in FURTHER.items() for slug in slugs),
]


def save(folder: Path, kind: str) -> Path:
    """A random model of a kind with a tokenizer."""
    torch.manual_seed(0)
    family, head, settings = KINDS[kind]
    config = getattr(transformers, f"{family}Config")(
        **SIZES, vocab_size=len(WORDS), max_position_embeddings=32, pad_token_id=0, **settings
    )
    config.bos_token_id = config.eos_token_id = None
    model = getattr(transformers, f"{family}{head}")(config)
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.5)  # labels that are far from equally likely
    model.save_pretrained(folder)
    if kind == "value":
        file = folder / "model.safetensors"
        save_file(load_file(file) | {"v_head.summary.weight": torch.randn(1, 16)}, file)
    tokenizer = Tokenizer(models.WordLevel({word: number for number, word in enumerate(WORDS)}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    special = {"unk_token": "[UNK]", "pad_token": "[PAD]"}
    if family == "Bert":
        special |= {"cls_token": "[CLS]", "sep_token": "[SEP]"}
        tokenizer.post_processor = processors.BertProcessing(("[SEP]", 2), ("[CLS]", 1))
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, **special).save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], str]:
    """The folder of a kind, saved when it is first needed."""
    here = tmp_path_factory.mktemp("models")
    return lambda kind: str(here / kind if (here / kind).is_dir() else save(here / kind, kind))


@pytest.mark.parametrize(("kind", "slug"), CASES)
@pytest.mark.usefixtures("settings", "unchecked")
def test_a_page_works_or_says_what_it_needs(
    kind: str, slug: str, folders: Callable[[str], str], refusals: list[str]
) -> None:
    query = {"page": slug, "model": folders(kind), "prompt": PROMPT}
    for more in ({}, {"prompt_b": OTHER}):
        page = AppTest.from_file(MAIN, default_timeout=SECONDS)
        for name, value in {**query, **more}.items():
            page.query_params[name] = value
        page.run()
        assert not page.exception
        assert not refusals
        assert not page.session_state["headlight"].refusal


@pytest.mark.usefixtures("settings", "unchecked")
def test_of_a_body_why_explains_a_score_and_no_logit(folders: Callable[[str], str], headings: list[str]) -> None:
    page = AppTest.from_file(MAIN, default_timeout=SECONDS)
    for name, value in {"page": "why", "model": folders("body"), "prompt": PROMPT, "table": "1"}.items():
        page.query_params[name] = value
    page.run()
    assert headings[0] == "Why does a head look there?"
    said = [each.value for each in page.caption]
    assert any("no logit to explain" in each for each in said)
    assert any("parts one attention score into pairs" in each for each in said)
    assert not any("lead of the target" in each for each in said)


@pytest.mark.usefixtures("settings", "unchecked")
def test_a_circuit_of_one_label_against_another_is_drawn(folders: Callable[[str], str], refusals: list[str]) -> None:
    page = AppTest.from_file(MAIN, default_timeout=SECONDS)
    query = {"page": "graph", "model": folders("labels"), "prompt": PROMPT, "prompt_b": OTHER, "graph_mode": "circuit"}
    for name, value in query.items():
        page.query_params[name] = value
    page.run()
    assert not page.exception
    assert not refusals
    assert not page.info
    said = next(each.value for each in page.text if "edges" in each.value)
    assert "faithfulness" in said.lower()


@pytest.mark.usefixtures("settings", "unchecked")
def test_each_of_several_labels_has_a_probability_of_its_own(folders: Callable[[str], str]) -> None:
    """The sigmoid of its logit, as transformers' pipeline shows them."""
    page = AppTest.from_file(MAIN, default_timeout=SECONDS)
    folder = folders("several labels")
    for name, value in {"page": "why", "model": folder, "prompt": PROMPT}.items():
        page.query_params[name] = value
    page.run()
    theirs = transformers.pipeline("text-classification", folder, top_k=2, device="cpu")(PROMPT)
    likely = ", ".join(f"“{each['label']}” {each['score']:.2%}" for each in theirs[0])
    assert any(likely in each.value for each in page.text), [each.value for each in page.text]


@pytest.mark.parametrize(("kind", "slug"), CASES)
@pytest.mark.usefixtures("settings", "unchecked")
def test_files_hold_what_the_page_has(kind: str, slug: str, folders: Callable[[str], str]) -> None:
    if slug in ("prompts", "heads"):
        pytest.skip("its files are of uploads or of random repeats")
    export: Any = import_module(f"headlight.app.pages.{slug}").EXPORT
    for more in ({}, {"prompt_b": OTHER}):
        chosen = selection_of(model=folders(kind), prompt=PROMPT, **more)
        runs = comparisons.for_selection(chosen)
        if not BY_SLUG[slug].needs(runs) and (more or slug != "patching"):  # which puts one run into another
            assert archive(runs, export.data(runs, chosen))
            assert export.picture(runs, chosen, LIGHT)
            assert export.page(runs, chosen)
            assert export.script(runs, chosen)

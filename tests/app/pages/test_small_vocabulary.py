"""Pages and scans of a model whose vocabulary is smaller than the lists of best tokens: what there is, or why not.

The models are of transformers' own making, with a tokenizer that knows one to three words.
"""

import json
from importlib import import_module
from itertools import product
from pathlib import Path
from typing import Any

import pytest
import torch
from streamlit.testing.v1 import AppTest
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast

from headlight.app.exports.data import archive
from headlight.app.exports.style import LIGHT
from headlight.app.registry import VIEWS
from headlight.app.runs import comparisons
from headlight.model import load
from headlight.model.corpus.documents import open_corpus
from headlight.model.corpus.engines import Here
from headlight.model.corpus.reading import read_tree
from headlight.model.corpus.scan import Scan
from headlight.model.corpus.settings import ScanSettings
from headlight.model.corpus.shard import Worker
from headlight.model.corpus.unit_files import read_unit
from headlight.model.decoding.beam import beam_search
from headlight.model.decoding.distributions import Sampling, distributions
from headlight.model.lens.run_lens import logit_lens
from headlight.model.runs.run import run_prompt
from tests.app.choosing import selection_of
from tests.places import MAIN
from tests.saved_dictionary import save_dictionary

SECONDS = 120  # for one script run on a busy machine
WORDS = ("the", "cat", "sat")
PROMPT, OTHER = "the cat sat the cat", "the sat cat the sat"
PIN = {"layer": "1", "position": "2"}
BY_SLUG = {view.slug: view for view in VIEWS if view.slug != "translate"}  # which is of encoder-decoders
THOROUGH = pytest.mark.thorough
CASES: list[Any] = [
    pytest.param(slug, size, marks=() if (slug, size) in {("lens", 3), ("why", 1)} else THOROUGH)
    for slug, size in product(BY_SLUG, (1, 2, 3))
]


def _save(folder: Path, words: tuple[str, ...]) -> Path:
    torch.manual_seed(0)
    config = GPT2Config(
        vocab_size=len(words), n_positions=32, n_embd=16, n_layer=2, n_head=2, bos_token_id=None, eos_token_id=None
    )
    model = GPT2LMHeadModel(config)
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.5)  # words that are far from equally likely
    model.save_pretrained(folder)
    tokenizer = Tokenizer(models.WordLevel({word: number for number, word in enumerate(words)}, unk_token=words[0]))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, unk_token=words[0]).save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[int, str]:
    """The model's folder, by the size of its vocabulary."""
    here = tmp_path_factory.mktemp("models")
    return {size: str(_save(here / f"of-{size}", WORDS[:size])) for size in (1, 2, 3)}


@pytest.fixture(scope="module")
def dictionary(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A dictionary that fits each of the models."""
    return str(save_dictionary(tmp_path_factory.mktemp("dictionaries") / "sae", "blocks.0.hook_resid_post", 16))


@pytest.mark.parametrize(("slug", "size"), CASES)
@pytest.mark.usefixtures("settings", "unchecked")
def test_a_page_lists_what_tokens_there_are(
    slug: str, size: int, folders: dict[int, str], dictionary: str, refusals: list[str]
) -> None:
    query = {"page": slug, "model": folders[size], "prompt": PROMPT, "dictionary": dictionary}
    for more in ({}, {"prompt_b": OTHER}, {"table": "1", **PIN}, PIN):
        page = AppTest.from_file(MAIN, default_timeout=SECONDS)
        for name, value in {**query, **more}.items():
            page.query_params[name] = value
        page.run()
        assert not page.exception
        assert not refusals
        assert not page.session_state["headlight"].refusal
        if slug == "why" and size == 1:
            assert "has a single token, so there is no logit difference" in page.info[0].value
        if slug == "experiments" and size > 1:
            assert "A set has rows of a prompt and its answer" in page.info[0].value  # and none on offer fits
            assert [button.label for button in page.button if button.label == "Write the set"]


@pytest.mark.parametrize(("slug", "size"), CASES)
@pytest.mark.usefixtures("settings", "unchecked")
def test_files_list_what_tokens_there_are(slug: str, size: int, folders: dict[int, str], dictionary: str) -> None:
    if slug in ("prompts", "heads", "directions", "experiments"):
        pytest.skip("its files are of uploads, of random repeats of four words, or of a direction or set that it lacks")
    export = import_module(f"headlight.app.pages.{slug}").EXPORT
    for more in ({}, {"prompt_b": OTHER}):
        chosen = selection_of(model=folders[size], prompt=PROMPT, dictionary=dictionary, **more)
        runs = comparisons.for_selection(chosen)
        if not BY_SLUG[slug].needs(runs) and (more or slug != "patching"):  # which puts one run into another
            assert archive(runs, export.data(runs, chosen))
            assert export.picture(runs, chosen, LIGHT)
            assert export.page(runs, chosen)
            assert export.script(runs, chosen)


@pytest.mark.usefixtures("unchecked")
def test_the_lens_lists_every_token_as_transformers_ranks_them(folders: dict[int, str]) -> None:
    run = run_prompt(load(folders[3]), PROMPT, prepend_bos=False)
    theirs = GPT2LMHeadModel.from_pretrained(folders[3])
    with torch.no_grad():
        states = theirs(run.tokens[None], output_hidden_states=True).hidden_states
        normed = [*map(theirs.transformer.ln_f, states[:-1]), states[-1]]  # the last comes normed
        expected = torch.cat([theirs.lm_head(state).softmax(-1) for state in normed]).sort(-1, descending=True)
    read = logit_lens(run)
    assert torch.equal(read.top_tokens.values, expected.indices)
    # Float32 sums of 16 products in another order.
    torch.testing.assert_close(read.top_probs.values, expected.values, rtol=1e-5, atol=1e-6)


def test_more_beams_than_words_find_the_likeliest_of_all_texts(folders: dict[int, str]) -> None:
    prompt = torch.tensor([0, 1, 2])
    theirs = GPT2LMHeadModel.from_pretrained(folders[3])
    texts = torch.tensor(list(product(range(3), repeat=3)))
    with torch.no_grad():
        logits = theirs(torch.cat([prompt.expand(len(texts), -1), texts], 1)).logits[:, 2:-1]
    totals = logits.log_softmax(-1).gather(2, texts[..., None]).sum((1, 2))
    (search,) = beam_search(load(folders[3]), prompt[None], max_new_tokens=3, n_beams=30)
    assert search.best[0].tokens.tolist() == texts[totals.argmax()].tolist()


def test_a_cut_at_more_words_than_there_are_cuts_none() -> None:
    logits = torch.tensor([0.0, 2.0, 1.0])
    torch.testing.assert_close(distributions(logits, Sampling(temperature=1, top_k=10)).after, logits.softmax(-1))


@pytest.fixture(scope="module")
def scanned(tmp_path_factory: pytest.TempPathFactory, folders: dict[int, str], dictionary: str) -> Path:
    """A models folder with a scan of the model that knows three words: its heads, neurons and features."""
    folder = tmp_path_factory.mktemp("scans")
    texts = ["the cat sat the cat sat the cat", "sat sat cat the", "cat the sat cat the sat", "the", "cat cat cat"]
    (folder / "texts.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in texts * 3))
    settings = ScanSettings(
        length=6, shard=2, batch=3, warmup=4, ablate=2, top=3, others=2, neurons=True, features=dictionary
    )
    corpus = open_corpus(str(folder / "texts.jsonl"))
    Scan(load(folders[3]), corpus, settings, folder / "scan").run(Here(Worker(folders[3], settings)))
    return folder


@pytest.mark.parametrize("kind", ["neurons", "features"])
def test_a_scan_counts_the_words_that_there_are(kind: str, scanned: Path) -> None:
    tree, listed = read_tree(scanned / "scan"), 0
    for index in range(8):
        unit = read_unit(tree, kind, 0, index)
        assert unit is not None
        tokens = [token for token, _ in unit.top_tokens]
        assert len(set(tokens)) == len(tokens) <= 3
        assert set(tokens) <= {0, 1, 2}
        listed += len(tokens)
    assert listed > 0


@pytest.mark.parametrize("slug", ["corpus", "mlp", "features", "heads", "prompts"])
def test_pages_of_a_scan_of_three_words_open(
    slug: str, scanned: Path, folders: dict[int, str], dictionary: str, settings: dict[str, object], refusals: list[str]
) -> None:
    settings["models_folder"] = str(scanned)
    page = AppTest.from_file(MAIN, default_timeout=SECONDS)
    query = {"page": slug, "model": folders[3], "prompt": PROMPT, "dictionary": dictionary, "scan": "scan"}
    page.query_params.update(query)
    page.run()
    if slug == "prompts":
        listed = "prompt,kind\nthe cat,a\nsat sat the,b\ncat,a\n"
        page.file_uploader[0].set_value(("a.csv", listed.encode(), "text/csv")).run()
        next(button for button in page.button if button.label.startswith("Run")).click().run()
    assert not page.exception
    assert not refusals
    assert not page.error
    assert not page.session_state["headlight"].refusal
    said = " ".join(each.value for each in (*page.caption, *page.text))
    assert {"corpus": "documents", "mlp": "over texts.jsonl", "features": "over texts.jsonl"}.get(slug, "") in said

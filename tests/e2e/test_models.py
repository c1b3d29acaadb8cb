"""Other models, opened from the page: a GPT-2 folder, and what cannot be opened."""

import re
import shutil
from pathlib import Path

import pytest
import torch
from playwright.sync_api import expect
from safetensors.torch import load_file, save_file
from transformers import GPT2Config, GPT2LMHeadModel

from headlight.model import embedded_models
from tests.e2e.driver import PROMPTED_VIEWS, Driver

PROMPT = "The keys to the cabinet"


@pytest.fixture(scope="session")
def gpt2(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small GPT-2 folder as transformers writes it, random, with the embedded model's tokenizer."""
    folder = tmp_path_factory.mktemp("models") / "gpt2-random"
    torch.manual_seed(0)
    config = GPT2Config(n_layer=3, n_head=5, n_embd=40, n_positions=64, vocab_size=4096, bos_token_id=0, eos_token_id=0)
    GPT2LMHeadModel(config).save_pretrained(folder)
    for file in embedded_models()["mini"].glob("tokenizer*.json"):
        shutil.copy(file, folder)
    return folder


@pytest.fixture
def broken(gpt2: Path, tmp_path: Path) -> Path:
    """A copy of the folder whose files a test spoils."""
    return Path(shutil.copytree(gpt2, tmp_path / "broken"))


def test_a_gpt2_folder_opens_with_its_own_heads_on_every_page(app: Driver, gpt2: Path) -> None:
    app.open(prompt=PROMPT)
    app.open_model(str(gpt2))
    expect(app.fed).to_contain_text(gpt2.name)
    expect(app.board).to_have_attribute("aria-label", re.compile("^3 layers by 5 heads"))
    _expect_end_of_path(app)
    for view in PROMPTED_VIEWS[1:]:
        app.go_to(view)
        expect(app.fed).to_contain_text(gpt2.name)
        expect(app.refused).to_have_count(0)


def _expect_end_of_path(app: Driver) -> None:
    """The box of the model is narrower than the path, of which it shows the end."""
    box = app.page.get_by_role("combobox", name="Model")
    assert box.evaluate("box => box.scrollWidth > box.clientWidth")
    app.page.wait_for_function(
        "box => Math.abs(box.scrollLeft + box.clientWidth - box.scrollWidth) <= 1", arg=box.element_handle()
    )


def test_another_model_can_be_b(app: Driver, gpt2: Path) -> None:
    """The same prompt in mini and in a model with its tokenizer, but with other numbers of layers and heads."""
    app.open(prompt=PROMPT, prompt_b=PROMPT, model_b=str(gpt2), heads="0.1")
    expect(app.fed).to_have_count(2)
    expect(app.fed.nth(1)).to_contain_text(gpt2.name)
    expect(app.board).to_have_attribute("aria-label", re.compile("^3 layers by 4 heads"))  # what both have
    for view in PROMPTED_VIEWS[1:]:
        app.go_to(view)
        expect(app.fed).to_have_count(2)
        expect(app.refused).to_have_count(0)


def test_a_checkpoint_with_nan_is_named_and_the_old_model_stays(app: Driver, broken: Path) -> None:
    tensors = load_file(broken / "model.safetensors")
    tensors["transformer.ln_f.weight"][3] = torch.nan
    save_file(tensors, broken / "model.safetensors")
    app.open(prompt=PROMPT)
    before = app.result_texts()
    app.open_model(str(broken))
    expect(app.refused).to_contain_text(re.compile(r"NaN or infinite values in ln_f\.weight"))
    app.settle()
    assert app.result_texts() == before


@pytest.mark.parametrize(
    ("name", "said"),
    [("nobody/nothing", "could not be fetched"), ("no such", "There is no")],
)
def test_a_model_that_cannot_be_had_is_said_and_the_old_model_stays(app: Driver, name: str, said: str) -> None:
    app.open(prompt=PROMPT)
    before = app.result_texts()
    app.open_model(name)
    expect(app.refused).to_contain_text(re.compile(said))
    app.settle()
    assert app.result_texts() == before


@pytest.mark.usefixtures("own_session")
def test_a_link_to_a_model_that_is_not_there_keeps_its_text_for_the_default_model(app: Driver) -> None:
    app.open(prompt=PROMPT, model="no such")
    expect(app.refused).to_contain_text("There is no")
    expect(app.fed).to_contain_text("mini")  # which was shown while the link's model was asked for
    expect(app.prompt).to_have_value(PROMPT)

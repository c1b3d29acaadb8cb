"""A small random model as a folder, opened as the page opens it."""

import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
import streamlit as st
import torch
from streamlit.testing.v1 import AppTest

import app.bars
import app.components
import app.views.options
from app import models, runs
from app import settings as settings_module
from app.components import Option
from app.run import Run
from app.settings import Settings
from app.shown import Shown
from model import Seq2SeqTransformer, Transformer, TransformerConfig, save_gpt2, save_seq2seq
from model.analysis.alignment import align_tokens
from model.training import reverse
from tests.model.conftest import unchecked_annotations

MINI = Path(__file__).parents[2] / "assets" / "models" / "mini"

PROMPT_B = "one two four one two three one"

CFG = TransformerConfig(n_layers=3, d_model=40, n_ctx=100, n_heads=5, d_head=8, d_vocab=4096, tie_word_embeddings=True)


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A GPT-2 folder with random weights and the embedded model's tokenizer."""
    path = tmp_path_factory.mktemp("models") / "random"
    torch.manual_seed(0)
    model = Transformer(CFG)
    for name, parameter in model.named_parameters():
        if name.endswith(("W_Q", "W_K", "W_pos")):
            parameter.data *= 20  # patterns that are far from uniform
    save_gpt2(model, path)
    for file in MINI.glob("tokenizer*.json"):
        shutil.copy(file, path)
    return str(path)


@pytest.fixture(scope="session")
def translator(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The folder of an encoder-decoder with random weights that reads and writes syllables."""
    path = tmp_path_factory.mktemp("models") / "random-translator"
    torch.manual_seed(0)
    model = Seq2SeqTransformer(replace(reverse.CONFIG, n_encoder_layers=1))
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.3)  # patterns that are far from uniform
    model.source_tokenizer = model.target_tokenizer = reverse.TOKENIZER
    save_seq2seq(model, path)
    return str(path)


@pytest.fixture
def settings(monkeypatch: pytest.MonkeyPatch, folder: str) -> Iterator[dict[str, object]]:
    """A server of its own for one test: nothing cached, and settings that the test may set before its first run."""
    chosen: dict[str, object] = {"model": folder}
    monkeypatch.setattr(settings_module, "read", lambda flags, environment: Settings(**chosen))
    _forget()
    yield chosen
    _forget()


def _forget() -> None:
    for cached in (settings_module.settings, runs._gate, runs._results, models._opened):
        cached.cache_clear()


@pytest.fixture(scope="session")
def run(folder: str) -> Run:
    """A run whose prompt repeats itself."""
    _forget()
    return runs.run(folder, "one two three one two three one", True)


@pytest.fixture(scope="session")
def both(run: Run, folder: str) -> Shown:
    """That run, and one of another prompt beside it."""
    b = runs.run(folder, PROMPT_B, True)
    return Shown(run, b, align_tokens(run.tokens.tolist(), b.tokens.tolist()))


class Options:
    """The options of the page as it was drawn last, and what the user makes of one."""

    def __init__(self) -> None:
        self.drawn: dict[str, Option] = {}
        self._wanted: dict[str, object] = {}

    def row(self, options: Sequence[Option], *, key: str, epoch: int = 0) -> Callable[[], None]:
        """What stands in for the component: the change comes before the script runs again, as the browser's does."""
        self.drawn |= {option.name: option for option in options}
        if wanted := [option for option in options if option.name in self._wanted]:
            for option in wanted:
                option.change(option.read(self._wanted.pop(option.name)))
            self.drawn.clear()
            st.rerun()
        return lambda: None

    def change(self, page: AppTest, name: str, shown: object) -> None:
        """The user's new value, as the browser shows it."""
        self._wanted[name] = shown
        page.run()
        assert not page.exception
        assert not self._wanted, f"{name} is not on the page"


@pytest.fixture
def options(monkeypatch: pytest.MonkeyPatch) -> Options:
    """What there is to set on the pages, which only a browser draws."""
    made = Options()
    monkeypatch.setattr(app.views.options, "option_row", made.row)
    monkeypatch.setattr(app.bars, "form_row", made.row)
    return made


@pytest.fixture
def headings(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The headings of the page, in the order in which they were drawn, which only a browser shows."""
    drawn: list[str] = []
    monkeypatch.setattr(app.components, "heading", lambda text, *_, **__: drawn.append(text))
    return drawn


@pytest.fixture
def unchecked() -> Iterator[None]:
    """Annotations are not checked while a test runs."""
    with unchecked_annotations():
        yield

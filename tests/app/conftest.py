"""A small random model as a folder, opened as the page opens it."""

import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cache

import pytest
import streamlit as st
import torch
from streamlit import config
from streamlit.components.v2 import manifest_scanner
from streamlit.runtime.context import ContextProxy
from streamlit.testing.v1 import AppTest

import headlight.app.components
import headlight.app.frame.bars
import headlight.app.parts.options
from headlight.app.components import Option
from headlight.app.parts import charts
from headlight.app.runs import comparisons, directions, models, models_folder, runs, trusted
from headlight.app.server import boundary
from headlight.app.server import settings as settings_module
from headlight.app.server.flags import Settings
from headlight.app.server.settings import SERVER
from headlight.model import Seq2SeqTransformer, save_seq2seq
from headlight.model.measure.alignment import align_tokens
from headlight.model.runs.comparison import Comparison
from headlight.model.runs.run import Run
from headlight.recipes import reverse
from tests.annotations import unchecked_annotations
from tests.app.exports import hostile
from tests.small_model import save_small

config._main_script_path = str(SERVER)  # so that pages tested here are configured as those that are served
# Before each run of a page AppTest looks for components in every installed package, for a tenth of a second: once does.
manifest_scanner.scan_component_manifests = cache(manifest_scanner.scan_component_manifests)
pytest.MonkeyPatch().setattr(ContextProxy, "ip_address", None)  # a browser on this machine, in place of AppTest's mock
charts.BEHIND = 0  # no browser draws here, which a figure would have to wait for

PROMPT_B = "one two four one two three one"


@pytest.fixture(scope="session", autouse=True)
def own_data(tmp_path_factory: pytest.TempPathFactory) -> None:
    """No directions that the user keeps are on a page that is tested."""
    os.environ[directions.DATA] = str(tmp_path_factory.mktemp("data"))


@pytest.fixture
def refusals(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What the error boundary would have said."""
    messages: list[str] = []

    @contextmanager
    def note(report: Callable[[str], None]) -> Iterator[None]:
        try:
            yield
        except Exception as error:
            messages.append(repr(error))
            report(str(error))

    monkeypatch.setattr(boundary, "guard", note)
    return messages


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A GPT-2 folder with random weights and the embedded model's tokenizer."""
    path = tmp_path_factory.mktemp("models") / "random"
    save_small(path)
    return str(path)


@pytest.fixture(autouse=True)
def _agreed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Links of tests open what they name, as if their user had agreed: the question has tests of its own."""
    monkeypatch.setattr(trusted, "to_ask", lambda chosen: ())


@pytest.fixture(scope="session")
def chat_folder(tmp_path_factory: pytest.TempPathFactory, folder: str) -> str:
    """The same with a chat template, whose turns begin with the beginning-of-sequence token."""
    path = tmp_path_factory.mktemp("models") / "chat"
    shutil.copytree(folder, path)
    template = (
        "{% for turn in messages %}{% if turn.role == 'tool' %}{{ raise_exception('no tools') }}{% endif %}"
        "{{ bos_token }}{{ turn.role }}: {{ turn.content }}{% endfor %}"
        "{% if add_generation_prompt %}{{ bos_token }}assistant:{% endif %}"
        "{% if enable_thinking %} think{% endif %}"
    )
    (path / "chat_template.jinja").write_text(template)
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
    for cached in (
        settings_module.settings,
        runs._gate,
        runs._gate_beside,
        runs._results,
        models._opened,
    ):
        cached.cache_clear()
    models_folder.forget()


@pytest.fixture(scope="session")
def run(folder: str) -> Run:
    """A run whose prompt repeats itself."""
    _forget()
    return runs.run(folder, "one two three one two three one", True)


@pytest.fixture(scope="session")
def both(run: Run, folder: str) -> Comparison:
    """That run, and one of another prompt beside it."""
    b = runs.run(folder, PROMPT_B, True)
    return Comparison(run, b, align_tokens(run.tokens.tolist(), b.tokens.tolist()))


@pytest.fixture(scope="session")
def alone(folder: str) -> Comparison:
    """Run A."""
    return comparisons.for_selection(hostile.chosen(folder))


@pytest.fixture(scope="session")
def two(folder: str) -> Comparison:
    """Runs A and B, whose tokens are matched."""
    return comparisons.for_selection(hostile.chosen(folder, prompt_b=hostile.OTHER))


class Options:
    """The options of the page as it was drawn last, and what the user makes of one."""

    def __init__(self) -> None:
        self.drawn: dict[str, Option] = {}
        self._wanted: dict[str, object] = {}

    def row(
        self, options: Sequence[Option], *, key: str, epoch: int = 0, whole: bool = False, **in_form: object
    ) -> Callable[[], None]:
        """What stands in for the component: the change comes before the script runs again, as the browser's does."""
        self.drawn |= {option.name: option for option in options}
        if wanted := [option for option in options if option.name in self._wanted]:
            for option in wanted:
                option.change(option.read(self._wanted.pop(option.name)))
            self.drawn.clear()
            st.rerun()
        return lambda: None

    def change(self, page: AppTest, name: str, value: object) -> None:
        """The user's new value, as the browser shows it."""
        self._wanted[name] = value
        page.run()
        assert not page.exception
        assert not self._wanted, f"{name} is not on the page"


@pytest.fixture
def options(monkeypatch: pytest.MonkeyPatch) -> Options:
    """What there is to set on the pages, which only a browser draws."""
    made = Options()
    monkeypatch.setattr(headlight.app.parts.options, "option_row", made.row)
    monkeypatch.setattr(headlight.app.frame.bars, "form_row", made.row)
    return made


@pytest.fixture
def headings(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The headings of the page, in the order in which they were drawn, which only a browser shows."""
    drawn: list[str] = []
    monkeypatch.setattr(headlight.app.components, "heading", lambda text, *_, **__: drawn.append(text))
    return drawn


@pytest.fixture
def unchecked() -> Iterator[None]:
    """Annotations are not checked while a test runs."""
    with unchecked_annotations():
        yield

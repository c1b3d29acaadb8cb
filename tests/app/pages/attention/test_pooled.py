"""Of a long prompt a head is sent pooled, and exactly around the cell looked at: both by transformers' own pattern."""

from pathlib import Path

import numpy as np
import pytest
import torch
import transformers

from headlight.app import selection
from headlight.app.components import HeadPanels, Pin
from headlight.app.pages.attention import pooled, view
from headlight.model import load
from headlight.model.attention import axis
from headlight.model.runs import run as runs_module
from headlight.model.runs.comparison import Comparison
from headlight.model.runs.run import Run, make_run
from tests.app.pages.test_sides import page

N_TOKENS, BLOCK, WINDOW = 21, 4, 8
HEAD = (1, 2)


@pytest.fixture(scope="module")
def theirs(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, np.ndarray, torch.Tensor]:
    """A random Llama with shared keys, one head's pattern in it, and the tokens."""
    torch.manual_seed(0)
    sizes = {"vocab_size": 64, "hidden_size": 32, "intermediate_size": 16, "num_hidden_layers": 2}
    heads = {"num_attention_heads": 4, "num_key_value_heads": 2, "max_position_embeddings": 32}
    config = transformers.LlamaConfig(**sizes, **heads, initializer_range=0.5)
    model = transformers.LlamaForCausalLM._from_config(config, attn_implementation="eager").eval()
    folder, tokens = tmp_path_factory.mktemp("theirs"), torch.randint(3, 40, (N_TOKENS,))
    model.save_pretrained(folder)
    with torch.no_grad():
        layers = model(tokens[None], output_attentions=True).attentions
    return folder, layers[HEAD[0]][0, HEAD[1]].numpy(), tokens


@pytest.fixture
def made(theirs: tuple[Path, np.ndarray, torch.Tensor], monkeypatch: pytest.MonkeyPatch) -> Run:
    """The run of a prompt that is long here, pooled by blocks of 4, 21 tokens in 6 blocks."""
    for module, name, value in ((pooled, "MAX_TOKENS", 20), (axis, "MAX_PLACES", 6), (pooled, "WINDOW", WINDOW)):
        monkeypatch.setattr(module, name, value)
    monkeypatch.setattr(runs_module, "LONG", N_TOKENS)
    model = load(theirs[0])
    model.tokenizer = load("mini").tokenizer
    with torch.inference_mode():
        return make_run(model, "", False, theirs[2])


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> list[tuple[HeadPanels, Pin | None]]:
    """What is drawn of heads, with its pin: the pooled ones, then those of the window."""
    calls: list[tuple[HeadPanels, Pin | None]] = []

    def heads(panels: HeadPanels, *, pinned: Pin | None, **_: object) -> Pin | None:
        calls.append((panels, pinned))
        return pinned

    for module in (view, pooled):
        monkeypatch.setattr(module, "heads", heads)
    return calls


def by_numpy(pattern: np.ndarray) -> np.ndarray:
    """The largest weight of each block, NaN where no key of it is seen."""
    starts = range(0, N_TOKENS, BLOCK)
    return np.array(
        [[pattern[q : q + BLOCK, k : k + BLOCK].max() if k < q + BLOCK else np.nan for k in starts] for q in starts]
    )


def test_the_pooled_pattern_has_the_largest_weights_and_the_window_every_one(
    made: Run, drawn: list[tuple[HeadPanels, Pin | None]], theirs: tuple[Path, np.ndarray, torch.Tensor]
) -> None:
    pattern = theirs[1]
    at = page("attention", Comparison(made), heads=(HEAD,), queries=(13,), keys=(5,))
    (whole, pin), (part, exact_pin) = drawn
    # Two forward passes in float32.
    np.testing.assert_allclose(whole.panels[0].a.weights.cells, by_numpy(pattern), rtol=1e-4, atol=1e-6)
    assert (pin, exact_pin) == (Pin((3,), (1,)), Pin((5,), (5,)))
    unseen = np.triu(np.ones_like(pattern), 1) > 0
    exact = np.where(unseen, np.nan, pattern)[8:16, :8]
    np.testing.assert_allclose(part.panels[0].a.weights.cells, exact, rtol=1e-4, atol=1e-6)
    assert any("largest weight between 4 × 4 of them" in each.value for each in at.caption)


def test_weights_with_the_first_token_hidden_are_those_of_the_other_keys(
    made: Run, drawn: list[tuple[HeadPanels, Pin | None]]
) -> None:
    """The window's first key is a sink only where it is the prompt's first token."""
    page("attention", Comparison(made), heads=(HEAD,), queries=(13,), keys=(5,), sink="hide")
    page("attention", Comparison(made), heads=(HEAD,), queries=(20,), keys=(18,), sink="hide")
    (_, first), (_, last) = drawn[:2], drawn[2:]
    assert [0 in part[0].panels[0].a.sinks for part in (first, last)] == [True, False]
    assert [part[0].sink for part in (first, last)] == ["hide", "hide"]


def test_a_pinned_cell_is_the_largest_of_its_block(
    made: Run, theirs: tuple[Path, np.ndarray, torch.Tensor], monkeypatch: pytest.MonkeyPatch
) -> None:
    chosen: dict[str, tuple[int, ...]] = {}
    monkeypatch.setattr(selection, "choose", lambda **fields: chosen.update(fields))
    pooled.choose(made, HEAD, Pin((3,), (1,)))
    row, column = np.unravel_index(theirs[1][12:16, 4:8].argmax(), (4, 4))
    assert chosen == {"queries": (12 + row,), "keys": (4 + column,)}
    pooled.choose(made, HEAD, Pin((5,), ()))
    assert chosen == {"queries": (20,), "keys": ()}
    pooled.choose(made, HEAD, None)
    assert chosen == {"queries": (), "keys": ()}


@pytest.mark.parametrize(("n_tokens", "size"), [(2049, 4), (4096, 4), (4097, 8), (8192, 8)])
def test_no_more_places_than_a_picture_has_pixels(n_tokens: int, size: int) -> None:
    assert axis.block_size(n_tokens) == size
    assert n_tokens / size <= axis.MAX_PLACES

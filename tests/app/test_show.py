"""Anybody's arrays in a notebook: the file's numbers are those of transformers and of TransformerLens."""

import base64
import gzip
import html
import json
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import torch
from safetensors.numpy import save_file
from torch import Tensor
from transformers import GPT2Config, GPT2LMHeadModel

from headlight import show
from headlight.app import __main__ as command
from headlight.app.view_file import read_patterns
from headlight.model import load, run_prompt
from headlight.model.base.errors import InputError
from headlight.model.runs.head import attend
from tests.unpacking import unpack

if TYPE_CHECKING:
    from playwright.sync_api import Browser

N_LAYERS, N_HEADS, N_TOKENS = 2, 3, 6
TOKENS = ["<b>", "two", "$x$", "\u202eend", "two", "</script>"]


@pytest.fixture(scope="module")
def theirs() -> Any:
    """What transformers computes for six tokens, in float32."""
    torch.manual_seed(0)
    config = GPT2Config(
        n_layer=N_LAYERS, n_head=N_HEADS, n_embd=12, vocab_size=11, n_positions=8, bos_token_id=0, eos_token_id=0
    )
    model = GPT2LMHeadModel._from_config(config, attn_implementation="eager").eval()
    with torch.no_grad():
        return model(torch.tensor([[1, 2, 3, 4, 2, 5]]), output_attentions=True)


def mounted(picture: show.Shown) -> list[tuple[dict[str, Any], dict[str, np.ndarray]]]:
    """What the components of a picture are given, read back from what a notebook gets."""
    (document,) = re.findall(r'srcdoc="([^"]*)"', picture._repr_html_())
    (data,) = re.findall(r'id="data">([^<]+)<', html.unescape(document))
    apart = np.frombuffer(gzip.decompress(base64.b64decode(data)), np.uint8)
    _, arrays = unpack(apart.reshape(4, -1).T.tobytes())
    return [(header["props"], own) for header, own in (unpack(each.tobytes()) for each in arrays.values())]


def patterns_in(picture: show.Shown) -> dict[tuple[int, int], np.ndarray]:
    """Every head's weights, row by row without what is masked."""
    props, arrays = mounted(picture)[-1]
    return {tuple(panel["heads"][0]): arrays[f"{slot}.a.weights"] for slot, panel in enumerate(props["panels"])}


def check(picture: show.Shown, expected: Sequence[Tensor]) -> None:
    patterns = patterns_in(picture)
    assert len(patterns) == N_LAYERS * N_HEADS
    lower = np.tril_indices(N_TOKENS)
    for (layer, head), weights in patterns.items():
        np.testing.assert_array_equal(weights, expected[layer][head].numpy()[lower])  # the very same float32


def test_attentions_of_transformers_with_and_without_their_batch(theirs: Any) -> None:
    layers = [layer[0] for layer in theirs.attentions]
    for patterns in (theirs.attentions, layers, torch.stack(layers), torch.stack(layers).numpy()):
        check(show.attention(patterns, TOKENS), layers)


def test_it_is_read_in_a_frame_of_another_origin_that_allows_scripts_alone(theirs: Any, browser: "Browser") -> None:
    """As in Colab and VS Code, which put an output into such a frame, and allow it more."""
    output = f"<body>{show.attention(theirs.attentions, TOKENS, heads=[(1, 2)])._repr_html_()}"
    page = browser.new_page()
    page.set_content(f'<iframe sandbox="allow-scripts" width="1000" height="900" srcdoc="{html.escape(output)}">')
    picture = page.frame_locator("iframe").frame_locator("iframe")
    picture.locator(".panel canvas.marks").first.hover()
    said = picture.locator(".tooltip:popover-open").inner_text()
    read = dict(re.findall(r"(query|key|weight)\s+(\S+)", said))
    assert read["weight"] == f"{theirs.attentions[1][0, 2, int(read['query']), int(read['key'])].item():.4f}"
    page.close()


def test_a_cache_of_transformer_lens() -> None:
    """A random HookedTransformer's own cache, as `run_with_cache` returns it."""
    lens = pytest.importorskip("transformer_lens")
    torch.manual_seed(0)
    config = {"n_layers": N_LAYERS, "d_model": 12, "n_ctx": 8, "d_head": 4, "n_heads": N_HEADS, "d_vocab": 11}
    model = lens.HookedTransformer(lens.HookedTransformerConfig(**config, act_fn="gelu", device="cpu"))
    _, cache = model.run_with_cache(torch.tensor([[1, 2, 3, 4, 2, 5]]))
    expected = [cache["pattern", layer][0] for layer in range(N_LAYERS)]
    check(show.attention(cache, TOKENS), expected)
    check(show.attention(cache.cache_dict, TOKENS), expected)


def test_tensors_that_nnsight_saved() -> None:
    """The list that a trace fills with each layer's pattern, as its block returns it."""
    nnsight = pytest.importorskip("nnsight")
    torch.manual_seed(0)
    config = GPT2Config(n_layer=N_LAYERS, n_head=N_HEADS, n_embd=12, vocab_size=11, n_positions=8)
    model = GPT2LMHeadModel._from_config(config, attn_implementation="eager").eval()
    ids, traced = torch.tensor([[1, 2, 3, 4, 2, 5]]), nnsight.NNsight(model)
    with torch.no_grad(), traced.trace(ids):
        saved = list().save()  # noqa: C408  a literal has no save()
        for block in traced.transformer.h:
            saved.append(block.attn.output[1])
    with torch.no_grad():
        expected = [layer[0] for layer in model(ids, output_attentions=True).attentions]
    check(show.attention(saved, TOKENS), expected)


def test_a_picture_has_a_short_text_where_nothing_is_drawn() -> None:
    """A console prints no arrays."""
    assert repr(show.heads(np.ones((1, 2)))) == (
        'Heads (a picture: a notebook draws it, and .save("picture.html") writes it)'
    )


def test_a_lens_holds_the_softmax_of_the_logits() -> None:
    logits = torch.randn(3, N_TOKENS, 11, generator=torch.Generator().manual_seed(0))
    ((props, arrays),) = mounted(show.lens(logits, TOKENS, [f"w{token}" for token in range(11)]))
    best = logits.softmax(-1).max(-1)
    np.testing.assert_array_equal(arrays["measure0"], best.values)
    names = np.array(props["vocabulary"])[arrays["top0"][..., 0]]
    assert names.tolist() == [[f"w{token}" for token in layer] for layer in best.indices.tolist()]


def test_numbers_of_heads_and_tokens() -> None:
    scores = np.array([[0.5, -1.0], [2.0, np.nan]])
    ((props, arrays),) = mounted(show.heads(scores, title="score (nats)"))
    np.testing.assert_array_equal(arrays["values"], scores.astype(np.float32))
    assert (props["scale"], props["title"]) == ("signed", "score (nats)")
    ((props, arrays),) = mounted(show.tokens(TOKENS, {"A": np.arange(6), "B": -np.arange(6)}, title="change"))
    np.testing.assert_array_equal(arrays["values"], [np.arange(6), -np.arange(6)])
    assert props["signed"]


@pytest.mark.parametrize(
    ("patterns", "message"),
    [
        (np.full((1, 1, 3, 3), 0.3), "of 3 queries and 3 keys, but there are 6 tokens"),
        (np.full((2, 1, 1, 6, 6), 0.1), "Choose one prompt"),
        (np.full((1, 1, 6, 6), 0.5), "a row sums to more than 1"),
        (np.full((1, 1, 6, 6), -0.1), "some are negative"),
        ([np.zeros((1, 6, 6)), np.zeros((2, 6, 6))], "different shapes"),
        ([], "there are none"),
        ({"blocks.0.attn.hook_z": 0}, "holds no blocks.0.attn.hook_pattern"),
    ],
)
def test_what_is_no_pattern_is_refused(patterns: Any, message: str) -> None:
    with pytest.raises(InputError, match=re.escape(message)):
        show.attention(patterns, TOKENS)


def test_a_run_has_its_pages_and_they_are_saved(tmp_path: Path) -> None:
    """The picture of a run's page is the page's own file."""
    mini = run_prompt(load("mini"), "one two one two")
    picture = show(mini).attention(heads=((1, 2),))
    patterns, lower = patterns_in(picture), np.tril_indices(len(mini.tokens))
    pattern = attend(mini, 1, 2).pattern.numpy()[lower]
    np.testing.assert_allclose(patterns[1, 2], pattern, rtol=0, atol=1e-3)  # four digits where there are many heads
    for ending, begins in (("html", b"<!doctype"), ("svg", b"<?xml"), ("pdf", b"%PDF"), ("png", b"\x89PNG")):
        assert picture.save(tmp_path / f"picture.{ending}").read_bytes().startswith(begins)
    with pytest.raises(InputError, match="ends in none of"):
        picture.save(tmp_path / "picture.gif")
    with pytest.raises(AttributeError, match="There is no page 'nothing'"):
        show(mini).nothing()


def test_view_reads_npz_and_safetensors(theirs: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    patterns = torch.stack(theirs.attentions)[:, 0].numpy()
    np.savez(tmp_path / "a.npz", patterns=patterns, tokens=TOKENS)
    save_file({"patterns": patterns}, tmp_path / "a.safetensors", {"tokens": json.dumps(TOKENS)})
    for name in ("a.npz", "a.safetensors"):
        values, tokens = read_patterns(tmp_path / name)
        np.testing.assert_array_equal(values, patterns)
        assert tokens == TOKENS
        page = tmp_path / f"{name}.html"
        monkeypatch.setattr(sys, "argv", ["headlight", "view", str(tmp_path / name), "--out", str(page)])
        with pytest.raises(SystemExit) as ended:
            command.main()
        assert ended.value.code == 0
        assert f"<title>Attention in {name}</title>" in page.read_text(encoding="utf-8")
    np.savez(tmp_path / "bare.npz", patterns=patterns)
    assert read_patterns(tmp_path / "bare.npz")[1] == ["0", "1", "2", "3", "4", "5"]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.txt", b"", "neither .npz nor .safetensors"),
        ("none.npz", None, "There is no such file"),
        ("a.npz", b"PK\x03\x04", "damaged"),
        ("a.safetensors", b"\xff" * 16, "damaged"),
    ],
)
def test_what_view_cannot_read_is_said(name: str, content: bytes | None, message: str, tmp_path: Path) -> None:
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError, match=message):
        read_patterns(tmp_path / name)


def test_pickles_are_not_opened(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", patterns=np.array([{"no": "array"}], dtype=object))
    with pytest.raises(InputError, match="damaged"):
        read_patterns(tmp_path / "a.npz")

"""Prompts, files and models that are hostile, odd or damaged: shown as they are, or refused and nothing lost."""

import csv
import io
import re
import shutil
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from playwright.sync_api import Browser, Locator, expect
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer, decoders, models, pre_tokenizers

from headlight.app.frame.view import View
from headlight.model import Transformer, TransformerConfig, embedded_models, save_gpt2
from tests.e2e.driver import PROMPTED_VIEWS, Driver, page_of
from tests.serving import PATIENCE

ATTENTION, RESIDUAL, LENS, PROMPTS, GENERATE = (
    next(view for view in PROMPTED_VIEWS if view.slug == slug)
    for slug in ("attention", "residual", "lens", "prompts", "generate")
)
END = "<|endoftext|>"
BOS, EOS = "⟨bos⟩", "⟨eos⟩"  # as it is named at the first place, and at others
BEFORE = "the cat the dog"
N_CTX = 64
FAMILY = "\U0001f469\u200d\U0001f469\u200d\U0001f467"
MATHEMATICS = "$x^2$ :smile: **bold**"
LINK, ODD_LINK, IMAGE = '<a href="https://e.example">', '<a href="%">', "![i](https://e.example/p.png)"

# A prompt, and what the model's tokens are called; the model has a token for each piece that is not one byte.
SHOWN = {
    "line break and tab": ("the\n\tthe", ["the", "↵", "⇥", "the"]),
    "emoji": ("🙂🙃", ["🙂", "<0xF0>", "<0x9F>", "<0x99>", "<0x83>"]),
    "family": (FAMILY, ["👩<U+200D>👩<U+200D>👧"]),
    "Hebrew": ("שלום עולם טוב", ["שלום", "␣עולם", "␣טוב"]),
    "direction override": ("a\u202eb", ["a", "<U+202E>", "b"]),
    "NUL": ("a\x00b", ["a", "<U+0000>", "b"]),
    "end of text": (END, [END]),  # which transformers reads as the token, too
    "bold": ("<b>x</b>", ["<b>x</b>"]),
    "link": (LINK, [LINK.replace(" ", "␣")]),
    "link that is none": (ODD_LINK, [ODD_LINK.replace(" ", "␣")]),
    "image": (IMAGE, [IMAGE]),
    "mathematics": (MATHEMATICS, [MATHEMATICS.replace(" ", "␣")]),
    "repeated words": ("the cat the dog the", ["the", "␣cat", "␣the", "␣dog", "␣the"]),
    "numbers": ("2019 2020 2021", ["2019", "␣2020", "␣2021"]),
}
# A view that writes its tokens on axes has room for so many in one prompt; the others get all at once.
TOGETHER = [
    ("line break and tab", "emoji", "family", "Hebrew"),
    ("direction override", "NUL", "end of text"),
    ("bold", "link", "link that is none", "image", "mathematics", "repeated words", "numbers"),
]
PIECES = [*("the", " the", " cat", " dog", "2019", " 2020", " 2021", "🙂", FAMILY, "שלום", " עולם", " טוב", "\u202e")]
MARKUP = ["<b>x</b>", LINK, ODD_LINK, IMAGE, MATHEMATICS]
MADE_OF_TEXT = "b, svg a, a[href^='https://e.example'], img[src*='e.example'], .katex"  # our links hold the prompt

REFUSED = {
    "empty": ("", "The prompt is empty"),
    "spaces": ("   ", "3 spaces or line breaks and nothing else"),
    "a million letters": ("a" * 1_000_000, "1,000,000 characters; at most 50,000"),
    "context plus one": (" the" * N_CTX, f"{N_CTX + 1} tokens, .* context holds {N_CTX}. That is 1 too many"),
}
FILES = {
    "empty.csv": (b"", "The file is empty"),
    "latin.csv": ("prompt\ncafé\n".encode("latin-1"), "Line 2 is not UTF-8: the file looks like Latin-1"),
    "columns.csv": (b"text,kind\nThe cat,animal\n", "has no column or key “prompt” \\(found: “text”, “kind”"),
    "quote.csv": (b'prompt\nThe cat\n"The dog\n', "Line 3: a double quote .* never closed"),
    "line.jsonl": (b'{"prompt": "a"}\n{"prompt": "b"\n', "Line 2 is not valid JSON .* Nothing of the file was taken"),
}

# Notes on each canvas what is written where, and whether it stands upright.
NOTE_WRITING = """() => {
    const { fillText } = CanvasRenderingContext2D.prototype;
    const width = Object.getOwnPropertyDescriptor(HTMLCanvasElement.prototype, "width");
    const set = function (value) {
        this.written = new Map(); // it is wiped
        width.set.call(this, value);
    };
    Object.defineProperty(HTMLCanvasElement.prototype, "width", { ...width, set });
    CanvasRenderingContext2D.prototype.fillText = function (text, x, y) {
        const { canvas } = this;
        canvas.written ??= new Map();
        const matrix = this.getTransform();
        const point = matrix.transformPoint({ x, y });
        canvas.written.set(`${point.x} ${point.y}`, { text, x: point.x, y: point.y, upright: matrix.b === 0 });
        return fillText.apply(this, arguments);
    };
}"""


@pytest.fixture(scope="module")
def literal(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A small random model that takes markup, and other things no tokenizer would learn, for single tokens."""
    folder = tmp_path_factory.mktemp("models") / "literal"
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    backend = Tokenizer(models.BPE({character: id for id, character in enumerate(alphabet)}, []))
    backend.pre_tokenizer, backend.decoder = pre_tokenizers.ByteLevel(add_prefix_space=False), decoders.ByteLevel()
    backend.add_special_tokens([END])
    backend.add_tokens([*PIECES, *MARKUP])
    sizes = {"n_layers": 2, "d_model": 16, "n_ctx": N_CTX, "n_heads": 2, "d_head": 8}
    torch.manual_seed(0)
    cfg = TransformerConfig(**sizes, d_vocab=backend.get_vocab_size(), tie_word_embeddings=True)
    save_gpt2(Transformer(cfg), folder)
    backend.save(str(folder / "tokenizer.json"))
    return str(folder)


@pytest.fixture(scope="module")
def opened(browser: Browser, server: str, literal: str) -> Iterator[Driver]:
    """One window for all prompts and files: quick, and what one leaves behind must not harm the next."""
    driver = Driver(browser, server)
    driver.page.context.add_init_script(f"({NOTE_WRITING})()")
    driver.open(model=literal, prompt=BEFORE, heads="0.0")
    yield driver
    driver.close()


@pytest.fixture
def window(opened: Driver) -> Iterator[Driver]:
    """That window, in which nothing may go wrong unseen."""
    opened.complaints.clear()
    yield opened
    assert not opened.outside
    assert not opened.complaints


@pytest.fixture
def checkpoint(tmp_path: Path) -> Path:
    """A copy of the embedded model, for a test to spoil."""
    return Path(shutil.copytree(embedded_models()["mini"], tmp_path / "copied"))


def _is(texts: Sequence[str], labels: Sequence[str]) -> bool:
    """Whether these are the labels, those cut that are too long for their place."""
    pairs = zip(texts, labels, strict=False)
    return len(texts) == len(labels) and all(
        text == label or (text.endswith("…") and label.startswith(text[:-1])) for text, label in pairs
    )


def _written(canvas: Locator) -> list[dict[str, Any]]:
    """What is written on a canvas from left to right; nothing where it is not drawn yet."""
    notes = canvas.evaluate("canvas => [...(canvas.written ?? new Map()).values()]")
    return sorted(notes, key=lambda note: note["x"])


def _strip(window: Driver) -> list[str]:
    """The tokens by their places on the screen, which for Hebrew, too, has to be the order of reading."""
    places = "chips => chips.map(chip => [chip.getBoundingClientRect(), chip.textContent])"
    chips = sorted(window.chips.evaluate_all(places), key=lambda chip: (chip[0]["y"], chip[0]["x"]))
    return [text for _, text in chips]


def _columns(window: Driver) -> list[str]:
    picture = window.panels.first.locator("canvas").first
    return [note["text"] for note in _written(picture) if not note["upright"] and note["text"] != "from (query)"]


def _rows(window: Driver) -> list[str]:
    notes = _written(window.panels.first.locator("canvas").first)
    upright = [note for note in notes if note["upright"] and note["text"] != "to (key)"]
    return [note["text"] for note in sorted(upright, key=lambda note: note["y"])]


def _tokens_of_norms(window: Driver) -> list[str]:
    """Under the map, turned where one of them is too long."""
    notes = _written(window.page.locator("[class*=st-key-headlight-norms] canvas").first)
    lowest = max((note["y"] for note in notes), default=0)
    turned = [note["text"] for note in notes if not note["upright"]]
    return turned or [note["text"] for note in notes if note["y"] == lowest and note["text"] != "token"]


def _fed_to_the_lens(window: Driver) -> list[str]:
    notes = _written(window.page.locator("[class*=st-key-headlight-lens] canvas").first)
    y = next((note["y"] for note in notes if note["text"] == "input"), None)
    return [note["text"] for note in notes if note["y"] == y and note["text"] != "input"]


def _last_run(window: Driver) -> list[str]:
    return window.page.get_by_role("grid", name="The last runs").locator("tbody td").all_text_contents()[:1]


AXES = {
    ATTENTION: (_strip, _rows, _columns),
    RESIDUAL: (_tokens_of_norms,),
    LENS: (_fed_to_the_lens,),
    PROMPTS: (_last_run,),
}


def _be_on(window: Driver, view: View) -> None:
    if page_of(window.page.url) != view.slug:
        window.go_to(view)


def _expect_texts(window: Driver, read: Callable[[Driver], list[str]], texts: Sequence[str]) -> None:
    end = time.monotonic() + PATIENCE / 1000
    while not _is(current := read(window), texts) and time.monotonic() < end:
        window.page.wait_for_timeout(50)
    assert _is(current, texts), current


def _joined(cases: Iterable[str]) -> tuple[str, list[str]]:
    """One prompt of several, and what its tokens are called."""
    prompts, tokens = zip(*(SHOWN[case] for case in cases), strict=True)
    return "".join(prompts), [token for each in tokens for token in each]


def _named(tokens: Sequence[str]) -> list[str]:
    """The tokens of a prompt and the one before them, with the short name of the special one."""
    return [BOS, *(EOS if token == END else token for token in tokens)]


@pytest.mark.parametrize("view", PROMPTED_VIEWS, ids=lambda view: view.slug)
def test_odd_and_hostile_text_is_shown_literally(window: Driver, view: View) -> None:
    assert {case for cases in TOGETHER for case in cases} == set(SHOWN)
    _be_on(window, view)
    for cases in TOGETHER if view in AXES else [SHOWN]:
        _check_shown(window, view, *_joined(cases))


def _check_shown(window: Driver, view: View, prompt: str, tokens: list[str]) -> None:
    """Each token once, in its place, letter by letter, and no element made of it."""
    window.run(prompt)
    for read in AXES.get(view, ()):  # other pages' tests know where theirs name tokens
        _expect_texts(window, read, [prompt] if view is PROMPTS else _named(tokens))
    window.settle()
    figure = window.page.get_by_test_id("stPlotlyChart")
    if view is RESIDUAL:
        expect(figure.locator(".legendtext", has_text=_named(tokens)[-1])).to_be_visible()
        expect(figure.locator(".scatterlayer .points path")).to_have_count(3)  # after the embedding and two layers
    if view is LENS:
        expect(figure.locator(".barlayer .points .point")).to_have_count(30)  # and a patchscope's, twice
    if view is GENERATE:  # lines through the steps, whose tokens stand under them
        expect(figure.locator(".scatterlayer .trace")).to_have_count(2)
    if view is PROMPTS:
        expect(figure.locator(".scatterlayer .points path")).to_have_count(4)  # a point a head
    expect(window.prompt).to_have_value(prompt)
    expect(window.refused).to_have_count(0)
    made = window.page.get_by_test_id("stMain").locator(MADE_OF_TEXT)
    assert made.evaluate_all("made => made.map(element => element.outerHTML)") == []


@pytest.mark.parametrize("case", REFUSED)
def test_a_prompt_that_cannot_be_run_is_refused_and_the_result_before_stays(window: Driver, case: str) -> None:
    prompt, said = REFUSED[case]
    _be_on(window, ATTENTION)
    window.run(BEFORE)
    expect(window.chips).to_have_text([BOS, "the", "␣cat", "␣the", "␣dog"])
    window.settle()
    before = window.result_texts()
    window.run(prompt)
    expect(window.refused).to_contain_text(re.compile(said))
    window.settle()
    assert window.result_texts() == before


def _upload(window: Driver, name: str, data: bytes) -> None:
    _be_on(window, PROMPTS)
    window.settle()  # after an upload there is another uploader
    file = {"name": name, "mimeType": "text/plain", "buffer": data}
    window.upload(file)


@pytest.mark.parametrize("name", FILES)
def test_a_file_that_cannot_be_read_is_refused_whole_and_the_list_stays(window: Driver, name: str) -> None:
    data, said = FILES[name]
    _upload(window, "good.txt", b"The cat\n")
    expect(window.page.get_by_text(re.compile("new prompts? from good.txt"))).to_be_visible()
    window.settle()  # what was there before stays until the script has ended
    listed = window.page.get_by_text(re.compile(r"^\d+ of \d+ run")).inner_text()
    _upload(window, name, data)
    expect(window.refused.last).to_contain_text(re.compile(f"Could not read {name}.*{said}"))
    expect(window.page.get_by_text(listed, exact=True)).to_be_visible()


def test_a_formula_is_exported_as_text(window: Driver) -> None:
    _upload(window, "formula.csv", b'prompt,=2+2\n=1+1,"+1"\n')
    expect(window.page.get_by_text("new prompt from formula.csv")).to_be_visible()
    window.settle()
    with window.page.expect_download() as downloading:
        window.page.get_by_role("button", name="Download prompts").click()
    rows = list(csv.reader(io.StringIO(Path(downloading.value.path()).read_text(encoding="utf-8-sig"))))
    assert {"'=1+1", "'+1"} <= set(rows[-1])
    assert not [cell for row in rows for cell in row if cell.startswith(("=", "+", "-", "@"))]


@pytest.mark.parametrize("chosen", ["", "model.safetensors"], ids=["folder", "file"])
def test_a_truncated_model_is_named_and_the_old_model_stays(app: Driver, checkpoint: Path, chosen: str) -> None:
    weights = checkpoint / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-1000])
    _check_refused(app, checkpoint / chosen, r"model\.safetensors cannot be read as safetensors .* cut short")


def test_a_tensor_of_another_shape_is_named_with_both_and_the_old_model_stays(app: Driver, checkpoint: Path) -> None:
    weights = checkpoint / "model.safetensors"
    tensors = load_file(weights)
    name = next(name for name in tensors if name.endswith("h.1.attn.c_attn.weight"))
    rows, columns = tensors[name].shape
    tensors[name] = torch.zeros(rows, 99)
    weights.unlink()
    save_file(tensors, weights)
    _check_refused(app, checkpoint, rf"h\.1\.attn\.c_attn\.weight is \[{rows}, 99\], not \[{rows}, {columns}\]")


def _check_refused(app: Driver, path: Path, said: str) -> None:
    app.open(prompt=BEFORE)
    before = app.result_texts()
    app.open_model(str(path))
    expect(app.refused).to_contain_text(re.compile(said))
    app.settle()
    assert app.result_texts() == before
    assert str(path.parent) not in app.refused.inner_text()


def test_a_model_whose_folder_is_deleted_is_closed_and_the_page_goes_on(app: Driver, checkpoint: Path) -> None:
    """Deleted under the server, which then cannot hash its weights."""
    app.open(model=str(checkpoint), prompt=BEFORE)
    shutil.rmtree(checkpoint)
    app.page.get_by_role("button", name="About this model").click()
    expect(app.refused.first).to_contain_text("There is no folder, file or model")
    app.open_model("mini")
    app.settle()
    assert app.result_texts()[0].startswith("mini")

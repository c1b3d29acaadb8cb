"""A bias that an architecture does not have is in no file of any page, and sums add up without it."""

import io
import re
import shutil
import zipfile
from collections.abc import Callable
from importlib import import_module
from pathlib import Path

import pytest
import torch
from transformers import AutoModelForCausalLM

from headlight.app.exports import style
from headlight.app.exports.data import archive
from headlight.app.exports.style import LIGHT
from headlight.app.glossary import TERMS
from headlight.app.registry import VIEWS
from headlight.app.runs import comparisons
from headlight.model.checkpoints.families.llama import save_llama
from tests.app.choosing import selection_of
from tests.app.exports.page_files import Files
from tests.places import MINI
from tests.tiny import tiny

pytestmark = pytest.mark.usefixtures("unchecked")
PROMPT = "one two three one two three one"
BIAS = re.compile(r"\bbias(?:es)?\b|\bb_(?:Q|K|V|O|in|out|U)\b")
PAGES = ("residual", "attention", "inside", "lens", "flow", "why", "mlp", "graph", "weights", "generate")
QUICK = ("inside", "why", "flow", "mlp")  # that list biases where there are some


def save_without_biases(folder: Path) -> None:
    """A folder of Llama's architecture, which has no bias anywhere."""
    model = tiny("llama-like")
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if name.rpartition(".")[2].lstrip("_").startswith("b"):
                parameter.zero_()
    save_llama(model, folder)
    for file in MINI.glob("tokenizer*.json"):
        shutil.copy(file, folder)


@pytest.fixture
def opened(settings: dict[str, object], tmp_path: Path) -> Callable[..., Files]:
    save_without_biases(tmp_path / "llama")

    def open_files(slug: str, **more: object) -> Files:
        values = {"model": str(tmp_path / "llama"), "prompt": PROMPT, "heads": ((1, 2),)} | more
        chosen = selection_of(**values)
        comparison = comparisons.for_selection(chosen)
        return Files(
            import_module(f"headlight.app.pages.{slug}").EXPORT, comparison, chosen, torch.empty(0), comparison.a.cache
        )

    return open_files


def words(files: Files) -> str:
    """All texts of a page's files: of its script, tables, arrays, picture and html; the glossary's are any model's."""
    packed = zipfile.ZipFile(io.BytesIO(archive(files.comparison, files.export.data(files.comparison, files.chosen))))
    said = [files.export.script(files.comparison, files.chosen), *packed.namelist()]
    said += [packed.read(name).decode() for name in packed.namelist() if name != "arrays.npz"]
    said.append(style.file(lambda: files.export.picture(files.comparison, files.chosen, LIGHT), LIGHT, "svg").decode())
    said += [str(props) for props, _ in files.mounted]
    text = "\n".join(said)
    for term in TERMS.values():
        text = text.replace(str(term), "")
    return text


@pytest.mark.parametrize(
    "slug", [slug if slug in QUICK else pytest.param(slug, marks=pytest.mark.thorough) for slug in PAGES]
)
def test_no_file_lists_a_bias_that_the_architecture_lacks(slug: str, opened: Callable[..., Files]) -> None:
    files = opened(slug)
    view = next(view for view in VIEWS if view.slug == slug)
    assert not view.needs(files.comparison)
    assert BIAS.findall(words(files)) == []


def test_effects_add_up_to_transformers_difference_without_a_bias(opened: Callable[..., Files], tmp_path: Path) -> None:
    files = opened("why")
    theirs = AutoModelForCausalLM.from_pretrained(tmp_path / "llama", dtype=torch.float64)
    with torch.inference_mode():
        best = theirs(files.comparison.a.tokens[None]).logits[0, -1].topk(2).values
    effects = files.table("effects")
    assert effects["part"][1:6] == ["L0H0", "L0H1", "L0H2", "L0H3", "L0 MLP"]
    # Float32 sums of some dozen numbers of size 10.
    assert sum(effects["logits"]) == pytest.approx(float(best[0] - best[1]), abs=1e-3)


@pytest.mark.parametrize(("a", "b"), [("llama", "mini"), ("mini", "llama")])
def test_beside_a_model_with_biases_only_that_one_lists_them(
    a: str, b: str, opened: Callable[..., Files], tmp_path: Path
) -> None:
    """And B - A of all parts add up to the difference of both sums."""
    folders = {"llama": str(tmp_path / "llama"), "mini": str(MINI)}
    tables = (("why", "effects", "part", "logits"), ("mlp", "sums", "what", "direct effect"))
    for slug, name, part, value_name in tables:
        table = opened(slug, model=folders[a], model_b=folders[b], prompt_b=PROMPT).table(name)
        listed = {side: set[str]() for side in ("A", "B", "B - A")}
        sums = dict.fromkeys(listed, 0.0)
        for side, part_name, value in zip(table["run"], table[part], table[value_name], strict=True):
            listed[side] |= {part_name} if "bias" in part_name else set()
            sums[side] += value
        lacks, has = ("A", "B") if a == "llama" else ("B", "A")
        assert not listed[lacks], slug
        assert listed[has], slug
        assert listed["B - A"] == listed[has], slug
        assert sums["B - A"] == pytest.approx(sums["B"] - sums["A"], abs=1e-4), slug

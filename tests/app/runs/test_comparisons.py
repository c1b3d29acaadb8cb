"""Two runs on the axis of tokens that they have in common."""

import json
import shutil
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer as Backend

from headlight.app.runs import comparisons
from headlight.app.selection import Selection
from headlight.model.base.errors import InputError
from headlight.model.decoding import Sampling
from headlight.model.decoding.compared import generate_steps
from headlight.model.decoding.continued import Writing
from tests.app.pages.test_sides import page

A, B = "one two three one two three", "one two four one two three five"


def _of(folder: str, **chosen: object) -> comparisons.Comparison:
    return comparisons.for_selection(Selection(model=folder, prompt=A, bos=False, **chosen))  # type: ignore[arg-type]


def test_without_b_the_axis_is_that_of_a(folder: str) -> None:
    comparison = _of(folder)
    assert comparison.b is None
    assert comparison.labels == comparison.a.labels
    assert set(comparison.presence) == {"both"}
    assert comparison.positions(comparison.a) == tuple(range(len(comparison.labels)))


def test_both_runs_are_kept_where_together_they_are_larger_than_the_cache(
    folder: str, settings: dict[str, object]
) -> None:
    settings["cache_gib"] = 1e-9  # less than either
    first, again = _of(folder, prompt_b=B), _of(folder, prompt_b=B)
    assert (again.a, again.b) == (first.a, first.b)
    assert _of(folder, prompt_b=A + B).a is first.a
    assert _of(folder, prompt_b=B).b is not first.b


def test_tokens_of_one_run_alone_are_marked(folder: str) -> None:
    comparison = _of(folder, prompt_b=B)
    marked = [
        (label, kind) for label, kind in zip(comparison.labels, comparison.presence, strict=True) if kind != "both"
    ]
    assert [kind for _, kind in marked] == ["a"] + ["b"] * (len(marked) - 1)
    assert marked[0][0].startswith("−")
    assert all(label.startswith("+") for label, kind in marked if kind == "b")
    assert comparison.b is not None
    for run in comparison.runs:
        assert [place for place in comparison.positions(run) if place is not None] == list(range(len(run.tokens)))
        for label, place in zip(comparison.labels, comparison.positions(run), strict=True):
            assert place is None or label.lstrip("−+") == run.labels[place]


def test_by_position_a_changed_token_shows_both(folder: str) -> None:
    comparison = _of(folder, prompt_b=B, align="position")
    changed = comparison.presence.index("changed")
    assert comparison.b is not None
    assert comparison.labels[changed] == f"{comparison.a.labels[changed]}→{comparison.b.labels[changed]}"


def test_what_is_wrong_with_b_is_said_of_b(folder: str) -> None:
    with pytest.raises(InputError, match=r"^B: The prompt has"):
        _of(folder, prompt_b="word " * 200)


def test_the_same_prompt_needs_no_marks(folder: str) -> None:
    comparison = _of(folder, prompt_b=A)
    assert comparison.labels == comparison.a.labels
    assert set(comparison.presence) == {"both"}


def test_models_with_other_vocabularies_are_not_compared(folder: str, tmp_path: Path) -> None:
    other = tmp_path / "other"
    shutil.copytree(folder, other)
    tokenizer = json.loads((other / "tokenizer.json").read_text())
    vocabulary = tokenizer["model"]["vocab"]
    vocabulary["a"], vocabulary["b"] = vocabulary["b"], vocabulary["a"]
    (other / "tokenizer.json").write_text(json.dumps(tokenizer))
    with pytest.raises(InputError, match=r"different tokenizers.*Choose as model B one with the tokenizer of"):
        _of(folder, prompt_b=A, model_b=str(other))


@pytest.fixture
def tuned(folder: str, tmp_path: Path) -> str:
    """A fine-tuning of the folder's model: other weights, and a padding token more."""
    path = tmp_path / "tuned"
    shutil.copytree(folder, path)
    backend = Backend.from_file(str(path / "tokenizer.json"))
    config, tensors = json.loads((path / "config.json").read_text()), load_file(path / "model.safetensors")
    new = config["vocab_size"] - backend.get_vocab_size()  # rows that the embedding has to spare
    backend.add_special_tokens([*(f"<spare {number}>" for number in range(new)), "<pad>"])
    backend.save(str(path / "tokenizer.json"))
    (path / "config.json").write_text(json.dumps(config | {"vocab_size": config["vocab_size"] + 1}))
    name = "transformer.wte.weight"
    tensors |= {name: torch.cat([tensors[name], tensors[name].mean(0, keepdim=True)]) * 1.1}
    (path / "model.safetensors").unlink()
    save_file(tensors, path / "model.safetensors", metadata={"format": "pt"})
    return str(path)


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize("swapped", [False, True])
def test_a_base_is_compared_with_its_fine_tuning_that_has_a_padding_token_more(
    swapped: bool, folder: str, tuned: str
) -> None:
    one, other = (tuned, folder) if swapped else (folder, tuned)
    comparison = comparisons.for_selection(Selection(model=one, model_b=other, prompt=A, prompt_b=A, bos=False))
    assert comparison.b is not None
    assert abs(comparison.a.cfg.d_vocab - comparison.b.cfg.d_vocab) == 1
    page("why", comparison, model=one, model_b=other, prompt=A, prompt_b=A)
    written = generate_steps(comparison, Writing(3, Sampling(temperature=0)))
    for side, each in written.sides.items():  # what is said of each token is that run's own
        listed = written.candidates()[side]
        own = each.logits().softmax(-1)
        for step, token in enumerate(listed.tokens[:, 0].tolist()):
            torch.testing.assert_close(listed.before[step, 0], own[step, token])
    a, b = (each.logits().softmax(-1).double() for each in written.sides.values())
    common = min(a.shape[1], b.shape[1])
    p, q = (torch.cat([each[:, :common], each[:, common:].sum(1, keepdim=True)], 1) for each in (a, b))
    middle = (p + q) / 2
    entropy = torch.special.entr
    apart = entropy(middle).sum(1) - (entropy(p).sum(1) + entropy(q).sum(1)) / 2
    torch.testing.assert_close(written.divergence()[0].double(), apart, rtol=1e-4, atol=1e-7)  # float32's sums


def test_what_means_something_else_in_a_prompt_is_refused(folder: str, tuned: str, tmp_path: Path) -> None:
    other = tmp_path / "other"
    shutil.copytree(tuned, other)
    written = (other / "tokenizer.json").read_text().replace("<pad>", "<odd>")
    (other / "tokenizer.json").write_text(written)
    comparisons.for_selection(Selection(model=tuned, model_b=str(other), prompt=A, prompt_b=A, bos=False))
    with pytest.raises(InputError, match=r"different tokenizers.*“<pad>” in one and “<odd>” in the other"):
        comparisons.for_selection(Selection(model=tuned, model_b=str(other), prompt="one <pad>", prompt_b=A, bos=False))

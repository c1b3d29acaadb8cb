"""Edits of features, against the same arithmetic done by hand at the activation itself."""

from collections.abc import Callable
from pathlib import Path
from threading import Thread

import pytest
import torch
from torch import Tensor

from headlight.model import Transformer
from headlight.model.base.errors import InputError
from headlight.model.features import Dictionaries, Dictionary
from headlight.model.features.opening import open_dictionary
from headlight.model.runs.edits import EditFeature, describe
from headlight.model.runs.edits.cone import cone
from headlight.model.runs.edits.editing import tap
from tests.model.oracles import ATOL, RTOL, random_model
from tests.saved_dictionary import save_dictionary

TOKENS = torch.tensor([[5, 1, 5, 2, 9, 5]])
NAME = "mine"
KINDS = {  # what is read, what is written, and how wide
    "stream": ("blocks.1.hook_resid_pre", ""),
    "first stream": ("blocks.0.hook_resid_pre", ""),
    "heads": ("blocks.1.attn.hook_z", ""),
    "transcoder": ("blocks.1.ln2.hook_normalized", "blocks.1.hook_mlp_out"),
}


@pytest.fixture(scope="module")
def model() -> Transformer:
    return random_model()


@pytest.fixture(params=KINDS)
def opened(request: pytest.FixtureRequest, model: Transformer, tmp_path: Path) -> Dictionaries:
    hook, out = KINDS[request.param]
    width = model.cfg.n_heads * model.cfg.d_head if hook.endswith("hook_z") else model.cfg.d_model
    return open_dictionary(save_dictionary(tmp_path / "d", hook, width, out=out))


def run(model: Transformer, opened: Dictionaries, *edits: EditFeature) -> Tensor:
    with torch.inference_mode():
        return model(TOKENS, tap=tap(model, TOKENS, edits, opened={NAME: opened}))


def one(opened: Dictionaries) -> Dictionary:
    (dictionary,) = opened.values()
    return dictionary


def active(model: Transformer, dictionary: Dictionary) -> tuple[int, int]:
    """The most active feature, and one that is not active anywhere."""
    with torch.inference_mode():
        _, cache = model.run_with_cache(TOKENS, dictionary.hook_in)
        acts = dictionary.encode(cache[dictionary.hook_in].flatten(2))[0]
    return int(acts.amax(0).argmax()), int(acts.amax(0).argmin())


def by_hand(model: Transformer, dictionary: Dictionary, feature: int, change: Callable[[Tensor], Tensor]) -> Tensor:
    """The model with what the feature writes changed by so much."""
    row = dictionary.decoder_rows([feature])[0]
    seen: dict[str, Tensor] = {}

    def read(activation: Tensor, hook: object) -> None:
        seen["acts"] = dictionary.encode(activation.flatten(2))[..., feature]

    def write(activation: Tensor, hook: object) -> Tensor:
        return activation + (change(seen["acts"])[..., None] * row).reshape(activation.shape)

    with torch.inference_mode():
        return model.run_with_hooks(TOKENS, [(dictionary.hook_in, read), (dictionary.hooks_out[0], write)])


def test_a_feature_is_ablated_clamped_and_added_as_by_hand(model: Transformer, opened: Dictionaries) -> None:
    dictionary = one(opened)
    feature, _ = active(model, dictionary)
    cases: list[tuple[EditFeature, Callable[[Tensor], Tensor]]] = [
        (EditFeature(NAME, dictionary.hook_in, feature), lambda acts: -acts),
        (EditFeature(NAME, dictionary.hook_in, feature, "clamp", 4.0), lambda acts: 4.0 - acts),
        (EditFeature(NAME, dictionary.hook_in, feature, "add", -2.5), lambda acts: torch.full_like(acts, -2.5)),
    ]
    for edit, change in cases:
        edited, expected = run(model, opened, edit), by_hand(model, dictionary, feature, change)
        torch.testing.assert_close(edited, expected, rtol=RTOL, atol=ATOL)
        assert not torch.allclose(edited, run(model, opened), rtol=RTOL, atol=ATOL)


def test_an_edit_that_changes_nothing_is_exactly_nothing(model: Transformer, opened: Dictionaries) -> None:
    dictionary = one(opened)
    some, none = active(model, dictionary)
    for edit in (
        EditFeature(NAME, dictionary.hook_in, none),
        EditFeature(NAME, dictionary.hook_in, none, "clamp", 0.0),
        EditFeature(NAME, dictionary.hook_in, some, "add", 0.0),
    ):
        assert torch.equal(run(model, opened, edit), run(model, opened)), describe(edit)


def test_only_the_named_positions_and_what_they_reach_change(model: Transformer, opened: Dictionaries) -> None:
    dictionary = one(opened)
    edit = EditFeature(NAME, dictionary.hook_in, 3, "add", 5.0, (4,))
    changed = (run(model, opened, edit) != run(model, opened)).any(-1)[0]
    assert changed.tolist() == cone([edit], model.cfg, 6)[-1].tolist()
    assert changed[:5].tolist() == [False] * 4 + [True]


def test_one_tap_serves_several_threads(model: Transformer, opened: Dictionaries) -> None:
    dictionary = one(opened)
    feature, _ = active(model, dictionary)
    editing = tap(model, TOKENS, [EditFeature(NAME, dictionary.hook_in, feature)], opened={NAME: opened})
    alone = run(model, opened, EditFeature(NAME, dictionary.hook_in, feature))
    outputs: list[Tensor] = []

    def once() -> None:
        with torch.inference_mode():
            outputs.append(model(TOKENS, tap=editing))

    threads = [Thread(target=once) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(outputs) == 6
    assert all(torch.equal(each, alone) for each in outputs)


def test_what_is_not_there_is_said(model: Transformer, tmp_path: Path) -> None:
    hook = "blocks.1.hook_resid_pre"
    opened = open_dictionary(save_dictionary(tmp_path / "d", hook, model.cfg.d_model))
    for edit, said in (
        (EditFeature("other", hook, 1), "'other', which is not open"),
        (EditFeature(NAME, hook, 60), "There is no feature 60: .* features 0 to 59"),
        (EditFeature(NAME, "blocks.2.hook_resid_pre", 1), "is of blocks.1.hook_resid_pre, not of blocks.2"),
        (EditFeature(NAME, hook, 1, "add", 2000.0), "it can be from -1000 to 1000"),
        (EditFeature(NAME, hook, 1, positions=(6,)), "There is no position 6"),
    ):
        with pytest.raises(InputError, match=said):
            run(model, opened, edit)

"""Edits along a direction, against the same arithmetic done by hand on the stream of our model and of transformers'."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor
from transformers import GPT2Config, GPT2LMHeadModel

from headlight.model import Transformer, run_prompt
from headlight.model.base.errors import InputError
from headlight.model.checkpoints.loading import load
from headlight.model.runs.direction import Direction
from headlight.model.runs.edits import EditDirection
from headlight.model.runs.edits.cone import cone
from headlight.model.runs.edits.editing import tap
from tests.model.oracles import ATOL, RTOL, random_model
from tests.model.runs.edits.lettered import A, words

TOKENS = torch.tensor([[5, 1, 5, 2, 9, 5]])


@pytest.fixture(scope="module")
def model() -> Transformer:
    return random_model()


@pytest.fixture(scope="module")
def direction(model: Transformer) -> Direction:
    generator = torch.Generator().manual_seed(1)
    layers = range(model.cfg.n_layers + 1)
    return Direction("up", {layer: torch.randn(model.cfg.d_model, generator=generator) for layer in layers})


def run(model: Transformer, direction: Direction, *edits: EditDirection) -> Tensor:
    with torch.inference_mode():
        return model(TOKENS, tap=tap(model, TOKENS, edits, opened={"up": direction}))


def moved(stream: Tensor, vector: Tensor, action: str, factor: float) -> Tensor:
    """The stream after an edit, by the formulas."""
    length = float(vector.norm())
    along = (stream * vector).sum(-1, keepdim=True) / length
    change = {"add": factor * length, "project_out": -along, "cap": along.clamp(max=factor * length) - along}[action]
    return stream + change * vector / length


CASES = [("add", 1.5), ("add", -0.5), ("project_out", 3.0), ("cap", -0.1), ("cap", -0.3)]


@pytest.mark.parametrize(("action", "factor"), CASES)
def test_a_direction_acts_as_by_hand_at_several_layers_and_positions(
    model: Transformer, direction: Direction, action: Any, factor: float
) -> None:
    names = {1: "blocks.1.hook_resid_pre", model.cfg.n_layers: f"blocks.{model.cfg.n_layers - 1}.hook_resid_post"}

    def by_hand(layer: int) -> Callable[[Tensor, object], Tensor]:
        def change(stream: Tensor, hook: object) -> Tensor:
            stream = stream.clone()
            stream[:, [2, 5]] = moved(stream[:, [2, 5]], direction.vectors[layer], action, factor)
            return stream

        return change

    edited = run(model, direction, EditDirection("up", tuple(names), action, factor, (2, 5)))
    with torch.inference_mode():
        expected = model.run_with_hooks(TOKENS, [(name, by_hand(layer)) for layer, name in names.items()])
    torch.testing.assert_close(edited, expected, rtol=RTOL, atol=ATOL)
    assert not torch.allclose(edited, run(model, direction), rtol=RTOL, atol=ATOL)


@pytest.mark.parametrize(("action", "factor"), CASES)
def test_a_direction_acts_as_a_hook_on_transformers_own_model(tmp_path: Any, action: Any, factor: float) -> None:
    torch.manual_seed(0)
    config = GPT2Config(n_layer=3, n_head=2, n_embd=16, n_positions=32, vocab_size=40, resid_pdrop=0.0)
    reference = GPT2LMHeadModel(config).eval()
    reference.save_pretrained(tmp_path)
    model, vector = load(tmp_path), torch.randn(16)
    edits = [EditDirection("up", (2,), action, factor)]

    def change(block: object, inputs: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        return (moved(inputs[0], vector, action, factor), *inputs[1:])

    handle = reference.transformer.h[2].register_forward_pre_hook(change)
    with torch.inference_mode():
        expected = reference(TOKENS).logits
        edited = model(TOKENS, tap=tap(model, TOKENS, edits, opened={"up": Direction("up", {2: vector})}))
    handle.remove()
    torch.testing.assert_close(edited, expected, rtol=RTOL, atol=ATOL)


def test_without_layers_it_acts_at_all_that_the_direction_has(model: Transformer, direction: Direction) -> None:
    every = run(model, direction, EditDirection("up", (), "project_out"))
    assert torch.equal(every, run(model, direction, EditDirection("up", direction.layers, "project_out")))


def test_only_the_named_positions_and_what_they_reach_change(model: Transformer, direction: Direction) -> None:
    edit = EditDirection("up", (1,), "add", 2.0, (4,))
    changed = (run(model, direction, edit) != run(model, direction)).any(-1)[0]
    assert changed.tolist() == cone([edit], model.cfg, 6)[-1].tolist() == [False] * 4 + [True] * 2


def test_a_run_has_the_stream_that_the_edit_left(model: Transformer, direction: Direction) -> None:
    """The pages' stream is summed from its parts, and is the edited one from the edit on."""
    typed = words(random_model())
    made = run_prompt(typed, A, False, (EditDirection("up", (1,), "project_out"),), directions={"up": direction})
    before, after = list(run_prompt(typed, A, False).streams())[1], list(made.streams())[1]
    torch.testing.assert_close(after, moved(before, direction.vectors[1], "project_out", 0.0), rtol=RTOL, atol=ATOL)


def test_what_does_not_fit_is_refused_with_what_there_is(model: Transformer, direction: Direction) -> None:
    one, wide = (
        Direction("one", {1: torch.ones(model.cfg.d_model)}),
        Direction("wide", {1: torch.ones(7)}, model="other"),
    )
    deep = Direction("deep", {9: torch.ones(model.cfg.d_model)})
    opened = {"one": one, "wide": wide, "deep": deep}
    for name, layers, said in (
        ("up", (), "The direction 'up' is not open"),
        ("wide", (), "'wide', which was found in other, has 7 numbers a layer"),
        ("deep", (), "goes up to layer 9; this model's stream is"),
        ("one", (0,), "'one' has no vector for layer 0, only for 1"),
    ):
        with pytest.raises(InputError, match=said):
            tap(model, TOKENS, [EditDirection(name, layers)], opened=opened)


def test_a_vector_of_zeros_projects_nothing_out(model: Transformer) -> None:
    nothing = Direction("up", {1: torch.zeros(model.cfg.d_model)})
    edited = run(model, nothing, EditDirection("up", (), "project_out"), EditDirection("up", (), "cap"))
    assert torch.equal(edited, run(model, nothing))


def test_an_identity_tells_other_numbers_apart() -> None:
    first = Direction("x", {1: torch.ones(3)})
    assert first.identity == Direction("x", {1: torch.ones(3)}, method="other").identity
    assert first.identity != Direction("x", {2: torch.ones(3)}).identity
    assert first.identity != Direction("x", {1: torch.tensor([1.0, 1.0, 2.0])}).identity

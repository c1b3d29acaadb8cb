"""Neurons against transformers' models with hooks; of each kind of architecture against a pass, and their sums."""

from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn
from transformers import AutoModelForCausalLM

from headlight.model import Run, Transformer, load, run_prompt
from headlight.model.attribution.logits import Question, logit_attribution
from headlight.model.base.errors import InputError
from headlight.model.neurons.activations import activations_at, over_prompt
from headlight.model.neurons.effects import direct_effects, gradient_effects, measured_effects
from headlight.model.nn.cache import ActivationCache
from headlight.model.nn.hooks import Chain
from headlight.model.nn.hooks import Edit as Hooks
from headlight.model.runs.edits import AblateHeads, Drop, Edit, Patch
from headlight.model.runs.edits.editing import run_with_edits
from tests.tiny import KINDS, open_tiny

pytestmark = pytest.mark.usefixtures("unchecked")  # a batch grows where neurons are zeroed side by side
TEXT = "one two three one two three one"
POSITION = 6
QUESTION = Question(40, 90, POSITION)
CLOSE = {"rtol": 1e-4, "atol": 2e-4}  # float32 sums of some dozen products of size 10, taken in another order
DENSE = [kind for kind in KINDS if "num_experts" not in KINDS[kind]]
TELLING, STEP = ("gemma2-like", "neox-like", "bert-like"), 1e-2
EDITS: dict[str, tuple[Edit, ...]] = {
    "none": (),
    "a head": (AblateHeads(((0, 1),)),),
    "what MLPs read": (Patch("blocks.1.ln2.hook_normalized", "two one"),),
    "neurons": (Patch("blocks.1.mlp.hook_post", "two one"),),
    "an MLP": (Drop(1, "MLP"),),
}


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Transformer]:
    """A tiny model of a kind."""
    folder: Path = tmp_path_factory.mktemp("models")
    return cache(lambda kind: open_tiny(kind, folder / kind))


def configs(kinds: list[str]) -> list[object]:
    """Most of what tells architectures apart is in a few; `make test-all` has the others too."""
    return [kind if kind in TELLING else pytest.param(kind, marks=pytest.mark.thorough) for kind in kinds]


def made(model: Transformer, edits: str) -> Run:
    if edits == "what MLPs read" and "blocks.1.ln2.hook_normalized" not in model.hook_names:
        pytest.skip("its MLPs have no norm of their own before them")
    return run_prompt(model, TEXT, edits=EDITS[edits])


class Theirs:
    """transformers' model of a folder, whose neurons are what the last matrix of each MLP is given."""

    def __init__(self, run: Run) -> None:
        assert run.source.path is not None
        self.model = AutoModelForCausalLM.from_pretrained(run.source.path, attn_implementation="eager").eval()
        self.tokens = run.tokens[None].clone()  # made in inference mode, in which no gradient flows
        names = [name for name, _ in self.model.named_modules() if name.endswith(("mlp.c_proj", "mlp.down_proj"))]
        self.outs: list[nn.Module] = [self.model.get_submodule(name) for name in names]

    def logits(self, layer: int, see: Callable[[Tensor], Tensor | None]) -> Tensor:
        """The logits where a layer's neurons are what `see` makes of them."""

        def hook(module: nn.Module, inputs: tuple[Tensor]) -> tuple[Tensor] | None:
            made = see(inputs[0])
            return None if made is None else (made,)

        handle = self.outs[layer].register_forward_pre_hook(hook)
        try:
            return self.model(self.tokens).logits[0]
        finally:
            handle.remove()


@pytest.fixture(scope="module", params=["mini", "mini-llama"])
def run(request: pytest.FixtureRequest) -> Run:
    """A run of a trained model: GPT-2's kind, and one with gates."""
    return run_prompt(load(request.param), "The cat sat on the mat and the dog sat on")


def question_of(run: Run) -> Question:
    target, distractor = run.next_logits.topk(2).indices.tolist()
    return Question(target, distractor, run.prediction_position)


def test_activations_are_those_of_transformers(run: Run) -> None:
    theirs, seen = Theirs(run), list[Tensor]()
    with torch.no_grad():
        for layer in range(run.cfg.n_layers):
            theirs.logits(layer, lambda post: seen.append(post[0]))
    activations = activations_at(run, 4)
    for layer, post in enumerate(seen):
        torch.testing.assert_close(activations.values.values[layer], post[4], rtol=1e-4, atol=2e-5)
        torch.testing.assert_close(over_prompt(run, (layer, 7)).values.values, post[:, 7], rtol=1e-4, atol=2e-5)


def test_a_gates_parts_make_its_product() -> None:
    run = run_prompt(load("mini-llama"), "The cat sat")
    activations = activations_at(run, 2)
    gate, up = (activations.reads[name].values for name in ("gate", "up"))
    torch.testing.assert_close(torch.nn.functional.silu(gate) * up, activations.values.values, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("back", [0, 3])
def test_gradients_are_those_of_autograd_in_transformers(run: Run, back: int) -> None:
    """Of the tokens before the last one, whose neurons act by attention alone, as of the last."""
    theirs, question = Theirs(run), question_of(run)
    at = question.position - back
    effects = gradient_effects(run, question, at).values
    for layer in (0, run.cfg.n_layers - 1):
        posts = list[Tensor]()
        theirs.logits(layer, posts.append)
        post = posts[0].detach().requires_grad_()
        logits = theirs.logits(layer, lambda _, post=post: post)[question.position]  # type: ignore[misc]
        (gradient,) = torch.autograd.grad(logits[question.target] - logits[question.distractor], post)
        torch.testing.assert_close(effects[layer], (gradient * post)[0, at].detach(), rtol=1e-3, atol=2e-5)


@pytest.mark.parametrize("back", [0, 3])
def test_measured_effects_are_those_of_zeros_in_transformers(run: Run, back: int) -> None:
    theirs, question = Theirs(run), question_of(run)
    at, pair = question.position - back, [question.target, question.distractor]
    neurons = [(0, 3), (0, 11), (run.cfg.n_layers - 1, 5), (1, 2)]
    effects = measured_effects(run, neurons, question, at).values
    with torch.no_grad():
        own = theirs.logits(0, lambda post: None)[question.position, pair]
        for (layer, index), effect in zip(neurons, effects.tolist(), strict=True):

            def zero(post: Tensor, index: int = index) -> Tensor:
                post = post.clone()
                post[:, at, index] = 0
                return post

            without = theirs.logits(layer, zero)[question.position, pair]
            lost = own - without
            assert effect == pytest.approx(float(lost[0] - lost[1]), abs=2e-4)  # of two logits of size 20 in float32


@torch.inference_mode()
def pass_of(run: Run) -> ActivationCache:
    return run_with_edits(run.model, run.tokens[None], run.edits, lambda name: ".mlp." in name, run.bos)[1]


@pytest.mark.parametrize("kind", configs(DENSE))
@pytest.mark.parametrize("edits", EDITS)
def test_activations_are_those_of_a_pass(kind: str, edits: str, opened: Callable[[str], Transformer]) -> None:
    run = made(opened(kind), edits)
    passed, activations = pass_of(run), activations_at(run, POSITION)
    for layer in range(3):
        torch.testing.assert_close(activations.values.values[layer], passed["post", layer][0, POSITION], **CLOSE)
        torch.testing.assert_close(over_prompt(run, (layer, 5)).values.values, passed["post", layer][0, :, 5], **CLOSE)


@pytest.mark.parametrize("kind", configs(DENSE))
@pytest.mark.parametrize("edits", EDITS)
def test_direct_effects_add_up_to_that_of_the_mlps_write(
    kind: str, edits: str, opened: Callable[[str], Transformer]
) -> None:
    run = made(opened(kind), edits)
    effects, whole = direct_effects(run, QUESTION), logit_attribution(run, QUESTION)
    by_name = dict(zip(whole.names, whole.values.values.tolist(), strict=True))
    sums = effects.values.values.sum(-1) + effects.bias.values + effects.edited.values
    for layer in range(3):
        assert float(sums[layer]) == pytest.approx(by_name[f"L{layer} MLP"], rel=1e-5, abs=2e-5)
    behind = edits == "an MLP"
    torch.testing.assert_close(effects.edited.values[[0, 2]], torch.zeros(2).double(), rtol=0, atol=1e-4)
    assert (abs(float(effects.edited.values[1])) > 0.01) == behind


@pytest.mark.parametrize("kind", configs(DENSE))
@pytest.mark.parametrize("edits", EDITS)
def test_gradients_are_those_of_a_pass(kind: str, edits: str, opened: Callable[[str], Transformer]) -> None:
    """By finite differences: a neuron is given a little more, and the difference of the logits moves by so much."""
    run = made(opened(kind), edits)
    effects = gradient_effects(run, QUESTION, POSITION - 1).values
    for layer, index in ((0, 2), (1, 7)):
        post = float(activations_at(run, POSITION - 1).values.values[layer, index])
        higher, lower = (_difference(run, layer, index, post + step) for step in (STEP, -STEP))
        assert float(effects[layer, index]) == pytest.approx(
            post * (higher - lower) / (2 * STEP), rel=0.02, abs=2e-3
        )  # cubes of a step, and 1e-5 of a logit over it


@torch.inference_mode()
def _difference(run: Run, layer: int, index: int, value: float) -> float:
    """Target minus distractor where a neuron gives this value at one position."""

    def put(post: Tensor, hook: object) -> None:
        post[:, POSITION - 1, index] = value

    tap = Chain(run.tap, Hooks([((f"blocks.{layer}.mlp.hook_post",), put)]))
    logits = run.model(run.tokens[None], tap=tap)[0, POSITION].double()
    return float(logits[QUESTION.target] - logits[QUESTION.distractor])


@pytest.mark.parametrize("kind", sorted(set(KINDS) - set(DENSE)))
def test_experts_are_refused_in_a_sentence(kind: str, opened: Callable[[str], Transformer]) -> None:
    with pytest.raises(InputError, match="several experts"):
        activations_at(run_prompt(opened(kind), TEXT), POSITION)


def test_a_neuron_that_there_is_not_is_named(opened: Callable[[str], Transformer]) -> None:
    with pytest.raises(InputError, match="no neuron L1N22: this model has layers 0 to 2 of neurons 0 to 21"):
        over_prompt(run_prompt(opened("gpt2-like"), TEXT), (1, 22))

"""Patchscopes against transformers' own model, whose blocks' inputs are replaced by forward hooks."""

from typing import Any

import pytest
import torch

from headlight.model import load, run_prompt
from headlight.model.base.errors import InputError
from headlight.model.lens.patchscope import Scope, patchscopes
from headlight.model.runs.edits import Drop
from headlight.model.runs.run import Run

PROMPT = "When Mary and John went to the store, John gave a drink to"
MODELS = ("mini", "mini-llama")


def by_transformers(run: Run, position: int, scope: Scope, state: int) -> tuple[torch.Tensor, list[int]]:
    """The next token's logits, and the tokens written, with one state put into the scope's prompt at every pass."""
    from transformers import AutoModelForCausalLM

    own: Any = AutoModelForCausalLM.from_pretrained(run.source.path)
    blocks = [*(own.transformer.h if hasattr(own, "transformer") else own.model.layers)]
    norm = own.transformer.ln_f if hasattr(own, "transformer") else own.model.norm
    modules, states = [*blocks, norm], dict[int, torch.Tensor]()

    def keep(place: int) -> Any:
        return lambda module, args: states.update({place: args[0].clone()})

    handles = [module.register_forward_pre_hook(keep(place)) for place, module in enumerate(modules)]
    own(run.tokens[None])
    for handle in handles:
        handle.remove()
    taken, into = states[state][0, position], state if scope.layer is None else scope.layer
    tokens = run.tokenizer.to_tokens(scope.prompt, True)
    at = tokens.shape[1] - 1 if scope.position is None else scope.position

    def put(module: Any, args: tuple[torch.Tensor, ...]) -> tuple[torch.Tensor, ...]:
        args[0][0, at] = taken
        return args

    modules[into].register_forward_pre_hook(put)
    first: list[torch.Tensor] = []
    for _ in range(scope.n_tokens):
        logits = own(tokens, use_cache=False).logits[0, -1]
        first.append(logits)
        tokens = torch.cat([tokens, logits.argmax()[None, None]], 1)
    return first[0], tokens[0, -scope.n_tokens :].tolist()


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize(
    "scope", [Scope(n_tokens=3), Scope("The drink is for", layer=1, position=3, n_tokens=2)], ids=str
)
def test_a_state_in_another_prompt_says_what_transformers_says(name: str, scope: Scope) -> None:
    run = run_prompt(load(name), PROMPT)
    scopes = patchscopes(run, 2, scope)
    with torch.inference_mode():
        for state in range(run.cfg.n_layers + 1):
            logits, written = by_transformers(run, 2, scope, state)
            # Two forward passes in float32, of logits up to 30.
            torch.testing.assert_close(scopes.logits[state], logits, rtol=1e-4, atol=1e-3)
            assert scopes.written[state].tolist() == written
        untouched = run.model(run.tokenizer.to_tokens(scope.prompt, True))[0, -1]
    torch.testing.assert_close(scopes.logits[-1], untouched, rtol=1e-4, atol=1e-4)  # a row of a batch, and alone


def test_the_last_state_at_the_last_token_is_the_prediction_and_edits_are_in_it() -> None:
    run = run_prompt(load("mini"), PROMPT, edits=(Drop(3),))
    scopes = patchscopes(run, run.prediction_position, Scope(n_tokens=0))
    torch.testing.assert_close(scopes.logits[-2], run.next_logits, rtol=1e-4, atol=1e-4)  # another batch
    assert scopes.written.shape == (run.cfg.n_layers + 2, 0)


@pytest.mark.parametrize(
    ("scope", "said"),
    [
        (Scope(position=40), "no position 40"),
        (Scope(layer=9), "states are 0 to 4"),
        (Scope(n_tokens=99), "0 to 50 tokens"),
        (Scope("one " * 300), "the model holds 256"),
    ],
)
def test_what_there_is_not_is_refused(scope: Scope, said: str) -> None:
    with pytest.raises(InputError, match=said):
        patchscopes(run_prompt(load("mini"), "one two"), 0, scope)

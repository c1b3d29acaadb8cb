"""Patchscopes: patch a hidden state of one prompt into another, whose continuation decodes it."""

from collections.abc import Hashable
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from headlight.model.base.errors import InputError
from headlight.model.nn.hooks import Edit, HookPoint
from headlight.model.nn.transformer import Transformer
from headlight.model.runs.run import Run, tokenizer_of

IDENTITY = "cat -> cat; 1135 -> 1135; hello -> hello; ?"
MAX_TOKENS = 50

Streams = Float[Tensor, "row pos d_model"]


@dataclass(frozen=True)
class Scope:
    """The target prompt of a patchscope.

    Attributes:
        prompt: the prompt that hidden states are patched into.
        layer: the layer to patch, 0 for the embedding; None for the layer that each state comes from.
        position: the position to patch, by default the last.
        n_tokens: number of tokens to generate after the prompt.

    Source: Ghandeharioun et al. 2024, "Patchscopes", arXiv 2401.06102; the default prompt is from its section 4.1,
    which makes a model repeat a token.
    """

    prompt: str = IDENTITY
    layer: int | None = None
    position: int | None = None
    n_tokens: int = 5


@dataclass(frozen=True, eq=False)
class Patchscopes:
    """Patchscope results: a row for every state of a position, and a last row for the unpatched prompt.

    - tokens: the prompt's, and `position` the one whose state is replaced.
    - logits: of the next token.
    - written: the tokens that it goes on with, each the likeliest.
    """

    tokens: Int[Tensor, " pos"]
    position: int
    logits: Float[Tensor, "state d_vocab"]
    written: Int[Tensor, "state written"]


def no_scope(run: Run) -> str:
    """Why a run's model can tell nothing of a state, in a sentence; nothing where it can."""
    if run.cfg.attention_dir == "causal":
        return ""
    return f"{run.source.name} reads in both directions and does not go on with a prompt, so it cannot tell of a state."


def patchscopes(run: Run, position: int, scope: Scope) -> Patchscopes:
    """Insert each state at a run's position into the scope's prompt in turn, and generate from it.

    The run's edits are in its states; the scope's prompt is read without any.

    Raises:
        InputError: a prompt that the model does not take, a layer or position that there is not, or a model that does
            not write.
        HeadlightError: the run's host lets no more passes in.
    """
    return run.keep(scope_key(position, scope), lambda: _patchscopes(run, position, scope))


def scope_key(position: int, scope: Scope) -> Hashable:
    """The run's cache key."""
    return "patchscopes", position, scope


def _patchscopes(run: Run, position: int, scope: Scope) -> Patchscopes:
    tokens = _tokens(run, scope)
    at = len(tokens) - 1 if scope.position is None else scope.position
    if not 0 <= at < len(tokens):
        raise InputError(
            f"There is no position {at}: the prompt has tokens 0 to {len(tokens) - 1}. Choose one of these."
        )
    states = torch.cat(list(run.streams(slice(position, position + 1))))
    places = [state if scope.layer is None else scope.layer for state in range(len(states))]
    model = run.host.on_device(run.model)
    rows = tokens.expand(len(states) + 1, -1).to(run.host.device)
    with run.host.turn(), torch.inference_mode():
        put = _Put(model, states.to(run.host.device), places, at)
        logits = put.logits(rows)
        first = logits.cpu()
        for step in range(scope.n_tokens):
            logits = put.logits(rows) if step else logits
            rows = torch.cat([rows, logits.argmax(-1, keepdim=True)], 1)
    return Patchscopes(tokens, at, first, rows[:, len(tokens) :].cpu())


def _tokens(run: Run, scope: Scope) -> Int[Tensor, " pos"]:
    """The tokens of the scope's prompt, after checking that the model can run it."""
    cfg = run.cfg
    if why := no_scope(run):
        raise InputError(why)
    tokens = tokenizer_of(run.model).to_tokens(scope.prompt, run.bos)[0]
    if not 0 <= scope.n_tokens <= MAX_TOKENS or (scope.layer is not None and not 0 <= scope.layer <= cfg.n_layers):
        raise InputError(
            f"State {scope.layer} and {scope.n_tokens} tokens are out of range; the states are 0 to {cfg.n_layers}, "
            f"and 0 to {MAX_TOKENS} tokens can be written."
        )
    if not 1 <= len(tokens) <= cfg.n_ctx - scope.n_tokens:
        raise InputError(
            f"The prompt has {len(tokens)} tokens, and {scope.n_tokens} are to be written; the model holds {cfg.n_ctx} "
            "in all. Shorten it, or have fewer written."
        )
    return tokens


class _Put:
    """Passes over one prompt in which each row but the last has another state in one place."""

    def __init__(
        self, model: Transformer, states: Float[Tensor, "state d_model"], places: list[int], position: int
    ) -> None:
        self._model, self._states, self._places, self._position = model, states, places, position
        names = {place: f"blocks.{place}.hook_resid_pre" for place in places if place < model.cfg.n_layers}
        self._tap = Edit([((name,), self._replace) for name in names.values()])

    def _replace(self, resid: Streams, hook: HookPoint) -> None:
        self._put(resid, hook.layer())

    def _put(self, resid: Streams, place: int) -> None:
        rows = [row for row, own in enumerate(self._places) if own == place]
        resid[rows, self._position] = self._states[rows].to(resid.dtype)

    def logits(self, rows: Int[Tensor, "row pos"]) -> Float[Tensor, "row d_vocab"]:
        """The next token's logits in each row."""
        n_layers = self._model.cfg.n_layers
        final = self._model(rows, tap=self._tap, stop_at_layer=n_layers)
        self._put(final, n_layers)
        return self._model.to_logits(final[:, [-1]])[:, 0]

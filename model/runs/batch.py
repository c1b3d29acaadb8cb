"""Runs of several prompts in one forward pass, which reads each weight once for all of them."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Int
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from headlight.model.nn.config import TransformerConfig
from headlight.model.nn.hooks import NO_TAP, Chain, Look, Tap
from headlight.model.nn.transformer import Transformer
from headlight.model.runs.host import HERE, Host
from headlight.model.runs.kept import Keep
from headlight.model.runs.run import Run, finish_run, prediction_position
from headlight.model.text.chat import Begin

BY_LENGTH = ("dynamic", "longrope")  # scalings of rotary positions that depend on how long the text is


@dataclass(frozen=True, eq=False)
class Prompt:
    """A prompt without edits, and its token ids."""

    text: str
    bos: Begin
    tokens: Int[Tensor, " pos"]


def can_pad(cfg: TransformerConfig) -> bool:
    """Whether tokens behind a prompt change nothing at it, so that prompts of several lengths can share a pass."""
    scaling = cfg.rotary_scaling
    return cfg.attention_dir == "causal" and not cfg.pools_mean and (scaling is None or scaling.kind not in BY_LENGTH)


def make_runs(
    model: Transformer,
    prompts: Sequence[Prompt],
    on: Transformer | None = None,
    host: Host = HERE,
    watch: Tap = NO_TAP,
) -> list[Run]:
    """Several prompts' runs, as `make_run` makes each: equal but for the rounding of sums in another order.

    Shorter prompts are padded at the end; they have to be of one length where the model does not allow that
    (`can_pad`). `on` is a copy of the model on another device, where the pass is to be made. `watch` sees the whole
    batch.

    Raises:
        NotFiniteError: numbers of one of the runs become infinite.
    """
    running, tokens = on or model, [prompt.tokens for prompt in prompts]
    inputs = pad_sequence(tokens, batch_first=True).to(running.embed.W_E.device)
    keeps = [Keep(model) for _ in tokens]
    final = running(inputs, tap=Chain(_Parts(keeps, tokens), watch), stop_at_layer=model.cfg.n_layers)
    places = torch.tensor([prediction_position(model, ids) for ids in tokens], device=final.device)
    logits = running.to_logits(final[torch.arange(len(tokens), device=final.device), places][:, None])[:, 0].cpu()
    return [
        finish_run(model, prompt.text, prompt.bos, prompt.tokens, keep, stream[: len(prompt.tokens)], last, host=host)
        for prompt, keep, stream, last in zip(prompts, keeps, final, logits, strict=True)
    ]


class _Parts(Tap):
    """Passes each prompt's part of every activation, which is [batch, pos, ...], to its tap, without the padding."""

    def __init__(self, taps: Sequence[Tap], tokens: Sequence[Int[Tensor, " pos"]]) -> None:
        self._rows = [(row, tap, len(ids)) for row, (tap, ids) in enumerate(zip(taps, tokens, strict=True))]

    def __call__(self, name: str, activation: Tensor) -> Tensor:
        for row, tap, n_pos in self._rows:
            tap(name, activation[row : row + 1, :n_pos])
        return activation

    def look(self, name: str) -> Look:
        return Look.WHOLE if any(tap.look(name) for _, tap, _ in self._rows) else Look.NEVER

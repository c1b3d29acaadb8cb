"""A run goes on from a layer with taps of its own, from the stream, keys and values that the run has kept."""

from collections.abc import Callable, Sequence

import torch
from jaxtyping import Float
from torch import Tensor

from headlight.model.nn.hooks import Chain, Look, Tap
from headlight.model.nn.layers import place
from headlight.model.nn.transformer import Transformer
from headlight.model.runs.edits.interventions import abreast
from headlight.model.runs.edits.kinds import layer_of
from headlight.model.runs.host import Steps
from headlight.model.runs.run import Run, once_more

MAX_ABREAST = 256  # tokens; of longer prompts one variant at a time takes no more memory than the run itself did


def end_of(run: Run, position: int) -> int:
    """Number of tokens that can affect the prediction at a position; edits apply to all tokens at once."""
    return position + 1 if run.cfg.attention_dir == "causal" and not run.edits else len(run.tokens)


def resume_from(
    run: Run, layer: int, taps: Sequence[Tap], position: int, n_past: int, steps: Steps
) -> Float[Tensor, "variant d_vocab"]:
    """The logits at a position, before any soft cap, when the model runs on from the run's stream before a layer.

    It does so with each of the taps. The first `n_past` positions are not run: their keys and values are the run's. A
    run with edits is made anew.
    """
    if run.edits:
        return torch.stack([_anew(run, tap, position, run.cfg.n_layers - layer, steps) for tap in taps])
    at_once = len(taps) if end_of(run, position) - n_past <= MAX_ABREAST else 1
    with run.host.turn():
        rows = [taps[slot : slot + at_once] for slot in range(0, len(taps), at_once)]
        return torch.cat([_abreast(run, layer, each, position, n_past, steps) for each in rows])


def _anew(run: Run, tap: Tap, position: int, n_layers: int, steps: Steps) -> Float[Tensor, " d_vocab"]:
    final = once_more(run, tap, stop_at_layer=run.cfg.n_layers)
    steps.add(n_layers)
    return run.model.before_cap(run.model.read_from(final[None], position))[0, 0]


def _abreast(
    run: Run, layer: int, taps: Sequence[Tap], position: int, n_past: int, steps: Steps
) -> Float[Tensor, "variant d_vocab"]:
    model, device, end = run.host.on_device(run.model), run.host.device, end_of(run, position)
    resid, tap = run.stream(layer)[None, n_past:end].to(device), Chain(Past(run, n_past), abreast(taps))
    resid = onward(model, resid, layer, end, tap, lambda: steps.add(len(taps)))
    return model.before_cap(model.read_from(resid, position - n_past))[:, 0].cpu()


def onward(
    model: Transformer,
    resid: Float[Tensor, "1 pos d_model"],
    layer: int,
    end: int,
    tap: Tap,
    after_each: Callable[[], None] = lambda: None,
) -> Float[Tensor, "batch pos d_model"]:
    """The final stream of the last positions before `end`, from theirs before a layer."""
    positions = place(model.cfg.attention_dir, None, end, resid.device, resid.shape[1])
    for index in range(layer, model.cfg.n_layers):
        resid = model.blocks[index](resid, positions, tap.within(f"blocks.{index}"))
        after_each()
    return resid


class Past(Tap):
    """Puts a run's keys and values of the first positions before the new ones."""

    def __init__(self, run: Run, n_past: int) -> None:
        self._run, self._n_past = run, n_past

    def look(self, name: str) -> Look:
        return Look.NEVER

    def with_past(self, k: Tensor, v: Tensor, at: str = "") -> tuple[Tensor, Tensor]:
        if self._n_past == 0:
            return k, v
        layer = layer_of(f"{at}.")
        assert layer is not None  # a run's keys are those of a block
        return self._after(self._run.keys(layer), k), self._after(self._run.values(layer), v)

    def _after(self, past: Tensor, new: Tensor) -> Tensor:
        past = past[: self._n_past].to(new.device)
        return torch.cat([past.expand(len(new), *past.shape), new], dim=1)

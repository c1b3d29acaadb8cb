"""Loss on second copies with single heads ablated, and the labels that it supports."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import torch

from headlight.model.measure import Measure
from headlight.model.measure.difference import subtract
from headlight.model.nn.hooks import NO_TAP, Chain, Tap
from headlight.model.nn.layers import place
from headlight.model.roles import detectors, sequences
from headlight.model.roles.detectors import Estimate, Kind, Verdict
from headlight.model.roles.head_scores import next_token_loss
from headlight.model.runs.edits import Ablation, Head
from headlight.model.runs.edits.editing import tap
from headlight.model.runs.edits.interventions import ablate_head, abreast

ABLATIONS: dict[Ablation, str] = {"zero": "zeroed", "mean": "mean-ablated"}


@dataclass(frozen=True)
class Losses:
    """The loss on a second copy (nats a token): untouched, and with one head ablated."""

    untouched: float
    ablated: Mapping[Ablation, float]


Effects = Mapping[Ablation, Estimate]
"""The change of the loss on second copies when a head is ablated (nats a token), by the way that was done."""


def ablation_losses(repeat: sequences.Sequence, heads: Sequence[Head]) -> dict[Head, Losses]:
    """The loss on a random repeat's second copy, untouched and with each of the heads ablated, side by side.

    Raises:
        HeadlightError: the model does not allow one of the edits, or the host lets no more passes in.
    """
    variants = [(head, mode) for head in heads for mode in ABLATIONS]
    taps = [NO_TAP, *(ablate_head(*head, mode) for head, mode in variants)]
    untouched, *rest = _losses(repeat, taps, min(layer for layer, _ in heads))
    losses = dict(zip(variants, rest, strict=True))
    return {head: Losses(untouched, {mode: losses[head, mode] for mode in ABLATIONS}) for head in heads}


def _losses(repeat: sequences.Sequence, taps: Sequence[Tap], first: int) -> list[float]:
    """The loss on the second copy with each of the taps; none acts before the layer `first`, which is run to once.

    With edits every row begins at the embedding: an edit may act anywhere.
    """
    model, tokens, start, host = repeat.model, repeat.tokens, repeat.start, repeat.host
    running, half = host.on_device(model), (len(tokens) - start) // 2
    inputs, first = tokens[None].to(host.device), 0 if repeat.edits else first
    positions = place(model.cfg.attention_dir, None, len(tokens), inputs.device)
    with host.turn(), torch.inference_mode():
        edits = tap(running, inputs, repeat.edits, repeat.bos)
        side_by_side = abreast([Chain(edits, each) for each in taps] if repeat.edits else taps)
        resid = running(inputs, stop_at_layer=first).expand(len(taps), -1, -1)
        for layer in range(first, model.cfg.n_layers):
            resid = running.blocks[layer](resid, positions, side_by_side.within(f"blocks.{layer}"))
        # A row at a time: all rows' logits are many times what else a run takes.
        rows, copy = resid[:, start + half :].split(1), inputs[:, start + half :]
        return [float(next_token_loss(running.to_logits(row), copy)) for row in rows]


def effects(losses: Sequence[Losses | None]) -> Effects:
    """Effects of ablating a head over repeats; empty where one of these was not measured."""
    known = [each for each in losses if each is not None]
    if len(known) < len(losses) or not known:
        return {}
    return _estimates(map(_changes, known))


def effect_differences(pairs: Iterable[tuple[Losses, Losses]]) -> Effects:
    """B - A of the effects of ablating a head, repeat by repeat."""
    return _estimates(subtract(_changes(a), _changes(b)) for a, b in pairs)


def _changes(losses: Losses) -> dict[Ablation, Measure]:
    changes = {mode: torch.tensor(losses.ablated[mode] - losses.untouched) for mode in ABLATIONS}
    return {
        mode: Measure(f"change of the loss on second copies ({mode}-ablated)", "nats", (), change)
        for mode, change in changes.items()
    }


def _estimates(changes: Iterable[Mapping[Ablation, Measure]]) -> Effects:
    every = list(changes)
    return {mode: detectors.estimate([each[mode] for each in every]) for mode in ABLATIONS}


def verdict(kind: Kind, measured: Effects) -> Verdict:
    """Whether the ablations support a label."""
    return detectors.verdict(kind, [float(each.low.values) for each in measured.values()])

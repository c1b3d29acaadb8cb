"""Lens of a run: the prediction after each layer, and the probability of one token there.

Each function takes the lens that the states are read by; without one it is the logit lens.
"""

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import replace

import torch
from jaxtyping import Float, Int
from torch import Tensor

from headlight.model.compute import affine
from headlight.model.lens import logit_lens as lens
from headlight.model.lens.kinds import LOGIT, Lens
from headlight.model.measure import Measure
from headlight.model.runs.host import kept
from headlight.model.runs.run import Run


def logit_lens(run: Run, by: Lens = LOGIT) -> lens.LogitLens:
    """Every layer's and position's distribution in short; -1 and not-a-number after layers that the lens has no map of.

    Raises:
        HeadlightError: the run's host lets no more passes in.
    """
    parts = lens_begins(run)
    return run.keep(lens_key(by), lambda: lens.joined([logit_lens_from(run, begin, by) for begin in parts]))


def lens_key(by: Lens, begin: int | None = None) -> Hashable:
    """The run's cache key of a lens, whole or for the part that begins at a position."""
    own: tuple[Hashable, ...] = () if by == LOGIT else (by,)
    if begin is None:
        return ("lens", *own) if own else "lens"
    return ("lens", begin, *own)


def lens_begins(run: Run) -> range:
    """Starts of the chunks in which a run's positions are read: all streams at once would take more memory."""
    return range(0, len(run.tokens), max(1, lens.ROWS // (run.cfg.n_layers + 1)))


def logit_lens_from(run: Run, begin: int, by: Lens = LOGIT) -> lens.LogitLens:
    """The lens at the positions of one part.

    Raises:
        HeadlightError: the run's host lets no more passes in.
    """
    part = slice(begin, begin + lens_begins(run).step)
    return run.keep(lens_key(by, begin), lambda: _logit_lens(run, part, by))


def _logit_lens(run: Run, positions: slice, by: Lens) -> lens.LogitLens:
    with run.host.turn(), torch.inference_mode():
        read = lens.logit_lens(
            *_read_with(run, positions, by), multiply=affine, soft_cap=run.cfg.output_logits_soft_cap
        )
    return lens.LogitLens(**{name: _on_all_layers(run, by, each) for name, each in vars(read).items()})


def mean_divergences(run: Run, by: Lens = LOGIT) -> Measure:
    """KL(final || layer) [layer] in nats, the mean over the run's positions.

    Raises:
        HeadlightError: the run's host lets no more passes in.
    """
    divergences = logit_lens(run, by).kl_from_final
    return Measure(f"mean {divergences.name}", divergences.unit, ("layer",), divergences.values.mean(1))


@kept
def followed_probabilities(run: Run, token: int, by: Lens = LOGIT) -> Measure:
    """One token's probability at every layer and position."""
    return _probabilities_of(run, torch.full((len(run.tokens), 1), token), by)


@kept
def final_probabilities(run: Run, by: Lens = LOGIT) -> Measure:
    """The probability at every layer of each position's final answer: the last layer's best token there."""
    return _probabilities_of(run, logit_lens(run, by).top_tokens.values[-1, :, :1], by)


def _probabilities_of(run: Run, chosen: Int[Tensor, "pos 1"], by: Lens) -> Measure:
    """The probability of each position's chosen token at every layer."""
    normalizer = logit_lens(run, by).log_normalizer
    normalizer = replace(normalizer, values=normalizer.values[list(by.reads(run.cfg.n_layers))])
    with torch.inference_mode():
        cap = run.cfg.output_logits_soft_cap
        probabilities = lens.chosen_probabilities(*_read_with(run, slice(None), by), normalizer, chosen, cap)
    return _on_all_layers(
        run, by, Measure(probabilities.name, probabilities.unit, ("layer", "pos"), probabilities.values[..., 0])
    )


@kept
def followed_ranks(run: Run, token: int, position: int | None = None, by: Lens = LOGIT) -> Measure:
    """One token's rank at every layer, and at one position or at every one, each of which takes all logits there.

    It is -1 where the lens reads nothing.

    Raises:
        HeadlightError: the run's host lets no more passes in.
    """
    positions = slice(None) if position is None else slice(position, position + 1)
    chosen = torch.full((len(run.tokens[positions]), 1), token)
    with run.host.turn(), torch.inference_mode():
        ranks = lens.chosen_ranks(*_read_with(run, positions, by), chosen, multiply=affine)
    return _on_all_layers(run, by, Measure(ranks.name, ranks.unit, ("layer", "pos"), ranks.values[..., 0]))


def _on_all_layers(run: Run, by: Lens, read: Measure) -> Measure:
    """Spread readings of some layers over all layers, with -1 or NaN for those that were not read."""
    states, n_states = list(by.reads(run.cfg.n_layers)), run.cfg.n_layers + 1
    if len(states) == n_states:
        return read
    fill = torch.nan if read.values.is_floating_point() else -1
    values = read.values.new_full((n_states, *read.values.shape[1:]), fill)
    values[states] = read.values
    return replace(read, values=values)


def _read_with(
    run: Run, positions: slice, by: Lens = LOGIT
) -> tuple[Sequence[Float[Tensor, "pos d_model"]], lens.Normalize, Tensor, Tensor]:
    """Lens logits: the streams at these positions after the lens's map, the final norm and the unembedding."""
    model = run.model
    return (
        list(_carried(run, positions, by)),
        lambda rows: model.to_unembed(rows[None])[0],
        model.unembed.W_U,
        model.unembed.b_U,
    )


def _carried(run: Run, positions: slice, by: Lens) -> Iterator[Float[Tensor, "pos d_model"]]:
    wanted, last = by.reads(run.cfg.n_layers), run.cfg.n_layers
    for state, resid in enumerate(run.streams(positions)):
        if state in wanted:
            yield resid if state == last else by.carried(state, resid)

"""Lens of a run: the prediction after each layer, and the probability of one token there.

Each function takes the lens that the states are read by; without one it is the logit lens.
"""

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import replace

import torch
from jaxtyping import Float
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
    return run.keep(lens_key(by), lambda: lens.joined([logit_lens_of(run, part, by) for part in parts_of(run)]))


def lens_key(by: Lens, part: range | None = None) -> Hashable:
    """The run's cache key of a lens, whole or of one part."""
    own: tuple[Hashable, ...] = () if by == LOGIT else (by,)
    if part is None:
        return ("lens", *own) if own else "lens"
    return ("lens", part, *own)


def parts_of(run: Run) -> list[range]:
    """Positions that are read together, the first ones first: all streams at once would take more memory."""
    n_pos, step = len(run.tokens), max(1, lens.ROWS // (run.cfg.n_layers + 1))
    return [range(begin, min(begin + step, n_pos)) for begin in range(0, n_pos, step)]


def part_with(run: Run, position: int) -> range:
    """The part that a position is read in."""
    return next(part for part in parts_of(run) if position in part)


def logit_lens_of(run: Run, part: range, by: Lens = LOGIT) -> lens.LogitLens:
    """The lens at the positions of one part.

    Raises:
        HeadlightError: the run's host lets no more passes in.
    """
    return run.keep(lens_key(by, part), lambda: _logit_lens(run, _slice(part), by))


def logit_lens_at(run: Run, position: int, by: Lens = LOGIT) -> lens.LogitLens:
    """The lens at one position [layer, 1], for which no other part has to be read.

    Raises:
        HeadlightError: the run's host lets no more passes in.
    """
    part = part_with(run, position)
    return lens.at(logit_lens_of(run, part, by), position - part.start)


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
def followed_probabilities(run: Run, token: int, by: Lens = LOGIT, positions: range | None = None) -> Measure:
    """One token's probability at every layer, and at every position or those of a part."""
    normalizer = (logit_lens(run, by) if positions is None else logit_lens_of(run, positions, by)).log_normalizer
    normalizer = replace(normalizer, values=normalizer.values[list(by.reads(run.cfg.n_layers))])
    chosen = torch.full((normalizer.values.shape[1], 1), token)
    with torch.inference_mode():
        cap = run.cfg.output_logits_soft_cap
        probabilities = lens.chosen_probabilities(*_read_with(run, _slice(positions), by), normalizer, chosen, cap)
    return _of_one(run, by, probabilities)


def followed_ranks(run: Run, token: int, by: Lens = LOGIT, positions: range | None = None) -> Measure:
    """One token's rank at every layer, and at every position or some, each of which takes all logits there.

    It is -1 where the lens reads nothing.

    Raises:
        HeadlightError: the run's host lets no more passes in.
    """
    if positions is None:
        ranks = [followed_ranks(run, token, by, each) for each in parts_of(run)]
        return replace(ranks[0], values=torch.cat([each.values for each in ranks], dim=1))
    return run.keep(ranks_key(token, by, positions), lambda: _ranks(run, token, by, positions))


def ranks_key(token: int, by: Lens, positions: range) -> Hashable:
    """The run's cache key of one token's ranks at some positions."""
    return "ranks", token, by, positions


def _ranks(run: Run, token: int, by: Lens, positions: range) -> Measure:
    chosen = torch.full((len(positions), 1), token)
    with run.host.turn(), torch.inference_mode():
        return _of_one(run, by, lens.chosen_ranks(*_read_with(run, _slice(positions), by), chosen, multiply=affine))


def _slice(positions: range | None) -> slice:
    return slice(None) if positions is None else slice(positions.start, positions.stop)


def _of_one(run: Run, by: Lens, read: Measure) -> Measure:
    """Readings of one token on all layers, without the axis of tokens."""
    return _on_all_layers(run, by, Measure(read.name, read.unit, ("layer", "pos"), read.values[..., 0]))


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

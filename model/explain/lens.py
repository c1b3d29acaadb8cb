"""The logit lens of a run: what the model would say after each layer, and how likely one token is there."""

import torch
from torch import Tensor

from headlight.model.analysis import Measure, lens
from headlight.model.kernels import affine
from headlight.model.run import Run


def logit_lens(run: Run) -> lens.LogitLens:
    """Every layer's and position's distribution in short.

    Raises:
        HeadlightError: the run's host lets no more passes in.
    """
    return run.keep("lens", lambda: lens.joined([logit_lens_from(run, begin) for begin in lens_begins(run)]))


def lens_begins(run: Run) -> range:
    """Where the parts begin in which a run's positions are read: all streams at once would take more room."""
    return range(0, len(run.tokens), max(1, lens.ROWS // (run.cfg.n_layers + 1)))


def logit_lens_from(run: Run, begin: int) -> lens.LogitLens:
    """The lens at the positions of one part.

    Raises:
        HeadlightError: the run's host lets no more passes in.
    """
    return run.keep(("lens", begin), lambda: _logit_lens(run, slice(begin, begin + lens_begins(run).step)))


def _logit_lens(run: Run, positions: slice) -> lens.LogitLens:
    with run.host.turn(), torch.inference_mode():
        return lens.logit_lens(*_read_with(run, positions), multiply=affine)


def followed_probabilities(run: Run, token: int) -> Measure:
    """One token's probability at every layer and position."""
    return run.keep(("followed", token), lambda: _followed_probabilities(run, token))


def _followed_probabilities(run: Run, token: int) -> Measure:
    read, chosen = logit_lens(run), torch.full((len(run.tokens), 1), token)
    with torch.inference_mode():
        found = lens.chosen_probabilities(*_read_with(run, slice(None)), read.log_normalizer, chosen)
    return Measure(found.name, found.unit, ("layer", "pos"), found.values[..., 0])


def followed_ranks(run: Run, token: int, position: int | None = None) -> Measure:
    """One token's rank at every layer, and at one position or at every one, each of which takes all logits there.

    Raises:
        HeadlightError: the run's host lets no more passes in.
    """
    return run.keep(("ranks", token, position), lambda: _followed_ranks(run, token, position))


def _followed_ranks(run: Run, token: int, position: int | None) -> Measure:
    positions = slice(None) if position is None else slice(position, position + 1)
    chosen = torch.full((len(run.tokens[positions]), 1), token)
    with run.host.turn(), torch.inference_mode():
        found = lens.chosen_ranks(*_read_with(run, positions), chosen, multiply=affine)
    return Measure(found.name, found.unit, ("layer", "pos"), found.values[..., 0])


def _read_with(run: Run, positions: slice) -> tuple[lens.Streams, lens.Normalize, Tensor, Tensor]:
    """What the lens reads: the streams at these positions, the final norm and the unembedding."""
    model = run.model
    return (
        run.streams(positions),
        lambda rows: model.to_unembed(rows[None])[0],
        model.unembed.W_U,
        model.unembed.b_U,
    )

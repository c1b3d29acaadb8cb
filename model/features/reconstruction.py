"""A dictionary on a run: active features, reconstruction error, and the loss with it spliced in."""

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional as F

from headlight.model.features.effects import activation
from headlight.model.features.splice import Splice
from headlight.model.measure import Measure
from headlight.model.measure.likelihood import kl_divergence
from headlight.model.nn.hooks import NO_TAP
from headlight.model.runs.dictionary import Dictionaries, Dictionary
from headlight.model.runs.host import kept
from headlight.model.runs.run import Run, once_more

ROWS = 256  # positions that are read at once: their features take 16 MB of a dictionary of 16,384


@dataclass(frozen=True, eq=False)
class Read:
    """Active features of a dictionary in a run, and its reconstruction error.

    Entry i says that feature `features[i]` is active at `positions[i]` with `values[i]`. `lengths` [pos] are the norms
    of what the dictionary stands for, `errors` [pos] those of what it misses of that; `explained` [] is the share of
    the variance over this run's positions that it explains, NaN where nothing varies.
    """

    positions: Int[Tensor, " entry"]
    features: Int[Tensor, " entry"]
    values: Float[Tensor, " entry"]
    lengths: Measure
    errors: Measure
    explained: Measure

    def activation(self, feature: int) -> Measure:
        """Activation of one feature at each position."""
        values = torch.zeros_like(self.lengths.values)
        mine = self.features == feature
        values[self.positions[mine]] = self.values[mine]
        return Measure("feature's activation", "activation", ("pos",), values)

    def strongest(self, count: int, position: int | None = None) -> list[int]:
        """The features that are most active at one position, or after the first token, the most active first.

        Those that are active at the first token alone come last: what many heads rest on is often a hundred times as
        long as any other activation, and says nothing of the prompt.
        """
        order = self.values.argsort(descending=True, stable=True)
        at = self.positions[order]
        order = torch.cat([order[at > 0], order[at == 0]]) if position is None else order[at == position]
        return list(dict.fromkeys(self.features[order].tolist()))[:count]

    def peak(self, feature: int) -> float:
        """The largest activation of a feature after the first token."""
        values = self.activation(feature).values
        return float(values[min(1, len(values) - 1) :].max())

    @property
    def n_active(self) -> Measure:
        """Number of active features at each position."""
        counts = torch.bincount(self.positions, minlength=len(self.lengths.values))
        return Measure("active features", "features", ("pos",), counts)


@dataclass(frozen=True, eq=False)
class InPlace:
    """The model's loss with the dictionary spliced in at every position.

    `loss` and `loss_in_place` [] are the means of the next token's (nats), NaN where the model predicts no next token.
    `moved` [pos] is KL(run || with the dictionary in place), whatever is predicted.
    """

    loss: Measure
    loss_in_place: Measure
    moved: Measure


def written_by(opened: Dictionaries, layer: int) -> list[tuple[Dictionary, int]]:
    """The dictionaries that write to what a layer's stands for first, each with which of its outputs that is."""
    hook = opened[layer].hooks_out[0]
    return [(each, each.hooks_out.index(hook)) for each in opened.values() if hook in each.hooks_out]


@kept
@torch.inference_mode()
def read_features(run: Run, opened: Dictionaries, layer: int) -> Read:
    """Read a layer's dictionary on a run: active features and reconstruction error.

    What it stands for is made by all those that were opened with it and write there, as layers of a cross-layer
    transcoder do.

    Raises:
        HeadlightError: the run's host lets no more passes in.
    """
    dictionary, writers = opened[layer], written_by(opened, layer)
    written = activation(run, dictionary.hooks_out[0])
    missed, entries = written.clone(), list[tuple[Tensor, Tensor, Tensor]]()
    for start in range(0, len(written), ROWS):
        rows = slice(start, start + ROWS)
        for writer, out in writers:
            read = activation(run, writer.hook_in)[rows]
            acts = writer.encode(read)
            missed[rows] -= writer.decode(acts, read, out)
            if writer is dictionary:
                at, feature = acts.nonzero(as_tuple=True)
                entries.append((at + start, feature, acts[at, feature]))
    varied = (written - written.mean(0)).square().sum()
    explained = 1 - missed.square().sum() / varied if varied > 0 else torch.tensor(torch.nan)
    positions, features, values = (torch.cat(parts) for parts in zip(*entries, strict=True))
    return Read(
        positions,
        features,
        values,
        Measure("length of the activation", "L2 norm", ("pos",), written.norm(dim=-1)),
        Measure("length of what the dictionary misses", "L2 norm", ("pos",), missed.norm(dim=-1)),
        Measure("explained variance", "share", (), explained),
    )


@kept
def in_place(run: Run, opened: Dictionaries, layer: int) -> InPlace:
    """Measure the model's loss and KL divergence with a layer's dictionary spliced in.

    Raises:
        HeadlightError: the run's host lets no more passes in.
    """
    splice = Splice(opened.values(), opened[layer].hooks_out[:1])
    with torch.inference_mode():
        own, made = (once_more(run, tap).float() for tap in (NO_TAP, splice))
        moved = kl_divergence(own, made, run.cfg.multi_label).values
        moved = moved if run.cfg.output != "none" else torch.full_like(moved, torch.nan)
        losses = [_loss(run, logits) for logits in (own, made)]
    return InPlace(
        Measure("loss", "nats", (), losses[0]),
        Measure("loss with the dictionary in place", "nats", (), losses[1]),
        Measure("KL(run || dictionary in place)", "nats", ("pos",), moved),
    )


def _loss(run: Run, logits: Float[Tensor, "pos d_vocab"]) -> Float[Tensor, ""]:
    """The mean of the next token's loss; NaN where there is no next token, or none that the model predicts."""
    if run.cfg.attention_dir != "causal" or len(run.tokens) < 2 or not run.cfg.predicts_tokens:
        return torch.tensor(torch.nan)
    return F.cross_entropy(logits[:-1], run.tokens[1:])

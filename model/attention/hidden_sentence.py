"""What later sentences lose when one is hidden from them: KL of their next-token distributions.

Nothing behind a hidden sentence attends to it, in any head and layer. Since no token before it can see it either, that
is a pass over all other tokens at the positions that they have in the whole text.

Source: Bogdan, Macar, Nanda and Conmy 2025, "Thought Anchors: Which LLM Reasoning Steps Matter?" (they suppress
attention).
"""

import torch
from jaxtyping import Float
from torch import Tensor

from headlight.model.attention.axis import Axis, Unit, grouping
from headlight.model.base.errors import InputError
from headlight.model.measure import Measure
from headlight.model.measure.alignment import on_axis
from headlight.model.measure.likelihood import kl_divergence
from headlight.model.nn.hooks import BeforeLayers
from headlight.model.runs.comparison import Comparison
from headlight.model.runs.host import Steps, kept
from headlight.model.runs.run import Run

POSITIONS = 64  # whose logits over the vocabulary are held at a time: 50 MB in float64 at 50,000 tokens and twice


def cannot_hide(run: Run) -> str:
    """Why no sentence of a run can be hidden, where none can; a sentence for the user."""
    if run.cfg.attention_dir != "causal":
        return "This model's tokens see later ones too, so that a hidden sentence has no before and after."
    if run.cfg.output != "tokens":
        return "This model outputs no next token, so that later sentences have no distribution to compare."
    return "Remove the run's edits to hide a sentence: they are placed in the whole text." if run.edits else ""


@kept
@torch.inference_mode()
def loss_without(run: Run, unit: Unit, hidden: int) -> Measure:
    """KL(whole text || one sentence hidden) of the next-token distribution, a mean over each later sentence's tokens.

    It is in nats, [sentence]; NaN for the hidden sentence and those before it.

    Raises:
        InputError: the sentence does not exist, or none of this run can be hidden.
    """
    group = grouping(run, unit)
    n_units = int(group[-1]) + 1
    if reason := cannot_hide(run):
        raise InputError(reason)
    if not 0 <= hidden < n_units:
        raise InputError(f"There is no {unit} {hidden}; this text has {unit}s 0 to {n_units - 1}.")
    later = int((group <= hidden).sum())
    whole = run.stream(run.cfg.n_layers)[later:]
    steps = Steps(run.host, run.cfg.n_layers + len(whole.split(POSITIONS)))
    kl = _divergences(run, whole, _stream_without(run, group != hidden, later, steps), steps)
    means = torch.full((n_units,), torch.nan)
    sizes, sums = group[later:].bincount(minlength=n_units), torch.zeros(n_units).index_add(0, group[later:], kl)
    means[hidden + 1 :] = (sums / sizes)[hidden + 1 :]
    return Measure("KL(whole text || hidden)", "nats", ("sentence",), means)


def losses_without(comparison: Comparison, unit: Unit, axis: Axis, hidden: int) -> dict[str, Measure]:
    """The same of each run that has the sentence at a place of the axis, [place].

    Raises:
        InputError: there is no such place, or nothing of a run can be hidden.
    """
    if not 0 <= hidden < len(axis.labels):
        raise InputError(f"There is no {unit} {hidden}; places go from 0 to {len(axis.labels) - 1}.")
    losses = {}
    for (side, run), positions in zip(comparison.sides.items(), axis.positions, strict=True):
        if (at := positions[hidden]) is not None:
            loss = loss_without(run, unit, at)
            losses[side] = Measure(loss.name, loss.unit, ("place",), on_axis(loss.values, positions, torch.nan))
    return losses


def _stream_without(run: Run, is_there: Tensor, later: int, steps: Steps) -> Float[Tensor, "later d_model"]:
    """The final stream of the tokens behind a hidden sentence; a step for each layer."""
    n_later, model = len(run.tokens) - later, run.host.on_device(run.model)
    with run.host.turn():
        tokens, positions = run.tokens[is_there][None], is_there.nonzero().T
        tokens, positions = tokens.to(run.host.device), positions.to(run.host.device)
        tap = BeforeLayers(lambda _: steps.add())
        resid = model(tokens, tap=tap, position_ids=positions, stop_at_layer=run.cfg.n_layers)
        return resid[0, len(tokens[0]) - n_later :].cpu()


def _divergences(
    run: Run, whole: Float[Tensor, "later d_model"], hidden: Float[Tensor, "later d_model"], steps: Steps
) -> Float[Tensor, " later"]:
    """KL in nats at each position, of some positions at a time, which are a step."""
    values = [torch.zeros(0)]
    for pair in zip(whole.split(POSITIONS), hidden.split(POSITIONS), strict=True):
        p, q = (run.model.to_logits(stream[None])[0] for stream in pair)
        values.append(kl_divergence(p, q).values.float())
        steps.add()
    return torch.cat(values)

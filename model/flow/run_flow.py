"""Information flow of a run and the readout of its nodes, from the run's cached activations."""

from dataclasses import replace
from functools import partial
from itertools import pairwise

import torch
from jaxtyping import Float
from torch import Tensor

from headlight.model.base.errors import InputError
from headlight.model.flow import information_flow, readout
from headlight.model.flow.change import FlowChange, FlowOf, flow_change, lacks_change
from headlight.model.flow.information_flow import Flow, Place, Supply
from headlight.model.flow.readout import Readout, ReadoutPair
from headlight.model.flow.shares import Summands
from headlight.model.nn.layers.parameters import widened
from headlight.model.runs.comparison import Comparison
from headlight.model.runs.head import patterns
from headlight.model.runs.host import Steps, kept
from headlight.model.runs.linear import attention_bias, write_scales, writes_at_unit_scale
from headlight.model.runs.run import Run

MAX_TOKENS = 10


@kept
@torch.inference_mode()
def flow_of(run: Run, position: int, threshold: float) -> Flow:
    """Flow graph of the last stream at a position, with the edges of at least that share of their target.

    Raises:
        InputError: the threshold is no share, or the model has a convolution.
    """
    supply = _supply(run)
    with run.host.turn():
        return information_flow.flow(supply, run.cfg.n_layers, run.cfg.states, position, threshold)


def flows_of(comparison: Comparison, place: int, threshold: float) -> dict[str, Flow]:
    """The graph of each run that has a token at a place of the common axis."""
    positions = {side: comparison.positions(run)[place] for side, run in comparison.sides.items()}
    return {
        side: flow_of(comparison.sides[side], position, threshold)
        for side, position in positions.items()
        if position is not None
    }


def flow_change_of(comparison: Comparison, place: int, threshold: float) -> FlowChange | None:
    """Change between A and B of the flow into the last state at a place.

    None where there is no B, where one of the runs has no token at the place, and where B lacks A's states.

    Raises:
        InputError: the threshold is no share.
    """
    if comparison.b is None or lacks_change(comparison.a.cfg, comparison.b.cfg):
        return None
    if any(comparison.positions(run)[place] is None for run in comparison.runs):
        return None
    return _flow_change_of(comparison, place, threshold)


@kept
@torch.inference_mode()
def _flow_change_of(comparison: Comparison, place: int, threshold: float) -> FlowChange:
    assert comparison.alignment is not None
    a, b = (FlowOf(_supply(run), run.cfg.n_layers) for run in comparison.runs)
    with comparison.a.host.turn():
        return flow_change(a, b, comparison.alignment, comparison.a.cfg.states, place, threshold)


def no_flow(run: Run) -> str:
    """Reason why there is no information flow of a run; a sentence for the user, or empty."""
    if run.cfg.conv_kernel_size is None:
        return ""
    return (
        "This model's first layer ends in a convolution over neighbouring tokens, which information flow does not "
        "follow. Use Patching or Why, which count it."
    )


def _supply(run: Run) -> Supply:
    if reason := no_flow(run):
        raise InputError(reason)
    steps, summands = Steps(run.host, run.cfg.n_layers), partial(_summands, run, _states(run))

    def supply(layer: int, positions: list[int]) -> Summands:
        steps.add()
        return summands(layer, positions)

    return supply


def _states(run: Run) -> list[Float[Tensor, "pos d_model"]]:
    """The streams of all depths; those that an edit changed as they were in the run."""
    whole = list(run.streams())
    if run.cfg.states == 1:
        return whole
    states = whole[:1]
    for layer, (pre, post) in enumerate(pairwise(whole)):
        states += [_after(run, layer, "attn_out", run.mid(layer, pre)), post]
    return states


def _after(run: Run, layer: int, part: str, resid: Float[Tensor, "pos d_model"]) -> Float[Tensor, "pos d_model"]:
    """Input of the next part: normalised, where the model normalises the stream itself."""
    return run.model.block(layer).after(part, resid[None])[0]


def _summands(run: Run, states: list[Tensor], layer: int, positions: list[int]) -> Summands:
    """Terms of the nodes' sums; where the model normalises the stream itself, of the sums before that norm."""
    depth, (attn, scales) = run.cfg.states * layer, (run.model.block(layer).attn, write_scales(run, layer))
    weights = patterns(run, layer, positions)
    heads = [run.cfg.group_of(head) for head in range(run.cfg.n_heads)]
    pre, mlp_out = states[depth][positions], None if run.cfg.attn_only else run.cache["mlp_out", layer][positions]
    summands = Summands(
        pre=pre,
        weights=weights if scales is None else weights / scales[positions, None],
        v=run.values(layer)[:, heads] if run.cfg.is_grouped else run.values(layer),
        W_O=writes_at_unit_scale(run.model, layer, widened(attn.W_O.detach())),
        b_O=torch.stack([attention_bias(run, layer, position) for position in positions]),
        mid=states[depth + 1][positions],
        mlp_out=mlp_out,
    )
    if run.cfg.states == 1:
        return summands
    if not run.cfg.post_norm or mlp_out is None:
        return replace(summands, post=states[depth + 2][positions])
    mid, between = run.mid(layer, states[depth])[positions], states[depth + 1][positions]
    return replace(summands, mid=mid, between=between, post=between + mlp_out)


@kept
@torch.inference_mode()
def readout_of(run: Run, node: Place) -> Readout:
    """The tokens that a node would say, by the logit lens, and their ranks in the state below at the same position."""
    *below, logits = _logits(run, _states(run)[max(0, node.depth - 1) : node.depth + 1], node.position)
    return readout.readout(logits, below[0] if below else None, MAX_TOKENS, run.cfg.multi_label)


@kept
@torch.inference_mode()
def readouts_of(comparison: Comparison, node: Place) -> ReadoutPair:
    """The tokens that a node would say in A and in B; the node's position is on the axis that both have."""
    a, b = (_logits_at(run, node.depth, comparison.positions(run)[node.position]) for run in comparison.runs)
    return readout.readout_pair(a, b, MAX_TOKENS, comparison.a.cfg.multi_label)


def _logits(run: Run, states: list[Tensor], position: int) -> Float[Tensor, "state d_vocab"]:
    """Logit lens of the states at a position."""
    here = torch.stack([state[position] for state in states])
    return run.model.to_logits(here[None])[0]


def _logits_at(run: Run, depth: int, position: int | None) -> Float[Tensor, " d_vocab"]:
    assert position is not None  # a node that both runs have
    return _logits(run, _states(run)[depth : depth + 1], position)[0]

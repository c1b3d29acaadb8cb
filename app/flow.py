"""What the nodes of a run's stream were made of, and what they would say; computed from what the run kept."""

from itertools import pairwise

import torch
from jaxtyping import Float
from torch import Tensor

from app import runs, shown
from app.run import Run
from app.shown import Shown
from model.analysis import flow, readout
from model.analysis.flow import Flow, Place, Summands
from model.analysis.flow_change import FlowChange, FlowOf, flow_change
from model.analysis.readout import Readout, ReadoutPair
from model.hooks import Tap
from model.layers import attention_pattern, attention_scale, attention_scores, visible_keys

MOST_TOKENS = 10


def state_names(run: Run) -> tuple[str, ...]:
    """What the depths of the graph are called: the embedding, then after each layer's attention and after its MLP."""
    parts = ("",) if run.cfg.attn_only else (" attention", " MLP")
    return "embed", *(f"L{layer}{part}" for layer in range(run.cfg.n_layers) for part in parts)


def flow_of(run: Run, start: int, threshold: float) -> Flow:
    """The graph of what the last stream at a position was made of, of edges of at least that share.

    Raises:
        BusyError: too many runs at once.
    """
    return runs.kept(run, ("flow", start, threshold), lambda: _flow_of(run, start, threshold))


@torch.inference_mode()
def _flow_of(run: Run, start: int, threshold: float) -> Flow:
    states = _states(run)
    with runs.turn():
        return flow.flow(
            lambda layer, positions: _summands(run, states, layer, positions),
            run.cfg.n_layers,
            run.cfg.attn_only,
            start,
            threshold,
        )


def change_of(found: Shown, start: int, threshold: float) -> FlowChange:
    """How what flows into the last state at a place differs between A and B, which both have a token there.

    Raises:
        BusyError: too many runs at once.
    """
    return shown.kept(found, ("flow", start, threshold), lambda: _change_of(found, start, threshold))


@torch.inference_mode()
def _change_of(found: Shown, start: int, threshold: float) -> FlowChange:
    assert found.alignment is not None
    a, b = (_flow_in(run, _states(run)) for run in found.runs)
    with runs.turn():
        return flow_change(a, b, found.alignment, found.a.cfg.attn_only, start, threshold)


def _flow_in(run: Run, states: list[Tensor]) -> FlowOf:
    return FlowOf(lambda layer, positions: _summands(run, states, layer, positions), run.cfg.n_layers)


def _states(run: Run) -> list[Float[Tensor, "pos d_model"]]:
    """The streams of all depths; those that an edit changed as they were in the run."""
    whole = list(run.streams())
    if run.cfg.attn_only:
        return whole
    states = whole[:1]
    for layer, (pre, post) in enumerate(pairwise(whole)):
        name = f"blocks.{layer}.hook_resid_mid"
        states += [run.cache[name] if run.tap.wants(name) else pre + run.cache["attn_out", layer], post]
    return states


def _summands(run: Run, states: list[Tensor], layer: int, positions: list[int]) -> Summands:
    depth = layer if run.cfg.attn_only else 2 * layer
    W_O, b_O = (run.model.get_parameter(f"blocks.{layer}.attn.{name}").detach() for name in ("W_O", "b_O"))
    return Summands(
        pre=states[depth][positions],
        weights=_weights(run, layer, positions),
        v=run.cache["v", layer],
        W_O=W_O,
        b_O=b_O,
        mid=states[depth + 1][positions],
        mlp_out=None if run.cfg.attn_only else run.cache["mlp_out", layer][positions],
        post=None if run.cfg.attn_only else states[depth + 2][positions],
    )


def _weights(run: Run, layer: int, positions: list[int]) -> Float[Tensor, "head query key"]:
    """These queries' rows of a layer's patterns, edited as in the run."""
    names = [f"blocks.{layer}.attn.hook_{name}" for name in ("attn_scores", "pattern")]
    edited = any(map(run.tap.wants, names))
    rows = list(range(len(run.tokens))) if edited else positions  # an edit finds a query by its place among all
    q, k = (run.cache[name, layer][None] for name in ("q", "k"))
    visible = visible_keys(run.cfg.attention_dir, None, len(run.tokens), q.device)[:, :, rows]
    scores = attention_scores(q[:, rows], k, visible, attention_scale(run.cfg, layer))
    if not edited:
        return attention_pattern(scores, visible)[0]
    return run.tap(names[1], attention_pattern(run.tap(names[0], scores), visible))[0][:, positions]


def readout_of(run: Run, place: Place) -> Readout:
    """The tokens that a node would say, by the logit lens, and their ranks in the state below at the same position."""
    return runs.kept(run, ("flow readout", place), lambda: _readout_of(run, place))


@torch.inference_mode()
def _readout_of(run: Run, place: Place) -> Readout:
    *below, logits = _logits(run, _states(run)[max(0, place.depth - 1) : place.depth + 1], place.position)
    return readout.readout(logits, below[0] if below else None, min(MOST_TOKENS, len(logits)))


def _logits(run: Run, states: list[Tensor], position: int) -> Float[Tensor, "state d_vocab"]:
    """What the states at a position would say if the model stopped there."""
    here = torch.stack([state[position] for state in states])
    return run.model.unembed(run.model.ln_final(here[None], Tap()))[0]


def readouts_of(found: Shown, place: Place) -> ReadoutPair:
    """The tokens that a node would say in A and in B; `place` is on the axis that both have."""
    return shown.kept(found, ("flow readouts", place), lambda: _readouts_of(found, place))


@torch.inference_mode()
def _readouts_of(found: Shown, place: Place) -> ReadoutPair:
    a, b = (_logits_at(run, place.depth, found.positions(run)[place.position]) for run in found.runs)
    return readout.readout_pair(a, b, min(MOST_TOKENS, len(a), len(b)))


def _logits_at(run: Run, depth: int, position: int | None) -> Float[Tensor, " d_vocab"]:
    assert position is not None  # a node that both runs have
    return _logits(run, _states(run)[depth : depth + 1], position)[0]

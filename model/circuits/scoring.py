"""Scores of edges, nodes and neurons: what each changes if it comes from the baseline, measured or estimated."""

from collections.abc import Iterator, Sequence
from typing import Literal, get_args

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from headlight.model.base.errors import InputError
from headlight.model.circuits.residual_path import Gradients, gradients_of_writes, parts_read, stage_starts
from headlight.model.circuits.running import EdgeRuns, Moved, Pass, PostNormPass
from headlight.model.circuits.wiring import Wiring
from headlight.model.nn.transformer import Transformer
from headlight.model.runs.host import HERE, Host, Steps

Method = Literal["eap", "eap_ig_inputs", "eap_ig_activations", "clean_corrupted", "exact", "flow"]
Unit = Literal["edges", "nodes", "neurons"]
Rule = Literal["midpoint", "eap_ig"]
Scores = Float[Tensor, "row receiver sender"] | Float[Tensor, "row sender"] | Float[Tensor, "row sender d_model"]

DEFAULT_STEPS = 5
MAX_RUNS = 200_000  # forward passes that exact patching may take, a prompt and an edge each
MAX_VARIANT_BYTES = 2**27  # that variants in flight may take


def score(
    runs: EdgeRuns,
    method: Method = "eap",
    steps: int = DEFAULT_STEPS,
    unit: Unit = "edges",
    rule: Rule = "midpoint",
    host: Host = HERE,
) -> Scores:
    """Estimate what each edge, node or neuron changes in the measured quantity if it alone came from the baseline.

    With m the measured quantity, w_s what sender s writes and x_r what receiver r reads, the score of an edge is
    Σ_pos (w_s in the baseline − w_s in the prompt) · ∂m/∂x_r, with the gradient

    - `eap`: in the prompt;
    - `eap_ig_inputs`: mean over runs whose embeddings are on the way from the prompt's to the baseline's;
    - `eap_ig_activations`: mean over runs in which the write of the embeddings, of one layer's heads, or of one MLP is
      on this way, over all of these;
    - `clean_corrupted`: mean of that in the prompt and that in the baseline's embeddings.

    `exact` runs the model with that edge from the baseline, and takes the difference. `flow` (information flow routes)
    needs no baseline: the share of the sender in what the receiver reads, mean over positions,
    max(0, ‖x_r‖₁ − ‖x_r − w_s‖₁) / Σ_s' max(0, ‖x_r‖₁ − ‖x_r − w_s'‖₁).

    Where the stream is normalised after each addition (see `residual_path`), the gradient is carried back to the
    sender through the norms between the two, differentiated where they stand in that run; in `flow` w_s is the sender's
    part of what the receiver reads, with these norms held at their scales.

    A node's score is that of all edges that leave it, a neuron's the share that one of the d_model dimensions of the
    node's write has in it (EAP-IG's neurons). Scores are 0 where there is no edge.

    Args:
        runs: prompts of one length with their baseline.
        method: as above.
        steps: points on the way, for the two methods of integrated gradients.
        unit: what is scored.
        rule: where the points lie: in the middle of equal pieces of the way, or at their ends as in EAP-IG's program.
        host: whom to tell of progress.

    Source: Syed et al. 2023, arXiv 2310.10348 (EAP); Hanna et al. 2024, arXiv 2403.17806, and its program
    hannamw/EAP-IG (integrated gradients, clean-corrupted); Ferrando and Voita 2024, arXiv 2403.00824 (flow).

    Raises:
        InputError: a method or unit that there is not, no steps, or more exact runs than can be afforded.
    """
    check_method(method, steps, unit)
    if method == "exact":
        return _exact(runs, unit, host)
    if method == "flow":
        return _flow_shares(runs)
    points = list(_points(runs, method, steps, rule))
    counted, total = Steps(host, len(points)), torch.zeros(())
    through_norms = runs.model.cfg.post_norm
    for moved in points:
        gradients, made = _gradients(runs, moved)
        total = total + (_products_through_norms(made, gradients, unit) if through_norms else gradients)
        counted.add()
    return total / len(points) if through_norms else _products(runs, total / len(points), unit)


def check_method(method: Method, steps: int, unit: Unit = "edges") -> None:
    """Refuse what cannot be scored.

    Raises:
        InputError: it says what can.
    """
    for name, value, allowed in (("method", method, get_args(Method)), ("unit", unit, get_args(Unit))):
        if value not in allowed:
            raise InputError(f"There is no {name} {value!r}; choose one of {', '.join(allowed)}.")
    if steps < 1:
        raise InputError(f"The scores are a mean over {steps} steps; it takes at least 1.")
    if method == "flow" and unit != "edges":
        raise InputError("Information flow routes score edges alone. Choose the unit 'edges' or another method.")
    if method == "exact" and unit == "neurons":
        raise InputError("Exact patching is of edges and nodes. For neurons choose a method of gradients.")


def check_flow(model: Transformer) -> None:
    """Refuse a model of which information flow routes see only a part.

    Raises:
        InputError: a convolution takes from neighbouring tokens without a head.
    """
    if model.cfg.conv_kernel_size:
        raise InputError(
            "The convolution behind this model's first layer takes from neighbouring tokens without a head, so that "
            "information flow routes would leave it out. Choose another method."
        )


def check_affordable(wires: Wiring, n_rows: int, unit: Unit) -> int:
    """How many edges or nodes exact patching leaves out in turn.

    Raises:
        InputError: it takes more runs than can be afforded.
    """
    n_places = wires.n_edges if unit == "edges" else len(wires.senders)
    if n_places * n_rows > MAX_RUNS:
        raise InputError(
            f"Exact patching runs the model once for each of {n_places:,} {unit} and {n_rows} prompts: "
            f"{n_places * n_rows:,} runs, and at most {MAX_RUNS:,} are made. Take fewer prompts or another method."
        )
    return n_places


def n_runs(n_edges: int, n_rows: int, n_layers: int, method: Method, steps: int) -> int:
    """How many runs of one prompt a method takes, forward and back, or forward alone where it is exact."""
    each = {"eap": 1, "clean_corrupted": 2, "eap_ig_inputs": steps, "exact": n_edges + 1, "flow": 1}
    return n_rows * (each[method] if method in each else steps * (2 * n_layers + 1))


def _points(runs: EdgeRuns, method: Method, steps: int, rule: Rule) -> Iterator[Moved | None]:
    """The runs in which gradients are taken: None is the prompt as it is."""
    if method == "eap":
        yield None
    elif method == "clean_corrupted":
        yield from (None, Moved(-1, 1.0))
    else:
        stages = sorted({sender.stage for sender in runs.wires.senders})
        for stage in stages if method == "eap_ig_activations" else [-1]:
            for step in range(steps):
                yield Moved(stage, (step + 0.5) / steps if rule == "midpoint" else _end(step, steps, method))


def _end(step: int, steps: int, method: Method) -> float:
    """EAP-IG's points: it leaves out the prompt itself between inputs, and the baseline itself between activations."""
    return (step + (method == "eap_ig_inputs")) / steps


def _gradients(runs: EdgeRuns, moved: Moved | None) -> tuple[Gradients, Pass]:
    """The gradient for what each receiver reads, and the run in which it is taken."""
    n_rows, _, n_pos, d_model = runs.clean.shape
    with torch.inference_mode(False), torch.enable_grad():
        beside = torch.zeros(
            n_rows,
            len(runs.wires.receivers),
            n_pos,
            d_model,
            device=runs.clean.device,
            dtype=torch.promote_types(runs.clean.dtype, torch.float32),
            requires_grad=True,
        )
        made = runs.start(moved=moved, beside=beside)
        return torch.autograd.grad(made.run().sum(), beside)[0], made


@torch.no_grad()
def _products(runs: EdgeRuns, gradients: Gradients, unit: Unit) -> Scores:
    """Changes of writes times gradients, added up over positions and what the unit has more of."""
    before = runs.wires.before.to(gradients)
    if unit == "edges":
        return torch.einsum("nrpd,nspd->nrs", gradients, runs.changes) * before
    of_writes = torch.einsum("rs,nrpd->nspd", before, gradients)
    return (of_writes * runs.changes).sum(2 if unit == "neurons" else (2, 3))


@torch.no_grad()
def _products_through_norms(made: Pass, gradients: Gradients, unit: Unit) -> Scores:
    """The same where norms stand between senders and receivers, in a run that is made."""
    assert isinstance(made, PostNormPass)
    runs, starts = made.runs, stage_starts(made.runs.model)
    scores = torch.zeros_like(runs.changes[:, :, 0] if unit == "neurons" else runs.changes[:, :, 0, 0])
    if unit == "edges":
        scores = scores[:, None].repeat(1, gradients.shape[1], 1)
    for stage, of_writes in gradients_of_writes(runs.model, made.sums, gradients):
        senders = slice(starts[stage + 1], starts[stage + 2])
        changes = runs.changes[:, senders]
        if unit == "edges":
            scores[:, -of_writes.shape[1] :, senders] = torch.einsum("nrpd,nspd->nrs", of_writes, changes)
        else:
            scores[:, senders] = (of_writes.sum(1, keepdim=True) * changes).sum(2 if unit == "neurons" else (2, 3))
    return scores


@torch.inference_mode()
def _exact(runs: EdgeRuns, unit: Unit, host: Host) -> Scores:
    """What is measured with one edge or all edges of one node from the baseline, less what is in the prompt."""
    wires, n_rows = runs.wires, len(runs.clean)
    n_places = check_affordable(wires, n_rows, unit)
    whole, clean = wires.before, runs.run()
    scores = torch.zeros(n_rows, *(whole.shape if unit == "edges" else whole.shape[1:]))
    counted = Steps(host, n_places)
    for first, places in _by_layer(runs, unit):
        at_once = max(1, MAX_VARIANT_BYTES // (4 * runs.clean.nbytes))
        for start in range(0, len(places), at_once):
            piece = places[start : start + at_once]
            without = torch.stack([_without(whole, place, unit) for place in piece]).repeat_interleave(n_rows, 0)
            outcomes = runs.take(list(range(n_rows)) * len(piece)).run(without, first=first)
            for place, outcome in zip(piece, outcomes.view(len(piece), n_rows), strict=True):
                scores[_in_all_rows(place)] = (outcome - clean).cpu()
                counted.add()
    return scores


def _by_layer(runs: EdgeRuns, unit: Unit) -> Iterator[tuple[int, Sequence[tuple[int, ...]]]]:
    """What is left out in turn, by the layer at which the run begins to differ."""
    wires, n_layers = runs.wires, runs.model.cfg.n_layers
    if unit == "nodes":
        yield 0, [(sender,) for sender in range(len(wires.senders))]
        return
    for layer in (*range(n_layers), None):
        rows = [row for row, receiver in enumerate(wires.receivers) if receiver.layer == layer]
        edges = [(row, sender) for row in rows for sender in wires.before[row].nonzero().flatten().tolist()]
        yield n_layers if layer is None else layer, edges


def _without(
    whole: Bool[Tensor, "receiver sender"], place: tuple[int, ...], unit: Unit
) -> Bool[Tensor, "receiver sender"]:
    edges = whole.clone()
    edges[place if unit == "edges" else _in_all_rows(place)] = False
    return edges


def _in_all_rows(place: tuple[int, ...]) -> tuple[slice | int, ...]:
    return slice(None), *place


@torch.no_grad()
def _flow_shares(runs: EdgeRuns) -> Float[Tensor, "row receiver sender"]:
    """The share of each sender in what each receiver reads in the prompt, by proximity, mean over positions."""
    wires, n_layers = runs.wires, runs.model.cfg.n_layers
    shares = torch.zeros(len(runs.clean), *wires.before.shape)
    if runs.model.cfg.post_norm:
        check_flow(runs.model)
        for stage, stream, parts in parts_read(runs.model, runs.clean):
            layer, is_mlp = divmod(stage, 2)
            rows = wires.rows[None, False] if layer == n_layers else wires.rows[layer, not is_mlp]
            shares[:, rows, : parts.shape[1]] = _proximities(stream, parts)[:, None].float().cpu()
        return shares
    own = runs.clean - runs.other
    stages: dict[tuple[int, ...], list[int]] = {}  # receivers that read one stream, by its senders
    for row in range(len(wires.receivers)):
        stages.setdefault(tuple(wires.before[row].nonzero().flatten().tolist()), []).append(row)
    for senders, rows in stages.items():
        receiver = wires.receivers[rows[0]]
        stage = 2 * n_layers if receiver.layer is None else 2 * receiver.layer
        stage += receiver.layer is not None and receiver.head is None and not runs.model.cfg.parallel_attn_mlp
        stream = runs.streams[:, stage] + own[:, list(senders)].sum(1)
        share = _proximities(stream, runs.clean[:, list(senders)]).float().cpu()
        for row in rows:
            shares[:, row, list(senders)] = share
    return shares


def _proximities(
    stream: Float[Tensor, "row pos d_model"], parts: Float[Tensor, "row sender pos d_model"]
) -> Float[Tensor, "row sender"]:
    """The share of each part of a stream in it by proximity, mean over positions."""
    near = [(stream.abs() - (stream - part).abs()).sum(-1).clamp(min=0) for part in parts.unbind(1)]
    proximity = torch.stack(near, -1)
    return (proximity / proximity.sum(-1, keepdim=True).clamp(min=torch.finfo(proximity.dtype).tiny)).mean(1)

"""Effects of neurons on a prediction: direct, by gradient (first order), and measured by ablation.

Logits are those before any soft cap.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from headlight.model.attribution import direct_effects as attribution
from headlight.model.attribution.logits import Question, Read, read_of, read_positions
from headlight.model.attribution.parts import before_cap_at, stream_at
from headlight.model.attribution.resume import Past, end_of, onward, resume_from
from headlight.model.measure import Measure
from headlight.model.measure.contrast import contrast, measured_outputs
from headlight.model.neurons.activations import AXES, activations_at, hook_name, mlp_of
from headlight.model.nn.hooks import Chain, Collect, Edit, HookPoint, Tap, WithGradient
from headlight.model.nn.layers.parameters import widened
from headlight.model.runs.edits import Neuron
from headlight.model.runs.edits.interventions import check_neuron
from headlight.model.runs.host import Steps, kept
from headlight.model.runs.linear import mlp_read_back, norm_bias
from headlight.model.runs.run import Run
from headlight.model.runs.stream_norms import read_back_to

BEHIND = ("ln2_post.hook_scale", "ln2_post.hook_normalized", "hook_mlp_out")


@dataclass(frozen=True, eq=False)
class DirectEffects:
    """Neurons' direct effects on target minus distractor (logits), with the norms behind them at the run's scales.

    Where logits are read from the mean of all tokens they are those of a neuron at all tokens together.

    `values` [layer, neuron]; `bias` [layer] is what b_out and the bias of a norm behind the MLP add; `written` [layer]
    is the effect of all that the MLP wrote, which they add up to but for `edited` [layer]: what the run's edits have
    changed behind the neurons, 0 without any.
    """

    values: Measure
    bias: Measure
    written: Measure
    edited: Measure


@kept
@torch.inference_mode()
def direct_effects(run: Run, question: Question) -> DirectEffects:
    """Return every neuron's direct effect on a logit difference at its position.

    Raises:
        InputError: the model has no neurons, or no logits.
    """
    read, positions = read_of(run, question), read_positions(run, question.position)
    of_positions = zip(*(_direct_at(run, read, position) for position in positions), strict=True)
    neurons, constant, whole = (torch.stack(parts).sum(0) for parts in of_positions)
    left = whole - neurons.sum(-1) - constant
    edited = torch.where(torch.tensor([_edits_behind(run, layer) for layer in range(len(whole))]), left, 0.0)
    return DirectEffects(
        Measure("direct effect", "logits", AXES, neurons),
        Measure("direct effect of the biases", "logits", ("layer",), constant),
        Measure("direct effect of the MLP", "logits", ("layer",), whole),
        Measure("changed behind the neurons", "logits", ("layer",), edited),
    )


def _direct_at(
    run: Run, read: Read, position: int
) -> tuple[Float[Tensor, "layer neuron"], Float[Tensor, " layer"], Float[Tensor, " layer"]]:
    """Direct effects at one position of neurons, of the biases of their layers, and of all that MLPs wrote."""
    final = attribution.towards(stream_at(run, position), read.norm, read.direction)
    values, bias, written = [], [], []
    for layer, post in enumerate(activations_at(run, position).values.values):
        towards = read_back_to(run, layer, "mlp_out", final, position)
        mlp, back = mlp_of(run.model, layer), mlp_read_back(run, layer, towards, position)
        W_out = widened(mlp.W_out.detach())
        values.append(post.double() * (W_out @ back.to(W_out)).double())
        of_norm = norm_bias(run, layer, "ln2_post")
        of_norm = torch.zeros(()) if of_norm is None else of_norm.double() @ towards
        bias.append(mlp.b_out.detach().double() @ back + of_norm)
        written.append(run.cache["mlp_out", layer][position].double() @ towards)
    return torch.stack(values), torch.stack(bias), torch.stack(written)


def _edits_behind(run: Run, layer: int) -> bool:
    """Whether an edit acts between a layer's neurons and the stream; if none does, a remainder is rounding."""
    return any(run.tap.look(f"blocks.{layer}.{name}") for name in BEHIND)


@kept
def gradient_effects(run: Run, question: Question, position: int) -> Measure:
    """Each neuron's activation at a position times the gradient of target minus distractor there [layer, neuron].

    To first order it is what the difference would lose without the neuron, on whichever way. It is read at the
    question's position.

    Source: Nanda 2023, "Attribution Patching: Activation Patching At Industrial Scale", with zeros as what is patched
    in.

    Raises:
        InputError: the model has no neurons.
        HeadlightError: the run's host lets no more passes in.
    """
    mlp_of(run.model, 0)
    layers = range(run.cfg.n_layers)
    keep = Collect([hook_name(layer, "hook_post") for layer in layers])
    n_past = n_unchanged(run, position)
    with run.host.turn(), torch.inference_mode(False), torch.enable_grad():
        resid = _passed(run, question, n_past, keep)
        logits = run.host.on_device(run.model).before_cap(run.model.read_from(resid, question.position - n_past))[0, 0]
        posts = [keep.kept[hook_name(layer, "hook_post")] for layer in layers]
        difference = contrast(logits[measured_outputs(len(logits), question.target, question.distractor)])
        gradients = torch.autograd.grad(difference, posts, allow_unused=True, materialize_grads=True)
    products = [(post * gradient)[0, position - n_past] for post, gradient in zip(posts, gradients, strict=True)]
    return Measure("gradient × activation", "logits", AXES, torch.stack(products).detach().float().cpu())


def _passed(run: Run, question: Question, n_past: int, keep: Tap) -> Float[Tensor, "1 pos d_model"]:
    """The final stream, as something that gradients flow back from to all neurons."""
    model, device = run.host.on_device(run.model), run.host.device
    if run.edits:
        tokens = run.tokens[None].clone().to(device)
        return model(tokens, tap=Chain(WithGradient(), run.tap, keep), stop_at_layer=run.cfg.n_layers)
    end = end_of(run, question.position)
    begun = next(iter(run.streams(slice(n_past, end))))
    resid = begun[None].clone().to(device).requires_grad_()
    return onward(model, resid, 0, end, Chain(Past(run, n_past), keep))


def n_unchanged(run: Run, position: int) -> int:
    """Number of first tokens that a change at a position cannot affect; edits apply to all tokens at once."""
    return position if run.cfg.attention_dir == "causal" and not run.edits else 0


def measured_effects(run: Run, neurons: Sequence[Neuron], question: Question, position: int) -> Measure:
    """Zero-ablate each of these neurons at a position: the decrease of target minus distractor (logits) [neuron].

    The model runs on with that neuron at zero, so that all that comes of it counts, on whichever way.

    Raises:
        InputError: a neuron that the model does not have.
        HeadlightError: the run's host lets no more passes in.
    """
    for neuron in neurons:
        check_neuron(run.cfg, *neuron)
    name = "effects of neurons", tuple(neurons), question, position
    return run.keep(name, lambda: _measured(run, neurons, question, position))


@torch.inference_mode()
def _measured(run: Run, neurons: Sequence[Neuron], question: Question, position: int) -> Measure:
    layers = sorted({layer for layer, _ in neurons})
    steps = Steps(run.host, sum(run.cfg.n_layers - layer for layer, _ in neurons))
    n_past = n_unchanged(run, position)
    pair = measured_outputs(run.cfg.d_vocab_out or 0, question.target, question.distractor)
    without: dict[Neuron, float] = {}
    for layer in layers:
        indices = [index for at, index in neurons if at == layer]
        taps = [_zeroed(layer, index, position - n_past) for index in indices]
        logits = resume_from(run, layer, taps, question.position, n_past, steps)[:, pair].double()
        differences = contrast(logits).tolist()
        without |= {(layer, index): each for index, each in zip(indices, differences, strict=True)}
    own = float(contrast(before_cap_at(run, question.position)[pair].double()))
    values = torch.tensor([own - without[neuron] for neuron in neurons])
    return Measure("measured effect", "logits", ("neuron",), values)


def _zeroed(layer: int, index: int, row: int) -> Tap:
    def zero(post: Float[Tensor, "batch pos d_mlp"], hook: HookPoint) -> None:
        post[:, row, index] = 0

    return Edit([((hook_name(layer, "hook_post"),), zero)])

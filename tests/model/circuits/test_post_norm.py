"""Edges of encoders that normalise their stream, beside transformers' own modules patched by hand, in float64.

By hand: one receiver is given a stream of its own, built by transformers' norms from what its run's heads and MLPs
write, in which one sender's write is another; and transformers runs on. So an edge is patched exactly, and autograd
gives its derivative.
"""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import torch
import transformers
from torch import Tensor, nn
from transformers import PreTrainedModel

from headlight.model import Run, load, run_prompt
from headlight.model.circuits import Receiver, Sender, measure_circuit, score
from headlight.model.circuits.preparing import edge_runs_against_means, edge_runs_against_zero, edge_runs_of
from headlight.model.circuits.running import EdgeRuns
from headlight.model.patching import LogitDifference
from tests.model.attribution.test_encoders import Linear
from tests.model.checkpoints.test_heads import CONFIGS, ENCODER, built

A, B = [7, 3, 11, 5, 9], [7, 8, 11, 2, 9]
LABELS, EACH = "ForSequenceClassification", "ForTokenClassification"
SMALL = ENCODER | {"hidden_size": 12, "num_attention_heads": 3, "intermediate_size": 14}  # so that all edges are quick
DEEP: dict[str, Callable[..., Any]] = {
    "Bert": lambda **more: transformers.BertConfig(**SMALL, **more),
    "Electra": lambda **more: transformers.ElectraConfig(**SMALL, embedding_size=8, **more),
    "DistilBert": lambda **more: transformers.DistilBertConfig(
        vocab_size=23, dim=12, hidden_dim=14, n_layers=2, n_heads=3, **more
    ),
    "Albert": lambda **more: transformers.AlbertConfig(**SMALL, embedding_size=8, **more),
}
QUICK = [("Bert", LABELS, 0), ("Albert", EACH, 3)]
THOROUGH = [("Bert", EACH, 3), ("Bert", "ForMaskedLM", 2), ("Bert", "ForQuestionAnswering", 1)]
THOROUGH += [("DistilBert", LABELS, 0), ("Electra", EACH, 2), ("Albert", LABELS, 0)]
CASES = [*QUICK, *(pytest.param(case, marks=pytest.mark.thorough) for case in THOROUGH)]
NEAR = {"rtol": 1e-9, "atol": 1e-9}  # float64's rounding in sums of some hundred numbers


class Layer(NamedTuple):
    """A layer's modules; ALBERT's layers share them."""

    q: nn.Linear
    k: nn.Linear
    v: nn.Linear
    from_heads: nn.Linear
    attention_norm: nn.Module
    mlp: nn.Linear
    from_mlp: nn.Linear
    mlp_norm: nn.Module


def layers_of(theirs: PreTrainedModel) -> tuple[nn.Module, list[Layer]]:
    """The module that begins the stream, and each layer's."""
    body: Any = theirs.base_model
    if theirs.config.model_type == "distilbert":
        return body.embeddings, [
            Layer(
                *(getattr(each.attention, f"{part}_lin") for part in ("q", "k", "v", "out")),
                each.sa_layer_norm,
                each.ffn.lin1,
                each.ffn.lin2,
                each.output_layer_norm,
            )
            for each in body.transformer.layer
        ]
    if theirs.config.model_type == "albert":
        shared = body.encoder.albert_layer_groups[0].albert_layers[0]
        attention = shared.attention
        parts = attention.query, attention.key, attention.value, attention.dense, attention.LayerNorm
        one = Layer(*parts, shared.ffn, shared.ffn_output, shared.full_layer_layer_norm)
        return body.encoder.embedding_hidden_mapping_in, [one] * theirs.config.num_hidden_layers
    begins = body.embeddings_project if theirs.config.model_type == "electra" else body.embeddings
    return begins, [
        Layer(
            each.attention.self.query,
            each.attention.self.key,
            each.attention.self.value,
            each.attention.output.dense,
            each.attention.output.LayerNorm,
            each.intermediate.dense,
            each.output.dense,
            each.output.LayerNorm,
        )
        for each in body.encoder.layer
    ]


class ByHand:
    """transformers' run on some tokens, or on embeddings in their place, with what was written on the way."""

    def __init__(self, theirs: PreTrainedModel, position: int, tokens: list[int], begun: Tensor | None = None) -> None:
        self.theirs, self.position, self.tokens = theirs, position, torch.tensor([tokens])
        self.begins, self.layers = layers_of(theirs)
        self.n_heads = theirs.config.num_attention_heads
        self.begun = begun
        self.z, self.mlps, embedded = list[Tensor](), list[Tensor](), list[Tensor]()
        hooks = [self.begins.register_forward_hook(lambda _, args, output: embedded.append(output))]
        for layer in {id(each.mlp): each for each in self.layers}.values():
            hooks.append(layer.from_heads.register_forward_pre_hook(lambda _, args: self.z.append(args[0])))
            hooks.append(layer.from_mlp.register_forward_hook(lambda _, args, output: self.mlps.append(output)))
        with torch.no_grad():
            self.value = float(self.run([]))
        for hook in hooks:
            hook.remove()
        self.embedded = embedded[0] if begun is None else begun

    def run(self, replaced: list[tuple[nn.Module, int, str, Callable[[Tensor], Tensor]]]) -> Tensor:
        """Output 0 less output 1, with modules' inputs ("in") or outputs changed at their n-th call."""
        if self.begun is not None:
            replaced = [(self.begins, 0, "out", lambda _: self.begun), *replaced]  # type: ignore[arg-type, return-value]
        hooks: list[Any] = []
        for module, at, side, change in replaced:
            calls = [0]

            def counted(calls: list[int] = calls, at: int = at) -> bool:
                calls[0] += 1
                return calls[0] == at + 1

            def before(_: Any, args: Any, change: Any = change, counted: Any = counted) -> Any:
                return (change(args[0]), *args[1:]) if counted() else None

            def after(_: Any, args: Any, output: Tensor, change: Any = change, counted: Any = counted) -> Any:
                return change(output) if counted() else None

            register = module.register_forward_pre_hook if side == "in" else module.register_forward_hook
            hooks.append(register(before if side == "in" else after))
        outputs = self.theirs(self.tokens)
        for hook in hooks:
            hook.remove()
        if "start_logits" in outputs:
            return (outputs.start_logits - outputs.end_logits)[0, self.position]
        logits = outputs.logits[0]
        logits = logits if logits.ndim == 1 else logits[self.position]
        return logits[0] - logits[1]

    def call_of(self, layer: int, module: nn.Module) -> int:
        """Which of a module's calls is a layer's."""
        return layer if len({id(each.mlp) for each in self.layers}) == 1 else 0

    def write(self, sender: Sender) -> Tensor:
        """What a sender writes."""
        if sender.layer is None:
            return self.embedded
        if sender.head is None:
            return self.mlps[sender.layer]
        width = self.z[0].shape[-1] // self.n_heads
        part, W = slice(sender.head * width, (sender.head + 1) * width), self.layers[sender.layer].from_heads.weight
        return self.z[sender.layer][..., part] @ W[:, part].T

    def stream(self, receiver: Receiver, sender: Sender, write: Tensor) -> Tensor:
        """What a receiver reads with a sender's write replaced, by transformers' norms."""

        def written(*key: int | None) -> Tensor:
            return write if Sender(*key) == sender else self.write(Sender(*key))

        x = written()
        for at, layer in enumerate(self.layers):
            if at == receiver.layer and receiver.head is not None:
                break
            x = x + sum(written(at, head) for head in range(self.n_heads)) + layer.from_heads.bias
            x = layer.attention_norm(x)
            if at == receiver.layer:
                break
            x = layer.mlp_norm(x + written(at))
        return x

    def with_edge(self, receiver: Receiver, sender: Sender, write: Tensor) -> Tensor:
        """The difference of outputs with that edge carrying another write."""
        x = self.stream(receiver, sender, write)
        if receiver.layer is None:
            last = len(self.layers) - 1
            norm = self.layers[last].mlp_norm
            return self.run([(norm, self.call_of(last, norm), "out", lambda _: x)])
        layer = self.layers[receiver.layer]
        if receiver.head is None:
            return self.run([(layer.mlp, self.call_of(receiver.layer, layer.mlp), "in", lambda _: x)])
        module, width = getattr(layer, receiver.read or ""), x.shape[-1] // self.n_heads
        part = slice(receiver.head * width, (receiver.head + 1) * width)

        def own(output: Tensor) -> Tensor:
            return torch.cat([output[..., : part.start], made[..., part], output[..., part.stop :]], -1)

        made = nn.functional.linear(x, module.weight, module.bias)
        return self.run([(module, self.call_of(receiver.layer, module), "out", own)])

    def with_node(self, sender: Sender, write: Tensor) -> Tensor:
        """The difference of outputs with another write for all that read it."""
        change = write - self.write(sender)
        if sender.layer is None:
            return self.run([(self.begins, 0, "out", lambda x: x + change)])
        layer = self.layers[sender.layer]
        module = layer.from_mlp if sender.head is None else layer.from_heads
        return self.run([(module, self.call_of(sender.layer, module), "out", lambda x: x + change)])

    def derivative(self, function: Callable[[Tensor], Tensor], sender: Sender, other: Tensor) -> Tensor:
        """Derivative of a difference of outputs for a sender's write, times the write's change, by dimension."""
        leaf = self.write(sender).detach().clone().requires_grad_()
        (gradient,) = torch.autograd.grad(function(leaf), leaf)
        return (gradient * (other - leaf).detach())[0].sum(0)


class Case(NamedTuple):
    """transformers' two runs, and ours."""

    a: ByHand
    b: ByHand
    runs: EdgeRuns


def opened(kind: str, head: str, folder: Path) -> tuple[PreTrainedModel, Run, Run]:
    theirs = built(kind, head)
    theirs.save_pretrained(folder)
    model = load(folder).double()
    a, b = (run_prompt(model, f"ids: {' '.join(map(str, tokens))}", False) for tokens in (A, B))
    return theirs.double(), a, b


@pytest.fixture(scope="module", autouse=True)
def small_kinds() -> Any:
    with pytest.MonkeyPatch.context() as patch:
        for kind, config in DEEP.items():
            patch.setitem(CONFIGS, kind, config)
        yield


@pytest.fixture(scope="module", params=CASES, ids=lambda case: "-".join(map(str, case)))
def case(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Case:
    kind, head, position = request.param
    theirs, a, b = opened(kind, head, tmp_path_factory.mktemp("model"))
    runs = edge_runs_of(a, b, LogitDifference(0, 1, position), "position")
    return Case(ByHand(theirs, position, A), ByHand(theirs, position, B), runs)


pytestmark = pytest.mark.usefixtures("unchecked")  # each receiver's stream travels as a row of a batch


def some_edges(runs: EdgeRuns) -> list[tuple[int, int]]:
    """Every seventh edge, by the places of receiver and sender."""
    return [(row, column) for row, column in runs.wires.before.nonzero().tolist()][::7]


def test_with_all_edges_it_is_run_a_and_with_none_run_b(case: Case) -> None:
    runs = case.runs
    some = runs.wires.before & (torch.rand(runs.wires.before.shape, generator=torch.Generator().manual_seed(1)) < 0.7)
    whole, none = (measure_circuit(runs, edges) for edges in (runs.wires.before, ~runs.wires.before))
    assert (whole.a, whole.b) == pytest.approx((case.a.value, case.b.value), rel=1e-9, abs=1e-9)
    assert (whole.faithfulness, whole.completeness) == pytest.approx((1, 0), abs=1e-9)
    assert (none.faithfulness, none.completeness) == pytest.approx((0, 1), abs=1e-9)
    assert measure_circuit(runs, some).faithfulness not in (pytest.approx(0), pytest.approx(1))


def test_one_edge_from_b_is_what_transformers_modules_make_of_it(case: Case) -> None:
    a, b, runs = case
    scores = score(runs, "exact")[0].double()
    for row, column in some_edges(runs):
        receiver, sender = runs.wires.receivers[row], runs.wires.senders[column]
        with torch.no_grad():
            theirs = float(a.with_edge(receiver, sender, b.write(sender))) - a.value
        # Exact scores are kept in float32.
        assert float(scores[row, column]) == pytest.approx(theirs, rel=1e-6, abs=1e-6), (receiver, sender)


def test_scores_of_edges_are_derivatives_through_transformers_norms(case: Case) -> None:
    a, b, runs = case
    scores = score(runs)[0]
    for row, column in some_edges(runs):
        receiver, sender = runs.wires.receivers[row], runs.wires.senders[column]
        theirs = a.derivative(partial(a.with_edge, receiver, sender), sender, b.write(sender))
        torch.testing.assert_close(scores[row, column], theirs.sum(), **NEAR)
    torch.testing.assert_close(scores.sum(0), score(runs, unit="nodes")[0], **NEAR)


def test_integrated_gradients_are_taken_at_points_between_transformers_embeddings(case: Case) -> None:
    a, b, runs = case
    scores, theirs = score(runs, "eap_ig_inputs", steps=2)[0], torch.zeros(runs.wires.before.shape).double()
    for share in (0.25, 0.75):
        between = ByHand(a.theirs, a.position, A, (1 - share) * a.embedded + share * b.embedded)
        for row, column in some_edges(runs):
            receiver, sender = runs.wires.receivers[row], runs.wires.senders[column]
            leaf = between.write(sender).detach().clone().requires_grad_()
            (gradient,) = torch.autograd.grad(between.with_edge(receiver, sender, leaf), leaf)
            theirs[row, column] += float((gradient * (b.write(sender) - a.write(sender)).detach()).sum()) / 2
    places = tuple(torch.tensor(some_edges(runs)).T)
    torch.testing.assert_close(scores[places], theirs[places], **NEAR)


def test_flow_is_of_what_a_write_becomes_under_transformers_norms_at_their_scales(case: Case) -> None:
    """A part is the derivative along the sender's write, of norms whose scales are constants."""
    a, _, runs = case
    shares = score(runs, "flow")[0]
    for receiver in (Receiver(0, 1, "k"), Receiver(1), Receiver()):
        row = runs.wires.receivers.index(receiver)
        near = list[Tensor]()
        for column in runs.wires.before[row].nonzero().flatten().tolist():
            sender = runs.wires.senders[column]
            write = a.write(sender).detach()
            with Linear():
                stream, part = torch.autograd.functional.jvp(partial(a.stream, receiver, sender), write, write)
            near.append((stream.abs() - (stream - part).abs()).sum(-1)[0].clamp(min=0))
        proximity = torch.stack(near)
        theirs = (proximity / proximity.sum(0)).mean(1)
        torch.testing.assert_close(shares[row, : len(theirs)].double(), theirs, rtol=1e-6, atol=1e-6)  # kept in float32


def test_zeros_and_means_stand_in_for_what_senders_write(case: Case) -> None:
    """With no edge the model has attention's biases alone, or each write's mean over the tokens, and its norms."""
    a, _, runs = case
    run = run_prompt(runs.model, f"ids: {' '.join(map(str, A))}", False)
    question = LogitDifference(0, 1, a.position)
    for made, stand_in in (
        (edge_runs_against_zero(run, question), torch.zeros_like),
        (edge_runs_against_means(run, question), lambda write: write.mean(1, keepdim=True).expand_as(write)),
    ):
        x = stand_in(a.embedded)
        for at, layer in enumerate(a.layers):
            heads = sum(stand_in(a.write(Sender(at, head))) for head in range(a.n_heads))
            x = layer.attention_norm(x + heads + layer.from_heads.bias)
            x = layer.mlp_norm(x + stand_in(a.mlps[at]))
        last, norm = len(a.layers) - 1, a.layers[-1].mlp_norm
        with torch.no_grad():
            theirs = float(a.run([(norm, a.call_of(last, norm), "out", lambda _, x=x: x)]))
        circuit = measure_circuit(made, ~made.wires.before)
        assert (circuit.a, circuit.b) == pytest.approx((a.value, theirs), rel=1e-9, abs=1e-9)


def test_scores_of_nodes_and_their_dimensions_are_those_of_transformers(case: Case) -> None:
    a, b, runs = case
    exact, neurons = score(runs, "exact", unit="nodes")[0], score(runs, unit="neurons")[0]
    for column, sender in enumerate(runs.wires.senders):
        theirs = a.derivative(partial(a.with_node, sender), sender, b.write(sender))
        torch.testing.assert_close(neurons[column], theirs, **NEAR)
        with torch.no_grad():
            patched = float(a.with_node(sender, b.write(sender))) - a.value
        assert float(exact[column]) == pytest.approx(patched, rel=1e-6, abs=1e-6)  # kept in float32

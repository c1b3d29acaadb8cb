"""An attribution graph by autograd: a pass in which patterns, norm scales and gates are constants, writes are leaves.

What is differentiated is the model's own forward pass; nothing of `headlight.model.graph` is used.
"""

from collections.abc import Iterable

import torch
from torch import Tensor
from torch.nn.functional import gelu

from headlight.model import Run
from headlight.model.graph import Aim, Graph, Node
from headlight.model.nn.hooks import Chain, Collect, Tap


class Still(Tap):
    """Holds patterns, scales and gates at a run's own, and puts leaves in the place of what is written.

    Of a head's activation function the ratio of what it gives to what it takes is held.

    `activations` is what a part would have written, before a leaf takes its place.
    """

    def __init__(self, clean: dict[str, Tensor], leaves: dict[str, Tensor]) -> None:
        self.clean, self.leaves, self.activations = clean, leaves, dict[str, Tensor]()
        self._linear, self._gate, self._of_head = torch.empty(0), torch.empty(0), torch.empty(0)

    def __call__(self, name: str, activation: Tensor) -> Tensor:
        if name.endswith(("hook_pattern", "hook_scale")):
            return self.clean[name]
        if name.endswith(("mlp.hook_pre", "mlp.hook_pre_linear")):  # of a gated MLP the linear part comes second
            self._linear, self._gate = activation, 1 / self.clean[name]
        if name in ("mlm_head.hook_pre", "pooler.hook_pre"):
            self._of_head = activation / self.clean[name]
        if name == "pooler.hook_post":
            return self.clean[name] * self._of_head
        if name == "mlm_head.ln.hook_normalized":
            read = gelu(self.clean["mlm_head.hook_pre"]) * self._of_head
            return (read - read.mean(-1, keepdim=True)) / self.clean["mlm_head.ln.hook_scale"]
        if name.endswith("mlp.hook_post"):
            activation = self.clean[name] * self._gate * self._linear
        if name.endswith(("hook_z", "mlp.hook_post", "unembed.hook_out")):
            self.activations[name] = activation
        return self.leaves.get(name, activation)


class Autograd:
    """The graph of a run by autograd, with heads' writes and neurons as leaves or, folded, neurons alone."""

    def __init__(self, run: Run, aim: Aim, folded: bool = False) -> None:
        self.run, self.aim = run, aim
        names = [name for name in run.model.hook_names if not name.endswith("hook_result")]
        keep = Collect(names)
        with torch.no_grad():
            run.model(run.tokens[None], tap=Chain(run.tap, keep))
        self.clean = keep.kept
        leaves = ["blocks.0.hook_resid_pre", *(name for name in names if name.endswith("mlp.hook_post"))]
        leaves += [] if folded else [name for name in names if name.endswith("hook_z")]
        self.leaves = {name: self.clean[name].clone().requires_grad_() for name in leaves}
        self.activations = self._pass(self.leaves)

    def _pass(self, leaves: dict[str, Tensor]) -> dict[str, Tensor]:
        with torch.enable_grad():
            still = Still(self.clean, leaves)
            self.run.model(self.run.tokens[None], tap=still)
        return still.activations

    def target(self, activations: dict[str, Tensor]) -> Tensor:
        logits = activations["unembed.hook_out"][0, self.aim.position]
        other = logits.mean() if self.aim.distractor is None else logits[self.aim.distractor]
        return logits[self.aim.token] - other

    def activation(self, activations: dict[str, Tensor], node: Node, along: Tensor | None = None) -> Tensor:
        """A node's activation; that of a head's write along a direction of its z."""
        if node.kind == "logit":
            return self.target(activations)
        if node.kind == "neuron":
            return activations[f"blocks.{node.layer}.mlp.hook_post"][0, node.position, node.index]
        assert along is not None
        return activations[f"blocks.{node.layer}.attn.hook_z"][0, node.position, node.index] @ along

    def bias(self, node: Node, along: Tensor | None = None) -> float:
        """What a node's activation is when nothing is written."""
        empty = self._pass({name: torch.zeros_like(leaf) for name, leaf in self.leaves.items()})
        return float(self.activation(empty, node, along).detach())

    def edges(self, node: Node, sources: Iterable[Node], along: Tensor | None = None) -> Tensor:
        """What each source gives to a node: its write times the derivative for it."""
        grads = torch.autograd.grad(
            self.activation(self.activations, node, along),
            list(self.leaves.values()),
            retain_graph=True,
            allow_unused=True,
        )
        products = {
            name: torch.zeros_like(leaf) if grad is None else (grad * leaf).detach()
            for (name, leaf), grad in zip(self.leaves.items(), grads, strict=True)
        }
        return torch.stack([self._of(products, source) for source in sources])

    @staticmethod
    def _of(products: dict[str, Tensor], source: Node) -> Tensor:
        if source.kind == "token":
            return products["blocks.0.hook_resid_pre"][0, source.position].sum()
        part = "attn.hook_z" if source.kind == "head" else "mlp.hook_post"
        return products[f"blocks.{source.layer}.{part}"][0, source.position, source.index].sum()

    def through_everything(self, layer: int) -> Tensor:
        """The target's derivative for a layer's z, with nothing but patterns, scales and gates held still."""
        name = f"blocks.{layer}.attn.hook_z"
        leaf = self.clean[name].clone().requires_grad_()
        activations = self._pass({name: leaf})
        return torch.autograd.grad(self.target(activations), leaf)[0][0]


def followed(graph: Graph) -> tuple[Node, ...]:
    return graph.nodes[: graph.n_followed]

"""Every layer's heads divided over processes, each of which computes its own and taps see those of all.

    mesh = init_device_mesh("cuda", (int(os.environ["WORLD_SIZE"]),))
    model = shard_heads(load("owner/name"), mesh)  # in every process, as all that follows
    logits, cache = model.run_with_cache(model.to_tokens("When Mary and John"))

Streams, MLPs and embeddings are whole in every process; names and shapes of activations are those of one process.

Source: Shoeybi et al. 2019, "Megatron-LM", for heads apart and one sum a layer.
"""

from typing import TypeVar

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.distributed.device_mesh import DeviceMesh
from torch.distributed.tensor import DTensor, Partial, Replicate, Shard
from torch.distributed.tensor.parallel import ParallelStyle, parallelize_module

from headlight.model.base.errors import ConfigError
from headlight.model.nn.hooked import HookedModel
from headlight.model.nn.hooks import Look, Tap
from headlight.model.nn.layers.attention import Attended, Attention
from headlight.model.nn.layers.norms import HeadwiseLayerNorm, RMSNormAcrossHeads, Vectors
from headlight.model.nn.layers.positions import Positions
from headlight.model.nn.layers.scores import ScoreRule

Model = TypeVar("Model", bound=HookedModel)

BEHIND_BATCH = ("hook_attn_scores", "hook_pattern")  # [batch, head, query, key]; all others are [batch, pos, head, ...]
OF_HEADS = ("W_Q", "_W_K", "_W_V", "W_K", "W_V", "W_O", "b_Q", "_b_K", "_b_V", "b_K", "b_V")


def shard_heads(model: Model, mesh: DeviceMesh) -> Model:
    """Divide each layer's heads over the processes of a mesh of one dimension; gives the model, which is changed.

    Every process calls this with the same model and then makes the same passes in the same order, as they wait for each
    other. The weights of heads become DTensors, whose `full_tensor()` has all heads and which do not mix with plain
    tensors. On the processor nothing is copied: of a model that is mapped from files, each process reads its own heads.

    Raises:
        ConfigError: the heads, or the keys and values that they share, cannot be divided evenly.
    """
    modules = {name: module for name, module in model.named_modules() if isinstance(module, Attention)}
    for attn in modules.values():
        _check_even(attn, mesh.size())
    parallelize_module(model, mesh, dict.fromkeys(modules, HeadsApart()))
    return model.to(mesh.device_type)


def _check_even(attn: Attention, n_processes: int) -> None:
    if attn.disentangled is not None:
        raise ConfigError("Attention whose heads give to distances (DeBERTa's) cannot be divided over processes.")
    for what, weights in (
        ("heads", attn.W_Q),
        ("heads with keys and values of their own", attn.keys_and_values()[0][0]),
    ):
        if len(weights) % n_processes:
            raise ConfigError(f"{len(weights)} {what} cannot be divided evenly over {n_processes} processes.")


class HeadsApart(ParallelStyle):
    """For `parallelize_module`: an attention whose heads are divided over the processes."""

    def _apply(self, module: nn.Module, device_mesh: DeviceMesh) -> nn.Module:
        assert isinstance(module, Attention)
        own = OwnHeads(module, Divided(device_mesh))
        for name in OF_HEADS:
            if name in module._parameters:
                local = own.get_parameter(name.lstrip("_"))
                divided = DTensor.from_local(local, device_mesh, [Shard(0)], run_check=False)
                module.register_parameter(name, nn.Parameter(divided, requires_grad=False))
        module.forward = own.forward  # type: ignore[method-assign]
        return module


class Divided:
    """Collective operations over one tensor divided among processes; gradients pass through each."""

    def __init__(self, mesh: DeviceMesh) -> None:
        self.mesh = mesh

    def whole(self, own: Float[Tensor, "..."], axis: int) -> Float[Tensor, "..."]:
        """All processes' parts, side by side."""
        return DTensor.from_local(own, self.mesh, [Shard(axis)], run_check=False).full_tensor()

    def own(self, whole: Float[Tensor, "..."], axis: int) -> Float[Tensor, "..."]:
        """This process's part of a tensor that all processes have."""
        divided = DTensor.from_local(whole, self.mesh, [Replicate()], run_check=False)
        return divided.redistribute(placements=[Shard(axis)]).to_local()

    def summed(self, own: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
        """Sum over the processes."""
        return DTensor.from_local(own, self.mesh, [Partial()], run_check=False).full_tensor()

    def shared(self, whole: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
        """A value that all processes have and use, so that its gradient is the sum of theirs."""
        divided = DTensor.from_local(whole, self.mesh, [Replicate()], run_check=False)
        return divided.to_local(grad_placements=[Partial()])

    def part(self, parameter: Tensor) -> nn.Parameter:
        """This process's rows of a parameter, where they lie; on an accelerator, a copy of these alone."""
        rows = parameter.detach().chunk(self.mesh.size())[self.mesh.get_local_rank()]
        return nn.Parameter(rows.to(self.mesh.device_type), requires_grad=False)


class OwnHeads(Attention):
    """This process's heads of a layer. It shows taps those of all processes, and goes on with what these make of them.

    Sinks and biases of scores are kept of all heads, as they are small.
    """

    def __init__(self, attn: Attention, divided: Divided) -> None:
        nn.Module.__init__(self)
        (W_K, W_V), (b_K, b_V) = attn.keys_and_values()
        weights = {"W_Q": attn.W_Q, "W_K": W_K, "W_V": W_V, "W_O": attn.W_O}
        for name, parameter in {**weights, "b_Q": attn.b_Q, "b_K": b_K, "b_V": b_V}.items():
            self.register_parameter(name, divided.part(parameter))
        is_first = divided.mesh.get_local_rank() == 0
        b_O = attn.b_O.detach().to(divided.mesh.device_type)
        self.b_O = nn.Parameter(b_O if is_first else torch.zeros_like(b_O), requires_grad=False)  # once in the sum
        self.attn_scale, self.soft_cap, self.dropout = attn.attn_scale, attn.soft_cap, attn.dropout
        self.clip_qkv = attn.clip_qkv
        self.disentangled = None
        self.window, self.rotary, self.rel_pos_bias = attn.window, attn.rotary, attn.rel_pos_bias
        self.sinks, self.norms_last = attn.sinks, attn.norms_last
        self.q_norm, self.k_norm = (_of_own(norm, divided) for norm in (attn.q_norm, attn.k_norm))
        self.divided, self.n_heads = divided, len(attn.W_Q)

    def forward(
        self,
        normalized_resid_pre: Float[Tensor, "batch query d_model"],
        positions: Positions,
        tap: Tap,
        memory: Float[Tensor, "batch memory d_model"] | None = None,
    ) -> Float[Tensor, "batch query d_model"]:
        stream = self.divided.shared(normalized_resid_pre)
        memory = None if memory is None else self.divided.shared(memory)
        return self.divided.summed(super().forward(stream, positions, AllHeads(tap, self.divided), memory))

    def _attend(
        self,
        q: Float[Tensor, "batch query head d_head"],
        k: Float[Tensor, "batch key kv_head d_head"],
        v: Float[Tensor, "batch key kv_head d_value"],
        rule: ScoreRule,
        tap: Tap,
    ) -> Float[Tensor, "_ query head d_value"]:
        assert isinstance(tap, AllHeads)
        if Look.LATER in (tap.inner.look(name) for name in BEHIND_BATCH):  # read when other processes may be elsewhere
            Attended(self.divided.whole(q, 2), self.divided.whole(k, 2), rule).leave(tap.inner)
        n_own = len(self.W_Q)
        first = n_own * self.divided.mesh.get_local_rank()
        return super()._attend(q, k, v, rule.of_heads(slice(first, first + n_own)), tap)


class AllHeads(Tap):
    """Shows a tap the activations of all processes' heads, and gives back what is made of this process's own."""

    def __init__(self, inner: Tap, divided: Divided) -> None:
        self.inner, self.divided = inner, divided

    def __call__(self, name: str, activation: Tensor) -> Tensor:
        if self.look(name) is Look.NEVER:
            return activation
        axis = 1 if name in BEHIND_BATCH else 2
        return self.divided.own(self.inner(name, self.divided.whole(activation, axis)), axis)

    def look(self, name: str) -> Look:
        return Look.WHOLE if self.inner.look(name) > Look.LATER else Look.NEVER

    def with_past(self, k: Tensor, v: Tensor, at: str = "") -> tuple[Tensor, Tensor]:
        return self.inner.with_past(k, v, at)

    def within(self, prefix: str) -> Tap:
        return AllHeads(self.inner.within(prefix), self.divided)


class _AcrossHeads(nn.Module):
    """A norm that has all heads' queries or keys in sight, of which this process goes on with its own."""

    def __init__(self, norm: nn.Module, divided: Divided) -> None:
        super().__init__()
        self.norm, self.divided = norm, divided

    def forward(self, x: Vectors, tap: AllHeads) -> Vectors:
        return self.divided.own(self.norm(self.divided.whole(x, 2), tap.inner), 2)


def _of_own(norm: nn.Module, divided: Divided) -> nn.Module:
    return _AcrossHeads(norm, divided) if isinstance(norm, HeadwiseLayerNorm | RMSNormAcrossHeads) else norm

"""Map the tensors of a transformers checkpoint to parameters, as views: nothing is copied.

A torch.nn.Linear holds its matrix as [out, in]; the parameters here are [in, out], with the heads apart.
"""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import torch
from torch import Tensor


@dataclass(frozen=True)
class WeightView:
    """A parameter as a view of a checkpoint tensor: the tensor's name and shape, and the function that views it.

    A parameter that combines several tensors has `others`: their views are further arguments of `view`.
    """

    name: str
    shape: tuple[int, ...]
    view: Callable[..., Tensor] = lambda tensor: tensor
    others: tuple["WeightView", ...] = ()

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """The checkpoint tensors that this parameter is read from, and their shapes."""
        return {self.name: self.shape} | {other.name: other.shape for other in self.others}

    def read(self, tensors: Mapping[str, Tensor]) -> Tensor:
        """Return the parameter from a checkpoint's tensors."""
        return self.view(tensors[self.name], *(other.read(tensors) for other in self.others))

    def then(self, view: Callable[[Tensor], Tensor]) -> "WeightView":
        """Apply a further view to this one."""
        return replace(self, view=lambda *tensors: view(self.view(*tensors)))


WeightMap = dict[str, WeightView]  # by the parameter's name


def vector(name: str, width: int) -> WeightView:
    """A gain or a bias."""
    return WeightView(name, (width,))


def table(name: str, n_rows: int, width: int, first: int = 0) -> WeightView:
    """An embedding; the first `first` rows of the stored tensor are skipped."""
    whole = WeightView(name, (first + n_rows, width))
    return whole.then(lambda tensor: tensor[first:]) if first else whole


def linear(name: str, d_in: int, d_out: int) -> WeightView:
    """The weight of a Linear, transposed to [in, out]."""
    return WeightView(name, (d_out, d_in), lambda tensor: tensor.T)


def reading(name: str, d_model: int, n_heads: int, d_head: int) -> WeightView:
    """The weight of a Linear whose outputs are the concatenated heads, as [head, d_model, d_head]."""
    view = (n_heads, d_head)
    return WeightView(name, (n_heads * d_head, d_model), lambda tensor: tensor.unflatten(0, view).transpose(1, 2))


def reading_bias(name: str, n_heads: int, d_head: int) -> WeightView:
    """The bias of a Linear whose outputs are the concatenated heads, as [head, d_head]."""
    return WeightView(name, (n_heads * d_head,), lambda tensor: tensor.unflatten(0, (n_heads, d_head)))


def writing(name: str, n_heads: int, d_head: int, d_model: int) -> WeightView:
    """The weight of a Linear whose inputs are the concatenated heads, as [head, d_head, d_model]."""
    return WeightView(name, (d_model, n_heads * d_head), lambda tensor: tensor.T.unflatten(0, (n_heads, d_head)))


def fused(parts: WeightMap) -> WeightMap:
    """Split fused tensors: entries with the same tensor name are consecutive row ranges of it, in this order."""
    weights, n_rows = dict(parts), Counter[str]()
    for name, weight in parts.items():
        start = n_rows[weight.name]
        n_rows[weight.name] = end = start + weight.shape[0]
        weights[name] = replace(weight, view=_of_rows(weight.view, slice(start, end)))
    return {name: replace(weight, shape=(n_rows[weight.name], *weight.shape[1:])) for name, weight in weights.items()}


def _of_rows(view: Callable[..., Tensor], rows: slice) -> Callable[..., Tensor]:
    return lambda tensor: view(tensor[rows])


def joined(first: WeightView, *others: WeightView, by: Callable[..., Tensor]) -> WeightView:
    """A parameter computed from several tensors, and so a copy rather than a view."""
    return replace(first, view=lambda tensor, *rest: by(first.view(tensor), *rest), others=others)


def one_plus(weight: WeightView) -> WeightView:
    """A norm's gain that is stored minus 1."""
    return weight.then(lambda tensor: 1 + tensor.float())


def parameters(
    weight_map: WeightMap, tensors: dict[str, Tensor], shapes: Mapping[str, tuple[int, ...]]
) -> dict[str, Tensor]:
    """Return the state dict for these shapes: the mapped views, and zeros for biases that the checkpoint lacks."""
    state = {name: weight.read(tensors) for name, weight in weight_map.items()}
    for name, shape in shapes.items():
        if name not in state:
            assert name.rpartition(".")[2].startswith(("b", "_b")), f"{name} is not mapped"
            state[name] = torch.zeros(shape)
    return state

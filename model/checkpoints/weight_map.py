"""Where the parameters of a transformers checkpoint lie in its tensors, as views: nothing is copied.

A torch.nn.Linear holds its matrix as [out, in]; the parameters here are [in, out], with the heads apart.
"""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import torch
from torch import Tensor


@dataclass(frozen=True)
class Piece:
    """A parameter: the checkpoint's tensor that holds it, that tensor's shape, and the view that is the parameter.

    What is made of several tensors has `others`, which the view takes besides, each as it is viewed itself.
    """

    name: str
    shape: tuple[int, ...]
    view: Callable[..., Tensor] = lambda tensor: tensor
    others: tuple["Piece", ...] = ()

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """The tensors of which it is made, and their shapes."""
        return {self.name: self.shape} | {other.name: other.shape for other in self.others}

    def of(self, tensors: Mapping[str, Tensor]) -> Tensor:
        """The parameter, from a checkpoint's tensors."""
        return self.view(tensors[self.name], *(other.of(tensors) for other in self.others))

    def then(self, view: Callable[[Tensor], Tensor]) -> "Piece":
        """The piece of which a view is the parameter."""
        return replace(self, view=lambda *tensors: view(self.view(*tensors)))


Pieces = dict[str, Piece]  # by the parameter's name


def vector(name: str, width: int) -> Piece:
    """A gain or a bias."""
    return Piece(name, (width,))


def table(name: str, n_rows: int, width: int, first: int = 0) -> Piece:
    """An embedding, whose first row may stand behind others."""
    whole = Piece(name, (first + n_rows, width))
    return whole.then(lambda tensor: tensor[first:]) if first else whole


def linear(name: str, d_in: int, d_out: int) -> Piece:
    """The matrix of a Linear."""
    return Piece(name, (d_out, d_in), lambda tensor: tensor.T)


def reading(name: str, d_model: int, n_heads: int, d_head: int) -> Piece:
    """The matrix of a Linear whose outputs are heads, one behind the other: [head, d_model, d_head]."""
    view = (n_heads, d_head)
    return Piece(name, (n_heads * d_head, d_model), lambda tensor: tensor.unflatten(0, view).transpose(1, 2))


def reading_bias(name: str, n_heads: int, d_head: int) -> Piece:
    """The bias of such a Linear: [head, d_head]."""
    return Piece(name, (n_heads * d_head,), lambda tensor: tensor.unflatten(0, (n_heads, d_head)))


def writing(name: str, n_heads: int, d_head: int, d_model: int) -> Piece:
    """The matrix of a Linear whose inputs are heads, one behind the other: [head, d_head, d_model]."""
    return Piece(name, (d_model, n_heads * d_head), lambda tensor: tensor.T.unflatten(0, (n_heads, d_head)))


def fused(parts: Pieces) -> Pieces:
    """Pieces of which those of one tensor lie one behind the other in its rows, in this order."""
    found, n_rows = dict(parts), Counter[str]()
    for name, piece in parts.items():
        start = n_rows[piece.name]
        n_rows[piece.name] = end = start + piece.shape[0]
        found[name] = replace(piece, view=_of_rows(piece.view, slice(start, end)))
    return {name: replace(piece, shape=(n_rows[piece.name], *piece.shape[1:])) for name, piece in found.items()}


def _of_rows(view: Callable[..., Tensor], rows: slice) -> Callable[..., Tensor]:
    return lambda tensor: view(tensor[rows])


def joined(first: Piece, *others: Piece, by: Callable[..., Tensor]) -> Piece:
    """A parameter that is made of several, and is thereby no view."""
    return replace(first, view=lambda tensor, *rest: by(first.view(tensor), *rest), others=others)


def one_plus(piece: Piece) -> Piece:
    """A gain that is stored less 1."""
    return piece.then(lambda tensor: 1 + tensor.float())


def parameters(pieces: Pieces, tensors: dict[str, Tensor], shapes: Mapping[str, tuple[int, ...]]) -> dict[str, Tensor]:
    """The state dict of the shapes given: the pieces' views, and zeros for biases that the checkpoint has not."""
    state = {name: piece.of(tensors) for name, piece in pieces.items()}
    for name, shape in shapes.items():
        if name not in state:
            assert name.rpartition(".")[2].startswith(("b", "_b")), f"{name} has no piece"
            state[name] = torch.zeros(shape)
    return state

"""Products with a weight matrix, as fast as the processor, or for a few rows its memory, allows.

Writing a token multiplies one row with every weight of the model, so that reading the weights is nearly all the work.
torch's matrix products are made for many rows, and for one they take longer than the reading.
"""

from collections.abc import Sequence
from functools import cache, lru_cache

import torch
from einops import einsum
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional

from headlight.model.compute.backend import backend, default
from headlight.model.compute.quantised import Quantised, plain

# Bounds within which the other ways were measured to be faster than a plain product, on an AMD EPYC with torch 2.13:
FEW = 4  # rows of x; for 8 they are as fast
LARGE = 2**18  # elements of a matrix; a smaller one stays in the processor's cache
MANY = 2**23  # elements of a matrix times rows of x, from which a smaller one is worth it too
MAX_COLUMNS = 2**14  # columns of a matrix that is read by rows
BLOCK = 64  # rows of a matrix taken at a time, which stay in the cache while all rows of x use them
WIDE_BLOCK = 128  # rows taken at a time of a transposed matrix, whose columns lie side by side
STEPS = ((512, 128), (128, 32))  # of more rows than the first, their number is a multiple of the second
WIDENED = 2**21  # elements of a matrix in half precision that are float32 at a time: 8 MB
SUM = 0  # embedding_bag's name for it
HAS_KERNEL = "fbgemm" in torch.backends.quantized.supported_engines  # without it embedding_bag is slow


def product(
    x: Float[Tensor, "..."], W: Float[Tensor, "..."], equation: str, b: Float[Tensor, "..."] | None = None
) -> Float[Tensor, "..."]:
    """`einsum(x, W, equation) + b`, where that sums over x's last axes and puts W's other axes in their place.

    In inference mode on the CPU, x times a large matrix, or many rows times a smaller one, comes to the same float32
    sums another way: their terms are added in another order, so that they differ by rounding. Where derivatives may be
    needed it is einsum.
    """
    W = plain(W) if torch.is_inference_mode_enabled() else W  # else it is kept for the derivatives, as it is stored
    if W.dtype != x.dtype:
        return _widened(x, W, equation, b)
    order, n_summed = _axes(equation)
    rows = x.shape[: x.ndim - n_summed]
    n_rows = rows.numel()
    matrix = _matrix(W.permute(order), n_summed) if n_rows and _is_large_constant(W, n_rows) else None
    if matrix is None:
        out = einsum(x, W, equation)
        return out if b is None else out + b
    flat = x.reshape(n_rows, len(matrix))
    if n_rows <= FEW and HAS_KERNEL and (few := _few_rows(flat, matrix)) is not None:
        out = few if b is None else few.add_(b.reshape(-1))
    else:
        out = backend().multiply(_padded(flat), matrix, None if b is None else b.reshape(-1))[:n_rows]
    return out.reshape(*rows, *(W.shape[axis] for axis in order[n_summed:]))


def _widened(
    x: Float[Tensor, "..."], W: Float[Tensor, "..."], equation: str, b: Float[Tensor, "..."] | None
) -> Float[Tensor, "..."]:
    """The `product` with a matrix in half precision, which is made float32 some columns at a time."""
    order, n_summed = _axes(equation)
    matrix = _matrix(W.permute(order), n_summed) if torch.is_inference_mode_enabled() else None
    if matrix is None:
        return product(x, W.to(x.dtype), equation, b)
    rows, (d_in, d_out) = x.shape[: x.ndim - n_summed], matrix.shape
    flat, bias = x.reshape(rows.numel(), d_in), None if b is None else b.reshape(-1)
    multiply = backend().multiply if x.device.type == "cpu" else default
    out, step = x.new_empty(len(flat), d_out), max(1, WIDENED // d_in)
    for first in range(0, d_out, step):
        some = slice(first, first + step)
        out[:, some] = multiply(flat, matrix[:, some].to(x.dtype), None if bias is None else bias[some])
    return out.reshape(*rows, *(W.shape[axis] for axis in order[n_summed:]))


def affine(
    x: Float[Tensor, "row d_in"], W: Float[Tensor, "d_in d_out"], b: Float[Tensor, " d_out"]
) -> Float[Tensor, "row d_out"]:
    """x @ W + b as a `product`."""
    return product(x, W, "row d_in, d_in d_out -> row d_out", b)


def products(
    x: Float[Tensor, "..."],
    matrices: Sequence[Float[Tensor, "..."]],
    equation: str,
    biases: Sequence[Float[Tensor, "..."]],
) -> tuple[Float[Tensor, "..."], ...]:
    """The `product` with each of several; one product where they lie one behind the other.

    All heads' may, as in GPT-2's files, or each head's, as in GPT-NeoX's.
    """
    if torch.is_inference_mode_enabled() and not any(isinstance(W, Quantised) for W in matrices):
        for join, axis in ((_joined, x.ndim - _axes(equation)[1]), (_woven, -1)):
            joined, bias = join(matrices), join(biases)
            if joined is not None and bias is not None:
                return product(x, joined, equation, bias).chunk(len(matrices), dim=axis)
    return tuple(product(x, W, equation, b) for W, b in zip(matrices, biases, strict=True))


@cache
def _axes(equation: str) -> tuple[tuple[int, ...], int]:
    """Order of W's axes with the summed ones first, and the number of summed axes."""
    inputs, output = equation.split("->")
    of_x, of_W = (each.split() for each in inputs.split(","))
    summed, kept = [axis for axis in of_x if axis in of_W], [axis for axis in output.split() if axis in of_W]
    return tuple(map(of_W.index, summed + kept)), len(summed)


def _is_large_constant(W: Tensor, n_rows: int) -> bool:
    """Whether W is float32 on the CPU, worth some steps around its product, and nothing that derivatives go to."""
    if not torch.is_inference_mode_enabled() or W.dtype != torch.float32 or W.device.type != "cpu":
        return False
    return W.numel() >= LARGE or n_rows * W.numel() >= MANY


def _padded(x: Float[Tensor, "row d_in"]) -> Float[Tensor, "more d_in"]:
    """x with rows of zeros behind it, where it has many rows: one of few numbers of them.

    oneDNN makes code for every number of rows and keeps it: over a corpus, whose batches have any number of them, that
    grew to half a gigabyte.
    """
    step = next((step for least, step in STEPS if len(x) > least), 1)
    return x if len(x) % step == 0 else functional.pad(x, (0, 0, 0, -len(x) % step))


def _matrix(W: Float[Tensor, "..."], n_summed: int) -> Float[Tensor, "d_in d_out"] | None:
    """W as a matrix, if it is one without a copy."""
    try:
        return W.view(W.shape[:n_summed].numel(), W.shape[n_summed:].numel())
    except RuntimeError:  # the heads' matrices lie one behind the other
        return None


def _few_rows(x: Float[Tensor, "few d_in"], W: Float[Tensor, "d_in d_out"]) -> Float[Tensor, "few d_out"] | None:
    """x @ W by a faster way, if W's kind has one.

    By rows: they lie a whole number of their lengths apart. By columns: they lie side by side, more of them than rows.
    """
    (d_in, d_out), (down, right) = W.shape, W.stride()
    if right == 1 and down % d_out == 0 and d_out <= MAX_COLUMNS:
        return _weighted_rows(x, W)
    if (down, right) == (1, d_in) and d_in <= d_out:
        return _dot_products(x, W.T)
    return None


def _joined(parts: Sequence[Float[Tensor, "..."]]) -> Float[Tensor, "heads ..."] | None:
    """`torch.cat(parts)`, if without a copy they are slices of such a tensor, in this order."""
    first = parts[0]
    if not _follow(parts, first.shape[0] * first.stride(0)):
        return None
    return first.as_strided((len(parts) * first.shape[0], *first.shape[1:]), first.stride())


def _woven(parts: Sequence[Float[Tensor, "..."]]) -> Float[Tensor, "heads ..."] | None:
    """`torch.cat(parts, -1)`, if without a copy each head's are slices of such a tensor, in this order."""
    first = parts[0]
    step = first.shape[-1] * first.stride(-1)
    if first.stride(0) != len(parts) * step or not _follow(parts, step):
        return None
    return first.as_strided((*first.shape[:-1], len(parts) * first.shape[-1]), first.stride())


def _follow(parts: Sequence[Float[Tensor, "..."]], step: int) -> bool:
    """Whether the tensors have one layout, and lie at equal distances in the same memory."""
    first = parts[0]
    memory, begin = first.untyped_storage().data_ptr(), first.data_ptr()
    for index, part in enumerate(parts[1:], 1):
        if part.data_ptr() != begin + index * step * first.element_size() or part.dtype != first.dtype:
            return False
        if part.shape != first.shape or part.stride() != first.stride():
            return False
        if part.untyped_storage().data_ptr() != memory:
            return False
    return True


def _weighted_rows(x: Float[Tensor, "few d_in"], W: Float[Tensor, "d_in d_out"]) -> Float[Tensor, "few d_out"]:
    """x @ W as the sum of W's rows weighted by x, which is an embedding bag.

    A bag is a block of W's rows for one row of x. Where W's rows lie further apart than they are long, as slices of
    one matrix do, they are every second or third of a longer table.
    """
    (few, d_in), d_out = x.shape, W.shape[1]
    block = BLOCK if d_in % BLOCK == 0 else d_in
    apart = W.stride(0) // d_out
    table = W if apart == 1 else W.as_strided((1 + (d_in - 1) * apart, d_out), (d_out, 1))
    rows, bags = _bags(few, d_in, block, apart)
    weights = (x if few == 1 else x.view(few, -1, block).transpose(0, 1)).reshape(-1)
    # torch's function by its own name: the one in torch.nn.functional makes the bags anew each time.
    sums = torch.embedding_bag(table, rows, bags, mode=SUM, per_sample_weights=weights)[0]
    return sums.view(-1, few, d_out).sum(0)


@lru_cache(maxsize=64)
def _bags(few: int, d_in: int, block: int, apart: int) -> tuple[Int[Tensor, " rows"], Int[Tensor, " bags"]]:
    """The table's rows, bag after bag, and where each begins: the first block for each row of x, then the second."""
    blocks = (torch.arange(d_in) * apart).view(-1, 1, block)
    return blocks.expand(-1, few, -1).reshape(-1), torch.arange(0, few * d_in, block)


def _dot_products(x: Float[Tensor, "few d_in"], W: Float[Tensor, "d_out d_in"]) -> Float[Tensor, "few d_out"]:
    """x @ W.T in blocks of W's rows, for which torch has a faster way than for all of them at once."""
    (n_rows, d_in), few = W.shape, len(x)
    n_blocks, rest = divmod(n_rows, WIDE_BLOCK)
    out = x.new_empty(n_rows, few)
    blocks = W[: n_rows - rest].view(n_blocks, WIDE_BLOCK, d_in)
    torch.bmm(blocks, x.T.expand(n_blocks, d_in, few), out=out[: n_rows - rest].view(n_blocks, WIDE_BLOCK, few))
    torch.mm(W[n_rows - rest :], x.T, out=out[n_rows - rest :])
    return out.T

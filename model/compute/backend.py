"""The float32 product of matrices on the processor: the fastest exact one, measured once.

torch multiplies with the library that it was built with, mostly MKL. oneDNN, mostly built in besides, can be more than
twice as fast at the same error. It is called by its own operator, which torch.compile puts for a linear layer, and
for these products alone: `torch.backends.mkldnn.matmul.fp32_precision = "bf16"` selects it too, but for the whole
process, slows small products down, and permits bfloat16's error on processors with AMX.
"""

import re
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from headlight.model.base.errors import ConfigError

ERROR_BOUND = 5e-6  # of the largest entry; float32 sums of this length have about 1e-6, bfloat16's 3e-3
PROBE = (64, 768, 3072)  # rows, summed over, columns: GPT-2-small's widest layer on 64 tokens
TURNS = 7  # so many measurements each, in turns, of which the fastest counts: others may use the machine

Rows = Float[Tensor, "row d_in"]
Matrix = Float[Tensor, "d_in d_out"]
Bias = Float[Tensor, " d_out"]
Multiply = Callable[[Rows, Matrix, Bias | None], Float[Tensor, "row d_out"]]
Candidate = tuple[str, Multiply]


@dataclass(frozen=True)
class Backend:
    """A way to compute x @ W + b: its error, at most and over the largest entry, and billions of operations a second.

    The error is the largest difference from the product in float64.
    """

    name: str
    multiply: Multiply
    error: float
    gflops: float


def default(x: Rows, W: Matrix, b: Bias | None) -> Float[Tensor, "row d_out"]:
    """x @ W + b by torch's default kernel."""
    return x @ W if b is None else torch.addmm(b, x, W)


def onednn(x: Rows, W: Matrix, b: Bias | None) -> Float[Tensor, "row d_out"]:
    """x @ W + b by oneDNN; but not for a matrix with gaps, which would be multiplied by plain loops."""
    if not (W.is_contiguous() or W.T.is_contiguous()):
        return default(x, W, b)
    return torch.ops.mkldnn._linear_pointwise.default(x.contiguous(), W.T, b, "none", [], "")


class Backends:
    """Available backends, measured once on first use, and the one in use."""

    def __init__(self, candidates: Callable[[], Sequence[Candidate]]) -> None:
        self._candidates = candidates
        self._lock = threading.Lock()
        self._measured: tuple[Backend, ...] = ()
        self._in_use: Backend | None = None
        self._forced: str | None = None

    def in_use(self) -> Backend:
        """The forced backend, else the fastest exact one; the first call measures, for some tens of milliseconds."""
        if self._in_use is None:
            fastest = self.measured()
            with self._lock:
                self._in_use = self._in_use or self._chosen(fastest)
        return self._in_use

    def measured(self) -> tuple[Backend, ...]:
        """All backends, torch's own first, as measured once."""
        with self._lock:
            if not self._measured:
                self._measured = measure(self._candidates())
            return self._measured

    def force(self, name: str | None) -> None:
        """Use the backend of this name from now on, or with None the fastest exact one again.

        Raises:
            ConfigError: there is no backend of this name here.
        """
        if name is not None and name not in (names := [each.name for each in self.measured()]):
            raise ConfigError(
                f"There is no backend {name!r} here; give one of {', '.join(names)}, or None for the fastest."
            )
        with self._lock:
            self._forced, self._in_use = name, None

    @contextmanager
    def settled(self) -> Iterator[None]:
        """Use one that no measured speed decides, and with that no load on the machine: the last of the exact ones.

        Several processes so come to the same bits on one machine, and one does tomorrow.
        """
        before = self._forced
        self.force([each.name for each in self.measured() if each.error <= ERROR_BOUND or each.multiply is default][-1])
        try:
            yield
        finally:
            self.force(before)

    def _chosen(self, backends: Sequence[Backend]) -> Backend:
        """The forced backend, else the fastest within the error bound, else torch's own."""
        for each in backends:
            if each.name == self._forced:
                return each
        exact = [each for each in backends if each.error <= ERROR_BOUND]
        return max(exact, key=lambda each: each.gflops, default=backends[0])


def measure(candidates: Sequence[Candidate], device: str = "cpu") -> tuple[Backend, ...]:
    """Error and speed of each working candidate on a product of GPT-2-small's size."""
    n_rows, d_in, d_out = PROBE
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(n_rows, d_in, generator=generator).to(device)
    W = torch.randn(d_in, d_out, generator=generator).to(device)
    with torch.inference_mode():
        exact = x.double() @ W.double()
        errors = [_error(multiply, x, W, exact) for _, multiply in candidates]
        able = [(*each, error) for each, error in zip(candidates, errors, strict=True) if error is not None]
        turns = [[_seconds(multiply, x, W) for _, multiply, _ in able] for _ in range(TURNS)]
    operations = 2e-9 * n_rows * d_in * d_out
    return tuple(
        Backend(name, multiply, error, operations / min(seconds))
        for (name, multiply, error), *seconds in zip(able, *turns, strict=True)
    )


def _error(multiply: Multiply, x: Rows, W: Matrix, exact: Tensor) -> float | None:
    """None where it is built in, but not for this processor."""
    try:
        return float((multiply(x, W, None).double() - exact).abs().max() / exact.abs().max())
    except RuntimeError:
        return None


def _seconds(multiply: Multiply, x: Rows, W: Matrix) -> float:
    began = time.perf_counter()
    multiply(x, W, None)[0, 0].item()  # read, so that it is done
    return time.perf_counter() - began


def candidates() -> list[Candidate]:
    """torch's own and oneDNN's, if it is built in."""
    library = re.search(r"BLAS_INFO=(\w+)", torch.__config__.show())
    own = f"torch's own ({library[1]})" if library else "torch's own"
    has_onednn = torch.backends.mkldnn.is_available() and hasattr(torch.ops.mkldnn, "_linear_pointwise")
    return [(own, default), *([("oneDNN", onednn)] if has_onednn else [])]


_here = Backends(candidates)
backend, measured, force, settled = _here.in_use, _here.measured, _here.force, _here.settled

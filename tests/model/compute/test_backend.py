"""Which matrix product is taken: the fastest of those that are exact, and torch's own where none is."""

import threading
from operator import attrgetter
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from headlight.model.base.errors import ConfigError
from headlight.model.compute.backend import (
    ERROR_BOUND,
    Backend,
    Backends,
    Candidate,
    Multiply,
    backend,
    candidates,
    default,
    measure,
    measured,
    onednn,
)


def as_bfloat16(x: Tensor, W: Tensor, b: Tensor | None) -> Tensor:
    """What oneDNN does with float32 on a processor that has bfloat16's units, where it is allowed to."""
    return default(x.bfloat16().float(), W.bfloat16().float(), b)


def broken(x: Tensor, W: Tensor, b: Tensor | None) -> Tensor:
    raise RuntimeError("could not create a primitive")


def relative_error(multiply: Multiply, x: Tensor, W: Tensor) -> float:
    exact = x.double() @ W.double()
    return float((multiply(x, W, None).double() - exact).abs().max() / exact.abs().max())


def test_the_one_in_use_is_as_exact_as_the_bound_says_on_other_numbers_and_layouts() -> None:
    generator = torch.Generator().manual_seed(1)
    with torch.inference_mode():
        for n_rows, d_in, d_out in [(1, 768, 2304), (17, 768, 768), (130, 3072, 768)]:
            x, W = torch.randn(n_rows, d_in, generator=generator), torch.randn(d_in, d_out, generator=generator)
            for matrix in (W, W.T.contiguous().T, torch.cat([W, W], dim=1)[:, :d_out]):
                # The bound's own product has sums of 768 terms; of 3072 the rounding is at most twice as large.
                assert relative_error(backend().multiply, x, matrix) < 2 * ERROR_BOUND


def test_an_inexact_backend_is_measured_and_not_taken() -> None:
    backends = Backends(lambda: [("own", default), ("half", as_bfloat16)])
    own, half = backends.measured()
    # bfloat16 has 8 bits: a product is off by up to 2^-8 of itself, a sum of 768 by some 1e-3 of the largest.
    assert own.error < ERROR_BOUND < 1e-4 < half.error < 2**-8
    assert backends.in_use().name == "own"


class Known(Backends):
    """Backends whose errors and speeds are known, as if they had been measured."""

    def __init__(self, *backends: Backend) -> None:
        super().__init__(list)
        self._measured = backends


@pytest.mark.parametrize(
    ("known", "expected"),
    [
        ([("own", 1e-6, 100.0), ("fast", 2e-6, 200.0)], "fast"),
        ([("own", 1e-6, 100.0), ("slow", 1e-7, 50.0)], "own"),
        ([("own", 1e-6, 100.0), ("wrong", 3e-3, 900.0)], "own"),
        ([("own", 3e-3, 100.0), ("wrong", 3e-3, 900.0)], "own"),  # as where the user has allowed bfloat16
    ],
)
def test_the_fastest_exact_one_is_chosen(known: list[tuple[str, float, float]], expected: str) -> None:
    backends = Known(*(Backend(name, default, error, gflops) for name, error, gflops in known))
    assert backends.in_use().name == expected


def test_one_that_cannot_run_here_is_left_out() -> None:
    assert [each.name for each in measure([("own", default), ("broken", broken)])] == ["own"]


def test_it_is_measured_once_however_many_ask_at_the_same_time() -> None:
    calls: list[int] = []

    def counted() -> list[Candidate]:
        calls.append(1)
        return candidates()

    backends, answers = Backends(counted), list[Backend]()
    threads = [threading.Thread(target=lambda: answers.append(backends.in_use())) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert calls == [1]
    assert len(answers) == 8
    assert all(each is answers[0] for each in answers)


def test_one_can_be_forced_and_let_go_again() -> None:
    backends = Backends(candidates)
    fastest = backends.in_use()
    for each in backends.measured():
        backends.force(each.name)
        assert backends.in_use() is each
    backends.force(None)
    assert backends.in_use() is fastest
    with pytest.raises(ConfigError, match=r"no backend 'abacus' here; give one of torch's own"):
        backends.force("abacus")


def test_torchs_settings_are_left_as_they_are() -> None:
    """They are the whole process's: what they allow, they allow to everybody's products."""
    of_onednn = attrgetter("matmul.fp32_precision")  # which torch's annotations do not know
    before = torch.get_float32_matmul_precision(), of_onednn(torch.backends.mkldnn)
    measure(candidates())
    assert before == (torch.get_float32_matmul_precision(), of_onednn(torch.backends.mkldnn))


class Operators(TorchDispatchMode):
    """Notes which of torch's operators are called."""

    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.names.append(func.name())
        return func(*args, **(kwargs or {}))


@pytest.mark.skipif(len(measured()) < 2, reason="torch is built without oneDNN")
def test_a_matrix_with_gaps_is_not_given_to_onednn() -> None:
    """It would fall back to plain loops, a thousand times slower."""
    x, W = torch.randn(3, 8), torch.randn(8, 30)
    for matrix, by_onednn in ((W, True), (W[:, :10], False), (W.T.contiguous().T, True), (W[:, ::2], False)):
        with Operators() as operators:
            product = onednn(x, matrix, None)
        torch.testing.assert_close(product, x @ matrix)
        assert ("mkldnn::_linear_pointwise" in operators.names) == by_onednn


def test_what_is_settled_no_speed_decides_and_ends() -> None:
    for own, other in ((100.0, 200.0), (200.0, 100.0)):
        exact = (Backend("own", default, 1e-6, own), Backend("other", onednn, 1e-6, other))
        backends = Known(*exact, Backend("wrong", as_bfloat16, 3e-3, 900.0))
        with backends.settled():
            assert backends.in_use().name == "other"
        assert backends.in_use().name == max(exact, key=attrgetter("gflops")).name

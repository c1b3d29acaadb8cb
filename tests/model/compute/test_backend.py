"""Which matrix product is taken: the fastest of those that are exact, and torch's own where none is."""

import threading
from operator import attrgetter

import pytest
import torch
from torch import Tensor

from headlight.model.base.errors import ConfigError
from headlight.model.compute import backend as taken
from headlight.model.compute.backend import ERROR_BOUND, Backend, backend, default, force, measure, measured, onednn


@pytest.fixture
def measured_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a process that has multiplied nothing yet, and the same again afterwards."""
    for name, value in (("_measured", ()), ("_in_use", None), ("_forced", None)):
        monkeypatch.setattr(taken, name, value)


def as_bfloat16(x: Tensor, W: Tensor, b: Tensor | None) -> Tensor:
    """What oneDNN does with float32 on a processor that has bfloat16's units, where it is allowed to."""
    return default(x.bfloat16().float(), W.bfloat16().float(), b)


def broken(x: Tensor, W: Tensor, b: Tensor | None) -> Tensor:
    raise RuntimeError("could not create a primitive")


def relative_error(multiply: taken.Multiply, x: Tensor, W: Tensor) -> float:
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


@pytest.mark.usefixtures("measured_anew")
def test_an_inexact_backend_is_measured_and_not_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(taken, "_candidates", lambda: [("own", default), ("half", as_bfloat16)])
    own, half = measured()
    # bfloat16 has 8 bits: a product is off by up to 2^-8 of itself, a sum of 768 by some 1e-3 of the largest.
    assert own.error < ERROR_BOUND < 1e-4 < half.error < 2**-8
    assert backend().name == "own"


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        ([("own", 1e-6, 100.0), ("fast", 2e-6, 200.0)], "fast"),
        ([("own", 1e-6, 100.0), ("slow", 1e-7, 50.0)], "own"),
        ([("own", 1e-6, 100.0), ("wrong", 3e-3, 900.0)], "own"),
        ([("own", 3e-3, 100.0), ("wrong", 3e-3, 900.0)], "own"),  # as where the user has allowed bfloat16
    ],
)
def test_the_fastest_exact_one_is_chosen(found: list[tuple[str, float, float]], expected: str) -> None:
    assert taken._chosen([Backend(name, default, error, gflops) for name, error, gflops in found]).name == expected


def test_one_that_cannot_run_here_is_left_out() -> None:
    assert [each.name for each in measure([("own", default), ("broken", broken)])] == ["own"]


@pytest.mark.usefixtures("measured_anew")
def test_it_is_measured_once_however_many_ask_at_the_same_time(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    candidates = taken._candidates

    def counted() -> list[tuple[str, taken.Multiply]]:
        asked.append(1)
        return candidates()

    monkeypatch.setattr(taken, "_candidates", counted)
    found: list[Backend] = []
    threads = [threading.Thread(target=lambda: found.append(backend())) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert asked == [1]
    assert len(found) == 8
    assert all(each is found[0] for each in found)


@pytest.mark.usefixtures("measured_anew")
def test_one_can_be_forced_and_let_go_again() -> None:
    fastest = backend()
    for each in measured():
        force(each.name)
        assert backend() is each
    force(None)
    assert backend() is fastest
    with pytest.raises(ConfigError, match=r"no backend 'abacus' here; give one of torch's own"):
        force("abacus")


def test_torchs_settings_are_left_as_they_are() -> None:
    """They are the whole process's: what they allow, they allow to everybody's products."""
    of_onednn = attrgetter("matmul.fp32_precision")  # which torch's annotations do not know
    before = torch.get_float32_matmul_precision(), of_onednn(torch.backends.mkldnn)
    measure(taken._candidates())
    assert before == (torch.get_float32_matmul_precision(), of_onednn(torch.backends.mkldnn))


@pytest.mark.skipif(len(measured()) < 2, reason="torch is built without oneDNN")
def test_a_matrix_with_gaps_is_not_given_to_onednn(monkeypatch: pytest.MonkeyPatch) -> None:
    """It would fall back to plain loops, a thousand times slower."""
    asked: list[Tensor] = []

    def plain(x: Tensor, W: Tensor, b: Tensor | None) -> Tensor:
        asked.append(W)
        return default(x, W, b)

    monkeypatch.setattr(taken, "default", plain)
    x, W = torch.randn(3, 8), torch.randn(8, 30)
    for matrix in (W, W[:, :10], W.T.contiguous().T, W[:, ::2]):
        torch.testing.assert_close(onednn(x, matrix, None), x @ matrix)
    assert [tuple(matrix.stride()) for matrix in asked] == [(30, 1), (30, 2)]


@pytest.mark.usefixtures("measured_anew")
def test_what_is_settled_no_speed_decides_and_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    for own, other in ((100.0, 200.0), (200.0, 100.0)):
        found = (Backend("own", default, 1e-6, own), Backend("other", onednn, 1e-6, other))
        monkeypatch.setattr(taken, "_measured", (*found, Backend("wrong", as_bfloat16, 3e-3, 900.0)))
        force(None)
        with taken.settled():
            assert backend().name == "other"
        assert backend().name == max(found, key=attrgetter("gflops")).name

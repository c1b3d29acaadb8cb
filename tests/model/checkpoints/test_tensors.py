"""Which values of a checkpoint are refused."""

import pytest
import torch
from torch import Tensor

from headlight.model.base.errors import CheckpointError
from headlight.model.checkpoints.family import Opening
from headlight.model.checkpoints.tensors import taken

LARGEST = torch.finfo(torch.float32).max


@pytest.mark.parametrize(
    "bad",
    [[torch.nan, 1.0], [torch.inf, 1.0], [-torch.inf, 1.0], [torch.inf, -torch.inf], [LARGEST, LARGEST, torch.nan]],
)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
def test_nan_and_infinite_values_are_refused_whatever_stands_beside_them(bad: list[float], dtype: torch.dtype) -> None:
    tensor = torch.tensor(bad).to(dtype)
    with pytest.raises(CheckpointError, match="NaN or infinite values in W"):
        taken({"W": tensor}, {"W": tuple(tensor.shape)}, Opening())


@pytest.mark.parametrize(
    "fine", [torch.full((4,), LARGEST), torch.full((3, 3), -LARGEST), torch.full((9,), 6e4, dtype=torch.float16)]
)
def test_finite_values_whose_sum_is_too_large_are_not(fine: Tensor) -> None:
    assert not torch.isfinite(fine.sum())
    taken({"W": fine}, {"W": tuple(fine.shape)}, Opening())

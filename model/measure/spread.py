"""One quantity over several prompts."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from jaxtyping import Int
from torch import Tensor

from headlight.model.measure import Measure


@dataclass(frozen=True, eq=False)
class Spread:
    """Mean and standard deviation of a measure over prompts, in its own unit, and how many prompts have a value.

    The deviation is the sample's, with n - 1 below: NaN for fewer than two prompts. The mean is NaN for none.
    """

    mean: Measure
    sd: Measure
    count: Int[Tensor, "..."]


def spread(measures: Sequence[Measure]) -> Spread:
    """Spread of a measure over prompts; prompts where it is NaN are left out.

    The measures, at least one, are of the same name and axes.
    """
    values = torch.stack([measure.values for measure in measures])
    mean = values.nanmean(dim=0)
    count = values.isfinite().sum(dim=0)
    squares = (values - mean).square().nansum(dim=0)
    sd = torch.where(count > 1, (squares / (count - 1)).sqrt(), torch.nan)
    first = measures[0]
    return Spread(
        mean=replace(first, name=f"mean {first.name}", values=mean),
        sd=replace(first, name=f"standard deviation of {first.name}", values=sd),
        count=count,
    )

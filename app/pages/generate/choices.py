"""Choices of the page *Generate*."""

from dataclasses import dataclass
from typing import Annotated, ClassVar

from headlight.app.selection.choices import PageChoices
from headlight.app.selection.codecs import count, indices, number
from headlight.model.decoding.compared import BWrites

MAX_NEW = 2048  # tokens that are written at once
MAX_TEMPERATURE = 2.0
LEAST_TOP_P = 0.01


@dataclass(frozen=True)
class Choices(PageChoices):
    """Settings of the continuation of each prompt, and the selected step, from 0.

    `n_new` tokens: first the ids in `written`, then what is drawn with `temperature` (0 is greedy), `top_k`, `top_p`
    and `seed`; with `stop` no further than the end of the text. B writes the `same` tokens as A, or its `own`.
    """

    forgets: ClassVar = {"prompt": ("written", "step")}

    n_new: Annotated[int, count(1, MAX_NEW)] = 20
    temperature: Annotated[float, number(0, MAX_TEMPERATURE)] = 1.0
    top_k: Annotated[int, count(1, 999_999)] | None = None
    top_p: Annotated[float, number(LEAST_TOP_P, 1)] = 1.0
    seed: int = 0
    stop: bool = True
    written: Annotated[tuple[int, ...], indices(lambda n: n <= MAX_NEW)] = ()
    step: int = 0
    b_writes: BWrites = "same"

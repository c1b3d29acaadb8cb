"""How far a run's numbers can be trusted, measured on request: against themselves, float64 and transformers."""

from dataclasses import dataclass
from functools import cache

import torch

from app import runs
from app.run import Run
from app.settings import settings
from model.analysis import Measure
from model.analysis.attention import row_sum_error
from model.analysis.residual import decomposition_residual
from model.backend import Backend, backend, default, measure
from model.errors import InputError
from model.families.gpt2_export import reference_logits
from model.hooks import Collect, Tap


@dataclass(frozen=True)
class Sums:
    """What has to add up and how far it does not, at most: components to the final residual, attention rows to 1."""

    components: Measure
    rows: Measure


@cache
def product() -> Backend:
    """The matrix product in use for the weights, with its error and speed on this machine, measured once."""
    if settings().device == "cpu":
        return backend()
    (cublas,) = measure([("cuBLAS", default)], settings().device)
    return cublas


def precision() -> str:
    """What torch allows its float32 products to be rounded to; "highest" is float32 itself."""
    return torch.get_float32_matmul_precision()


def n_threads() -> int:
    """Processor threads that a run may take."""
    return torch.get_num_threads()


def sums(made: Run) -> Sums:
    """The sums of a run, from a pass of its own.

    Raises:
        BusyError: too many runs at once.
    """
    names = [f"blocks.{layer}.attn.hook_pattern" for layer in range(made.cfg.n_layers)]
    tap = Collect(names, lambda pattern: row_sum_error(pattern[0]).values.cpu())
    final = runs.once_more(made, tap, stop_at_layer=made.cfg.n_layers)
    rows = Measure("row sum error", "probability", (), torch.stack(list(tap.kept.values())).max())
    return Sums(decomposition_residual((vector for _, vector in made.writes()), final), rows)


def difference_from_transformers(made: Run) -> float:
    """The largest absolute difference between any two logits for this prompt, ours and transformers' own GPT-2's.

    Raises:
        InputError: what was opened is no GPT-2 folder.
        BusyError: too many runs at once.
    """
    if made.edits:
        raise InputError("transformers knows no edits. Check run A, which has none: the weights are the same.")
    if made.source.family != "gpt2" or not made.source.path.is_dir():
        raise InputError("transformers can check GPT-2 folders alone, and this model is of another kind.")
    ours = runs.once_more(made, Tap())
    with runs.turn():
        theirs = reference_logits(made.source.path, made.tokens[None])[0]
    return float((ours - theirs).abs().max())

"""Batches of an experiment as jobs, which the engines of scans compute: this process, others, or a cluster."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import torch

from headlight.model.checkpoints.loading import load
from headlight.model.corpus.packing import packed, unpacked
from headlight.model.experiments.batch import BatchValues, measure_batch
from headlight.model.experiments.plan import Plan
from headlight.model.nn.transformer import Transformer
from headlight.model.prompt_sets.encoding import TokenRow


@dataclass(frozen=True, eq=False)
class Job:
    """Rows of one length, and the number of the first of them."""

    number: int
    rows: tuple[TokenRow, ...]


class Worker:
    """Measures batches with a model of its own, or in this process with the one that is open."""

    def __init__(self, model: Transformer, plan: Plan) -> None:
        assert model.source is not None  # it was loaded
        self._model: Transformer | None = model
        self._source = str(model.source.path)
        self._plan = replace(plan, rows=())  # each job brings its own

    def __getstate__(self) -> dict[str, Any]:
        return {"_model": None, "_source": self._source, "_plan": self._plan}

    @property
    def on_gpu(self) -> bool:
        """Whether it needs a GPU of its own."""
        return self._plan.settings.device == "cuda"

    @cached_property
    def model(self) -> Transformer:
        """The model, where it is to run."""
        if self._model is not None:
            return self._model
        torch.set_num_threads(1)  # there are other workers beside this one
        return load(self._source, dtype=self._plan.settings.dtype).to(self._plan.settings.device)

    def __call__(self, job: Job) -> bytes:
        """Measure a batch and return its serialised values."""
        return to_bytes(measure_batch(self.model, job.rows, self._plan))


def to_bytes(values: BatchValues) -> bytes:
    """A batch's values as a file of numpy's."""
    arrays = {name: getattr(values, name).numpy() for name in ("values", "clean", "corrupted")}
    labels = {"components": np.array(values.components, dtype=np.str_)}
    return packed(arrays | labels | {"numbers": np.array(values.numbers, dtype=np.int64)})


def from_bytes(data: bytes, name: str) -> BatchValues:
    """Restore the values of a batch.

    Raises:
        ScanError: the bytes are no such file.
    """
    arrays = unpacked(data, name)
    tensors = {key: torch.from_numpy(arrays[key]) for key in ("values", "clean", "corrupted")}
    return BatchValues(
        tuple(arrays["numbers"].tolist()), **tensors, components=tuple(map(str, arrays["components"].tolist()))
    )

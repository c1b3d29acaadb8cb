"""Runs as sessions ask for them: from the cache where they were made before, a few at a time, within limits."""

import logging
import sys
import time
from collections.abc import Callable, Hashable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import cache, partial
from typing import Any, TypeVar

import torch
from jaxtyping import Float, Int
from torch import Tensor

from headlight.app.runs import dictionaries, directions, limits, models, passes, prompts, seen, visitors
from headlight.app.runs.cost import budget, cost_of
from headlight.app.runs.gate import Gate
from headlight.app.runs.limits import GIB, ByteCache, held_bytes
from headlight.app.runs.passes import told_layers
from headlight.app.server import metrics
from headlight.app.server.settings import settings
from headlight.model import Transformer
from headlight.model.base.errors import HeadlightError, InputError
from headlight.model.base.source import Source
from headlight.model.measure import Measure
from headlight.model.roles import statistics
from headlight.model.roles.statistics import HeadStatistics
from headlight.model.runs.batch import Prompt, can_pad, make_runs
from headlight.model.runs.edits import AblateHeads, Edit, Neuron, Patch, follows_stream, sources
from headlight.model.runs.edits.edited import Opened
from headlight.model.runs.edits.means import sum_z
from headlight.model.runs.host import Host
from headlight.model.runs.run import Run, make_run, run_key, tokenizer_of
from headlight.model.text.chat import Begin, as_literal, is_literal, prepends

Value = TypeVar("Value")

_LOG = logging.getLogger("headlight")
Inputs = tuple[str, str, Begin]
"""A model's name, a prompt, and what it begins with."""
ENTRY_BYTES = 1024  # of a key and of what stands around a value, so that no number of small values is kept for nothing
ALL_THREADS = torch.get_num_threads()  # as many as torch takes, before runs share them
HEADS_WAITING = 64  # heads that browsers ask for by themselves, more than the server has threads for these
EditedInputs = tuple[str, str, Begin, tuple[Edit, ...]]
"""The same and edits: what `run` takes, by which a job names a run."""


@cache
def _gate() -> Gate:
    at_once, waiting = settings().runs_at_once, settings().runs_waiting
    return Gate(at_once, waiting, passes.tell_place, visitors.session, note=metrics.note_run, begin=_share_threads)


def _share_threads(n_running: int) -> None:
    """Have a run take its share of the processor's threads, all if it is alone, or as many as the settings say.

    Two runs with two threads each on two cores wait for each other at the end of every operation.
    """
    n_sharing = 1 if sys.platform == "linux" else settings().workers  # on Linux a worker has cores of its own
    torch.set_num_threads(settings().threads or max(1, ALL_THREADS // (n_running * n_sharing)))


@cache
def _gate_beside() -> Gate:
    return Gate(settings().runs_at_once, HEADS_WAITING)


@cache
def _results() -> ByteCache:
    return ByteCache(
        int(settings().cache_gib * GIB), lambda value: ENTRY_BYTES + held_bytes(value), passes.tell_waiting, _model_of
    )


def run(model_name: str, prompt: str, bos: Begin, edits: tuple[Edit, ...] = ()) -> Run:
    """The run of a prompt, with edits or without, from the cache where it was made before.

    Raises:
        HeadlightError: the prompt, the model or the machine does not allow it; the message says what would.
    """
    check_unchanged(model_name)
    key = run_key(model_name, prompt, bos, edits)
    return keep(key, lambda: _run_anew(model_name, prompt, bos, edits))


def use(inputs: Sequence[EditedInputs]) -> None:
    """Keep these runs, even if together they are larger than the cache, until other runs are used."""
    _results().use(tuple(run_key(*each) for each in inputs))


def inputs_of(made: Run) -> EditedInputs:
    """Inputs of a run."""
    return made.source.name, made.prompt, made.bos, made.edits


class _Server(Host):
    """Server of all sessions: caches results, limits concurrent passes, and has the device."""

    caches = True

    @property
    def device(self) -> torch.device:
        return torch.device(settings().device)

    def keep(self, key: tuple[Hashable, ...], make: Callable[[], Value]) -> Value:
        return keep(key, make)

    def turn(self) -> AbstractContextManager[None]:
        return turn()

    def tell(self, done: int, total: int) -> None:
        passes.tell(done, total)

    def check(self) -> None:
        passes.check()

    def on_device(self, model: Transformer) -> Transformer:
        return models.on_device(model)

    def mean_z(
        self, model: Transformer, prompts: Sequence[str], prepend_bos: Begin
    ) -> Float[Tensor, "layer head d_value"]:
        assert model.source is not None  # set by load
        return z_sums(model.source.name, prompts, prepend_bos).mean


HOST = _Server()


def _run_anew(model_name: str, prompt: str, bos: Begin, edits: tuple[Edit, ...]) -> Run:
    model, tokens, bos = tokens_of(model_name, prompt, bos)
    counts = [
        len(tokens),
        *(n for number, edit in enumerate(edits, 1) for n in _checked(number, edit, model_name, bos)),
    ]
    seconds = _check_seconds(model, counts)
    means = means_of(edits, model_name, bos)
    opened: Opened = {**dictionaries.of_edits(edits, model), **directions.of_edits(edits)}
    visitors.check_rate()
    arrived = time.monotonic()
    if edits:
        with turn(seconds), torch.inference_mode():
            began, on, watch = time.monotonic(), models.on_device(model), told_layers(model.cfg.n_layers)
            made: Run | HeadlightError = _summarized(
                make_run(model, prompt, bos, tokens, edits, means=means, on=on, host=HOST, watch=watch, opened=opened)
            )
    else:
        group = model, None if can_pad(model.cfg) else len(tokens)
        began, made = _gate().share(
            group, len(tokens), Prompt(prompt, bos, tokens), partial(_run_together, model), seconds
        )
    waited, took = began - arrived, time.monotonic() - began
    _LOG.info(
        "run of %r: %d tokens, %d edits, %.2f s in line, %.2f s", model_name, len(tokens), len(edits), waited, took
    )
    if isinstance(made, HeadlightError):
        raise made
    return made


def _run_together(model: Transformer, prompts: Sequence[Prompt]) -> list[tuple[float, Run | HeadlightError]]:
    """When the pass over these prompts began, and each one's run, or why it has none."""
    began = time.monotonic()
    with torch.inference_mode():
        on, watch = models.on_device(model), told_layers(model.cfg.n_layers)
        try:
            return [(began, _summarized(made)) for made in make_runs(model, prompts, on, HOST, watch)]
        except HeadlightError as error:
            if len(prompts) == 1:
                return [(began, error)]
    return [outcome for prompt in prompts for outcome in _run_together(model, [prompt])]  # which of them it was


def _summarized(made: Run) -> Run:
    """A run, of a short prompt with its thumbnails and scores.

    They are computed in the run's turn: outside it as many sessions as there are would compute them at once.
    """
    if made.is_summarized:
        _ = made.scores  # which the run keeps
    return made


def means_of(edits: Sequence[Edit], model_name: str, bos: Begin) -> dict[tuple[str, ...], Tensor]:
    """Means over other prompts that edits need, by these prompts; from the cache where present.

    Raises:
        HeadlightError: one of the prompts cannot be run.
    """
    return {
        edit.over: z_sums(model_name, edit.over, bos).mean
        for edit in edits
        if isinstance(edit, AblateHeads) and edit.by == "mean" and edit.over
    }


@dataclass(frozen=True, eq=False)
class Sum:
    """Sum of every head's output (z) over the positions of prompts, and the number of positions."""

    values: Float[Tensor, "layer head d_value"]
    n_tokens: int

    @property
    def mean(self) -> Float[Tensor, "layer head d_value"]:
        """Mean of every head's output over the positions."""
        return self.values / self.n_tokens


def z_sums(model_name: str, prompts: Sequence[str], bos: Begin) -> Sum:
    """Sum of every head's output over several prompts.

    Raises:
        HeadlightError: one of them cannot be run.
    """
    sums = [z_sum(model_name, prompt, bos) for prompt in prompts]
    return Sum(torch.stack([each.values for each in sums]).sum(0), sum(each.n_tokens for each in sums))


def z_sum(model_name: str, prompt: str, bos: Begin) -> Sum:
    """Sum of every head's output over one prompt, from the cache where present.

    Raises:
        HeadlightError: as `run`.
    """

    def made() -> Sum:
        model, tokens, _ = tokens_of(model_name, prompt, bos)
        with turn(), torch.inference_mode():
            return Sum(sum_z(models.on_device(model), tokens[None].to(settings().device)).cpu(), len(tokens))

    return keep(("sum of z", model_name, prompt, bos), made)


def z_sum_or_none(model_name: str, prompt: str, bos: Begin) -> Sum | None:
    """Cached sum of every head's output over one prompt, or None; nothing is run."""
    return kept(("sum of z", model_name, prompt, bos))


def _checked(number: int, edit: Edit, model_name: str, bos: Begin) -> list[int]:
    """Number of tokens of the prompts that an edit takes from, whose runs it needs as well.

    Raises:
        HeadlightError: a prompt that the edit takes from cannot be run, or the edit acts where no page looks.
    """
    if isinstance(edit, Patch) and follows_stream(edit.name):
        raise InputError(
            f"Edit {number}: the pages show what comes before the last LayerNorm. Patch the stream after the last "
            "layer instead."
        )
    try:
        return [len(tokens_of(model_name, prompt, bos)[1]) for prompt in sources(edit)]
    except HeadlightError as error:
        raise type(error)(f"Edit {number} takes from another prompt. {error}") from error


def _check_seconds(model: Transformer, counts: Sequence[int]) -> float:
    """Return the estimated seconds of a run and those that its edits take from, if they are within the limit."""
    cost = cost_of(model)
    seconds = sum(cost(n_tokens).seconds for n_tokens in counts)
    if seconds > settings().run_seconds:
        raise HeadlightError(
            f"This run and the {len(counts) - 1} that its edits take from would take about {seconds:.0f} s; a run may "
            f"take {settings().run_seconds:g} s here. Switch some of the edits off."
        )
    return seconds


def tokens_of(model_name: str, prompt: str, bos: Begin) -> tuple[Transformer, Int[Tensor, " pos"], Begin]:
    """Model, tokens, and their beginning, which is without BOS where the model has no such token.

    Raises:
        HeadlightError: as `run`.
    """
    prompts.check_text(prompt)
    check_unchanged(model_name)
    model = models.open_model(model_name)
    seen.note(model_name)
    forget_closed()
    tokenizer = tokenizer_of(model)
    if prepends(bos) and tokenizer.bos_token_id is None and not tokenizer.adds_special:
        bos = as_literal(False, is_literal(bos))
    tokens = tokenizer.to_tokens(prompt, prepend_bos=bos)[0]
    prompts.check_length(len(tokens), model.cfg.n_ctx, bos)
    limits.check_cost(len(tokens), cost_of(model), budget())
    return model, tokens, bos


def check_unchanged(model_name: str) -> None:
    """Close a model of which a file has changed since it was opened, and begin with an empty cache.

    Raises:
        ModelChangedError: a file has changed since this session saw something of the model.
    """
    if closed := models.close_changed(model_name):
        _results.cache_clear()
    seen.check(model_name, closed)


def forget_closed() -> None:
    """Evict cached results that keep a closed model alive."""
    if closed := _results().owners - models.names_open() - {None}:
        _results().drop(lambda value: _model_of(value) in closed)


def _model_of(value: object) -> str | None:
    """The name of the model that a result keeps alive, by its `source`; None of others."""
    source = getattr(value, "source", None)
    return source.name if isinstance(source, Source) else None


def head_statistics(model_name: str, prompt: str, bos: Begin) -> HeadStatistics:
    """Every head's mean scores on a prompt, from the cache where they were taken before.

    Raises:
        HeadlightError: as `run`.
    """

    def made() -> HeadStatistics:
        model, tokens, _ = tokens_of(model_name, prompt, bos)
        return statistics.head_statistics(model, tokens, HOST)

    return keep(("head statistics", model_name, prompt, bos), made)


def head_statistics_or_none(model_name: str, prompt: str, bos: Begin) -> HeadStatistics | None:
    """Each head's scores on a prompt, where these or the prompt's run are in the cache; nothing is run.

    The run is not kept any longer for that: a list of many prompts would push out all that is looked at.
    """
    made: Run | None = _results().peek(run_key(model_name, prompt, bos))
    if made is not None and made.is_summarized:
        return HeadStatistics(len(made.tokens), made.scores)
    return kept(("head statistics", model_name, prompt, bos))


def neuron_over(model_name: str, prompt: str, bos: Begin, neuron: Neuron) -> Measure:
    """Activation of a neuron at every position of a prompt, from the cache where present.

    Raises:
        HeadlightError: as `run`, or the model has no such neuron.
    """

    def made() -> Measure:
        model, tokens, _ = tokens_of(model_name, prompt, bos)
        return statistics.neuron_activations(model, tokens, neuron, HOST)

    return keep(("neuron over", model_name, prompt, bos, neuron), made)


def neuron_over_or_none(model_name: str, prompt: str, bos: Begin, neuron: Neuron) -> Measure | None:
    """Cached activation of a neuron over a prompt, or None; nothing is run."""
    return kept(("neuron over", model_name, prompt, bos, neuron))


def turn(seconds: float | None = None) -> AbstractContextManager[None]:
    """A place among the runs under way, for the length of a `with` block; a thread that has one keeps it.

    Args:
        seconds: estimate of the time that it is held.

    Raises:
        BusyError: too many runs wait.
    """
    return _gate().enter(seconds)


def turn_beside() -> AbstractContextManager[None]:
    """Slot beside the runs for short work of milliseconds, such as one head, which does not wait for a long run.

    Raises:
        BusyError: too many at once.
    """
    return _gate_beside().enter()


def keep(key: Hashable, make: Callable[[], Value]) -> Value:
    """Return the cached value for a key, computing it with `make` on a miss; the key must name all inputs.

    A thread that holds a place waits for no other thread's result: that thread may be waiting for this very place.
    """
    origin = "cache"

    def make_anew() -> Value:
        nonlocal origin
        origin = "computed"
        return make()

    value = _results().get(key, make_anew, may_wait=not _gate().is_held)
    metrics.RESULTS.labels(origin).inc()
    return value


def kept(key: Hashable) -> Any:
    """Cached value for a key; None on a miss."""
    return _results().find(key)


def load() -> tuple[int, int, int]:
    """Number of runs under way, number of those that wait, and bytes of the results that are kept."""
    return _gate().n_running, _gate().n_waiting, _results().nbytes

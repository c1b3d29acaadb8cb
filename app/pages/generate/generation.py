"""Continuations of the prompts for a selection, within the memory and time that a run may take."""

from headlight.app.pages.generate.choices import MAX_NEW, Choices
from headlight.app.runs import limits
from headlight.app.runs.cost import budget, cost, reading_seconds
from headlight.app.runs.limits import Cost
from headlight.app.selection import Selection
from headlight.model.base.errors import ConfigError
from headlight.model.decoding import Sampling
from headlight.model.decoding.compared import Continuations, generate_steps
from headlight.model.decoding.continued import Writing, Written, continue_run
from headlight.model.runs.comparison import Comparison
from headlight.model.runs.edits import sources
from headlight.model.runs.run import Run


def writing_of(chosen: Choices) -> Writing:
    """Sampling settings from the choices.

    Raises:
        ConfigError: a number of tokens, a temperature, top-k or top-p that there is not.
    """
    if not 1 <= chosen.n_new <= MAX_NEW:
        raise ConfigError(f"New tokens: {chosen.n_new}. Choose 1 to {MAX_NEW}.")
    sampling = Sampling(temperature=chosen.temperature, top_k=chosen.top_k, top_p=chosen.top_p)
    return Writing(chosen.n_new, sampling, chosen.seed, chosen.written, chosen.stop)


def continuation_of(run: Run, chosen: Choices) -> Written:
    """Continuation of the run's prompt by its model, with the run's edits at every step.

    Raises:
        HeadlightError: the selection, the model or the machine does not allow it; the message says what would.
    """
    how = writing_of(chosen)
    _check_cost(run, how)
    return continue_run(run, how)


def both(comparison: Comparison, chosen: Selection) -> Continuations:
    """Continuations of a selection's runs: the same settings and seed, and the same tokens inserted by the user.

    Raises:
        HeadlightError: the selection, a model or the machine does not allow it; the message says what would.
    """
    own = chosen.choices_of(Choices)
    return generate_steps(comparison, checked(comparison, chosen), own.b_writes)


def checked(comparison: Comparison, chosen: Selection) -> Writing:
    """The settings of the continuations, if memory and time allow these.

    Raises:
        HeadlightError: as `both`.
    """
    how = writing_of(chosen.choices_of(Choices))
    for run in comparison.runs:
        _check_cost(run, how)
    return how


def _check_cost(run: Run, how: Writing) -> None:
    """Refuse too expensive continuations: with edits every step reruns the whole text and the edits' prompts.

    Without them a step takes one token's arithmetic, but reads what does not stay in memory as a whole pass does.
    """
    reading = reading_seconds(run.model)
    passes = how.n_new * sum(1 + len(sources(edit)) for edit in run.edits) + 1

    def of_all(n_tokens: int) -> Cost:
        once = cost(run.cfg, n_tokens)
        return Cost(once.nbytes, max(once.seconds * passes, max(passes, how.n_new) * reading))

    limits.check_cost(len(run.tokens) + how.n_new, of_all, budget())

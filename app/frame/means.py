"""Mean of heads' outputs over many prompts: the prompts, and the work that it takes."""

from collections.abc import Sequence

from headlight.app import selection
from headlight.app.components import Listed
from headlight.app.frame import notices, progress, prompt_list
from headlight.app.parts import options
from headlight.app.runs import jobs, runs
from headlight.model.base.errors import HeadlightError
from headlight.model.runs.run import Run

LEAST = 2  # prompts, besides the current one
THIS, THESE, LISTED = "this", "these", "listed"


def texts() -> tuple[str, ...]:
    """The prompts of the session's list, each once."""
    return tuple(dict.fromkeys(prompt.text for prompt in prompt_list.prompts()))


def taken(compared: Sequence[Run]) -> tuple[str, ...]:
    """Prompts of the list that the runs' models accept."""
    listed, names = texts(), tuple((run.source.name, run.bos) for run in compared)
    return runs.keep(
        ("prompts taken", names, listed),
        lambda: tuple(text for text in listed if all(_takes(run, text) for run in compared)),
    )


def _takes(run: Run, text: str) -> bool:
    try:
        runs.tokens_of(run.source.name, text, run.bos)
    except HeadlightError:
        return False
    return True


def choose(compared: Sequence[Run]) -> None:
    """The list over which the mean is taken: this prompt's positions, those chosen before, or the prompts listed."""
    over, listed = selection.current().mean_over, texts()
    names = {THIS: "this prompt"}
    if over:
        names[THESE] = _prompts(len(over))
    if listed != over and len(listed) >= LEAST:
        names[LISTED] = f"the {len(listed):,} listed prompts"
    if len(names) == 1:
        return

    def change(chosen: str) -> None:
        if chosen != THESE:
            selection.choose(mean_over=taken(compared) if chosen == LISTED else ())

    mean = options.tie(Listed, "mean_over", "Mean over", THESE if over else THIS, change, options=names, width=220)
    options.row(mean, name="mean")


def _prompts(count: int) -> str:
    return f"{count:,} prompt{'' if count == 1 else 's'}"


def wanted(compared: Sequence[Run], over: Sequence[str]) -> list[runs.Inputs]:
    """Inputs of the runs from which the means are computed, for these runs' models."""
    return list(dict.fromkeys((run.source.name, text, run.bos) for run in compared for text in over))


def missing(inputs: Sequence[runs.Inputs]) -> list[runs.Inputs]:
    """Inputs whose runs are not computed yet."""
    return [each for each in inputs if runs.z_sum_or_none(*each) is None]


def work(where: str, inputs: Sequence[runs.Inputs]) -> bool:
    """Progress of the work, with a button that stops or resumes it; return whether it is finished."""
    current, left = jobs.get_jobs(f"mean {where}"), missing(inputs)
    for reason in {current.refused[each] for each in left if each in current.refused}:
        notices.refused(reason, f"mean_{where}")
    if not left:
        return True
    current.keep_to(inputs)
    open_ones = [each for each in left if each not in current.refused]
    progress.offer(
        current, open_ones, f"Compute mean activations over {_prompts(len(open_ones))} more", (f"mean_{where}"), 0
    )
    progress.bar(current, "prompts of the mean run", f"mean_{where}")
    return False


def step(where: str) -> None:
    """Do some of the waiting work, and draw the page again."""
    progress.go_on(jobs.get_jobs(f"mean {where}"), lambda inputs: runs.z_sum(*inputs))

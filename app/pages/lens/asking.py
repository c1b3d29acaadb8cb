"""A patchscope of a large model as a job: it waits for a click where it takes long."""

from dataclasses import dataclass

from headlight.app.frame import progress
from headlight.app.parts.sides import positions_at
from headlight.app.runs import jobs, runs
from headlight.app.runs.cost import cost_of
from headlight.model.lens.patchscope import Scope, patchscopes, scope_key
from headlight.model.runs.comparison import Comparison
from headlight.model.runs.run import Run


@dataclass(frozen=True)
class PatchscopeQuestion:
    """A run, one of its positions, and the prompt that its states are put into."""

    inputs: runs.EditedInputs
    position: int
    scope: Scope


def is_answered(comparison: Comparison, place: int, scope: Scope) -> bool:
    """Whether the generated text is present, or can be computed soon; else there is a button, or a bar."""
    work, here = jobs.get_jobs("patchscope"), positions_at(comparison, place)
    missing = {
        PatchscopeQuestion(runs.inputs_of(run), here[side], scope): _seconds(run, scope)
        for side, run in comparison.sides.items()
        if side in here and runs.kept((*run.key, scope_key(here[side], scope))) is None
    }
    seconds = sum(missing.values())
    work.keep_to(list(missing))
    if not missing or (seconds <= progress.AT_ONCE and not work.waiting):
        return True
    progress.offer(work, list(missing), "Run the patchscope", "patchscope", seconds)
    progress.bar(work, "runs done", "patchscope")
    progress.go_on(work, _ask)
    return False


def _ask(question: PatchscopeQuestion) -> None:
    patchscopes(runs.run(*question.inputs), question.position, question.scope)


def _seconds(run: Run, scope: Scope) -> float:
    """Estimated time: a pass for each generated token, plus one over the prompt for each state and one more."""
    n_tokens = len(run.tokenizer.to_tokens(scope.prompt)[0]) + scope.n_tokens
    return cost_of(run.model)(n_tokens * (run.cfg.n_layers + 2)).seconds * max(1, scope.n_tokens)

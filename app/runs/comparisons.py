"""Comparison that a page draws: the runs of a selection, and the parts of the selection that they have."""

from dataclasses import replace

from headlight.app.runs import models, runs
from headlight.app.runs.runs import EditedInputs
from headlight.app.selection import Selection
from headlight.app.selection.choices import Extent
from headlight.model.base.errors import HeadlightError
from headlight.model.runs.comparison import Comparison, compare


def for_selection(chosen: Selection) -> Comparison:
    """The runs that a selection asks for.

    Raises:
        HeadlightError: one of them cannot be had, or their tokens cannot be compared; the message says why.
    """
    inputs: list[EditedInputs] = [(chosen.model, chosen.prompt, chosen.bos, ())]
    if chosen.compares:
        inputs.append(_b(chosen))
    runs.use(inputs)
    a = runs.run(*inputs[0])
    if not chosen.compares:
        return Comparison(a)
    try:
        b = runs.run(*inputs[1])
    except HeadlightError as error:
        raise type(error)(f"B: {error}") from error
    return compare(a, b, chosen.align)


def edited(chosen: Selection, side: str) -> Comparison:
    """Prompt A's or B's run, and the same with the edits that are switched on.

    Raises:
        HeadlightError: the run cannot be edited so; the message says why.
    """
    model, prompt = chosen.model, chosen.prompt
    if side == "B" and chosen.prompt_b is not None:
        model, prompt = chosen.model_b or chosen.model, chosen.prompt_b
    edits = replace(chosen, prompt_b=None).edits_on
    return compare(runs.run(model, prompt, chosen.bos), runs.run(model, prompt, chosen.bos, edits), "position")


def waiting_text(chosen: Selection) -> str:
    """The spinner's text while a selection's runs are computed: the size of a large model that has to be opened."""
    takes = models.told_of_opening(chosen.model, *filter(None, [chosen.model_b]))
    return f"Opening the model: {takes}…" if takes else "Running the model…"


def _b(chosen: Selection) -> EditedInputs:
    """Inputs of another prompt's run, or of run A with the edits that are switched on."""
    if chosen.prompt_b is None:
        return chosen.model, chosen.prompt, chosen.bos, chosen.edits_on
    return chosen.model_b or chosen.model, chosen.prompt_b, chosen.bos, ()


def within(chosen: Selection, comparison: Comparison) -> Selection:
    """Selection without parts that these runs lack."""
    deepest = max(run.cfg.n_layers for run in comparison.runs)
    return chosen.within(Extent(comparison.n_layers, comparison.n_heads, len(comparison.labels), deepest))

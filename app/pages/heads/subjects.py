"""Models whose heads are measured, and the sequences: A's, and B's where its heads may behave differently."""

from collections.abc import Sequence
from dataclasses import dataclass

from headlight.app.pages.heads.choices import Choices
from headlight.app.parts import detection
from headlight.app.parts.detection import Input, Repeats
from headlight.app.parts.labels import drawn
from headlight.app.selection.chosen import Selection
from headlight.model.roles import edits_anywhere, fitting_repeat_length
from headlight.model.runs.comparison import Comparison
from headlight.model.runs.edits import Edit, FreezePatterns, Head, describe, sources
from headlight.model.runs.run import Run


@dataclass(frozen=True, eq=False)
class Subject:
    """The heads of a run's model, with edits or without: looked at on `sequences`, ablated on `repeats`."""

    run: Run
    edits: tuple[Edit, ...]
    sequences: tuple[Input, ...]
    repeats: tuple[Input, ...]

    @property
    def model(self) -> str:
        """The name that the model was opened by."""
        return self.run.source.name

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of layers and heads."""
        return self.run.cfg.n_layers, self.run.cfg.n_heads

    @property
    def heads(self) -> list[Head]:
        """All of them."""
        return [(layer, head) for layer in range(self.shape[0]) for head in range(self.shape[1])]

    @property
    def passes(self) -> int:
        """Number of runs for one sequence: its own, and those that the edits take from."""
        return 1 + sum(len(sources(edit)) + isinstance(edit, FreezePatterns) for edit in self.edits)

    @property
    def half(self) -> int:
        """Number of tokens that its random sequences repeat; 0 where there are none."""
        return fitting_repeat_length(self.run.model, self.run.bos, self.repeats[0].half, self.run.host)


def subjects(texts: Sequence[str], comparison: Comparison, chosen: Selection) -> dict[str, Subject]:
    """A's heads, and B's where they may do something else: on random repeats, or on these prompts and the page's own.

    Two prompts of one model are compared with each other; any other two sides run on the same sequences.
    """
    sides = {"A": comparison.a} if why_alone(comparison, chosen) else comparison.sides
    if prompt_against_prompt(comparison, chosen):
        return {side: _subject(run, [run.prompt], drawn(comparison, chosen), chosen) for side, run in sides.items()}
    every = list(dict.fromkeys([*texts, *(run.prompt for run in comparison.runs)]))
    return {side: _subject(run, every, drawn(comparison, chosen), chosen) for side, run in sides.items()}


def _subject(run: Run, texts: Sequence[str], repeats: Repeats, chosen: Selection) -> Subject:
    model, edits = run.source.name, edits_anywhere(run.edits)
    random = detection.repeats(model, run.bos, repeats, edits)
    prompts = tuple(Input(model, run.bos, text, edits=edits) for text in texts)
    return Subject(run, edits, random if chosen.choices_of(Choices).finder_data == "repeats" else prompts, random)


def why_alone(comparison: Comparison, chosen: Selection) -> str:
    """Why B has no ranking of its own; empty where it has one, or without a B."""
    if comparison.b is None or not comparison.b.same_model(comparison.a):
        return ""
    if comparison.b.edits:
        if edits_anywhere(comparison.b.edits):
            return ""
        return (
            "B's edits refer to tokens of its prompt, or copy from a prompt of the same length, so they cannot be "
            f"applied elsewhere: these are the heads of {comparison.a.source.name} without them."
        )
    if chosen.choices_of(Choices).finder_data == "repeats":
        return (
            "A and B are the same model, whose scores on random repeats do not depend on the prompt. Measure on “my "
            "prompts” to compare prompt A with prompt B."
        )
    return ""


def prompt_against_prompt(comparison: Comparison, chosen: Selection) -> bool:
    """Whether A and B are one model on two prompts, so that the heads are compared on these two alone."""
    same_model = comparison.b is not None and comparison.b.same_model(comparison.a) and not comparison.b.edits
    return same_model and chosen.choices_of(Choices).finder_data == "prompts"


def edits_left_out(comparison: Comparison) -> list[str]:
    """The edits of B, in words, that cannot be made on any sequence."""
    if comparison.b is None:
        return []
    anywhere = edits_anywhere(comparison.b.edits)
    return [describe(edit) for edit in comparison.b.edits if edit not in anywhere]

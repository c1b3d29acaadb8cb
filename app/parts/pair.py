"""The target and distractor tokens, and their position."""

from collections.abc import Sequence
from dataclasses import dataclass

from headlight.app.selection.chosen import Selection
from headlight.model.attribution.explanation import likeliest, run_with
from headlight.model.attribution.parts import logits_at
from headlight.model.base.errors import HeadlightError
from headlight.model.runs.comparison import Comparison
from headlight.model.runs.run import Run


@dataclass(frozen=True)
class Pair:
    """Target and distractor (token ids), and remarks on the typed texts."""

    target: int
    distractor: int
    remarks: tuple[str, ...] = ()


def place_of(comparison: Comparison, chosen: Selection) -> int:
    """The place at which the prediction is measured: the one chosen, or the last that all runs have."""
    return comparison.default_place if chosen.position is None else chosen.position


def preposition(run: Run) -> str:
    """Whether a prediction is of what comes "after" a token, or is made "at" it, as an encoder's or a classifier's."""
    return "at" if run.cfg.attention_dir == "bidirectional" or run.label_names else "after"


def pair_of(comparison: Comparison, chosen: Selection, at_b: int | None = None) -> Pair:
    """The two typed tokens; for missing or invalid ones the first run's predictions at the place.

    The default distractor is B's prediction there, or at its position `at_b`, if it differs from the target; else the
    first run's next most likely token.
    """
    place = place_of(comparison, chosen)
    run, _ = run_with(comparison, place)
    typed = [_typed(run, text, name) for name, text in (("target", chosen.target), ("distractor", chosen.distractor))]
    first = likeliest(comparison, place)
    target, distractor = (token for token, _ in typed)
    if target is None:
        target = next((token for token in first if token != distractor), first[0])
    if distractor is None:
        answers = [*_answer_of_b(comparison, place, at_b), *first]
        distractor = next((token for token in answers if token != target), target)  # of a single output itself
    remarks = [remark for _, remark in typed if remark]
    if target == distractor and not run.cfg.has_one_output:
        remarks.append("Target and distractor are the same token, so every difference is 0. Type another one.")
    return Pair(target, distractor, tuple(remarks))


def _answer_of_b(comparison: Comparison, place: int, at_b: int | None) -> list[int]:
    """B's most likely token at `at_b` or at the place; empty if B lacks the place."""
    if comparison.b is None:
        return []
    position = comparison.positions(comparison.b)[place] if at_b is None else at_b
    return [] if position is None else [int(logits_at(comparison.b, position).argmax())]


def said_of_cap(runs: Sequence[Run]) -> str:
    """Say which logits differences are of, where a model has a soft cap; empty where none has."""
    caps = dict.fromkeys(run.cfg.output_logits_soft_cap for run in runs)
    named = " and ".join(f"{cap:g}" for cap in caps if cap is not None)
    return f"Logits are before the soft cap of {named}, after which contributions do not sum." if named else ""


def _typed(run: Run, text: str, name: str) -> tuple[int | None, str]:
    """Token of a text, and a remark on it."""
    if not text:
        return None, ""
    try:
        token = run.outputs.to_single_token(text, parse_special=True)
    except HeadlightError as error:
        return None, f"The {name} is ignored: {error} Using the most likely token instead."
    return token, _spaceless(run, text, token, name)


def _spaceless(run: Run, text: str, token: int, name: str) -> str:
    """A hint where the same word with a space before it is a token too."""
    if not text[0].isalnum():
        return ""
    try:
        spaced = run.outputs.to_single_token(f" {text}")
    except HeadlightError:
        return ""
    if spaced == token:  # a vocabulary of words separated by spaces
        return ""
    own, other = run.outputs.labels([token, spaced])
    return f"The {name} “{own}” has no leading space. A separate word inside a sentence is “{other}”: type the space."


def typeable(run: Run, token: int) -> str | None:
    """The text that stands for a token where one is typed; None for a token that no text gives."""
    text = run.outputs.to_string([token])
    try:
        return text if run.outputs.to_single_token(text, parse_special=True) == token else None
    except HeadlightError:
        return None

"""The script of the page *Head roles*."""

from collections.abc import Mapping, Sequence

from headlight.app.analyses import detection
from headlight.app.exports.script import call, loading, written
from headlight.app.pages.heads.choices import Choices
from headlight.app.pages.heads.subjects import Subject, subjects
from headlight.app.selection.chosen import Selection
from headlight.model.comparison import Comparison


def script(texts: Sequence[str], shown: Comparison, chosen: Selection) -> str:
    """A script that prints every head's scores, the labels, and what ablating those heads changes that were ablated.

    With two sides it prints all of these of both, and how they change.
    """
    sides = subjects(texts, shown, chosen)
    a, on_repeats = sides["A"], chosen.of(Choices).finder_data == "repeats"
    lines, options = [f"model = {loading(a.run)}"], dict[str, str]()
    if "B" in sides:
        b = sides["B"]
        same = b.run.same_model(a.run)
        lines += [] if same else [f"model_b = {loading(b.run)}"]
        options |= {"model_b": "model" if same else "model_b"} | ({"edits_b": repr(b.edits)} if b.edits else {})
    options |= {
        "prepend_bos": repr(a.run.bos),
        "seed": repr(chosen.finder_seed),
        "count": repr(len(a.repeats)),
        "half": repr(a.half),
    }
    if not on_repeats:
        options["prompts"] = repr({side: _prompts(subject) for side, subject in sides.items()})
    options["ablated"] = repr({side: _ablated(subject) for side, subject in sides.items()})
    names = " and ".join(dict.fromkeys(subject.model for subject in sides.values()))
    purpose = f"What the heads of {names} do on {'random repeats' if on_repeats else 'prompts'}."
    imports = {
        "headlight.model": {"load"},
        "headlight.model.edits": {type(edit).__name__ for subject in sides.values() for edit in subject.edits},
        "headlight.model.reports": {"head_tables", "print_tables"},
    }
    return written(purpose, imports, [*lines, f"print_tables({call('head_tables', 'model', **options)})"])


def _ablated(subject: Subject) -> list[tuple[int, int]]:
    return [head for head in subject.heads if detection.effects(subject.repeats, head)]


def _prompts(subject: Subject) -> Mapping[int, str | None]:
    """The prompts that were looked at, by their places among all, so that two sides find each other's."""
    return {place: each.prompt for place, each in enumerate(subject.sequences) if detection.seen(each)}

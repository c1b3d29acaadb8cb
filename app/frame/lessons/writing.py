"""Writing a lesson: the present page as a step, with a text, a question and what the model is asked for."""

from urllib.parse import urlencode

from headlight.app.frame.lessons.lesson import MAX_CHARACTERS, read_lesson
from headlight.app.frame.lessons.quantities import QUANTITIES
from headlight.app.selection import Selection, to_query
from headlight.model.base.errors import InputError
from headlight.model.runs.edits import head_name

FIELDS = ("title", "part", "text", "question", "check", "tolerance", "answer")
TRANSLATE = "translate"  # the page whose runs are translations
MEASURED = {"effect": "direct effect", "patched": "patched share"}  # of a head, beside its scores
HEAD = """---
title: {title}
minutes: 10
model: {model}
---
"""


def with_step(draft: str, chosen: Selection, page: str, fields: dict[str, str]) -> str:
    """A lesson's text with one step more, at the present page; a new lesson if the draft is empty.

    Raises:
        InputError: what was written is not a step; the message says what is wrong.
    """
    title = " ".join(fields["title"].split())
    if not title:
        raise InputError("Give the step a title.")
    model = chosen.translator or "translate" if page == TRANSLATE else chosen.model
    text = draft.rstrip() or HEAD.format(title="My lesson", model=model).rstrip()
    text += f"\n\n{_step(title, chosen, page, fields)}\n"
    read_lesson(text)
    return text


def _step(title: str, chosen: Selection, page: str, fields: dict[str, str]) -> str:
    query = {"page": page, **to_query(chosen)}
    check = " ± ".join(
        filter(None, [fields["check"], fields["tolerance"].strip() if _is_number(fields["check"]) else ""])
    )
    question = " ".join(fields["question"].split())
    part = " ".join(fields["part"].split())
    parts = [f"## {title}", f"Link: ?{urlencode(query)}", part and f"Part: {part}", fields["text"].strip()]
    if question:
        parts += [f"Question: {question}", f"Check: {check}" if check else ""]
        answer = "\n\n".join(filter(None, (line.strip() for line in fields["answer"].splitlines())))
        parts.append(f"Answer: {answer}" if answer else "")
    return "\n\n".join(filter(None, parts))


def _is_number(check: str) -> bool:
    return bool(check) and QUANTITIES[check.split()[0]].kind == "number"


def offered(chosen: Selection, page: str) -> list[tuple[str, str, bool]]:
    """What the model can be asked for on the present page: as it is written, in words, and whether it is a number."""
    if page == TRANSLATE:
        names = ["written 1", "read_from L1H1 1"]
    else:
        names = ["prediction", 'probability " "', "top 1 induction", "top 1 previous_token", "top 1 effect"]
        if chosen.heads and chosen.queries:
            head, query = head_name(chosen.heads[0]), chosen.queries[0]
            names += [f"attended {head} {query}", *(f"weight {head} {query} {key}" for key in chosen.keys[:1])]
        if chosen.compares:
            names += ["prediction in B", 'probability " " in B', "top 1 patched"]
    return [(name, _meaning(name), _is_number(name)) for name in names]


def _meaning(name: str) -> str:
    quantity, *arguments = name.split()
    meaning = QUANTITIES[quantity].meaning
    if quantity == "top":
        measured = arguments[-1]
        meaning = "the head with the largest " + MEASURED.get(measured, f"{measured.replace('_', ' ')} score")
    return f"{meaning}: {name}"


__all__ = ["FIELDS", "MAX_CHARACTERS", "offered", "with_step"]

"""What the first of the chosen heads does at the token that is looked at, as a sentence."""

from collections.abc import Sequence

from headlight.app import selection
from headlight.app.pages.attention.choices import Choices
from headlight.app.parts import labels
from headlight.app.parts.labels import quoted_word
from headlight.app.parts.looking import Row, moved, sentence
from headlight.app.parts.parts import heading
from headlight.app.selection import Selection
from headlight.model.attention.axis import Axis
from headlight.model.attention.sinks import sinks_of
from headlight.model.runs.comparison import Comparison
from headlight.model.runs.edits import AblateHeads, Head, head_name
from headlight.model.runs.head import attend
from headlight.model.runs.run import Run
from headlight.model.text.conversation import Conversation

HOW = "{quantity} of {head}{origin}. Point at another token to look from there."


def draw(comparison: Comparison, head: Head, axis: Axis) -> None:
    """The sentence as the page's heading."""
    if said := finding(comparison, head, axis, selection.current()):
        heading(said, "head", level=1, key="finding")


def how_to_read(comparison: Comparison, head: Head, quantity: str) -> str:
    """What is drawn of the head: colours of the text, and lines where it is short enough for them."""
    pinned = selection.current().queries
    return HOW.format(
        quantity=quantity[0].upper() + quantity[1:],
        head=head_name(head),
        origin=" from the pinned token" if pinned else " from the last token" if comparison.b is None else "",
    )


def finding(comparison: Comparison, head: Head, axis: Axis, chosen: Selection) -> str:
    """What the head does at the token that is looked at, in A and in B if that has it.

    Nothing where tokens are grouped or A has none there.
    """
    place = looked_from(axis, chosen)
    if place is None:
        return ""
    run, row = comparison.a, _row(comparison.a, head, place)
    where = ", where the answer begins," if place == answer_start(run) else ""
    if comparison.b is not None and (at_b := dict(zip(*axis.positions, strict=True))[place]) is not None:
        return _change(
            comparison,
            head,
            axis,
            f"{quoted_word(run.labels[place], place)}{where}",
            (row, _row(comparison.b, head, at_b)),
        )
    side = "" if comparison.b is None else "A: "
    return f"{side}{sentence(head_name(head), run.labels, run.tokens.tolist(), row, place, sinks_of(run), where)}"


def named_sinks(comparison: Comparison) -> list[str]:
    """Tokens other than the first on which many heads rest, with their places, of A and of B if there is one."""
    return [
        f"{f'{side}: ' if comparison.b is not None else ''}{run.labels[at]} at {at}"
        for side, run in comparison.sides.items()
        for at in sinks_of(run)
    ]


def answer_start(run: Run) -> int | None:
    """The last token of a chat in which the model is to answer: the template's own, which by itself says nothing."""
    if not run.turns or run.written or not Conversation.from_prompt(run.prompt).add_generation_prompt:
        return None
    return len(run.tokens) - 1


def _row(run: Run, head: Head, query: int) -> Row:
    return attend(run, *head, range(query, query + 1)).pattern[0].numpy()


def _change(comparison: Comparison, head: Head, axis: Axis, here: str, rows: Sequence[Row]) -> str:
    """What `moved` says of the head's rows in both runs, from the token `here`."""
    ablates = any(isinstance(edit, AblateHeads) and head in edit.heads for edit in comparison.runs[-1].edits)
    sides = [(run.labels, row) for run, row in zip(comparison.runs, rows, strict=True)]
    return moved(f"{head_name(head)}{', ablated in B' if ablates else ''}", here, sides, axis.positions)


def looked_from(axis: Axis, chosen: Selection) -> int | None:
    """The token of A that is pinned, or else the last one that B has too."""
    places, queries = axis.positions[0], chosen.queries
    shared = [place for place, has_b in zip(places, axis.positions[-1], strict=True) if None not in (place, has_b)]
    place = places[queries[0]] if len(queries) == 1 else shared[-1] if shared else None
    return place if chosen.choices_of(Choices).unit == "token" else None


def predicted(run: Run) -> int | None:
    """The likeliest next token, where the run has one."""
    return int(run.next_logits.argmax()) if run.cfg.output == "tokens" and not run.cfg.is_masked else None


def prediction(run: Run, token: int) -> tuple[str, str]:
    """A next token's label and its probability."""
    return run.outputs.labels([token])[0], labels.percent(float(run.next_logits.softmax(-1)[token]))

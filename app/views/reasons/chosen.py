"""Which two tokens are held against each other, where, and which cell is explained, in A or in B."""

from dataclasses import dataclass

from app import explained, measured, runs
from app.explained import Cell, Effects, Question, Why, Written
from app.measured import Given, Outcomes
from app.run import Run, attend
from app.selection.chosen import Head, Selection
from app.shown import Shown
from app.views.steps.chosen import head_of
from model.analysis import Measure
from model.analysis.alignment import match_positions
from model.errors import HeadlightError


@dataclass(frozen=True)
class Pair:
    """Target and distractor (token ids), and what there is to say of what was typed for them."""

    target: int
    distractor: int
    remarks: tuple[str, ...] = ()


def place_of(shown: Shown, chosen: Selection) -> int:
    """The place at which the prediction is measured: the one chosen, or the last that all runs have."""
    return shown.default_place if chosen.position is None else chosen.position


def pair_of(shown: Shown, chosen: Selection) -> Pair:
    """The two tokens typed; where none is, or it is no token, the likeliest others at the place."""
    place = place_of(shown, chosen)
    run, position = next(
        (run, at) for run in shown.runs if (at := shown.positions(run)[place]) is not None
    )  # every place is one of A's or one of B's
    typed = [_typed(run, text, name) for name, text in (("target", chosen.target), ("distractor", chosen.distractor))]
    likeliest = explained.logits_at(run, position).topk(min(3, run.cfg.d_vocab)).indices.tolist()
    target, distractor = (token for token, _ in typed)
    if target is None:
        target = next(token for token in likeliest if token != distractor)
    if distractor is None:
        distractor = next(token for token in likeliest if token != target)
    remarks = [remark for _, remark in typed if remark]
    if target == distractor:
        remarks.append("Target and distractor are the same token, so every difference is 0. Type another one.")
    return Pair(target, distractor, tuple(remarks))


def _typed(run: Run, text: str, name: str) -> tuple[int | None, str]:
    """The token that a text is, and what to say of it."""
    if not text:
        return None, ""
    try:
        token = run.tokenizer.to_single_token(text, parse_special=True)
    except HeadlightError as error:
        return None, f"The {name} is not used: {error} The likeliest token stands in for it."
    return token, _spaceless(run, text, token, name)


def _spaceless(run: Run, text: str, token: int, name: str) -> str:
    """A hint where the same word with a space before it is a token too."""
    if not text[0].isalnum():
        return ""
    try:
        spaced = run.tokenizer.to_single_token(f" {text}")
    except HeadlightError:
        return ""
    if spaced == token:  # a vocabulary of words, for which spaces only part them
        return ""
    own, other = run.tokenizer.labels([token, spaced])
    return (
        f"The {name} “{own}” has no space before it. A word of its own inside a sentence is “{other}”: type the space."
    )


def typeable(run: Run, token: int) -> str | None:
    """The text that stands for a token where one is typed; None for a token that no text gives."""
    text = run.tokenizer.to_string([token])
    try:
        return text if run.tokenizer.to_single_token(text, parse_special=True) == token else None
    except HeadlightError:
        return None


@dataclass(frozen=True, eq=False)
class Explained:
    """One run's cell and question, and what its head can be given instead; all positions are the run's own."""

    run: Run
    given: Given
    cell: Cell
    question: Question

    @property
    def head(self) -> Head:
        """The cell's head."""
        return self.cell.layer, self.cell.head

    @property
    def why(self) -> Why:
        """The cell's score in parts."""
        return explained.why(self.run, self.cell)

    @property
    def written(self) -> Written:
        """What the cell writes."""
        return explained.written(self.run, self.cell, self.question)

    @property
    def outcomes(self) -> Outcomes:
        """What cutting it changes."""
        return measured.outcomes(self.run, self.cell, self.question, self.given)

    @property
    def effects(self) -> Effects:
        """Who made the difference of the logits."""
        return explained.effects(self.run, self.question)

    @property
    def by_source(self) -> Measure:
        """The head's part in that, by source token."""
        return explained.effects_by_source(self.run, self.head, self.question)


def query_place(shown: Shown, chosen: Selection) -> int:
    """The place of the cell's query: the first that is pinned, or where the prediction is measured."""
    return chosen.queries[0] if chosen.queries else place_of(shown, chosen)


def explained_of(shown: Shown, chosen: Selection, side: str) -> Explained:
    """What is chosen, in A or in B. Where no key is chosen it is the query's strongest in A, and its match in B.

    Raises:
        InputError: the run lacks one of the places, or the cell is above the diagonal; the message says what to do.
    """
    run, (layer, head) = shown.sides[side], head_of(shown, chosen)
    positions = shown.positions(run)
    position, query = (positions[place] for place in (place_of(shown, chosen), query_place(shown, chosen)))
    if position is None or query is None:
        which = "place where the prediction is measured" if position is None else "query's place"
        raise HeadlightError(f"{side} has no token at the {which}. Choose another, or show the other run.")
    key = positions[chosen.keys[0] if chosen.keys else _strongest(shown, chosen)]
    if key is None:
        key = _strongest_key(run, layer, head, query)
    cell = Cell(layer, head, query, key)
    explained.check(run, cell)
    pair = pair_of(shown, chosen)
    return Explained(run, _given(shown, chosen, run), cell, Question(pair.target, pair.distractor, position))


def _strongest(shown: Shown, chosen: Selection) -> int:
    """The place of the query's strongest key, in the first run that has the query."""
    place, (layer, head) = query_place(shown, chosen), head_of(shown, chosen)
    run, query = next((run, at) for run in shown.runs if (at := shown.positions(run)[place]) is not None)
    return shown.positions(run).index(_strongest_key(run, layer, head, query))


def _strongest_key(run: Run, layer: int, head: int, query: int) -> int:
    name = "strongest key", layer, head, query
    return runs.kept(run, name, lambda: int(attend(run, layer, head).pattern[query].argmax()))


def _given(shown: Shown, chosen: Selection, run: Run) -> Given:
    other = next((each for each in shown.runs if each is not run), None)
    if other is None:
        return Given(mean_over=chosen.mean_over)
    return Given(other, match_positions(run.tokens.tolist(), other.tokens.tolist(), chosen.align), chosen.mean_over)


def sides_of(shown: Shown, chosen: Selection) -> tuple[dict[str, Explained], dict[str, str]]:
    """The same for every run that has it, and for the others why not."""
    found, lacking = {}, {}
    for side in shown.sides:
        try:
            found[side] = explained_of(shown, chosen, side)
        except HeadlightError as error:
            lacking[side] = str(error)
    return found, lacking

"""What a lesson may say or ask of a model: a quantity by name, read from a text and computed on a page's runs."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch import Tensor

from headlight.app.figures.text import token_name
from headlight.app.parts import pair
from headlight.app.runs import passes, patching
from headlight.app.runs.patching import PatchQuestion
from headlight.app.selection import Selection
from headlight.model.attention.fields import head_scores
from headlight.model.attention.tables import SCORES
from headlight.model.attribution.logits import Question, logit_attribution
from headlight.model.base.errors import InputError, nearest
from headlight.model.decoding.translation import Translation
from headlight.model.decoding.translations import Translations
from headlight.model.patching import LogitDifference
from headlight.model.runs.comparison import Comparison
from headlight.model.runs.edits import Head, head_name
from headlight.model.runs.head import attend, patterns
from headlight.model.runs.run import Run

Kind = Literal["number", "token", "head"]
Value = float | str | tuple[str, ...]
"""A number, a token, or the names of heads of which each is right."""
MAX_TEXT = 300
WORDS = re.compile(r'"(?P<quoted>[^"]*)"|(?P<word>[^\s"]+)')
HEAD = re.compile(r"L(\d{1,3})H(\d{1,3})")
NUMBER = re.compile(r"[-−+]?\d+(?:[.,]\d+)?")
MEASURES = ("effect", "patched")  # of every head, beside its scores


@dataclass(frozen=True)
class Quantity:
    """A quantity: its name, its arguments as they were written, and whether it is run A's or B's."""

    name: str
    arguments: tuple[str, ...] = ()
    side: Literal["A", "B"] = "A"

    @property
    def kind(self) -> Kind:
        """Whether it is a number, a token or a head."""
        return QUANTITIES[self.name].kind


@dataclass(frozen=True)
class Rule:
    """How a quantity is computed: its kind, its arguments by example, what it is in words, and its function."""

    kind: Kind
    example: str
    meaning: str
    compute: Callable[..., Value]


def read_quantity(text: str) -> Quantity:
    """Read a quantity such as `weight L1H1 23 10` or `probability " key" in B`.

    Raises:
        InputError: there is no such quantity, or it takes other arguments.
    """
    words = [match["quoted"] if match["word"] is None else match["word"] for match in WORDS.finditer(text[:MAX_TEXT])]
    side: Literal["A", "B"] = "A"
    if words[-2:] in (["in", "A"], ["in", "B"]):
        side, words = ("B" if words[-1] == "B" else "A"), words[:-2]
    name, *arguments = words or [""]
    if name not in QUANTITIES:
        raise InputError(f"There is no quantity {name or 'without a name'!r}.{nearest(name, QUANTITIES)}")
    example = QUANTITIES[name].example
    if len(arguments) != len(_words(example)) or not all(map(_fits, arguments, _words(example))):
        raise InputError(f"{name} is written like this: {f'{name} {example}'.strip()}, not: {text[:MAX_TEXT].strip()}")
    return Quantity(name, tuple(arguments), side)


def _words(example: str) -> list[str]:
    return [match["quoted"] if match["word"] is None else match["word"] for match in WORDS.finditer(example)]


def _fits(argument: str, like: str) -> bool:
    """Whether an argument is a head, a token's place or a score where the example has one."""
    if HEAD.fullmatch(like):
        return bool(HEAD.fullmatch(argument))
    if like.isdigit():
        return argument == "last" or (argument.isascii() and argument.isdigit() and len(argument) <= 5)
    return argument in (*SCORES, *MEASURES) if like == "induction" else bool(argument)


def compute(quantity: Quantity, runs: Any, chosen: Selection) -> Value:
    """Compute a quantity on the runs of a page, as its selection asks for them.

    Raises:
        HeadlightError: the runs do not have it.
    """
    needs = Translations if quantity.name in OF_TRANSLATIONS else Comparison
    if not isinstance(runs, needs):
        raise InputError(f"{quantity.name} is a quantity of {'translations' if needs is Translations else 'prompts'}.")
    side = runs.sides.get(quantity.side)
    if side is None:
        raise InputError("There is no B here: add a second prompt or an edit.")
    return QUANTITIES[quantity.name].compute(_Context(runs, side, chosen), *quantity.arguments)


@dataclass(frozen=True, eq=False)
class _Context:
    """The runs that a quantity is of, the one that is meant, and what is chosen on the page."""

    runs: Any
    run: Any
    chosen: Selection


def _token(run: Run, text: str) -> int:
    return run.outputs.to_single_token(text, parse_special=True)


def _place(text: str, count: int) -> int:
    place = count - 1 if text == "last" else int(text)
    if place >= count:
        raise InputError(f"There is no token {place}: the last of {count} is {count - 1}.")
    return place


def _head(text: str, shape: tuple[int, ...]) -> Head:
    match = HEAD.fullmatch(text)
    assert match is not None  # as read_quantity has seen
    layer, head = int(match[1]), int(match[2])
    if layer >= shape[0] or head >= shape[1]:
        raise InputError(f"There is no head {text}: the last of this model is L{shape[0] - 1}H{shape[1] - 1}.")
    return layer, head


def _extent(run: Run) -> tuple[int, int]:
    return run.cfg.n_layers, run.cfg.n_heads


def _probability(context: _Context, token: str) -> float:
    return float(context.run.next_logits.softmax(-1)[_token(context.run, token)])


def _logit(context: _Context, token: str) -> float:
    return float(context.run.next_logits[_token(context.run, token)])


def _logit_difference(context: _Context, target: str, distractor: str) -> float:
    return _logit(context, target) - _logit(context, distractor)


def _prediction(context: _Context) -> str:
    (label,) = context.run.outputs.labels([int(context.run.next_logits.argmax())])
    return token_name(label, len(context.run.tokens))


def _row(context: _Context, head: str, query: str) -> Tensor:
    run = context.run
    layer, number = _head(head, _extent(run))
    return patterns(run, layer, [_place(query, len(run.tokens))])[number, 0]


def _weight(context: _Context, head: str, query: str, key: str) -> float:
    return float(_row(context, head, query)[_place(key, len(context.run.tokens))])


def _attention_score(context: _Context, head: str, query: str, key: str) -> float:
    run = context.run
    scores = attend(run, *_head(head, _extent(run))).scores
    return float(scores[_place(query, len(run.tokens)), _place(key, len(run.tokens))])


def _attended(context: _Context, head: str, query: str) -> str:
    place = int(_row(context, head, query).argmax())
    return token_name(context.run.labels[place], place)


def _of_all_heads(context: _Context, measure: str) -> Tensor:
    """A score, a direct effect on the logit difference (logits) or a patched share of every head [layer, head]."""
    if measure == "effect":
        return _effects(context)
    return _patched(context.runs, context.chosen) if measure == "patched" else head_scores(context.run, measure)


def _score(context: _Context, measure: str, head: str) -> float:
    return float(_of_all_heads(context, measure)[_head(head, _extent(context.run))])


def _ranking(context: _Context, count: str, measure: str) -> list[str]:
    """So many heads with the largest values, the largest first; a patched share counts by its size."""
    values = _of_all_heads(context, measure)
    values = values.abs() if measure == "patched" else values
    best = values.nan_to_num(-torch.inf).flatten().topk(min(max(1, int(count)), values.numel())).indices.tolist()
    return [head_name(divmod(index, values.shape[1])) for index in best]


def _top(context: _Context, count: str, measure: str) -> tuple[str, ...]:
    return tuple(_ranking(context, count, measure))


def _ranked(context: _Context, count: str, measure: str) -> tuple[str, ...]:
    return (_ranking(context, count, measure)[-1],)


def _effects(context: _Context) -> Tensor:
    both = pair.pair_of(context.runs, context.chosen)
    question = Question(both.target, both.distractor, context.run.prediction_position)
    effects = logit_attribution(context.run, question)
    values = torch.full(_extent(context.run), torch.nan)
    for part, value in zip(effects.parts, effects.values.values.tolist(), strict=True):
        if part.layer is not None and part.head is not None:
            values[part.layer, part.head] = value
    return values


def _patched(comparison: Comparison, chosen: Selection) -> Tensor:
    """The share of the logit difference that each head of B brings into A, kept as that of the page *Patching* is."""
    a, b = comparison.a, comparison.b
    if b is None:
        raise InputError("There is no B here, of which a head could be patched into A.")
    both = pair.pair_of(comparison, chosen, b.prediction_position)
    measured = LogitDifference(both.target, both.distractor, a.prediction_position, b.prediction_position)
    question = PatchQuestion(
        a.source.name, a.prompt, b.prompt, a.bos, measured, b.source.name, b.edits, comparison.align
    )
    pieces, shares = patching.pieces_of(question), dict[int, Tensor]()
    for piece in pieces:
        passes.tell(len(shares), len(pieces), "parts of the map done")
        shares[piece.start] = patching.do(piece).float()
    whole = torch.cat([shares[start] for start in sorted(shares)])
    return patching.cells_of(question).as_map(whole).values


def _cross_row(translation: Translation, head: str, target: str) -> Tensor:
    pattern = translation.attention["cross"].pattern
    layer, number = _head(head, tuple(pattern.shape))
    return pattern[layer, number, _place(target, pattern.shape[2])]


def _cross_weight(context: _Context, head: str, target: str, source: str) -> float:
    row = _cross_row(context.run, head, target)
    return float(row[_place(source, len(row))])


def _read_from(context: _Context, head: str, target: str) -> str:
    place = int(_cross_row(context.run, head, target).argmax())
    return token_name(context.run.source_labels[place], place)


def _written(context: _Context, place: str) -> str:
    labels = context.run.written_labels
    at = _place(place, len(labels))
    return token_name(labels[at], at)


QUANTITIES: Mapping[str, Rule] = {
    "prediction": Rule("token", "", "the likeliest next token", _prediction),
    "probability": Rule("number", '" key"', "the probability of a token as the next one", _probability),
    "logit": Rule("number", '" key"', "the logit of a token as the next one", _logit),
    "logit_difference": Rule("number", '" key" " river"', "one token's logit less another's", _logit_difference),
    "weight": Rule("number", "L1H1 23 10", "a head's attention weight from one token to another", _weight),
    "attention_score": Rule(
        "number", "L1H1 23 10", "a head's score of one token for another, before the softmax", _attention_score
    ),
    "attended": Rule("token", "L1H1 23", "the token that a head attends to most from another", _attended),
    "score": Rule("number", "induction L1H1", "a head's score, direct effect or patched share", _score),
    "top": Rule("head", "1 induction", "the heads with the largest score, direct effect or patched share", _top),
    "ranked": Rule(
        "head", "2 induction", "the head that comes at this place among all by a score, effect or share", _ranked
    ),
    "cross": Rule("number", "L1H1 3 5", "the weight from a written token to a source token", _cross_weight),
    "read_from": Rule("token", "L1H1 3", "the source token that a written one is read from most", _read_from),
    "written": Rule("token", "3", "a token of the translation", _written),
}
OF_TRANSLATIONS = ("cross", "read_from", "written")


def is_right(answer: str, value: Value, tolerance: float) -> bool:
    """Whether an answer that somebody gave is what the model computes.

    Raises:
        InputError: a number was asked for, and this is none.
    """
    answer = answer.strip()
    if isinstance(value, float):
        number = read_number(answer)
        return abs(number - value) <= tolerance + 1e-9
    if isinstance(value, tuple):
        return answer.upper().replace(" ", "").replace(".", "") in {name.replace(".", "") for name in value}
    return bool(_names(answer) & _names(value))


def read_number(text: str) -> float:
    """Read a number as it is written in a text: 0.85, −1.2 or 96%.

    Raises:
        InputError: it is none.
    """
    match = NUMBER.match(text.strip())
    if match is None:
        raise InputError(f"Write a number, such as 0.85 or 96%, not {text[:40] or 'nothing'}.")
    value = float(match[0].replace("−", "-").replace(",", "."))
    return value / 100 if "%" in text else value


def is_shown_as(text: str, value: Value) -> bool:
    """Whether a text shows a value: a number rounded to the digits of the text."""
    if not isinstance(value, float):
        return is_right(text, value, 0.0)
    return abs(read_number(text) - value) <= 10.0 ** -decimals(text) / 2 + 1e-9


def _names(token: str) -> set[str]:
    """What a token may be called: by its text, a special one by its name too, as the page shortens it."""
    plain = token.strip(" “”\"'").replace("␣", "").strip()
    if plain.startswith("⟨"):
        return {plain.strip("⟨⟩")}
    is_special = (plain.startswith("<") and plain.endswith(">")) or plain == "endoftext"
    return {plain, plain.strip("<|>"), "bos", "eos"} if is_special else {plain}


def decimals(text: str) -> int:
    """Number of digits behind the point of a number in a text, which in percent is two more than those written."""
    return len(text.partition(".")[2].rstrip("% ")) + (2 if "%" in text else 0)


def written(value: Value, answer: str = "", like: str = "") -> str:
    """A value as a sentence names it: a number in percent where the answer to it is, and as exact as another one."""
    if isinstance(value, float):
        percent = "%" in answer
        form = f".{max(0, decimals(like) - 2 * percent)}f" if like else ".3g"
        return (f"{100 * value:{form}}%" if percent else f"{value:{form}}").replace("-", "−")
    if isinstance(value, tuple):
        return " or ".join(value)
    return value if value.startswith("⟨") else f"“{value.replace('␣', ' ').strip() or value}”"

"""The written token and the cell that are explained, as chosen or by default, and their numbers."""

from collections.abc import Mapping

from headlight.app.figures.colours import LEAST_EFFECT
from headlight.app.figures.text import numbered_names
from headlight.app.pages.translate.choices import Choices
from headlight.app.parts.labels import quoted, signed_cents
from headlight.app.parts.matrix import Matrix
from headlight.app.parts.sides import DIFFERENCE, SIDES, as_shown, compared_parts, is_there, placed
from headlight.app.selection.chosen import Selection
from headlight.model.attribution.tables import Change
from headlight.model.decoding.explained_sides import (
    ExplainedToken,
    TranslationQuestion,
    likeliest,
    strongest_head,
    written_token,
)
from headlight.model.decoding.explained_tables import changes_of
from headlight.model.decoding.translation import Attends, Translation
from headlight.model.decoding.translations import Translations
from headlight.model.runs.edits import Head, head_name

N_OFFERED = 6  # likeliest tokens, of which the others than the written one are offered to be subtracted
NAMED = 3  # parts that the finding names
KINDS: dict[Attends, str] = {"cross": "cross ", "decoder": "self ", "encoder": "encoder "}


def question_of(translations: Translations, chosen: Selection) -> TranslationQuestion | None:
    """The written token, the token that it is compared with, and the cell; None where no token is explained."""
    own = chosen.choices_of(Choices)
    writes = all(each.model.cfg.output == "tokens" for each in translations.sides.values())
    if own.why_written is None or not writes:
        return None
    return TranslationQuestion(
        written=own.why_written,
        attends=own.attends,
        head=head_of(translations, chosen, own.why_written),
        query=own.pair_queries[0] if own.pair_queries else None,
        key=own.pair_keys[0] if own.pair_keys else None,
        distractor=distractor_of(translations, chosen, own.why_written),
        rows=own.rows,
    )


def writer(translations: Translations, place: int) -> tuple[str, Translation, int]:
    """The first side that wrote a token at a place, its translation and the position there."""
    positions = translations.axes("cross", "written")[0].positions
    every = zip(translations.sides.items(), positions, strict=True)
    return next((side, each, position) for (side, each), at in every if (position := at[place]) is not None)


def head_of(translations: Translations, chosen: Selection, place: int) -> Head:
    """The first of the chosen heads, or the one with the largest direct effect on the written token."""
    own = chosen.choices_of(Choices)
    if own.pair_heads:
        return own.pair_heads[0]
    side, translation, _ = writer(translations, place)
    written = written_token(translations, place, distractor_of(translations, chosen, place), side)
    layer, head = strongest_head(translation, written, own.attends)
    n_layers, n_heads = translations.shape(own.attends)
    return min(layer, n_layers - 1), min(head, n_heads - 1)


def distractor_of(translations: Translations, chosen: Selection, place: int) -> int | None:
    """The token (id) whose logit is subtracted; None for none."""
    own = chosen.choices_of(Choices)
    if own.why_alone:
        return None
    return next(iter(others(translations, place)), None) if own.why_versus is None else own.why_versus


def others(translations: Translations, place: int) -> dict[int, str]:
    """The likeliest other tokens that could stand at a place, by id, what B wrote there first."""
    _, translation, position = writer(translations, place)
    own = int(translation.written[position])
    tokens = list(likeliest(translation, position, N_OFFERED))
    if translations.b is not None:
        at_b = translations.axes("cross", "written")[0].positions[1][place]
        tokens = [*([] if at_b is None else [int(translations.b.written[at_b])]), *tokens]
    listed = [token for token in dict.fromkeys(tokens) if token != own]
    return dict(zip(listed, translation.outputs.labels(listed), strict=True))


def score_matrix(at: ExplainedToken) -> Matrix:
    """All parts of a cell's score: row the query's, column the key's."""
    return Matrix(at.why.query_names, at.why.key_names, at.why.parts.matrix.values.numpy())


def by_source(translations: Translations, at: ExplainedToken) -> Matrix:
    """Direct effects of the heads of cross-attention by source token, the strongest heads, the others and the sums."""
    axis = translations.axes("cross", "written")[1]
    index = list(translations.sides.values()).index(at.translation)
    places = tuple(numbered_names(axis.labels))
    values = placed(at.effects.by_source.values.numpy(), axis.positions[index], 0.0)
    return Matrix(tuple(part.name for part in at.effects.heads), places, values)


def effects_of(sides: Mapping[str, ExplainedToken], side: str) -> Mapping[str, float]:
    """Direct effects of all components of the decoder by name, of A, of B or of B − A."""
    return compared_parts(sides, lambda at: at.effects.by_name)[side]


def side_of(translations: Translations, chosen: Selection, sides: Mapping[str, ExplainedToken]) -> str:
    """The side that is looked at: A, B or B − A; where that lacks the token or the cell, the one that has them."""
    side = "A" if translations.b is None else SIDES[chosen.side or "difference"]
    return side if is_there(sides, side) else next(iter(sides), side)


def changes_by_side(sides: Mapping[str, ExplainedToken]) -> dict[str, list[Change]]:
    """Effects of each intervention in A, in B, and B − A."""
    return as_shown(changes_of(sides))


def total_name(at: ExplainedToken) -> str:
    """Name of what the direct effects add up to."""
    return "logit" if at.written.distractor is None else "target − distractor"


def heads_by_name(sides: Mapping[str, ExplainedToken]) -> dict[str, tuple[Attends, Head]]:
    """The decoder's heads by the names of their effects."""
    kinds: dict[str | None, Attends] = {"attn": "decoder", "cross_attn": "cross"}
    return {
        part.name: (kinds[part.write], (part.layer, part.head))
        for at in sides.values()
        for part in at.effects.parts
        if part.layer is not None and part.head is not None
    }


def finding(sides: Mapping[str, ExplainedToken], side: str) -> str:
    """The logit difference, the components with the largest effects on it, and the source token read most of it."""
    at = sides.get(side) or sides["A"]
    effects = effects_of(sides, side)
    moving = {part.name for each in sides.values() for part in each.effects.parts if part.layer is not None}
    moving = {name for name in moving if "bias" not in name}
    strongest = sorted(moving & set(effects), key=lambda name: -abs(effects[name]))[:NAMED]
    parts = [f"{name} ({signed_cents(effects[name])})" for name in strongest if abs(effects[name]) >= LEAST_EFFECT]
    largest = f"Largest effects: {', '.join(parts)}." if parts else f"No head or MLP moves it by {LEAST_EFFECT:g}."
    total = sum(effects.values())
    if side == DIFFERENCE:
        return f"From A to B the {_measured(at)} changes by {signed_cents(total)}. {largest}"
    (target, *distractor) = map(quoted, at.translation.outputs.labels(at.written.outputs))
    if not distractor:
        return f"{target} has a logit of {signed_cents(total)}. {largest}{_read_most(at)}"
    verb = "leads" if total >= 0 else "trails"
    return f"{target} {verb} {distractor[0]} by {abs(total):.2f} logits. {largest}{_read_most(at)}"


def _read_most(at: ExplainedToken) -> str:
    """The source token that the heads of cross-attention read most of the written token from."""
    values = at.effects.by_source.values.sum(0)
    place = int(values.argmax())
    if (value := float(values[place])) < LEAST_EFFECT:
        return ""
    token = quoted(at.translation.source_labels[place], place)
    return f" Cross-attention reads most of it from {token} ({signed_cents(value)})."


def _measured(at: ExplainedToken) -> str:
    return "logit" if at.written.distractor is None else "logit difference"


def head_title(question: TranslationQuestion) -> str:
    """Name of the explained head, with the kind of its attention."""
    return f"{KINDS[question.attends]}{head_name(question.head)}"

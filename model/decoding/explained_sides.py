"""A written token and an attention cell of one translation or of two, and all that explains them."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import torch

from headlight.model.attribution.ablation import Outcomes
from headlight.model.attribution.score import Why
from headlight.model.base.errors import HeadlightError, InputError, by_side
from headlight.model.decoding.explained import (
    WRITERS,
    AttendedCell,
    HeadWrite,
    TokenEffects,
    WrittenToken,
    ablate_cell,
    check_among,
    explain_head_write,
    explain_score,
    token_effects,
)
from headlight.model.decoding.stack_parts import Pass, run_pass
from headlight.model.decoding.translation import Attends, Translation
from headlight.model.decoding.translations import Rows, Translations
from headlight.model.measure.best import best
from headlight.model.runs.edits import Head


@dataclass(frozen=True, eq=False)
class ExplainedToken:
    """One translation's cell and written token; positions are the translation's own."""

    translation: Translation
    cell: AttendedCell
    written: WrittenToken

    @cached_property
    def run(self) -> Pass:
        """The forward pass, made again where something is not kept."""
        return pass_of(self.translation)

    @property
    def effects(self) -> TokenEffects:
        """Direct effects of the decoder's components on the written token's logit."""
        return effects_of(self.translation, self.written)

    @property
    def why(self) -> Why:
        """The cell's score in parts."""
        return self.translation.keep(("score", self.cell), lambda: explain_score(self.run, self.cell))

    @property
    def write(self) -> HeadWrite | None:
        """What the head writes; None for a head of the encoder."""
        if self.cell.attends == "encoder":
            return None
        name = "write", self.cell, self.written
        return self.translation.keep(name, lambda: explain_head_write(self.run, self.cell, self.written))

    @property
    def outcomes(self) -> Outcomes:
        """Effects of cutting the edge and ablating the head."""
        return self.translation.keep(("ablated", self.cell, self.written), self._ablated)

    def _ablated(self) -> Outcomes:
        run = self.run
        with self.translation.host.turn():
            return ablate_cell(run, self.cell, self.written)


def pass_of(translation: Translation) -> Pass:
    """One forward pass over a translation's source and target, with what explanations need of it."""
    with translation.host.turn():
        return run_pass(translation.model, translation.source_tokens, torch.tensor(translation.read))


@dataclass(frozen=True)
class TranslationQuestion:
    """The written token and the attention cell to explain, by places of the axes that the translations share.

    Attributes:
        written: place of the written token.
        attends: which attention: the encoder's, the decoder's or cross-attention.
        head: (layer, head).
        query: place of the query; None for where the token is written or, in the encoder, for the source token that
            cross-attention reads most of it from.
        key: place of the key; None for the query's strongest key in A, and its match in B.
        distractor: token id whose logit is subtracted; None for none.
        rows: whether a row of cross-attention is named by the target token that it writes or the one that it reads.
    """

    written: int
    attends: Attends
    head: Head
    query: int | None = None
    key: int | None = None
    distractor: int | None = None
    rows: Rows = "written"


def explain_translations(
    translations: Translations, question: TranslationQuestion
) -> tuple[dict[str, ExplainedToken], dict[str, str]]:
    """Explain the written token and the cell in every translation that has them; the second result says why not."""
    return by_side(translations.sides, lambda side: explain_side(translations, question, side))


def explain_side(translations: Translations, question: TranslationQuestion, side: str) -> ExplainedToken:
    """Explain the written token and the cell in translation A or B.

    Raises:
        HeadlightError: the translation lacks one of the places, or the head does not see the key; it says what to do.
    """
    translation, index = translations.sides[side], list(translations.sides).index(side)
    written = written_token(translations, question.written, question.distractor, side)
    down, across = translations.axes(question.attends, question.rows)
    query = _query(translation, question, written, down.positions[index])
    if query is None:
        raise InputError(f"{side} has no token at the query's place. Choose another one.")
    first = AttendedCell(question.attends, *question.head, query, key=0)
    attended = translation.attention[question.attends]
    n_layers, n_heads = attended.pattern.shape[:2]
    check_among(first, n_layers, n_heads, attended.masked)
    chosen = None if question.key is None else _position(across.positions[index], question.key)
    key = _strongest_key(translations, question, index, query) if question.key is None else chosen
    if key is None:
        raise InputError(f"{side} has no token at the key's place. Choose another one.")
    cell = replace(first, key=key)
    check_among(cell, n_layers, n_heads, attended.masked)
    return ExplainedToken(translation, cell, written)


def written_token(translations: Translations, place: int, distractor: int | None, side: str) -> WrittenToken:
    """The token that translation A or B wrote at a place.

    Raises:
        InputError: it wrote none there, or the model writes no tokens.
    """
    translation, index = translations.sides[side], list(translations.sides).index(side)
    if translation.model.cfg.output != "tokens":
        raise InputError("This model writes no tokens, so there is no written token to explain.")
    position = _position(translations.axes("cross", "written")[0].positions[index], place)
    if position is None:
        raise InputError(f"{side} wrote no token at place {place}. Choose another one.")
    return WrittenToken(position, int(translation.written[position]), distractor)


def effects_of(translation: Translation, written: WrittenToken) -> TokenEffects:
    """Direct effects of the decoder's components on a written token's logit."""
    return translation.keep(("effects", written), lambda: token_effects(pass_of(translation), written))


def likeliest(translation: Translation, position: int, count: int) -> list[int]:
    """The likeliest tokens (ids) that could be written at a position, likeliest first."""
    name = "likeliest", position, count
    return translation.keep(name, lambda: best(pass_of(translation).logits[position], count).indices.tolist())


def strongest_head(translation: Translation, written: WrittenToken, attends: Attends) -> Head:
    """The head with the largest direct effect on a written token; of the encoder, which has none, the clearest."""
    if attends == "encoder":
        peaks = translation.attention[attends].pattern.amax(-1).mean(-1)
        layer, head = divmod(int(peaks.argmax()), peaks.shape[1])
        return layer, head
    effects, (stack, write) = effects_of(translation, written), WRITERS[attends]
    sizes = {
        (part.layer, part.head): abs(value)
        for part, value in zip(effects.parts, effects.values.values.tolist(), strict=True)
        if (part.stack, part.write) == (stack, write) and part.layer is not None and part.head is not None
    }
    return max(sizes, key=sizes.__getitem__)


def _position(positions: Sequence[int | None], place: int) -> int | None:
    return positions[place] if 0 <= place < len(positions) else None


def _query(
    translation: Translation, question: TranslationQuestion, written: WrittenToken, positions: Sequence[int | None]
) -> int | None:
    if question.query is not None:
        return _position(positions, question.query)
    if question.attends != "encoder":
        return written.position
    return int(effects_of(translation, written).by_source.values.sum(0).argmax())


def _strongest_key(translations: Translations, question: TranslationQuestion, index: int, query: int) -> int:
    """The query's strongest key in A, as B has it; B's own where it has no such token."""
    if index:
        try:
            a = explain_side(translations, question, "A")
        except HeadlightError:
            pass
        else:
            _, across = translations.axes(question.attends, question.rows)
            key = across.positions[index][across.positions[0].index(a.cell.key)]
            if key is not None:
                return key
    pattern = list(translations.sides.values())[index].attention[question.attends].pattern
    return int(pattern[question.head][query].argmax())

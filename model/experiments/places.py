"""The positions of a map over rows: by the set's names, token by token, or counted from the end."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from headlight.model.base.errors import InputError
from headlight.model.experiments.settings import Positions, Side
from headlight.model.prompt_sets.encoding import TokenRow, TokenSet


@dataclass(frozen=True)
class Places:
    """The labels of an axis of positions, and where they are in each row.

    Attributes:
        kind: whether they are names, tokens, or counted from the end.
        labels: their labels.
    """

    kind: Positions
    labels: tuple[str, ...]

    def of_rows(self, rows: Sequence[TokenRow], side: Side) -> Int[Tensor, "row place"]:
        """The token index of each place in each row's prompt; -1 where the prompt has no such place."""
        return torch.tensor([self._of_row(row, side) for row in rows]).reshape(len(rows), len(self.labels))

    def _of_row(self, row: TokenRow, side: Side) -> list[int]:
        if self.kind == "names":
            pairs = [row.positions.get(name, (None, None)) for name in self.labels]
            places = [here if side == "clean" else there for here, there in pairs]
            return [-1 if place is None else place for place in places]
        prompt = row.clean if side == "clean" or row.corrupted is None else row.corrupted
        start = 0 if self.kind == "tokens" else len(prompt) - len(self.labels)
        return list(range(start, start + len(self.labels)))


def places_of(token_set: TokenSet, kind: Positions, side: Side) -> Places:
    """The places at which every row of a set can be measured.

    Raises:
        InputError: the set has prompts of several lengths, where they are to be measured token by token.
    """
    lengths = {
        len(prompt)
        for row in token_set.rows
        for prompt in [row.clean if side == "clean" else row.corrupted]
        if prompt is not None
    }
    if kind == "auto":
        kind = "names" if len(token_set.position_names) > 1 else "tokens" if len(lengths) == 1 else "from_end"
    if kind == "names":
        return Places("names", token_set.position_names)
    if kind == "tokens":
        if len(lengths) > 1:
            raise InputError(
                f"The prompts have {min(lengths)} to {max(lengths)} tokens, so that token by token they have no common "
                "positions. Measure by the names of positions, or count from the end."
            )
        return Places("tokens", tuple(map(str, range(min(lengths)))))
    return Places("from_end", tuple(str(place) for place in range(-min(lengths), 0)))


def matched(rows: Sequence[TokenRow], base: Side) -> tuple[Bool[Tensor, "row pos"], Int[Tensor, "row pos"]]:
    """Which positions of each row's base prompt have a counterpart in its other prompt, and which it is.

    Prompts of one length match position by position, others by the names of positions alone.
    """
    n_pos = len(_prompt(rows[0], base))
    if rows[0].is_aligned:
        everywhere = torch.arange(n_pos).expand(len(rows), n_pos)
        return torch.ones_like(everywhere, dtype=torch.bool), everywhere
    has, where = torch.zeros(len(rows), n_pos, dtype=torch.bool), torch.zeros(len(rows), n_pos, dtype=torch.long)
    for place, row in enumerate(rows):
        for clean, corrupted in row.positions.values():
            if corrupted is not None:
                here, there = (clean, corrupted) if base == "clean" else (corrupted, clean)
                has[place, here], where[place, here] = True, there
    return has, where


def _prompt(row: TokenRow, side: Side) -> Int[Tensor, " pos"]:
    prompt = row.clean if side == "clean" else row.corrupted
    assert prompt is not None  # sets without corrupted prompts are refused before
    return prompt

"""A text in tokens, and the characters that each of them stands for."""

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from headlight.model.base.errors import InputError

if TYPE_CHECKING:
    import tokenizers

Span = tuple[int, int]  # of characters, [start, stop)


@dataclass(frozen=True, eq=False)
class EncodedText:
    """The ids of a text, and where its tokens lie in it.

    Attributes:
        ids: the token ids, with those that are put around the text.
        length: the text's characters.
        encoding: what the `tokenizers` library made of it; None for a tokenizer that does not say where tokens lie.
        n_before: how many ids stand before those of the encoding.
        first: where the text begins in what was encoded, as within a chat template; -1 if it is not in there.
    """

    ids: list[int]
    length: int
    encoding: "tokenizers.Encoding | None" = None
    n_before: int = 0
    first: int = 0

    @cached_property
    def spans(self) -> list[Span | None]:
        """The characters of the text in each token; None for what is put around it.

        Raises:
            InputError: the tokenizer does not say where its tokens lie.
        """
        if self.encoding is None or self.first < 0:
            raise InputError(
                "This tokenizer does not say which characters each token stands for. Give positions as token indices."
            )
        ends = [
            (max(start - self.first, 0), min(stop - self.first, self.length)) for start, stop in self.encoding.offsets
        ]
        return [None] * self.n_before + [span if span[0] < span[1] else None for span in ends]

"""The outermost entries of a circuit: exact, without making most of the others, and a block of rows at a time."""

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from headlight.model.measure.best import best
from headlight.model.weights.qk_ov_circuits import Circuit, Pairs, pairs_of

BLOCK_ROWS, BLOCK_COLUMNS = 256, 2048  # of a product at once: 2 MiB in float32; 8 MiB take twice as long
LEADING = 16  # parts of the factors that a bound takes at their word; of the others it knows the length alone
SLACK = 1e-5  # by which a sum in float32 may be off, in shares of the lengths it is made of; 128 products round less


@dataclass(frozen=True, eq=False)
class Ends:
    """The k largest entries of a circuit and the k lowest, each the outermost first."""

    highest: Pairs
    lowest: Pairs


@dataclass(frozen=True, eq=False)
class Outermost:
    """The largest numbers so far, the largest first, and where they stand (row, column)."""

    values: Float[Tensor, " pair"]
    places: Int[Tensor, "pair two"]

    def bar(self, k: int) -> float:
        """The bound that an entry must exceed to be among the k largest."""
        return float(self.values[-1]) if len(self.values) == k else -torch.inf

    def with_block(
        self, product: Float[Tensor, "row column"], rows: Int[Tensor, " row"], columns: Int[Tensor, " column"], k: int
    ) -> "Outermost":
        """The k largest of these and of a product's entries, which stand in these rows and columns."""
        if product.max() <= self.bar(k):
            return self
        largest, at = best(product.flatten(), k)
        places = torch.stack([rows[at // len(columns)], columns[at % len(columns)]], 1)
        values, kept = best(torch.cat([self.values, largest]), k)
        return Outermost(values, torch.cat([self.places, places])[kept])


@dataclass(frozen=True, eq=False)
class Extremes:
    """The extremes of the blocks so far: the largest entries, and the largest of the negated ones."""

    highest: Outermost
    lowest: Outermost


@dataclass(frozen=True, eq=False)
class PairSearch:
    """A search for the k largest and the k lowest entries of a circuit; `pair_search` makes one.

    The result of `look` for one block is its argument for the next; after the last block `ends` are those of the whole
    matrix. Of entries that tie for the last place any may be returned. Longest rows come first, since they
    make the bars high at once.

    An entry is the product of the leading parts of its row and its column, and of the rest at most the product of the
    rests' lengths either way (Cauchy and Schwarz). Columns none of whose entries can pass a bar by that are left out.
    """

    circuit: Circuit
    k: int
    columns: Float[Tensor, "column rank"]
    blocks: tuple[Int[Tensor, "_"], ...]
    row_lengths: Float[Tensor, " row"]
    column_lengths: Float[Tensor, " column"]
    high_rows: Float[Tensor, "row part"]
    low_rows: Float[Tensor, "row part"]
    bounding_columns: Float[Tensor, "column part"]

    @property
    def n_blocks(self) -> int:
        """Number of blocks of rows."""
        return len(self.blocks)

    @property
    def empty(self) -> Extremes:
        """The extremes before the first block."""
        none = Outermost(self.row_lengths.new_empty(0), self.blocks[0].new_empty(0, 2))
        return Extremes(none, none)

    def look(self, extremes: Extremes, block: int) -> Extremes:
        """The extremes after one more block of rows."""
        rows, (highest, lowest) = self.blocks[block], (extremes.highest, extremes.lowest)
        own = self.circuit.A[rows]
        for columns in self._candidates(rows, highest.bar(self.k), -lowest.bar(self.k)).split(BLOCK_COLUMNS):
            if len(columns):
                product = own @ self.columns[columns].T
                highest = highest.with_block(product, rows, columns, self.k)
                lowest = lowest.with_block(-product, rows, columns, self.k)
        return Extremes(highest, lowest)

    def _candidates(self, rows: Int[Tensor, " row"], high: float, low: float) -> Int[Tensor, " column"]:
        """The columns in which an entry of these rows may be above `high` or below `low`."""
        longest = self.row_lengths[rows].max() * (1 + SLACK)
        within = (self.column_lengths * longest >= min(high, -low)).nonzero()[:, 0]
        kept = []
        for columns in within.split(BLOCK_COLUMNS):
            bounding = self.bounding_columns[columns].T
            above = (self.high_rows[rows] @ bounding).amax(0) >= high
            kept.append(columns[above | ((self.low_rows[rows] @ bounding).amin(0) <= low)])
        return torch.cat(kept)

    def ends(self, extremes: Extremes) -> Ends:
        """The outermost entries, once every block was looked at."""
        lowest = Outermost(-extremes.lowest.values, extremes.lowest.places)
        return Ends(*(pairs_of(self.circuit, each.values, *each.places.T) for each in (extremes.highest, lowest)))


def _bounding(vectors: Float[Tensor, "token rank"], sign: int) -> Float[Tensor, "token part"]:
    """Vectors whose products bound the vectors' own: the leading parts, and lengths for the rest and for rounding.

    With sign 1 for both factors they bound from above, with −1 for one of them from below.
    """
    rest = vectors[:, LEADING:].norm(dim=1, keepdim=True)
    rounding = SLACK**0.5 * vectors.norm(dim=1, keepdim=True)
    return torch.cat([vectors[:, :LEADING], sign * rest, sign * rounding], 1)


def pair_search(circuit: Circuit, k: int) -> PairSearch:
    """The search before its first block."""
    columns = circuit.B.T.contiguous()
    row_lengths = circuit.A.norm(dim=1)
    return PairSearch(
        circuit,
        k,
        columns,
        row_lengths.argsort(descending=True).split(BLOCK_ROWS),
        row_lengths,
        columns.norm(dim=1),
        _bounding(circuit.A, 1),
        _bounding(circuit.A, -1),
        _bounding(columns, 1),
    )


def outermost_pairs(circuit: Circuit, k: int) -> Ends:
    """The k largest entries of all and the k lowest, with one product of 2 MiB at a time."""
    search = pair_search(circuit, k)
    extremes = search.empty
    for block in range(search.n_blocks):
        extremes = search.look(extremes, block)
    return search.ends(extremes)

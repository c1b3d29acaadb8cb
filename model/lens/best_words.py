"""The top tokens of every row, collected while logits are computed a tile of the vocabulary at a time."""

import torch
from jaxtyping import Float, Int
from torch import Tensor

GROUPS = 64  # of a tile's words, whose largest logits tell where words among the best may be
CANDIDATES = 40  # words that are noted of a row, on average, before they are cut to the best


class BestWords:
    """The k best words of each row so far, of equal ones those with the lowest ids.

    It is a list of candidates, which is cut to the best only when it has grown. A tile has few words as good as the
    best of the tiles before it; the peaks of groups of its words show whether it has any.
    """

    def __init__(self, k: int, least: Float[Tensor, " row"]) -> None:
        self.k = k
        self.least = least  # a word with a smaller logit cannot be among the best
        none = torch.empty(0, dtype=torch.long, device=least.device)
        self.rows, self.ids, self.logits = [none], [none], [least[:0]]

    def look_at(self, logits: Float[Tensor, "row word"], first: int) -> Float[Tensor, " row"]:
        """Collect candidates from a tile whose first word has the id `first`; returns each row's peak."""
        n_rows, n_words = logits.shape
        n_groups = GROUPS if n_words % GROUPS == 0 else n_words
        grouped = logits.view(n_rows, -1, n_groups)  # every `n_groups`th word is in the same group
        peaks = grouped.amax(dim=1)
        rows, groups = _not_below(peaks, self.least[:, None])
        if len(rows) > self.k * n_rows and n_groups >= self.k:
            # As in the first tile. Each row's k best groups have a word each that is as good as their peak.
            self.least = self.least.maximum(peaks.topk(self.k).values[:, -1])
            rows, groups = _not_below(peaks, self.least[:, None])
        words = grouped[rows, :, groups]
        which, places = _not_below(words, self.least[rows, None])
        self.rows.append(rows[which])
        self.ids.append(first + places * n_groups + groups[which])
        self.logits.append(words[which, places])
        if sum(map(len, self.rows)) > CANDIDATES * n_rows:
            self._cut()
        return peaks.amax(dim=-1)

    def top_k(self) -> tuple[Int[Tensor, "row k"], Float[Tensor, "row k"]]:
        """Ids and logits, best first."""
        self._cut()
        return self.ids[0].view(-1, self.k), self.logits[0].view(-1, self.k)

    def _cut(self) -> None:
        rows, ids, logits = torch.cat(self.rows), torch.cat(self.ids), torch.cat(self.logits)
        order = ids.argsort()
        for key, descending in ((logits, True), (rows, False)):
            order = order[key[order].argsort(stable=True, descending=descending)]
        rank = torch.arange(len(rows), device=rows.device) - torch.searchsorted(rows[order], rows[order])
        last, kept = order[rank == self.k - 1], order[rank < self.k]
        self.rows, self.ids, self.logits = [rows[kept]], [ids[kept]], [logits[kept]]
        # The words to come have higher ids: they must be better than the last of the best, not as good.
        self.least[rows[last]] = logits[last].nextafter(logits.new_tensor(torch.inf))


def _not_below(values: Float[Tensor, "row place"], least: Float[Tensor, "row 1"]) -> tuple[Tensor, ...]:
    """Rows and places of the values that are not below the least; also of those that are no number."""
    return (values < least).logical_not().nonzero(as_tuple=True)

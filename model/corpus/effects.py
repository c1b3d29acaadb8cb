"""Whether each head matters on a corpus: the effect of ablating it on a random sample of documents."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from jaxtyping import Float

from headlight.model.corpus.figures import Moments, ratio
from headlight.model.corpus.packing import Arrays
from headlight.model.corpus.titles import Estimates

# Sums over a sequence's predicted tokens: how many there are, the loss, and by how much it rises without the head, on
# all tokens, where the head is active and where it is not; and the head's direct effect on the right token's logit.
SUMS = ("tokens", "loss", "change", "active", "change_active", "inactive", "change_inactive", "direct")
AT = {name: place for place, name in enumerate(SUMS)}
FIGURES: Mapping[str, tuple[str, str]] = {
    "loss_change": ("change", "tokens"),
    "when_active": ("change_active", "active"),
    "when_not": ("change_inactive", "inactive"),
    "direct": ("direct", "tokens"),
}

Record = Float[np.ndarray, "layer head sum"]
Matters = Mapping[str, tuple[Estimates, Float[np.ndarray, "layer head"]]]


@dataclass(eq=False)
class Effects:
    """The sums of at most `most` documents, those with the smallest sampling keys, with these keys."""

    most: int
    records: dict[int, tuple[int, Record]] = field(default_factory=dict)

    def add(self, document: int, sampling_key: int, record: Record) -> None:
        """Keep a document's sums, if its sampling key is small enough."""
        self.records[document] = (sampling_key, record)
        self._forget()

    def merge(self, other: "Effects") -> None:
        """Keep the documents with the smallest sampling keys of both."""
        self.records |= other.records
        self._forget()

    def _forget(self) -> None:
        kept = sorted(self.records.items(), key=lambda each: (each[1][0], each[0]))[: self.most]
        self.records = dict(sorted(kept))

    @property
    def moments(self) -> Moments | None:
        """The moments over documents; None without any."""
        records = [record for _, record in self.records.values()]
        return Moments.from_documents(np.stack(records)) if records else None

    @property
    def loss(self) -> float | None:
        """The mean loss of the next token, in nats."""
        if (moments := self.moments) is None:
            return None
        return float(moments.totals[0, 0, AT["loss"]] / moments.totals[0, 0, AT["tokens"]])

    def arrays(self) -> Arrays:
        """All records, to be packed."""
        places = [(document, sampling_key) for document, (sampling_key, _) in self.records.items()]
        records = [record for _, record in self.records.values()]
        return {
            "effect_places": np.array(places, np.int64).reshape(-1, 2),
            "effect_records": np.stack(records) if records else np.empty((0, 0, 0, len(SUMS))),
        }

    def fill(self, arrays: Arrays) -> "Effects":
        """Restore the records from `arrays`."""
        for (document, sampling_key), record in zip(
            arrays["effect_places"].tolist(), arrays["effect_records"], strict=True
        ):
            self.records[document] = (sampling_key, record)
        return self


def matters_by(moments: Moments) -> Matters:
    """Each of `FIGURES`: its mean over tokens with its interval over documents, and how many tokens there are."""
    return {
        name: (ratio(moments, AT[above], AT[below]), moments.totals[..., AT[below]])
        for name, (above, below) in FIGURES.items()
    }

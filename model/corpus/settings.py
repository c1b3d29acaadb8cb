"""Settings of a scan that change its results, and so must not change while it is in progress."""

from dataclasses import asdict, dataclass, field, fields
from typing import Any, get_args

from headlight.model.base.errors import ConfigError
from headlight.model.nn.config import DType

DTYPES: tuple[DType, ...] = get_args(DType)


def _about(default: Any, meaning: str, least: float = 0, most: float = 2**31) -> Any:
    return field(default=default, metadata={"meaning": meaning, "least": least, "most": most})


@dataclass(frozen=True)
class ScanSettings:
    """One field per setting, which is a flag of the command; its metadata has the help text."""

    length: int = _about(256, "tokens of a sequence, cut to the model's context", 2)
    bos: bool = _about(True, "whether each sequence begins with the tokenizer's beginning token, if it has one")
    documents: int = _about(0, "how many documents are read; 0 reads all")
    batch: int = _about(8, "full sequences that go through the model side by side; of short ones more", 1, 4096)
    shard: int = _about(128, "documents that are computed and stored as one; of more, batches are fuller", 1, 100_000)
    warmup: int = _about(256, "sequences that buckets and mean outputs are taken from, before all else", 1)
    intervals: int = _about(5, "buckets of strength that sequences are sampled from", 1, 100)
    top: int = _about(10, "sequences kept of the strongest bucket", 1, 1000)
    others: int = _about(3, "sequences kept of each other bucket", 1, 1000)
    per_row: int = _about(8, "weights kept of each query of a kept sequence", 1, 1000)
    least: float = _about(0.005, "weights below this are not kept", 0.0, 1.0)
    top_tokens: int = _about(50, "tokens and pairs listed for each head", 0, 10_000)
    ablate: int = _about(64, "documents on which every head is ablated; 0 leaves that out", 0)
    neurons: bool = _about(False, "watch every MLP neuron too, for the page MLP")
    features: str = field(
        default="", metadata={"meaning": "watch this dictionary's features too, for the page Features"}
    )
    units: int = _about(40_000, "neurons, or features, that are watched at most, each layer's first", 1)
    seed: int = _about(0, "decides which sequences and documents are sampled")
    dtype: DType = field(default="stored", metadata={"meaning": "what matrices are kept in", "one_of": DTYPES})
    device: str = field(default="cpu", metadata={"meaning": "where the model runs", "one_of": ("cpu", "cuda")})
    step: int = _about(-1, "the training step of the weights, to be written into the scan; -1 says nothing", -1)

    def __post_init__(self) -> None:
        for each in fields(self):
            value, about = getattr(self, each.name), each.metadata
            if "least" in about and not about["least"] <= value <= about["most"]:
                flag = f"--{each.name.replace('_', '-')}"
                raise ConfigError(f"{flag} is {value}; it can be from {about['least']:g} to {about['most']:,}.")

    def n_at_once(self, n_ctx: int) -> int:
        """The largest number of tokens in a batch, for a model with this context length."""
        return self.batch * min(self.length, n_ctx)

    def as_dict(self) -> dict[str, Any]:
        """Return all settings by name."""
        return asdict(self)

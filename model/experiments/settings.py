"""The settings of an experiment: what is measured over a set, and how."""

from dataclasses import asdict, dataclass, field, fields
from typing import Any, Literal, get_args

from headlight.model.base.errors import ConfigError
from headlight.model.nn.config import DType

MeasureKind = Literal["patching", "attribution", "path", "dla", "lens", "patterns", "ablation"]
Part = Literal["z", "q", "k", "v", "pattern", "resid_pre", "attn_out", "mlp_out", "all"]
Direction = Literal["denoise", "noise"]
By = Literal["head", "position"]
Positions = Literal["auto", "names", "tokens", "from_end"]
MetricKind = Literal["logit_diff", "prob_diff"]
ReadAs = Literal["q", "k", "v"]
Replacement = Literal["zero", "mean", "resample"]
Side = Literal["clean", "corrupted"]
IntervalKind = Literal["bootstrap", "t"]

HEAD_PARTS: tuple[Part, ...] = ("z", "q", "k", "v", "pattern")
CHANGES: tuple[MeasureKind, ...] = ("patching", "attribution", "path", "ablation")  # runs with a part replaced
NEEDS_CORRUPTED: tuple[MeasureKind, ...] = ("patching", "attribution", "path")


def _choice(kind: Any, meaning: str) -> dict[str, Any]:
    return {"meaning": meaning, "one_of": get_args(kind)}


def _from(default: Any, meaning: str, least: float = 0, most: float = 2**31) -> Any:
    return field(default=default, metadata={"meaning": meaning, "least": least, "most": most})


@dataclass(frozen=True)
class ExperimentSettings:
    """One field per setting, which is a flag of the command and a choice of the page; its metadata has the help."""

    measure: MeasureKind = field(default="patching", metadata=_choice(MeasureKind, "what is measured"))
    part: Part = field(
        default="z", metadata=_choice(Part, "the part that is patched, ablated or attributed to; all only for dla")
    )
    direction: Direction = field(
        default="denoise",
        metadata=_choice(
            Direction, "denoise patches clean activations into the corrupted run, noise the other way round"
        ),
    )
    by: By = field(default="head", metadata=_choice(By, "position adds an axis of positions to what has none"))
    positions: Positions = field(
        default="auto",
        metadata=_choice(Positions, "names of the set, all tokens (prompts of one length), or counted from the end"),
    )
    metric: MetricKind = field(
        default="logit_diff", metadata=_choice(MetricKind, "what is measured of the output at the last token")
    )
    receiver: str = field(default="", metadata={"meaning": "path patching: the head that paths go into, such as L5H1"})
    read: ReadAs = field(default="q", metadata=_choice(ReadAs, "path patching: what of the receiver is changed"))
    through_mlps: bool = field(default=False, metadata={"meaning": "path patching: MLPs on the way are computed anew"})
    ablation: Replacement = field(
        default="mean", metadata=_choice(Replacement, "ablation: by what the part is replaced")
    )
    prompt: Side = field(default="clean", metadata=_choice(Side, "which prompt is run, where one alone is"))
    only_correct: bool = field(
        default=False, metadata={"meaning": "leave out rows in which the model prefers a wrong answer"}
    )
    interval: IntervalKind = field(
        default="bootstrap", metadata=_choice(IntervalKind, "how the confidence interval over rows is made")
    )
    bos: bool = _from(True, "whether each prompt begins with the tokenizer's beginning token, if it has one", 0, 1)
    rows: int = _from(0, "how many rows are measured, from the first on; 0 measures all")
    batch: int = _from(16, "rows that go through the model side by side", 1, 4096)
    memory: int = _from(256, "MiB that changed runs in flight may take", 1, 2**20)
    seed: int = _from(0, "decides which rows are resampled")
    dtype: DType = field(default="stored", metadata={"meaning": "what matrices are kept in", "one_of": get_args(DType)})
    device: str = field(default="cpu", metadata={"meaning": "where the model runs", "one_of": ("cpu", "cuda")})

    def __post_init__(self) -> None:
        for each in fields(self):
            value, about = getattr(self, each.name), each.metadata
            if "least" in about and not about["least"] <= value <= about["most"]:
                raise ConfigError(
                    f"{flag(each.name)} is {value}; it can be from {about['least']:g} to {about['most']:,}."
                )
            if "one_of" in about and value not in about["one_of"]:
                raise ConfigError(f"{flag(each.name)} is {value!r}; choose one of {', '.join(about['one_of'])}.")

    def as_dict(self) -> dict[str, Any]:
        """Return all settings by name."""
        return asdict(self)


def flag(name: str) -> str:
    """The command's flag for a setting."""
    return f"--{name.replace('_', '-')}"

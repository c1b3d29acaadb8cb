"""The settings of a circuit that is scored over a set: how its edges are scored and how many are taken."""

from dataclasses import asdict, dataclass, field, fields
from typing import Any, get_args

from headlight.model.base.errors import ConfigError
from headlight.model.circuits.evaluation import SHARES
from headlight.model.circuits.preparing import Baseline
from headlight.model.circuits.scoring import DEFAULT_STEPS, Method, Unit
from headlight.model.circuits.selection import Selection
from headlight.model.prompt_sets.metric import Metric

MAX_STEPS = 100


def _choice(kind: Any, meaning: str) -> dict[str, Any]:
    return {"meaning": meaning, "one_of": get_args(kind)}


def _from(default: Any, meaning: str, least: float, most: float) -> Any:
    return field(default=default, metadata={"meaning": meaning, "least": least, "most": most})


@dataclass(frozen=True)
class CircuitSettings:
    """One field per setting, which is a flag of the command and a choice of the page; its metadata has the help."""

    method: Method = field(default="eap_ig_inputs", metadata=_choice(Method, "how edges are scored"))
    baseline: Baseline = field(default="pair", metadata=_choice(Baseline, "what comes along an edge that is left out"))
    unit: Unit = field(default="edges", metadata=_choice(Unit, "what a circuit is chosen from"))
    share: float = field(
        default=0.01, metadata={"meaning": "the circuit's size as a share of all edges", "one_of": SHARES}
    )
    selection: Selection = field(
        default="top", metadata=_choice(Selection, "the largest of all, or those that lead to the logits")
    )
    steps: int = _from(DEFAULT_STEPS, "gradients on the way of EAP-IG", 1, MAX_STEPS)
    metric: Metric = field(
        default="logit_diff", metadata=_choice(Metric, "what is measured of the output at the last token")
    )
    held_out: float = _from(0.5, "share of the rows that circuits are measured on", 0.0, 1.0)
    only_correct: bool = field(
        default=False, metadata={"meaning": "leave out rows in which the model prefers a wrong answer"}
    )
    rows: int = _from(0, "how many rows are used, from the first on; 0 uses all", 0, 2**31)
    seed: int = _from(0, "decides which rows are held out, and how they are resampled", 0, 2**31)

    def __post_init__(self) -> None:
        for each in fields(self):
            value, about = getattr(self, each.name), each.metadata
            if "least" in about and not about["least"] <= value <= about["most"]:
                raise ConfigError(f"{each.name} is {value}; it can be from {about['least']:g} to {about['most']:,}.")
            if "one_of" in about and value not in about["one_of"]:
                raise ConfigError(f"{each.name} is {value!r}; choose one of {', '.join(map(str, about['one_of']))}.")

    def as_dict(self) -> dict[str, Any]:
        """Return all settings by name."""
        return asdict(self)

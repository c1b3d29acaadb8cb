"""What is known of the heads on sequences by name, from the cache of runs."""

from collections.abc import Sequence

from headlight.app.analyses.detection.sequences import Input, sequence_of
from headlight.app.runs import runs
from headlight.app.runs.cost import cost
from headlight.model import TransformerConfig
from headlight.model.analysis.detectors import Estimate, Kind
from headlight.model.roles import looking
from headlight.model.roles.looking import Detected, Seen


def look(given: Input) -> Seen:
    """Every head's scores on a sequence, from the cache where they were taken before.

    Raises:
        HeadlightError: as `runs.run`; or there are no random repeats for this model.
    """
    return runs.keep(("seen", given), lambda: looking.look_at(sequence_of(given)))


def seen(given: Input) -> Seen | None:
    """Every head's scores on a sequence, where they are in the cache."""
    return runs.kept(("seen", given))


def detected(sequences: Sequence[Input]) -> Detected | None:
    """Every head over those of the sequences that have been looked at; None where none has."""
    return looking.detected(map(seen, sequences))


def differences(a: Sequence[Input], b: Sequence[Input], kind: Kind) -> Estimate | None:
    """B - A of one score of the heads that both have, over the sequences looked at in both; None where none was."""
    return looking.differences([(seen(one), seen(other)) for one, other in zip(a, b, strict=True)], kind)


def looking_seconds(cfg: TransformerConfig, n_sequences: int, n_tokens: int) -> float:
    """How long looking at so many sequences is estimated to take."""
    return n_sequences * cost(cfg, n_tokens).seconds

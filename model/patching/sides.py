"""The two runs of a patch: their matched positions and the measured logit difference."""

from collections.abc import Sequence
from dataclasses import dataclass

from jaxtyping import Int
from torch import Tensor

from headlight.model.base.errors import InputError
from headlight.model.measure.alignment import Matches
from headlight.model.nn.cache import ActivationCache
from headlight.model.nn.config import TransformerConfig
from headlight.model.nn.hooks import NO_TAP, Tap
from headlight.model.nn.transformer import Transformer

Tokens = Int[Tensor, "1 pos"]


@dataclass(frozen=True)
class LogitDifference:
    """The logit difference that patching is measured by.

    Attributes:
        target: token id whose logit is read.
        distractor: token id whose logit is subtracted.
        position: where the logits are read in A.
        position_b: where they are read in B, by default the same position.
    """

    target: int
    distractor: int
    position: int
    position_b: int | None = None

    @property
    def in_b(self) -> int:
        """The position in B."""
        return self.position if self.position_b is None else self.position_b


@dataclass(frozen=True, eq=False)
class RunSide:
    """One of the two runs: its model and tokens, the position at which it is measured, and its edits."""

    model: Transformer
    tokens: Tokens
    position: int
    tap: Tap = NO_TAP

    @property
    def n_pos(self) -> int:
        """The number of tokens that are run."""
        return self.reach if self.tap is NO_TAP else self.tokens.shape[1]

    @property
    def reach(self) -> int:
        """The number of tokens that can affect the logit difference."""
        return self.position + 1 if self.model.cfg.attention_dir == "causal" else self.tokens.shape[1]


def in_reach(pairs: Matches, base: RunSide, source: RunSide) -> Matches:
    """The pairs of positions of which both are run, and have a say."""
    return tuple((here, there) for here, there in pairs if here < base.reach and there < source.reach)


def aligned(base: ActivationCache, other: ActivationCache, matches: Matches) -> dict[str, Tensor]:
    """The other run's activations at the positions that they are matched with; the run's own where there is none."""
    here, there = (list(positions) for positions in zip(*matches, strict=True)) if matches else ([], [])
    activations = {}
    for name, own in base.items():
        activations[name] = own.clone()
        activations[name][here] = other[name][there].to(own.device)
    return activations


def check(a: RunSide, b: RunSide, measured: LogitDifference, matches: Matches | None) -> Matches:
    """Matched positions; inputs that cannot be patched or measured are refused.

    Raises:
        InputError: it says what there is.
    """
    if a.model is not b.model and (mismatch := differing(a.model.cfg, b.model.cfg)):
        raise InputError(mismatch)
    pairs = _matches(a.tokens.shape[1], b.tokens.shape[1], matches)
    for name, side in (("A", a), ("B", b)):
        if not 0 <= side.position < side.tokens.shape[1]:
            raise InputError(
                f"There is no position {side.position} in {name}: it has tokens 0 to {side.tokens.shape[1] - 1}."
            )
    d_vocab = a.model.cfg.d_vocab_out or a.model.cfg.d_vocab
    for name, token in (("target", measured.target), ("distractor", measured.distractor)):
        if not 0 <= token < d_vocab:
            what = "label" if a.model.cfg.output_labels else "token"
            raise InputError(f"The {name} is {what} {token}; the vocabulary has ids 0 to {d_vocab - 1}.")
    if measured.target == measured.distractor and not a.model.cfg.has_one_output:
        raise InputError("Target and distractor are the same token, so that they never differ. Choose two.")
    return pairs


def _matches(n_a: int, n_b: int, matches: Matches | None) -> Matches:
    if matches is not None:
        _check_matches(n_a, n_b, matches)
        return matches
    if n_a != n_b:
        raise InputError(
            f"A has {n_a} tokens and B {n_b}: which positions belong together has to be said. Give the matches that "
            "`model.measure.alignment.match_positions` finds."
        )
    return tuple((position, position) for position in range(n_a))


def _check_matches(n_a: int, n_b: int, matches: Matches) -> None:
    for name, n_pos, positions in (("A", n_a, [a for a, _ in matches]), ("B", n_b, [b for _, b in matches])):
        if not all(0 <= position < n_pos for position in positions) or len(set(positions)) < len(positions):
            raise InputError(f"Each position of {name}, 0 to {n_pos - 1}, can be matched once: check the matches.")


SHAPE: Sequence[str] = ("n_layers", "n_heads", "d_model", "d_head", "d_value", "d_vocab", "attn_only", "attention_dir")


def differing(a: TransformerConfig, b: TransformerConfig) -> str:
    """Shapes in which two models differ, so that their parts cannot replace each other; empty if they agree.

    Nothing says whether the parts mean the same: they do where one model was trained from the other.
    """
    for name in SHAPE:
        mine, theirs = getattr(a, name), getattr(b, name)
        if mine != theirs:
            return (
                f"A's model and B's have different shapes ({name} is {mine} and {theirs}), so that no part of one can "
                "stand in for the other's. Choose one model for both, or two of one shape."
            )
    return ""

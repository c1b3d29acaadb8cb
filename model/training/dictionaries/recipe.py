"""The training of dictionaries on one model's activations: several at a time, as they share the model's pass."""

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Int, Integer
from torch import Tensor, nn

from headlight.model.nn.hooks import Collect
from headlight.model.nn.transformer import Transformer
from headlight.model.training.dictionaries.sparse import DEAD_SHARE, Sparse
from headlight.model.training.log import Row
from headlight.model.training.loop import Recipe

TOKENS_PER_STEP = 1024
# Contexts of several lengths, in turn: so many tokens of one long row alone would be too much alike.
LENGTHS = (64, 128, 256)
WARM_UP = 50


@dataclass(frozen=True)
class Place:
    """The activation that a dictionary reads, and the one that it reconstructs."""

    hook_in: str
    hook_out: str

    @property
    def is_autoencoder(self) -> bool:
        """Whether these are one activation."""
        return self.hook_in == self.hook_out


def place_of(hook: str) -> Place:
    """The place of a hook's dictionary: an MLP's output is written from what its norm gives, all else from itself.

    A transcoder reads the stream as the norm before the MLP has divided it, before gain and bias: that is linear in the
    stream once the scale is fixed to the run's own, and it is what the MLP itself can tell of the stream. Of the stream
    as it is, a transcoder would have to learn the division first.
    """
    return Place(hook.replace("hook_mlp_out", "ln2.hook_normalized"), hook)


@dataclass(frozen=True)
class Rows:
    """Rows of tokens from a corpus that is one long array: half begin where a document does, with its first token."""

    tokens: Integer[np.ndarray, " token"]
    starts: Int[np.ndarray, " document"]

    def batch(self, n_rows: int, n_pos: int, rng: np.random.Generator) -> Int[Tensor, "row pos"]:
        """Draw this many rows."""
        last = len(self.tokens) - n_pos
        anywhere = rng.integers(0, last, size=n_rows - n_rows // 2)
        begun = rng.choice(self.starts[self.starts < last], size=n_rows // 2)
        rows = [self.tokens[start : start + n_pos] for start in (*anywhere, *begun)]
        return torch.from_numpy(np.stack(rows).astype(np.int64))


def activations(
    model: Transformer, tokens: Int[Tensor, "row pos"], hooks: frozenset[str]
) -> dict[str, Float[Tensor, "token width"]]:
    """The activations of these names, all positions of all rows one after another, heads side by side."""
    collect = Collect(hooks)
    with torch.no_grad():
        model(tokens, tap=collect, stop_at_layer=model.cfg.n_layers)
    return {name: kept.flatten(0, 1).flatten(1) for name, kept in collect.kept.items()}


class Bundle(nn.Module):
    """The dictionaries that are trained together, one for each place."""

    def __init__(self, each: list[Sparse]) -> None:
        super().__init__()
        self.each = nn.ModuleList(each)


class DictionaryRecipe(Recipe[Bundle, dict[str, Tensor]]):
    """Dictionaries trained to reconstruct their targets, on activations of rows from a corpus."""

    weight_decay = 0.0

    def __init__(
        self,
        model: Transformer,
        places: list[Place],
        rows: Rows,
        *,
        steps: int,
        rate: float,
        seed: int,
        measure_every: int = 100,
    ) -> None:
        self.model, self.places, self.rows = model, places, rows
        self.steps, self.rate, self.seed, self.measure_every = steps, rate, seed, measure_every
        self.state: dict[str, float] = {}
        self.identity = f"{model.source and model.source.name} {places} {seed} {rate} {steps}"
        self._hooks = frozenset(hook for place in places for hook in (place.hook_in, place.hook_out))
        self._last: Row = {}

    def learning_rate(self, step: int) -> float:
        """Up in a short warm-up, level, and down to 0 over the last quarter."""
        return self.rate * min((step + 1) / WARM_UP, 1.0, 4 * (self.steps - step) / self.steps)

    def batch(self, step: int) -> dict[str, Tensor]:
        """The activations of 1024 tokens."""
        n_pos = min(LENGTHS[step % len(LENGTHS)], self.model.cfg.n_ctx)
        tokens = self.rows.batch(TOKENS_PER_STEP // n_pos, n_pos, np.random.default_rng((self.seed, step)))
        return activations(self.model, tokens, self._hooks)

    def begin(self, bundle: Bundle) -> None:
        """Take every dictionary's scales from the activations of a few batches."""
        batches = [self.batch(step) for step in range(len(LENGTHS))]
        for sparse, place in zip(bundle.each, self.places, strict=True):
            assert isinstance(sparse, Sparse)
            both = [torch.cat([batch[hook] for batch in batches]) for hook in (place.hook_in, place.hook_out)]
            sparse.begin(*both)

    def loss(self, model: Bundle, batch: dict[str, Tensor], step: int) -> Float[Tensor, ""]:
        """Sum of the dictionaries' losses."""
        total, self._last = torch.zeros(()), {}
        for sparse, place in zip(model.each, self.places, strict=True):
            assert isinstance(sparse, Sparse)
            losses = sparse.losses(batch[place.hook_in], batch[place.hook_out])
            total = (
                total + losses["unexplained"] + losses.get("too_many", 0.0) + DEAD_SHARE * losses.get("revival", 0.0)
            )
            self._last |= {f"{name}_{place.hook_out}": losses[name].item() for name in ("unexplained", "l0", "dead")}
        return total

    def counts(self, batch: dict[str, Tensor]) -> Row:
        """Tokens, and the terms of each dictionary's loss before this step."""
        return {"tokens_per_step": TOKENS_PER_STEP, **self._last}

    def measure(self, model: Bundle, step: int) -> Row:
        """Nothing beside the means over the steps."""
        return {}

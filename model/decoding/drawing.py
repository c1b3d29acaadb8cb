"""Draw a continuation of a run's prompt token by token, and go on from there whenever more of it is wanted."""

from collections.abc import Collection
from threading import Lock

import torch
from jaxtyping import Float, Int
from torch import Tensor

from headlight.model.base.source import Source
from headlight.model.decoding.distributions import Sampling
from headlight.model.decoding.generate import draw_with
from headlight.model.decoding.steps import Steps, WholeSteps, start
from headlight.model.decoding.written import Reason, limits
from headlight.model.nn.hooks import NO_TAP
from headlight.model.runs.edits.edited import Means
from headlight.model.runs.edits.editing import tap
from headlight.model.runs.run import Run, means_of

EXPECTED = 512  # further tokens, for whose keys and values a cache makes room


class Drawing:
    """The tokens drawn so far behind a run's prompt and a prefix; several threads may ask for more.

    With the run's edits every step runs the whole text anew, since an edit may have to see all positions at once.
    Without them the keys and values of all that was run stay.
    """

    def __init__(self, run: Run, prefix: tuple[int, ...], sampling: Sampling, seed: int) -> None:
        self._run, self._lock = run, Lock()
        self._choose = draw_with(sampling, torch.Generator().manual_seed(seed))
        self._tokens = list[int]()
        with torch.inference_mode():
            begun = torch.cat([run.tokens, torch.tensor(prefix, dtype=torch.long)])[None]
            self._steps = _edited(run, begun) if run.edits else start(run.model, begun, None, None, NO_TAP)
        self._inputs = self._steps.prompt

    @property
    def source(self) -> Source:
        """Origin of the model."""
        return self._run.source

    @property
    def nbytes(self) -> int:
        """About the memory that keys and values take once a long text is drawn."""
        cfg, n_pos = self._run.cfg, self._inputs.shape[1] + EXPECTED
        return 8 * cfg.n_layers * n_pos * cfg.d_head * (cfg.n_key_value_heads or cfg.n_heads)

    def so_far(self, n: int, ends: Collection[int]) -> tuple[tuple[int, ...], Reason | None]:
        """What is drawn already of `n` tokens, up to the first that ends a text, and why no more comes, if so.

        Raises:
            ConfigError: n below 1.
            InputError: an end token that is not in the vocabulary.
        """
        limit = limits(self._steps, n, ends)
        tokens = self._tokens[: limit.n_new]
        if (end := next((at for at, token in enumerate(tokens) if token in limit.stop_tokens), None)) is not None:
            return tuple(tokens[: end + 1]), "stop token"
        return tuple(tokens), limit.reason if len(tokens) == limit.n_new else None

    def draw(self, n: int) -> None:
        """Draw on to the n-th token, if it is not drawn yet."""
        with self._lock, self._run.host.turn(), torch.inference_mode():
            while len(self._tokens) < min(n, self._steps.n_free):
                chosen = self._choose(self._steps.feed(self._inputs))
                self._inputs = chosen[:, None]
                self._tokens.append(int(chosen))

    def take(self, n: int, ends: Collection[int]) -> tuple[tuple[int, ...], Reason]:
        """Draw `n` tokens, or up to one that ends a text or fills the context, and say which.

        Raises:
            ConfigError: as `so_far`.
            InputError: as `so_far`.
        """
        while True:
            tokens, reason = self.so_far(n, ends)
            if reason is not None:
                return tokens, reason
            self.draw(len(tokens) + 1)


def _edited(run: Run, begun: Int[Tensor, "1 pos"]) -> Steps:
    means: Means = means_of(run)

    def logits(text: Int[Tensor, "1 pos"]) -> Float[Tensor, "1 pos d_vocab"]:
        editing = tap(run.model, text, run.edits, run.bos, len(run.tokens), means, run.tap.opened)
        return run.model(text, tap=editing)

    return WholeSteps(logits, begun, run.cfg)

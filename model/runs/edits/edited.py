"""The run to be edited, and the activations that its edits take from runs of other prompts."""

from collections.abc import Mapping

from headlight.model.base.errors import InputError
from headlight.model.measure.alignment import Align, Matches, match_positions
from headlight.model.nn.cache import ActivationCache
from headlight.model.nn.hooks import NamesFilter
from headlight.model.nn.transformer import Transformer
from headlight.model.runs.dictionary import Dictionaries
from headlight.model.runs.direction import Direction
from headlight.model.runs.edits.means import Heads, Tokens, mean_z
from headlight.model.text.chat import Begin

Means = Mapping[tuple[str, ...], Heads]
Opened = Mapping[str, Dictionaries | Direction]
"""The dictionaries and directions that edits name, by these names."""


class EditedRun:
    """The run to be edited: its model and tokens, and activations from runs of other prompts."""

    def __init__(
        self, model: Transformer, tokens: Tokens, prepend_bos: Begin, n_prompt: int, means: Means, opened: Opened
    ) -> None:
        self.model, self.tokens, self._prepend_bos, self.n_prompt = model, tokens, prepend_bos, n_prompt
        self._means, self.nbytes, self.opened = means, 0, opened

    def clean(self, names: NamesFilter) -> ActivationCache:
        """Activations of the same tokens without edits."""
        return self._kept(self.tokens, names)

    def other(self, prompt: str, names: NamesFilter) -> ActivationCache:
        """Activations of another prompt."""
        return self._kept(self._tokens_of(prompt), names)

    def matches(self, prompt: str, align: Align) -> Matches:
        """The prompt's positions that have a match in another prompt, and that.

        Raises:
            InputError: there are none.
        """
        here, there = (tokens[0].tolist() for tokens in (self.tokens[:, : self.n_prompt], self._tokens_of(prompt)))
        if pairs := match_positions(here, there, align):
            return pairs
        raise InputError(
            f"The prompt {prompt[:40]!r} has {len(there)} tokens and the edited one {len(here)}, and none of them are "
            "alike. Match by position instead, or choose a prompt that has more in common with it."
        )

    def mean_z(self, prompts: tuple[str, ...]) -> Heads:
        """Every head's mean z over other prompts."""
        if prompts in self._means:
            return self._means[prompts]
        return mean_z(self.model, prompts, self._prepend_bos)

    def _tokens_of(self, prompt: str) -> Tokens:
        return self.model.to_tokens(prompt, prepend_bos=self._prepend_bos)

    def _kept(self, tokens: Tokens, names: NamesFilter) -> ActivationCache:
        _, cache = self.model.run_with_cache(tokens, names)
        self.nbytes += sum(activation.nbytes for activation in cache.values())
        return cache

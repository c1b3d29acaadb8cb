"""The activations that one run kept, addressed by full name or by TransformerLens's shorthand."""

from collections.abc import Callable, Iterator, Mapping

from torch import Tensor

from headlight.model.base.errors import HookError, nearest

_ATTENTION = frozenset({"q", "k", "v", "attn_scores", "pattern", "z", "result"})
_MLP = frozenset({"pre", "post"})
_ALIASES = {"attn": "pattern", "attn_logits": "attn_scores", "query": "q", "key": "k", "value": "v"}

CacheKey = str | tuple[str] | tuple[str, int] | tuple[str, int, str]


def activation_name(name: str, layer: int | None = None, part: str | None = None) -> str:
    """Expand the shorthand for an activation to its full name.

    ("pattern", 3) is blocks.3.attn.hook_pattern, ("scale", 0, "ln1") is blocks.0.ln1.hook_scale, and ("normalized",) is
    ln_final.hook_normalized.

    Source: the shorthand is that of TransformerLens's `get_act_name`.
    """
    name = _ALIASES.get(name, name)
    if layer is None:
        return f"ln_final.hook_{name}" if name in ("scale", "normalized") else f"hook_{name}"
    if name in _ATTENTION:
        part = "attn"
    elif name in _MLP:
        part = "mlp"
    return f"blocks.{layer}.{part}.hook_{name}" if part else f"blocks.{layer}.hook_{name}"


class ActivationCache(Mapping[str, Tensor]):
    """The activations of one run by name, in forward order.

    `cache["blocks.3.attn.hook_pattern"]`, `cache["pattern", 3]` and `cache["pattern", -1]` (the last layer) all work.
    A value may be a function, which is called when the activation is first read.

    Raises:
        HookError: on reading an activation that was not kept; the message names the most similar ones.
    """

    def __init__(self, activations: Mapping[str, Tensor | Callable[[], Tensor]], n_layers: int) -> None:
        self._activations, self._n_layers = dict(activations), n_layers

    def __getitem__(self, key: CacheKey) -> Tensor:
        name = self._full_name(key)
        if name not in self._activations:
            raise HookError(
                f"The cache holds no {name!r} (from the key {key!r}).{nearest(name, self._activations)} "
                "Name it in names_filter to keep it."
            )
        result = self._activations[name]
        if not isinstance(result, Tensor):
            result = self._activations[name] = result()
        return result

    def _full_name(self, key: CacheKey) -> str:
        if isinstance(key, str):
            return key if key in self._activations or "." in key or key.startswith("hook_") else activation_name(key)
        name, layer, part = (*key, None, None)[:3]
        return activation_name(name, layer % self._n_layers if layer is not None and layer < 0 else layer, part)

    def __contains__(self, key: object) -> bool:
        return isinstance(key, str | tuple) and self._full_name(key) in self._activations

    def __iter__(self) -> Iterator[str]:
        return iter(self._activations)

    def __len__(self) -> int:
        return len(self._activations)

    def __repr__(self) -> str:
        return f"ActivationCache({len(self)} activations: {', '.join(list(self)[:3])}, ...)"

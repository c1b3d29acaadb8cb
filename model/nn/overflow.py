"""Find where a forward pass first becomes infinite."""

from collections.abc import Mapping

from torch import Tensor

from headlight.model.base.errors import NotFiniteError


def check_finite(kept: Mapping[str, Tensor], stream: Tensor, logits: Tensor) -> None:
    """Refuse a pass that ends in infinite or NaN values, by the first activation in which they appear.

    `kept` are activations by name in the order of the pass; `stream` and `logits` are what it ends in.

    Raises:
        NotFiniteError: there are such values.
    """
    ends = {"the last layer's stream": stream, "the logits": logits}
    if all(_is_finite(end) for end in ends.values()):
        return
    first = next(name for name, activation in {**kept, **ends}.items() if not _is_finite(activation))
    layer = first.split(".")[1] if first.startswith("blocks.") else None
    where = first if layer is None else f"layer {layer} ({first})"
    raise NotFiniteError(
        f"The model's numbers become infinite or NaN; the first are in {where}. Nothing computed with them would mean "
        "anything: take back edits that make numbers large, or open a checkpoint whose weights are not damaged."
    )


def _is_finite(activation: Tensor) -> bool:
    return bool(activation.isfinite().all())

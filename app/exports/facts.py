"""What has to be known of a run to have it again."""

from typing import Any

from app.run import Run
from app.shown import Shown


def facts(shown: Shown) -> dict[str, dict[str, Any]]:
    """Model, weights, prompt and tokens of each run; `places` are its tokens' places on the common axis."""
    return {side: _of(run) | {"places": _places(shown, run)} for side, run in shown.sides.items()}


def _of(run: Run) -> dict[str, Any]:
    return {
        "model": run.source.name,
        "revision": run.source.revision,
        "sha256 of the weights": run.source.sha256,
        "dtype": str(run.model.embed.W_E.dtype).removeprefix("torch."),
        "prompt": run.prompt,
        "begins with the beginning-of-sequence token": run.bos,
        "token ids": run.tokens.tolist(),
        "tokens": list(run.labels),
    }


def _places(shown: Shown, run: Run) -> list[int]:
    return [place for place, position in enumerate(shown.positions(run)) if position is not None]

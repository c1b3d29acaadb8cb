"""Held-out figures of lenses: measured, written beside them, and read."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import torch
from jaxtyping import Float, Int
from torch import Tensor

from headlight.model.base.errors import HeadlightError
from headlight.model.base.files import read_json, write_text
from headlight.model.compute import affine
from headlight.model.lens.kinds import TITLES, Kind, Lens
from headlight.model.lens.logit_lens import logit_lens
from headlight.model.nn.hooks import Collect
from headlight.model.nn.transformer import Transformer

FIGURES = "figures.json"
Figures = Mapping[Kind, Sequence[float | None]]


@dataclass(frozen=True)
class HeldOut:
    """For each kind of lens, by state: the mean KL(final || layer) in nats, and how often both say the same token.

    None stands at states that a lens has no map for. They are means over `n_tokens` tokens of `text`.
    """

    text: str
    n_tokens: int
    kl: Figures
    agreement: Figures


@torch.inference_mode()
def measure(model: Transformer, lenses: Sequence[Lens], rows: Int[Tensor, "row pos"], text: str) -> HeldOut:
    """Measure lenses of a model on rows of held-out text; `text` is its name."""
    kl: dict[Kind, Sequence[float | None]] = {}
    agreement: dict[Kind, Sequence[float | None]] = {}
    for lens, sums in zip(lenses, zip(*(_of_row(model, lenses, row) for row in rows), strict=True), strict=True):
        states, n_states = lens.reads(model.cfg.n_layers), model.cfg.n_layers + 1
        for figures, place in ((kl, 0), (agreement, 1)):
            means = torch.stack([each[place] for each in sums]).mean(0).tolist()
            figures[lens.kind] = [means[states.index(at)] if at in states else None for at in range(n_states)]
    return HeldOut(text, rows.numel(), kl, agreement)


def _of_row(model: Transformer, lenses: Sequence[Lens], row: Int[Tensor, " pos"]) -> list[tuple[Tensor, Tensor]]:
    """Of each lens the means over a row's positions, by the states that it reads."""
    n_layers = model.cfg.n_layers
    keep = Collect([f"blocks.{layer}.hook_resid_pre" for layer in range(n_layers)])
    last = model(row[None], tap=keep, stop_at_layer=n_layers)[0]
    return [_by_lens(model, lens, [resid[0] for resid in keep.kept.values()], last) for lens in lenses]


def _by_lens(
    model: Transformer, lens: Lens, states: Sequence[Float[Tensor, "pos d_model"]], last: Float[Tensor, "pos d_model"]
) -> tuple[Tensor, Tensor]:
    carried = [lens.carried(at, each) for at, each in enumerate(states) if at in lens.reads(model.cfg.n_layers)]
    unembed = model.unembed
    reading = logit_lens(
        [*carried, last], lambda rows: model.to_unembed(rows[None])[0], unembed.W_U, unembed.b_U, 1, affine
    )
    best = reading.top_tokens.values[..., 0]
    return reading.kl_from_final.values.double().mean(1), (best == best[-1]).double().mean(1)


def write(folder: Path, figures: HeldOut) -> None:
    """Write the figures beside the lenses."""
    write_text(folder / FIGURES, json.dumps(asdict(figures), indent=2) + "\n")


def read(folder: Path) -> HeldOut | None:
    """The figures that lie beside lenses; None where there are none that can be read."""
    try:
        content = read_json(folder / FIGURES)
        tables = [_figures(content[name]) for name in ("kl", "agreement")]
        return HeldOut(str(content["text"])[:200], int(content["n_tokens"]), *tables)
    except (HeadlightError, KeyError, TypeError, ValueError):
        return None


def _figures(by_kind: dict[Kind, list[float | None]]) -> Figures:
    return {
        kind: [None if each is None else float(each) for each in by_kind[kind]] for kind in TITLES if kind in by_kind
    }

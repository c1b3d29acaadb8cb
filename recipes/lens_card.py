"""The card of a model's lenses: how they were made, and what each loses on held-out text, layer by layer."""

from collections.abc import Sequence
from pathlib import Path

from headlight.model.lens.files import read_lens
from headlight.model.lens.held_out import Figures, HeldOut
from headlight.model.lens.kinds import TITLES
from headlight.model.nn.transformer import Transformer
from headlight.model.training.cards import fill
from headlight.model.training.lenses.rows import LENGTH
from headlight.model.training.log import TRAINING_LOG, read_rows

TEMPLATE = Path(__file__).with_name("lens_card.md")


def write_card(folder: Path, name: str, model: Transformer, figures: HeldOut) -> str:
    """Write the card beside the lenses, and give its tables."""
    layers = ["embedding", *(f"L{layer}" for layer in range(model.cfg.n_layers))]
    tables = {"kl": _table(layers, figures.kl), "agreement": _table(layers, figures.agreement)}
    facts = {
        "name": Path(name).name,
        "text": figures.text,
        "n_tokens": f"{figures.n_tokens:,}",
        "length": min(LENGTH, model.cfg.n_ctx),
        "n_steps": f"{read_rows(folder / 'tuned' / TRAINING_LOG)[-1]['step']:,.0f}",
        "n_prompts": f"{read_lens('jacobian', folder / 'jacobian').metadata['n_prompts']:,}",
    }
    fill(TEMPLATE, folder, facts | tables)
    return "\n\n".join(tables.values())


def _table(layers: Sequence[str], figures: Figures) -> str:
    rows = [
        f"| {layer} | {' | '.join(_cell(values[place]) for values in figures.values())} |"
        for place, layer in enumerate(layers)
    ]
    heading = f"| after | {' | '.join(TITLES[kind] for kind in figures)} |"
    return "\n".join([heading, f"|---|{'---|' * len(figures)}", *rows])


def _cell(value: float | None) -> str:
    return "" if value is None else f"{value:.3f}"

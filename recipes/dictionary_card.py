"""The card of dictionaries that come with the project: what each leaves out, measured on held-out text.

`python -m headlight.recipes.dictionary_card mini/streams` prints the figures, and `--write` (`make card`)
writes the card with them. `--other FOLDER` compares with the dictionaries of another seed, and keeps what it finds
beside the card, for those are not shipped.
"""

import argparse
import csv
from dataclasses import dataclass
from pathlib import Path

import torch
from jaxtyping import Int
from torch import Tensor

from headlight.model.base.files import replacing
from headlight.model.checkpoints.loading import load
from headlight.model.features.opening import open_dictionary, shipped_dictionaries
from headlight.model.features.splice import Splice
from headlight.model.nn.transformer import Transformer
from headlight.model.runs.dictionary import Dictionaries
from headlight.model.training.cards import fill
from headlight.model.training.dictionaries.measures import N_POS, N_ROWS, agreement, figures, loss_of, tokens_of
from headlight.model.training.dictionaries.recipe import TOKENS_PER_STEP
from headlight.model.training.log import TRAINING_LOG, read_rows
from headlight.recipes.dictionaries import held_out_rows

TEMPLATE = Path(__file__).with_name("dictionary_card.md")
SEEDS = "seeds.csv"
ALIKE = 0.7  # a cosine from which two features count as the same
HEAD = (
    "| stands for | variance explained | active at a position | alive | loss | in its place | recovered (zero, mean) | "
    "nearest cosine in another seed |"
)


@dataclass(frozen=True)
class Agreement:
    """Agreement of two seeds' features: mean cosine of each with the nearest, and the share above `ALIKE`."""

    hook: str
    cosine: float
    alike: float


def compared(one: Dictionaries, other: Dictionaries) -> list[Agreement]:
    """The agreement of two seeds, dictionary by dictionary."""
    rows = []
    for layer, dictionary in one.items():
        cosines = agreement(dictionary, other[layer])
        rows.append(Agreement(dictionary.hooks_out[0], float(cosines.mean()), float((cosines > ALIKE).float().mean())))
    return rows


def write_agreement(folder: Path, rows: list[Agreement]) -> None:
    """Keep the agreement beside the dictionaries."""
    with replacing(folder / SEEDS) as beside, beside.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(("hook", "cosine", "alike"))
        writer.writerows((row.hook, f"{row.cosine:.4f}", f"{row.alike:.4f}") for row in rows)


def read_agreement(folder: Path) -> dict[str, Agreement]:
    """The agreement that was kept, by what the dictionaries stand for."""
    path = folder / SEEDS
    if not path.is_file():
        return {}
    with path.open(encoding="utf-8") as file:
        rows = [Agreement(row["hook"], float(row["cosine"]), float(row["alike"])) for row in csv.DictReader(file)]
    return {row.hook: row for row in rows}


def table(
    model: Transformer, opened: Dictionaries, agreed: dict[str, Agreement], tokens: Int[Tensor, "row pos"]
) -> list[str]:
    """A line for each dictionary, and one for all of them in their places at once."""
    lines = [HEAD, "|---" * 8 + "|"]
    for dictionary in opened.values():
        scored, hook = figures(model, dictionary, tokens), dictionary.hooks_out[0]
        seeds = (
            f"{agreed[hook].cosine:.2f}, {agreed[hook].alike:.0%} above {ALIKE}" if hook in agreed else "not measured"
        )
        lines.append(
            f"| `{hook}` | {scored.explained:.3f} | {scored.l0:.1f} of {dictionary.n_features} | {scored.alive:.0%} | "
            f"{scored.loss:.3f} | {scored.loss_in_place:.3f} | {scored.recovered:.1%}, "
            f"{scored.recovered_of_mean:.1%} | {seeds} |"
        )
    own, placed = loss_of(model, tokens), loss_of(model, tokens, Splice(opened.values()))
    return [*lines, f"| all at once | | | | {own:.3f} | {placed:.3f} | | |"]


def write(name: str, folder: Path, opened: Dictionaries, lines: list[str]) -> None:
    """Fill the template."""
    one, log = next(iter(opened.values())), read_rows(folder / TRAINING_LOG)
    facts = {
        "name": name,
        "model": name.partition("/")[0],
        "hooks": " ".join(each.hooks_out[0] for each in opened.values()),
        "is": "autoencoders" if one.is_autoencoder else "transcoders",
        "reads": "\n".join(f"- `{each.hook_in}` → `{each.hooks_out[0]}`" for each in opened.values()),
        "kind": "topk" if one.architecture == "topk" else "batchtopk",
        "architecture": one.architecture,
        "features": one.n_features,
        "steps": int(log[-1]["step"]),
        "tokens": f"{int(log[-1]['step']) * TOKENS_PER_STEP / 1e6:.1f}",
        "rows": N_ROWS,
        "positions": N_POS,
        "table": "\n".join(lines),
    }
    fill(TEMPLATE, folder, facts)


def main() -> None:
    """Measure from the command line."""
    parser = argparse.ArgumentParser(description="Measure the dictionaries that come with the project.")
    parser.add_argument(
        "names", nargs="*", default=list(shipped_dictionaries()), help="such as mini/streams; all if left out"
    )
    parser.add_argument("--other", type=Path, help="a folder with the dictionaries of another seed")
    parser.add_argument("--write", action="store_true", help="write the card into the folder")
    args = parser.parse_args()
    for name in args.names:
        folder, opened, model = shipped_dictionaries()[name], open_dictionary(name), load(name.partition("/")[0])
        if args.other:
            write_agreement(folder, compared(opened, open_dictionary(args.other)))
        lines = table(model, opened, read_agreement(folder), tokens_of(held_out_rows(model)))
        print(f"{name}\n" + "\n".join(lines))
        if args.write:
            write(name, folder, opened, lines)


if __name__ == "__main__":
    torch.manual_seed(0)
    main()

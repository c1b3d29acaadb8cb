"""The embedded model's card: its figures, measured, beside the bounds that they keep.

`python -m model.training.card` prints them all, `python -m model.training.card NAME` one, and `--write` (`make card`)
writes the card with them and the picture of how the heads emerged.
"""

import argparse
import csv
import statistics
import sys
from itertools import pairwise
from pathlib import Path
from string import Template

from model.loading import load
from model.training import library
from model.training.corpus import GRAMMAR_SHARE
from model.training.figures import FIGURES, IS_INDUCTION, Figure, induction_heads, other_heads
from model.training.grammar.agreement import HELD_OUT_NOUNS
from model.training.loop import LOG
from model.training.mini import REPEATS_UNTIL
from model.transformer import Transformer

SEEDS = (1, 2, 3)
TEMPLATE = Path(__file__).with_name("card.md")
EMERGENCE = "emergence.svg"


def measure(model: Transformer, figure: Figure) -> list[float]:
    """The figure's value for each evaluation seed."""
    return [figure.measure(model, seed) for seed in SEEDS]


def row(name: str, figure: Figure, values: list[float]) -> str:
    """A line of the card's table: what, goal, mean and range over the seeds, whether all keep it, and the command."""
    spread = f"{statistics.mean(values):.3g} ({min(values):.3g} to {max(values):.3g})"
    kept = "yes" if all(map(figure.holds, values)) else "no"
    return f"| {figure.meaning} | {figure.goal} | {spread} | {kept} | `python -m model.training.card {name}` |"


def _log_rows(folder: Path) -> list[dict[str, float]]:
    with (folder / f"training_{LOG}").open(encoding="utf-8") as file:
        return [{name: float(value) for name, value in line.items()} for line in csv.DictReader(file)]


def draw_emergence(folder: Path) -> None:
    """The training log as a picture: accuracy on repeats and the best heads' scores against tokens seen."""
    import matplotlib.pyplot as plt

    rows = _log_rows(folder)
    lines = {
        "repeat_accuracy": "accuracy on repeats",
        "best_induction_score": "best induction score",
        "best_previous_token_score": "best previous-token score",
    }
    plt.rcParams["svg.hashsalt"] = EMERGENCE  # the same log gives the same file
    figure, axes = plt.subplots(figsize=(8, 3.2), layout="constrained")
    tokens = [line["step"] * line["tokens_per_step"] / 1e6 for line in rows]
    for (name, label), style in zip(lines.items(), ("-", "--", ":"), strict=True):
        axes.plot(tokens, [line[name] for line in rows], style, label=label)
    axes.set(xscale="log", xlabel="million tokens seen", ylabel="share or probability", ylim=(0, 1.02))
    for earlier, later in pairwise(rows):
        if later["n_symbols"] > earlier["n_symbols"]:
            axes.axvline(later["step"] * later["tokens_per_step"] / 1e6, color="0.8", linewidth=0.8, zorder=0)
    axes.legend(frameon=False, loc="lower right")
    figure.savefig(folder / EMERGENCE, metadata={"Date": None})
    plt.close(figure)


def write_card(model: Transformer, folder: Path, table: list[str]) -> None:
    """Fill the template of the card and draw the picture beside it."""
    draw_emergence(folder)
    rows = _log_rows(folder)
    card = Template(TEMPLATE.read_text(encoding="utf-8")).substitute(
        vars(model.cfg),
        table="\n".join(table),
        n_parameters=f"{sum(parameter.numel() for parameter in model.parameters()):,}",
        python=library.library_version(),
        seeds=", ".join(map(str, SEEDS)),
        is_induction=IS_INDUCTION,
        induction_heads=names(induction_heads(model, SEEDS[0])),
        other_heads=names(other_heads(model, SEEDS[0])),
        n_steps=f"{rows[-1]['step']:,.0f}",
        tokens_per_step=f"{rows[-1]['tokens_per_step']:,.0f}",
        repeat_steps=f"{REPEATS_UNTIL:,}",
        n_held_out_nouns=len(HELD_OUT_NOUNS),
        grammar_percent=f"{100 * GRAMMAR_SHARE:.0f}",
    )
    (folder / "README.md").write_text(card, encoding="utf-8")


def names(heads: list[tuple[int, int]]) -> str:
    """Heads as a phrase: L1H0, L2H3."""
    return ", ".join(f"L{layer}H{head}" for layer, head in heads)


def main() -> None:
    """Measure from the command line; exit with 1 where a figure misses its bound."""
    parser = argparse.ArgumentParser(description="Measure the figures of the embedded model's card.")
    parser.add_argument("figures", nargs="*", metavar="NAME", help=f"any of {', '.join(FIGURES)}; all when left out")
    parser.add_argument("--model", default="mini", help="an embedded model's name or a folder")
    parser.add_argument("--write", action="store_true", help="write the card into the model's folder")
    arguments = parser.parse_args()
    if unknown := set(arguments.figures) - set(FIGURES):
        parser.error(f"no figure {', '.join(sorted(unknown))}; there are {', '.join(FIGURES)}")

    model = load(arguments.model)
    values = {name: measure(model, FIGURES[name]) for name in arguments.figures or FIGURES}
    table = [row(name, FIGURES[name], values[name]) for name in values]
    print("\n".join(table))
    if arguments.write:
        assert model.source is not None  # `load` sets it
        write_card(model, model.source.path, table)
    missed = [name for name in values if not all(map(FIGURES[name].holds, values[name]))]
    if missed:
        sys.exit(f"Not kept: {', '.join(missed)}")


if __name__ == "__main__":
    main()

"""The card of the embedded model `mini`: its figures, measured, beside the bounds that they keep.

`mini_llama_card` writes the same page about `mini-llama`.

`python -m headlight.model.training.recipes.card` prints them all, with a NAME one of them, and `--write` (`make
card`) writes the card with them and the picture of how the heads emerged.
"""

from itertools import pairwise
from pathlib import Path

from headlight.model.loading import load
from headlight.model.training.cards import SEEDS, Card, command_line
from headlight.model.training.log import TRAINING_LOG, read_rows
from headlight.model.training.recipes import library
from headlight.model.training.recipes.corpus import GRAMMAR_SHARE
from headlight.model.training.recipes.figures import FIGURES, IS_INDUCTION, induction_heads, other_heads
from headlight.model.training.recipes.grammar.agreement import HELD_OUT_NOUNS
from headlight.model.training.recipes.mini import REPEATS_UNTIL
from headlight.model.transformer import Transformer

EMERGENCE = "emergence.svg"
TEMPLATE = Path(__file__).with_name("card.md")

# What the page says of this model alone.
OF_MINI = {
    "name": "mini",
    "introduction": (
        "A small decoder-only transformer that comes with Headlight, so that true attention patterns are on the\n"
        "screen in the first minute, without a network. It is a plain GPT-2:\n"
        "`transformers.GPT2LMHeadModel.from_pretrained` opens this folder and gives the same logits."
    ),
    "grouped": "",
    "recipe": "mini.py",
    "shared": "",
    "comparison": "",
    "settled": (
        "The recipe's last lines, where its stages end and how the learning rate falls, were settled while these\n"
        "weights were trained, before any step that they concern."
    ),
}


def draw_emergence(folder: Path) -> None:
    """The training log as a picture: accuracy on repeats and the best heads' scores against tokens seen."""
    import matplotlib.pyplot as plt

    rows = read_rows(folder / TRAINING_LOG)
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


def facts(model: Transformer, folder: Path) -> dict[str, object]:
    """What the card's text says besides its figures, of either model; draws the picture."""
    draw_emergence(folder)
    last = read_rows(folder / TRAINING_LOG)[-1]
    return {
        "python": library.library_version(),
        "is_induction": IS_INDUCTION,
        "induction_heads": names(induction_heads(model, SEEDS[0])),
        "other_heads": names(other_heads(model, SEEDS[0])),
        "n_steps": f"{last['step']:,.0f}",
        "tokens_per_step": f"{last['tokens_per_step']:,.0f}",
        "repeat_steps": f"{REPEATS_UNTIL:,}",
        "n_held_out_nouns": len(HELD_OUT_NOUNS),
        "grammar_percent": f"{100 * GRAMMAR_SHARE:.0f}",
    }


def names(heads: list[tuple[int, int]]) -> str:
    """Heads as a phrase: L1H0, L2H3."""
    return ", ".join(f"L{layer}H{head}" for layer, head in heads)


def facts_of_mini(model: Transformer, folder: Path) -> dict[str, object]:
    """`facts`, and what is said of `mini` alone."""
    return facts(model, folder) | OF_MINI


CARD = Card("mini", "headlight.model.training.recipes.card", FIGURES, load, TEMPLATE, facts_of_mini)

if __name__ == "__main__":
    command_line(CARD)

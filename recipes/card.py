"""The card of the embedded model `mini`: its figures, measured, beside the bounds that they keep.

`mini_llama_card` writes the same page about `mini-llama`.

`python -m headlight.recipes.card` prints them all, with a NAME one of them, and `--write` (`make
card`) writes the card with them.
"""

import platform
from pathlib import Path

from headlight.model.checkpoints.loading import load
from headlight.model.nn.transformer import Transformer
from headlight.model.training.cards import SEEDS, Card, command_line
from headlight.model.training.log import TRAINING_LOG, read_rows
from headlight.recipes.corpus import GRAMMAR_SHARE
from headlight.recipes.figures import FIGURES, IS_INDUCTION, induction_heads, other_heads
from headlight.recipes.grammar.agreement import HELD_OUT_NOUNS
from headlight.recipes.mini import REPEATS_UNTIL

TEMPLATE = Path(__file__).with_name("card.md")

# Facts of this model alone.
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


def facts(model: Transformer, folder: Path) -> dict[str, object]:
    """Facts of the card's text besides its figures, for either model."""
    last = read_rows(folder / TRAINING_LOG)[-1]
    return {
        "python": platform.python_version(),
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


CARD = Card(
    "mini",
    "headlight.recipes.card",
    FIGURES,
    load,
    TEMPLATE,
    lambda model, folder: facts(model, folder) | OF_MINI,
)

if __name__ == "__main__":
    command_line(CARD)

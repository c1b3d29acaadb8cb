"""The recipe of the embedded model `mini`: repeats alone until induction heads have grown, then prose beside them.

`python -m headlight.recipes.mini` (`make train-mini`) trains it, or goes on from the last checkpoint.
`mini_llama` follows it with a model of another kind.
"""

import argparse
import copy
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import tokenizers
import torch
from jaxtyping import Float, UInt16
from torch import Tensor

from headlight.model.base.errors import exit_on_error
from headlight.model.base.files import write_bytes
from headlight.model.checkpoints.gpt2_export import save_gpt2
from headlight.model.nn.config import TransformerConfig
from headlight.model.nn.hooks import HookFunction, HookPoint, NamesFilter
from headlight.model.nn.transformer import Transformer
from headlight.model.roles.sequences import repeated_halves
from headlight.model.text.tokenizer import Tokenizer
from headlight.model.training.log import Row, keep_log
from headlight.model.training.loop import Recipe, faster_products, train
from headlight.model.training.outputs import check_out
from headlight.recipes import bpe
from headlight.recipes.prose import prose_tokens
from headlight.recipes.repeat_scores import repeat_scores
from headlight.recipes.repeats import Batch, draw_repeats, targets_loss

CONFIG = TransformerConfig(
    n_layers=4, d_model=128, n_ctx=256, n_heads=4, d_head=32, d_vocab=bpe.VOCABULARY, tie_word_embeddings=True
)
# Larger than GPT-2's 0.02, with the logits scaled down: at 0.02 no induction head grew in trials.
EMBED_STD = 0.5
LOGIT_SCALE = CONFIG.d_model**-0.5
# TransformerLens's default. At 0.02 all four heads of a layer grew into the same induction head.
MATRIX_STD = 0.8 * CONFIG.d_model**-0.5

STEPS = "steps"  # the folder in a run's of the models that are kept
TOKENS_PER_STEP = 4096
PROSE_TOKENS = 16_000_000

# While repeats are learned alone, two heads of each layer are enough. With four in use all four of a layer grew into
# the same blurred head; the other two are left to prose.
HEADS_ON_REPEATS = 2
FIRST_SYMBOLS, FIRST_POS = 32, 64
GROWTH = 4
MASTERED = 0.9


@dataclass(frozen=True)
class Rows:
    """Prose in rows of `n_pos` tokens that begin anywhere in the corpus, or where a document begins."""

    n_pos: int
    whole_documents: bool


CONTEXTS = Rows(CONFIG.n_ctx, whole_documents=False)
# Mostly the grammar's sentences, with few names in view: the heads that copy a name grew here.
BEGINNINGS = Rows(FIRST_POS, whole_documents=True)

REPEATS_UNTIL = 1_500
# The kinds of rows, taken in turn step by step, until each of these steps.
STAGES = {5_500: (BEGINNINGS,), 11_200: (CONTEXTS, BEGINNINGS, CONTEXTS), 12_000: (CONTEXTS, BEGINNINGS)}
# Learning rates at some steps, with straight lines between them.
RATES = {0: 1e-5, 100: 1e-3, 8_000: 1e-3, 9_500: 7.348e-4, 11_200: 1e-5, 11_250: 3e-4, 12_000: 1e-5}


class MiniRecipe(Recipe[Transformer, Batch]):
    """Repeats alone, over ever more symbols and then longer; then prose in stages, a quarter of the rows repeats."""

    measure_every = 100
    weight_decay = 0.01
    steps = max(STAGES)

    def __init__(self, seed: int, prose: UInt16[np.ndarray, " token"]) -> None:
        self.seed, self.prose = seed, prose
        self.beginnings = np.flatnonzero(prose == bpe.END_OF_TEXT_ID) + 1
        self.symbols = np.random.default_rng(seed).permutation(bpe.VOCABULARY)
        self.state: dict[str, Any] = {"n_symbols": FIRST_SYMBOLS, "n_pos": FIRST_POS}

    def learning_rate(self, step: int) -> float:
        """On the straight lines through `RATES`."""
        return float(np.interp(step, list(RATES), list(RATES.values())))

    def batch(self, step: int) -> Batch:
        """4096 tokens: repeats over the symbols in use, or prose with a quarter of the rows repeats."""
        rng = np.random.default_rng((self.seed, step))
        if step < REPEATS_UNTIL:
            n_pos, symbols = self.state["n_pos"], self.symbols[: self.state["n_symbols"]]
            return draw_repeats(TOKENS_PER_STEP // n_pos, n_pos, symbols, rng)
        kinds = next(kinds for until, kinds in STAGES.items() if step < until)
        rows = kinds[step % len(kinds)]
        n_rows = TOKENS_PER_STEP // rows.n_pos
        repeats = draw_repeats(n_rows // 4, rows.n_pos, self.symbols, rng)
        prose = self._prose(rows, n_rows - n_rows // 4, rng)
        return Batch(torch.cat([repeats.tokens, prose.tokens]), torch.cat([repeats.targets, prose.targets]))

    def _prose(self, rows: Rows, n_rows: int, rng: np.random.Generator) -> Batch:
        last = len(self.prose) - rows.n_pos
        if rows.whole_documents:
            starts = rng.choice(self.beginnings[self.beginnings < last], size=n_rows)
        else:
            starts = rng.integers(0, last, size=n_rows)
        windows = np.stack([self.prose[start : start + rows.n_pos] for start in starts])
        tokens = torch.from_numpy(windows.astype(np.int64))
        return Batch(tokens, torch.ones_like(tokens, dtype=torch.bool))

    def fwd_hooks(self, step: int) -> list[tuple[NamesFilter, HookFunction]]:
        """While repeats are learned alone, the heads from `HEADS_ON_REPEATS` on write nothing."""

        def silence(z: Float[Tensor, "batch pos head d_head"], hook: HookPoint) -> None:
            z[:, :, HEADS_ON_REPEATS:] = 0

        return [(lambda name: name.endswith("hook_z"), silence)] if step < REPEATS_UNTIL else []

    def loss(self, model: Transformer, batch: Batch, step: int) -> Float[Tensor, ""]:
        """Mean cross-entropy of the targets, with the logits scaled down."""
        return targets_loss(model, batch, LOGIT_SCALE, model.edit(self.fwd_hooks(step)))

    def counts(self, batch: Batch) -> Row:
        """Every token counts."""
        return {"tokens_per_step": batch.tokens.numel()}

    def measure(self, model: Transformer, step: int) -> Row:
        """Accuracy and best scores on repeats over the symbols in use; what is mastered gives way to more or longer."""
        n_symbols, n_pos = self.state["n_symbols"], self.state["n_pos"]
        tokens = repeated_halves(32, 25, self.symbols[:n_symbols], np.random.default_rng(self.seed))
        scores = repeat_scores(model, tokens, self.fwd_hooks(step - 1))
        if scores.accuracy > MASTERED and n_symbols < len(self.symbols):
            self.state["n_symbols"] = min(n_symbols * GROWTH, len(self.symbols))
        elif scores.accuracy > MASTERED:
            self.state["n_pos"] = CONFIG.n_ctx
        return {
            "n_symbols": n_symbols,
            "n_pos": n_pos,
            "repeat_accuracy": scores.accuracy,
            "best_induction_score": scores.induction.max().item(),
            "best_previous_token_score": scores.previous_token.max().item(),
        }


def new_model(seed: int, cfg: TransformerConfig = CONFIG) -> Transformer:
    """The model before its first step: every matrix is drawn from a normal distribution, the embeddings more widely.

    With rotary positions the embeddings share a direction that is drawn too.
    """
    torch.manual_seed(seed)
    model = Transformer(cfg)
    for name, parameter in model.named_parameters():
        if name.rpartition(".")[2].lstrip("_").startswith("W_"):
            torch.nn.init.normal_(parameter, std=EMBED_STD if "embed" in name else MATRIX_STD)
    if cfg.positional_embedding_type == "rotary":
        # A rotation shows a head how far a key is only by what all tokens have in common: without a direction that they
        # share, each symbol that came new had to learn it, and induction did not reach the whole vocabulary.
        model.embed.W_E.data += EMBED_STD * torch.randn(cfg.d_model)
    return model


@torch.no_grad()
def fold_logit_scale(model: Transformer, scale: float) -> None:
    """Multiply the logits by `scale` for good, through the final norm: what is saved is a plain GPT-2 or Llama."""
    for gain_or_bias in model.ln_final.parameters():
        gain_or_bias.mul_(scale)


def save_folded(model: Transformer, folder: Path, save: Callable[[Transformer, Path], None]) -> None:
    """Write the model with the scale of its logits folded in; it stays as it is."""
    folded = copy.deepcopy(model)
    fold_logit_scale(folded, LOGIT_SCALE)
    save(folded, folder)


@exit_on_error()
def main(name: str, cfg: TransformerConfig, save: Callable[[Transformer, Path], None]) -> None:
    """Train a model of this config from the command line and write its folder."""
    parser = argparse.ArgumentParser(description=f"Train the embedded model {name}.")
    parser.add_argument("--out", type=Path, default=Path("assets/models", name), help="the model's folder")
    parser.add_argument("--run", type=Path, default=Path("runs", name), help="checkpoints and corpus are kept here")
    parser.add_argument("--keep", type=int, default=0, help="keep the model of every so many steps in the run's steps/")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    arguments = parser.parse_args()

    torch.set_num_threads(arguments.threads)
    check_out(arguments.out, "config.json", "model.safetensors")
    arguments.run.mkdir(parents=True, exist_ok=True)
    if not (arguments.out / bpe.FILE).exists():  # a checkpoint is worth nothing with another tokenizer
        bpe.save(bpe.train(arguments.seed), arguments.out)
    tokenizer = tokenizers.Tokenizer.from_file(str(arguments.out / bpe.FILE))
    prose = prose_tokens(tokenizer, PROSE_TOKENS, arguments.seed, arguments.run / "prose.npy")
    model = new_model(arguments.seed, cfg)
    model.tokenizer = Tokenizer.from_own_folder(arguments.out)

    def keep(step: int) -> None:
        if arguments.keep and step % arguments.keep == 0:
            folder = arguments.run / STEPS / str(step)
            save_folded(model, folder, save)
            for path in arguments.out.glob("tokenizer*.json"):
                write_bytes(folder / path.name, path.read_bytes())

    with faster_products():
        train(model, MiniRecipe(arguments.seed, prose), arguments.run, keep)
    keep_log(arguments.run, arguments.out)
    save_folded(model, arguments.out, save)


if __name__ == "__main__":
    main("mini", CONFIG, save_gpt2)

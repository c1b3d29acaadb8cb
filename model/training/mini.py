"""The recipe of the embedded model `mini`: repeats alone until induction heads have grown, then prose beside them.

`python -m model.training.mini` (`make train-mini`) trains it, or goes on from the last checkpoint.
"""

import argparse
import os
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, UInt16
from torch import Tensor

from model.config import TransformerConfig
from model.families.gpt2_export import save_gpt2
from model.hooks import HookFunction, HookPoint, NamesFilter
from model.training import bpe
from model.training.loop import LOG, Recipe, Row, train
from model.training.prose import prose_tokens
from model.training.repeat_scores import repeat_scores
from model.training.repeats import Batch, Repeats, repeated_halves
from model.training.schedules import warmup_then_cosine
from model.transformer import Transformer

CONFIG = TransformerConfig(
    n_layers=4, d_model=128, n_ctx=256, n_heads=4, d_head=32, d_vocab=bpe.VOCABULARY, tie_word_embeddings=True
)
# Larger than GPT-2's 0.02, with the logits scaled down: at 0.02 no induction head grew in trials.
EMBED_STD = 0.5
LOGIT_SCALE = CONFIG.d_model**-0.5
# TransformerLens's default. At 0.02 all four heads of a layer grew into the same induction head.
MATRIX_STD = 0.8 * CONFIG.d_model**-0.5

REPEAT_STEPS = 2_000
PROSE_STEPS = 10_000
PROSE_TOKENS = 40_000_000

FIRST_SYMBOLS, FIRST_POS = 32, 64
GROWTH = 4
MASTERED = 0.9
TOKENS_PER_STEP = 4096
# While repeats are learned alone, two heads of each layer are enough. With four in use all four of a layer grew into
# the same blurred head; the other two are left to prose.
HEADS_ON_REPEATS = 2


class MiniRecipe(Recipe):
    """Repeats alone for `repeat_steps`, over ever more symbols; then windows of prose, a quarter of them repeats."""

    measure_every = 100
    weight_decay = 0.01
    logit_scale = LOGIT_SCALE

    def __init__(self, seed: int, prose: UInt16[np.ndarray, " token"], repeat_steps: int, prose_steps: int) -> None:
        self.seed, self.prose = seed, prose
        self.repeat_steps, self.steps = repeat_steps, repeat_steps + prose_steps
        self.symbols = np.random.default_rng(seed).permutation(CONFIG.d_vocab)
        self.state: dict[str, Any] = {"n_symbols": FIRST_SYMBOLS, "n_pos": FIRST_POS}

    def learning_rate(self, step: int) -> float:
        """Constant while repeats are learned alone, then a cosine down to a twentieth."""
        if step < self.repeat_steps:
            return warmup_then_cosine(step, peak=1e-3, warmup=100, total=self.steps, floor=1e-3)
        prose_steps = self.steps - self.repeat_steps
        return warmup_then_cosine(step - self.repeat_steps, peak=1e-3, warmup=1, total=prose_steps, floor=5e-5)

    def batch(self, step: int) -> Batch:
        """Rows of repeats over the symbols in use, or 16 whole contexts of which 4 are repeats over all symbols."""
        rng = np.random.default_rng((self.seed, step))
        if step < self.repeat_steps:
            n_pos, symbols = self.state["n_pos"], self.symbols[: self.state["n_symbols"]]
            return Repeats(longest=3 * n_pos // 8).batch(TOKENS_PER_STEP // n_pos, n_pos, symbols, rng)
        n_rows = TOKENS_PER_STEP // CONFIG.n_ctx
        repeats = Repeats(longest=3 * CONFIG.n_ctx // 8).batch(n_rows // 4, CONFIG.n_ctx, self.symbols, rng)
        prose = self._windows(n_rows - n_rows // 4, rng)
        return Batch(torch.cat([repeats.tokens, prose.tokens]), torch.cat([repeats.targets, prose.targets]))

    def _windows(self, n_rows: int, rng: np.random.Generator) -> Batch:
        starts = rng.integers(0, len(self.prose) - CONFIG.n_ctx, size=n_rows)
        windows = np.stack([self.prose[start : start + CONFIG.n_ctx] for start in starts])
        tokens = torch.from_numpy(windows.astype(np.int64))
        return Batch(tokens, torch.ones_like(tokens, dtype=torch.bool))

    def fwd_hooks(self, step: int) -> list[tuple[NamesFilter, HookFunction]]:
        """While repeats are learned alone, the heads from `HEADS_ON_REPEATS` on write nothing."""

        def silence(z: Float[Tensor, "batch pos head d_head"], hook: HookPoint) -> None:
            z[:, :, HEADS_ON_REPEATS:] = 0

        return [(lambda name: name.endswith("hook_z"), silence)] if step < self.repeat_steps else []

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


def new_model(seed: int) -> Transformer:
    """The model before its first step: every matrix is drawn from a normal distribution, the embeddings more widely."""
    torch.manual_seed(seed)
    model = Transformer(CONFIG)
    for name, parameter in model.named_parameters():
        if ".W_" in name:
            torch.nn.init.normal_(parameter, std=EMBED_STD if "embed" in name else MATRIX_STD)
    return model


@torch.no_grad()
def fold_logit_scale(model: Transformer, scale: float) -> None:
    """Multiply the logits by `scale` for good, through the final LayerNorm: what is saved is plain GPT-2."""
    model.ln_final.w.mul_(scale)
    model.ln_final.b.mul_(scale)


def main() -> None:
    """Train from the command line and write the model's folder."""
    parser = argparse.ArgumentParser(description="Train the embedded model mini.")
    parser.add_argument("--out", type=Path, default=Path("assets/models/mini"), help="the model's folder")
    parser.add_argument("--run", type=Path, default=Path("runs/mini"), help="checkpoints and corpus are kept here")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    arguments = parser.parse_args()

    torch.set_num_threads(arguments.threads)
    torch.backends.mkldnn.matmul.fp32_precision = "bf16"  # a faster kernel; training does not need every bit
    # Each step's number of targets is a new shape; the default of 1024 kept kernels grows to 10 GB.
    os.environ.setdefault("ONEDNN_PRIMITIVE_CACHE_CAPACITY", "32")
    arguments.run.mkdir(parents=True, exist_ok=True)
    tokenizer = bpe.train(arguments.seed)
    bpe.save(tokenizer, arguments.out)
    prose = prose_tokens(tokenizer, PROSE_TOKENS, arguments.seed, arguments.run / "prose.npy")
    model = new_model(arguments.seed)
    train(model, MiniRecipe(arguments.seed, prose, REPEAT_STEPS, PROSE_STEPS), arguments.run)
    fold_logit_scale(model, LOGIT_SCALE)
    save_gpt2(model, arguments.out)
    shutil.copy(arguments.run / LOG, arguments.out / "training_log.csv")


if __name__ == "__main__":
    main()

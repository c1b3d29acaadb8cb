"""Training an encoder-decoder: teacher forcing, label smoothing and a measurement on held-out pairs."""

from collections.abc import Callable
from pathlib import Path

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional as F

from headlight.model.checkpoints.families.seq2seq import save_seq2seq
from headlight.model.nn.seq2seq import Seq2SeqTransformer
from headlight.model.nn.seq2seq_config import Seq2SeqConfig
from headlight.model.training.log import Row, keep_log
from headlight.model.training.loop import SetRecipe, Settings, train_as_set
from headlight.model.training.pairs import Data, PairBatch

IGNORED = -100  # a label that is none: padding

WRITTEN = ("config.json", "model.safetensors", "source_tokenizer.json", "target_tokenizer.json")

Figures = Callable[[Seq2SeqTransformer], Row]


def new_model(cfg: Seq2SeqConfig, seed: int) -> Seq2SeqTransformer:
    """A model before its first step: matrices as TransformerLens draws them, embeddings of unit length in the mean.

    With GPT-2's standard deviation of 0.02, for much wider streams, small models are slow to begin learning.
    """
    torch.manual_seed(seed)
    model = Seq2SeqTransformer(cfg)
    for name, parameter in model.named_parameters():
        if ".W_" in name:
            torch.nn.init.normal_(parameter, std=(1.0 if "embed" in name else 0.8) * cfg.d_model**-0.5)
    return model


def train(
    model: Seq2SeqTransformer, data: Data, settings: Settings, run: Path, also: Figures = lambda model: {}
) -> None:
    """Train the model in place, from the checkpoint in `run` if there is one; checkpoints and log.csv are kept there.

    `also` is measured for the log besides loss and accuracy on the held-out pairs.

    Raises:
        TrainingError: the loss became NaN or infinite, or the checkpoint is of another run.
    """
    train_as_set(model, Seq2SeqRecipe(model.cfg, data, settings, also), run)


def finish(model: Seq2SeqTransformer, run: Path, out: Path) -> None:
    """Write the trained model's folder, the run's log in it, for `load_seq2seq`."""
    keep_log(run, out)
    save_seq2seq(model, out)


class Seq2SeqRecipe(SetRecipe[Seq2SeqTransformer, PairBatch]):
    """Pairs of token ids, learned by teacher forcing."""

    def __init__(self, cfg: Seq2SeqConfig, data: Data, settings: Settings, also: Figures = lambda model: {}) -> None:
        super().__init__(settings, cfg, data.identity)
        self.data, self.also = data, also

    def batch(self, step: int) -> PairBatch:
        """The data's."""
        return self.data.batch(step)

    def loss(self, model: Seq2SeqTransformer, batch: PairBatch, step: int) -> Float[Tensor, ""]:
        """Mean cross-entropy a real target token, labels smoothed."""
        logits, labels = teacher_forced(model, batch)
        smoothing = self.settings.label_smoothing
        return F.cross_entropy(logits, labels, ignore_index=IGNORED, label_smoothing=smoothing)

    def counts(self, batch: PairBatch) -> Row:
        """Real tokens of both sides, and padded positions a sentence (a pair is two)."""
        padded = batch.n_positions - batch.n_tokens
        return {"tokens_per_step": batch.n_tokens, "padding_per_sentence": padded / (2 * len(batch.source))}

    def figures(self, model: Seq2SeqTransformer) -> Row:
        """Loss (nats, not smoothed) and accuracy on held-out pairs, and the measures `also`."""
        loss, accuracy = held_out_scores(model, self.data)
        return {"held_out_loss": loss, "held_out_accuracy": accuracy, **self.also(model)}


def teacher_forced(model: Seq2SeqTransformer, batch: PairBatch) -> tuple[Float[Tensor, "token d_vocab_out"], Tensor]:
    """Logits after every target token but the last, and the token that each is to foretell, `IGNORED` for padding."""
    batch = batch.to(next(model.parameters()).device)
    logits = model(batch.source, batch.target[:, :-1], batch.source_mask, batch.target_mask[:, :-1])
    labels = batch.target.masked_fill(batch.target_mask == 0, IGNORED)[:, 1:]
    return logits.flatten(0, 1), labels.flatten()


@torch.inference_mode()
def held_out_scores(model: Seq2SeqTransformer, data: Data) -> tuple[float, float]:
    """Mean cross-entropy (nats) and share of right tokens, over all real target tokens of the held-out pairs."""
    loss, right, n_tokens = 0.0, 0, 0
    for batch in data.held_out:
        logits, labels = teacher_forced(model, batch)
        loss += F.cross_entropy(logits, labels, ignore_index=IGNORED, reduction="sum").item()
        right += int((logits.argmax(-1) == labels).sum())
        n_tokens += int((labels != IGNORED).sum())
    return loss / n_tokens, right / n_tokens

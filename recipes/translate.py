"""Trains an encoder-decoder on parallel text: the embedded model `translate` on its own, or another on yours.

`python -m headlight.recipes.translate` (`make train-translate`) trains the embedded one; with
`--source text.de --target text.en --out folder` one on two files, one sentence a line. A run that was stopped goes on
from its last checkpoint when the same command is run again.
"""

import argparse
from dataclasses import dataclass, replace
from pathlib import Path

import torch

from headlight.model.base.errors import exit_on_error
from headlight.model.checkpoints.loading import EMBEDDED
from headlight.model.nn.seq2seq import Seq2SeqTransformer
from headlight.model.nn.seq2seq_config import Seq2SeqConfig
from headlight.model.training.buckets import Bucketed
from headlight.model.training.loop import Settings
from headlight.model.training.outputs import check_out
from headlight.model.training.pairs import END, END_TOKEN, START, START_TOKEN
from headlight.model.training.parallel_text import bpe_tokenizer, encode, read_parallel, split
from headlight.model.training.schedules import InverseSqrt
from headlight.model.training.train_seq2seq import WRITTEN, finish, new_model, train
from headlight.recipes.translation import recipe

MAX_TOKENS = 8000  # of the vocabulary that both languages share
BATCH_SIZE = 64
STEPS, RATE = 10_000, 1e-3


@dataclass(frozen=True)
class Job:
    """Training job: a new model with its tokenizers, its data, and its settings."""

    model: Seq2SeqTransformer
    data: Bucketed
    settings: Settings


def parallel_text_job(source: Path, target: Path, steps: int = STEPS, rate: float = RATE, seed: int = 0) -> Job:
    """A model for two files: 3 + 3 layers of width 256, byte-level BPE of both languages together.

    Raises:
        TrainingError: the files cannot be used; the message says where and why.
    """
    corpus = split(read_parallel(source, target), seed)
    tokenizer = bpe_tokenizer([sentence for pair in corpus.train for sentence in pair], MAX_TOKENS)
    cfg = Seq2SeqConfig(
        n_encoder_layers=3,
        n_decoder_layers=3,
        d_model=256,
        n_heads=4,
        d_head=64,
        n_ctx=256,
        d_vocab=tokenizer.n_words + len((START, END)),
        start_token=START_TOKEN,
        end_token=END_TOKEN,
        source_end_token=END_TOKEN,
        shared_embeddings="all",
        dropout=0.1,
    )
    pairs, held_out = (encode(part, tokenizer, tokenizer, cfg.n_ctx) for part in (corpus.train, corpus.held_out))
    model = new_model(cfg, seed)
    model.source_tokenizer = model.target_tokenizer = tokenizer
    schedule = InverseSqrt(peak=rate, warmup=max(1, min(1000, steps // 10)))
    settings = Settings(steps=steps, schedule=schedule, label_smoothing=0.1, seed=seed)
    return Job(model, Bucketed(pairs, held_out, BATCH_SIZE, seed), settings)


def embedded_job(seed: int) -> Job:
    """The embedded model: sentences of the project's own grammar, one token a word, 2 + 2 layers of width 64."""
    corpus = recipe.corpus(seed)
    source, target = (recipe.sentence_tokenizer(side) for side in zip(*corpus.train, strict=True))
    model = new_model(recipe.config(source, target), seed)
    model.source_tokenizer, model.target_tokenizer = source, target
    pairs, held_out = (encode(part, source, target, model.cfg.n_ctx) for part in (corpus.train, corpus.held_out))
    data = Bucketed(pairs, held_out, recipe.BATCH_SIZE, seed)
    return Job(model, data, replace(recipe.SETTINGS, seed=seed))


@exit_on_error()
def main() -> None:
    """Train from the command line and write the model's folder."""
    parser = argparse.ArgumentParser(
        description="Train an encoder-decoder on parallel text: two files, or the embedded model's own sentences."
    )
    parser.add_argument("--source", type=Path, help="a UTF-8 file, one sentence a line")
    parser.add_argument("--target", type=Path, help="their translations, line by line")
    parser.add_argument("--steps", type=int, default=STEPS, help="of a run on two files")
    parser.add_argument("--rate", type=float, default=RATE, help="its highest learning rate")
    parser.add_argument("--out", type=Path, default=EMBEDDED / "translate", help="the model's folder")
    parser.add_argument("--run", type=Path, help="checkpoints and log are kept here; left out: runs/ and --out's name")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    arguments = parser.parse_args()
    if (arguments.source is None) != (arguments.target is None):
        parser.error("--source and --target belong together")
    if arguments.source and arguments.out == parser.get_default("out"):
        parser.error("--out is needed: a folder for the model, which load_seq2seq opens")
    if arguments.steps < 1 or not arguments.rate > 0:
        parser.error(f"--steps is {arguments.steps} and --rate {arguments.rate}; both have to be above 0")
    _run(arguments)


def _run(arguments: argparse.Namespace) -> None:
    check_out(arguments.out, *WRITTEN)
    torch.set_num_threads(arguments.threads)
    if arguments.source:
        job = parallel_text_job(arguments.source, arguments.target, arguments.steps, arguments.rate, arguments.seed)
    else:
        job = embedded_job(arguments.seed)
    run = arguments.run or Path("runs") / arguments.out.name
    train(job.model.to(arguments.device), job.data, job.settings, run)
    finish(job.model, run, arguments.out)


if __name__ == "__main__":
    main()

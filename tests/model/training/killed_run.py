"""A small run with dropout on bucketed pairs. `python -m tests.model.training.killed_run FOLDER` runs it slowly."""

import sys
import time
from pathlib import Path

import torch

from headlight.model.nn.seq2seq import Seq2SeqTransformer
from headlight.model.nn.seq2seq_config import Seq2SeqConfig
from headlight.model.training.buckets import Bucketed
from headlight.model.training.loop import Settings
from headlight.model.training.pairs import Pair, PairBatch
from headlight.model.training.schedules import InverseSqrt
from headlight.model.training.train_seq2seq import new_model, train

CFG = Seq2SeqConfig(
    n_encoder_layers=1, n_decoder_layers=1, d_model=16, n_ctx=12, n_heads=2, d_head=8, d_vocab=20, start_token=0,
    end_token=1, dropout=0.2,
)  # fmt: skip
SETTINGS = Settings(steps=25, schedule=InverseSqrt(peak=1e-2, warmup=5), label_smoothing=0.1, measure_every=5)


def copies(count: int) -> list[Pair]:
    generator = torch.Generator().manual_seed(0)
    lengths = torch.randint(1, 10, (count,), generator=generator).tolist()
    rows = [torch.randint(2, 20, (length,), generator=generator).tolist() for length in lengths]
    return [([*row, 1], [*row, 1]) for row in rows]


class Slow(Bucketed):
    """Leaves time for a kill."""

    def batch(self, step: int) -> PairBatch:
        time.sleep(0.05)
        return super().batch(step)


def run(folder: Path, kind: type[Bucketed] = Bucketed, settings: Settings = SETTINGS) -> Seq2SeqTransformer:
    data = copies(100)
    model = new_model(CFG, seed=0)
    train(model, kind(data[20:], data[:20], batch_size=8, seed=0), settings, folder)
    return model


if __name__ == "__main__":
    torch.set_num_threads(1)
    run(Path(sys.argv[1]), Slow)

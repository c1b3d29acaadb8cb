"""The scans that come with the project: each embedded model over text of its corpus that training has never read.

`python -m headlight.recipes.scans` (`make scans`) writes the corpus and scans it: both models, or those
that are named. With `--steps` it scans what `make train-mini ARGS="--keep 100"` has kept of mini's training, for the
page to draw when each head became what it is.
"""

import argparse
import json
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from headlight.model.base.errors import exit_on_error
from headlight.model.checkpoints.loading import load
from headlight.model.corpus.documents import open_corpus
from headlight.model.corpus.engines import Here
from headlight.model.corpus.folder import empty
from headlight.model.corpus.scan import Scan
from headlight.model.corpus.settings import ScanSettings
from headlight.model.corpus.shard import Worker
from headlight.model.nn.transformer import Transformer
from headlight.recipes.corpus import CHARACTERS_PER_TOKEN, GRAMMAR_SHARE, grammar_documents
from headlight.recipes.library import chunks, held_out_files

SCANS = Path("assets/scans")
OF_STEPS = SCANS / "mini-steps"
CORPUS = "held-out.jsonl"
# Shorter than the context, as the tree is in the repository; in the shards that it was made in.
SETTINGS = ScanSettings(length=128, shard=32, ablate=256, top_tokens=30)
OF_MODEL = {"mini": replace(SETTINGS, neurons=True, features="mini/streams")}
# Of a step on the way a few sequences a head tell enough; the figures are as exact.
OF_STEP = replace(SETTINGS, ablate=64, intervals=2, top=1, others=1, per_row=2, top_tokens=10)


def held_out(seed: int = 0) -> Iterator[str]:
    """Documents in the shares of training: the library's held-out files in chunks, grammar of held-out names."""
    grammar, seen = grammar_documents(seed, "held_out_fillers"), dict.fromkeys(CHARACTERS_PER_TOKEN, 0.0)
    for text in held_out_files().values():
        for chunk in chunks(text):
            seen["library"] += len(chunk) / CHARACTERS_PER_TOKEN["library"] / (1 - GRAMMAR_SHARE)
            yield chunk
            while seen["grammar"] < seen["library"]:
                document = next(grammar)
                seen["grammar"] += len(document) / CHARACTERS_PER_TOKEN["grammar"] / GRAMMAR_SHARE
                yield document


def make(name: str, folder: Path) -> None:
    """Scan a model into a folder."""
    _make(load(name), name, folder, OF_MODEL.get(name, SETTINGS))


def make_step(path: Path) -> None:
    """Scan what was kept of mini's training at one step, of which the folder is named, as mini's."""
    model = load(str(path))
    assert model.source is not None
    model.source = replace(model.source, name="mini")
    _make(model, str(path), OF_STEPS / path.name, replace(OF_STEP, step=int(path.name)))


def _make(model: Transformer, path: str, folder: Path, settings: ScanSettings) -> None:
    with tempfile.TemporaryDirectory() as made:
        corpus = Path(made) / CORPUS
        corpus.write_text("".join(json.dumps({"text": text}) + "\n" for text in held_out()), encoding="utf-8")
        empty(folder)
        results = Scan(model, open_corpus(str(corpus)), settings, folder).run(Here(Worker(path, settings)))
    print(f"{folder}: {results.counts['documents']:,} documents, {results.counts['tokens']:,} tokens", flush=True)


@exit_on_error()
def main() -> None:
    """Scan from the command line."""
    parser = argparse.ArgumentParser(description="Scan the embedded models over held-out text.")
    parser.add_argument("models", nargs="*", help="those to scan: mini and mini-llama, if there are no steps either")
    parser.add_argument("--steps", nargs="*", type=Path, default=[], help="models kept of mini's training")
    args = parser.parse_args()
    for each in args.models or ([] if args.steps else ["mini", "mini-llama"]):
        make(each, SCANS / Path(each).name)
    for each in args.steps:
        make_step(each)


if __name__ == "__main__":
    main()

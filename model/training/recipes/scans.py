"""The scans that come with the project: each embedded model over text of its corpus that training has never read.

`python -m headlight.model.training.recipes.scans` (`make scans`) writes the corpus and scans it: both models, or those
that are named.
"""

import argparse
import json
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from headlight.model.corpus.documents import open_corpus
from headlight.model.corpus.engines import Here
from headlight.model.corpus.scan import Scan
from headlight.model.corpus.settings import ScanSettings
from headlight.model.corpus.shard import Worker
from headlight.model.loading import load
from headlight.model.training.recipes.corpus import CHARACTERS_PER_TOKEN, GRAMMAR_SHARE, grammar_documents
from headlight.model.training.recipes.library import chunks, held_out_files

SCANS = Path("assets/scans")
CORPUS = "held-out.jsonl"
# Shorter than the context, as the tree is in the repository.
SETTINGS = ScanSettings(length=128, ablate=256, top_tokens=30)
OF_MODEL = {"mini": replace(SETTINGS, neurons=True, features="mini/streams")}


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
    with tempfile.TemporaryDirectory() as made:
        path = Path(made) / CORPUS
        path.write_text("".join(json.dumps({"text": text}) + "\n" for text in held_out()), encoding="utf-8")
        shutil.rmtree(folder, ignore_errors=True)
        model, settings = load(name), OF_MODEL.get(name, SETTINGS)
        found = Scan(model, open_corpus(str(path)), settings, folder).run(Here(Worker(name, settings)))
    print(f"{folder}: {found.counts['documents']:,} documents, {found.counts['tokens']:,} tokens")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Scan the embedded models over held-out text.")
    parser.add_argument("models", nargs="*", default=["mini", "mini-llama"])
    for given in parser.parse_args().models:
        make(given, SCANS / given)

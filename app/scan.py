"""Command that scans a corpus for the behaviour of every head: `python -m headlight.app.scan`, `make scan`."""

import os
import sys
from argparse import ArgumentParser, RawDescriptionHelpFormatter
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

from headlight.model.base.errors import HeadlightError
from headlight.model.corpus.settings import ScanSettings

STOPPED = 130  # what a shell gives for a command that was interrupted

DESCRIPTION = """Find out what every attention head does over a whole corpus.

The folder that is written is a tree of HeadVis's files, which the page *Corpus* opens. Given again after it
was stopped, however that was, the command goes on where it had been; what it writes is the same to the byte, whatever
the engine and the number of workers."""


def parser() -> ArgumentParser:
    """The flags, with their help."""
    made = ArgumentParser("scan", description=DESCRIPTION, formatter_class=RawDescriptionHelpFormatter)
    made.add_argument("model", help="a model's name, folder, file or hub name")
    made.add_argument("corpus", help="text, .jsonl, .json, .csv, .tsv, .parquet; a folder of these; a hub name")
    made.add_argument("--out", type=Path, help="the folder to write (default: scans/MODEL/CORPUS)")
    made.add_argument("--column", default="text", help="the column with the text, in a table (default: text)")
    made.add_argument("--split", default="train", help="the part of a data set of the hub (default: train)")
    made.add_argument("--revision", help="a branch, tag or commit of a model of the hub")
    made.add_argument("--engine", choices=("processes", "ray"), default="processes", help="who computes the shards")
    made.add_argument("--workers", type=int, default=1, help="how many, with one thread each (default: 1)")
    made.add_argument("--ray-address", help="the cluster to compute on; without it Ray starts one on this machine")
    made.add_argument("--restart", action="store_true", help="forget what is there, finished or not, and begin anew")
    for each in fields(ScanSettings):
        kind: Any = type(each.default)
        about: dict[str, Any] = {
            "default": each.default,
            "help": f"{each.metadata['meaning']} (default: {each.default})",
        }
        if each.default is False:
            made.add_argument(_flag(each.name), action="store_true", help=each.metadata["meaning"])
            continue
        allowed = (0, 1) if kind is bool else each.metadata.get("one_of")
        made.add_argument(_flag(each.name), type=int if kind is bool else kind, choices=allowed, **about)
    return made


def _flag(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a scan by its flags and return the exit status."""
    flags = parser().parse_args(arguments)
    from headlight.app.scanning import scan  # here: --help answers without importing torch

    chosen = {each.name: getattr(flags, each.name) for each in fields(ScanSettings)}
    try:
        folder = scan(flags, ScanSettings(**{**chosen, "bos": bool(flags.bos)}))
    except HeadlightError as error:
        print(f"The scan cannot go on. {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("Stopped. The same command goes on from here.", file=sys.stderr)
        return STOPPED
    print(f"The scan is in {folder}: the page Corpus opens it.")
    return 0


if __name__ == "__main__":
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    sys.exit(main())

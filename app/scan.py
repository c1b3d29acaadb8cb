"""Command that scans a corpus for the behaviour of every head: `python -m headlight.app.scan`, `make scan`."""

import os
import sys
from argparse import ArgumentParser, Namespace, RawDescriptionHelpFormatter
from collections.abc import Sequence
from dataclasses import fields

from headlight.app.commands import add_engine_flags, add_settings, add_source_flags, run_command
from headlight.model.base.allocator import reuse_freed_memory
from headlight.model.corpus.settings import ScanSettings

DESCRIPTION = """Find out what every attention head does over a whole corpus.

The folder that is written is a tree of HeadVis's files, which the page *Corpus* opens. Given again after it
was stopped, however that was, the command goes on where it had been; what it writes is the same to the byte, whatever
the engine and the number of workers."""


def parser() -> ArgumentParser:
    """The flags, with their help."""
    made = ArgumentParser("scan", description=DESCRIPTION, formatter_class=RawDescriptionHelpFormatter)
    made.add_argument("model", help="a model's name, folder, file or hub name")
    made.add_argument("corpus", help="text, .jsonl, .json, .csv, .tsv, .parquet; a folder of these; a hub name")
    add_source_flags(made, "scans/MODEL/CORPUS")
    made.add_argument("--column", default="text", help="the column with the text, in a table (default: text)")
    add_engine_flags(made, "shards")
    add_settings(made, ScanSettings)
    return made


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a scan by its flags and return the exit status."""
    flags = parser().parse_args(arguments)
    return run_command("scan", lambda: _run(flags))


def _run(flags: Namespace) -> str:
    from headlight.app.scanning import scan  # here: --help answers without importing torch

    chosen = {each.name: getattr(flags, each.name) for each in fields(ScanSettings)}
    folder = scan(flags, ScanSettings(**{**chosen, "bos": bool(flags.bos)}))
    return f"The scan is in {folder}: the page Corpus opens it."


if __name__ == "__main__":
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    reuse_freed_memory()
    sys.exit(main())

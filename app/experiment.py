"""The command that measures a model over a set of prompts: `python -m headlight.app.experiment`, `make experiment`."""

import os
import sys
from argparse import ArgumentParser, Namespace, RawDescriptionHelpFormatter
from collections.abc import Sequence
from dataclasses import fields

from headlight.app.commands import add_engine_flags, add_settings, add_source_flags, run_command
from headlight.app.server.flags import flag
from headlight.model.base.allocator import reuse_freed_memory
from headlight.model.experiments.settings import ExperimentSettings

CIRCUIT = "circuit"  # beside the measures
CIRCUIT_FLAGS: dict[str, tuple[type, str]] = {  # of its settings, which are checked where torch is imported
    "method": (str, "eap_ig_inputs (default), eap, eap_ig_activations, clean_corrupted, exact or flow"),
    "baseline": (str, "what comes along an edge that is left out: pair (default), mean, mean_by_position or zero"),
    "unit": (str, "what a circuit is chosen from: edges (default), nodes or neurons"),
    "share": (float, "its size as a share of them: 0.01 (default), or another one from 0.001 to 1 of MIB's"),
    "selection": (str, "top (default) takes the largest scores, greedy those that lead to the logits"),
    "steps": (int, "gradients on the way of EAP-IG (default: 5)"),
    "held_out": (float, "share of the rows that circuits are measured on (default: 0.5)"),
}

DESCRIPTION = """Measure a model over a set of pairs of prompts: patching, attributions, ablations, with intervals.

The folder that is written is opened by the page *Experiments*, with the table of means beside it as means.csv. Given
again after it was stopped, however that was, the command goes on where it had been.

With --measure circuit it is the circuit behind the answers: scored on some rows, measured on the others (curve.csv,
areas.csv), resampled (circuit.csv, overlaps.csv), and written as EAP-IG's circuit.json and circuit.pt."""


def parser() -> ArgumentParser:
    """The flags, with what `--help` says of each."""
    made = ArgumentParser("experiment", description=DESCRIPTION, formatter_class=RawDescriptionHelpFormatter)
    made.add_argument("model", help="a model's name, folder, file or hub name")
    made.add_argument("pairs", help="a set: .csv, .tsv, .jsonl, .json, .parquet; a folder of datasets; a hub name")
    made.add_argument("--with-space", action="store_true", help="put a space before answers that begin without one")
    add_source_flags(made, "experiments/MODEL/PAIRS/MEASURE-PART")
    add_engine_flags(made, "batches")
    add_settings(made, ExperimentSettings, {"measure": [CIRCUIT]})
    of_circuit = made.add_argument_group("of --measure circuit")
    for name, (kind, help) in CIRCUIT_FLAGS.items():
        of_circuit.add_argument(flag(name), type=kind, help=help)
    return made


def main(arguments: Sequence[str] | None = None) -> int:
    """Run an experiment by its flags and return the exit status."""
    flags = parser().parse_args(arguments)
    return run_command("experiment", lambda: _run(flags))


def _run(flags: Namespace) -> str:
    from headlight.app import circuit_experimenting, experimenting  # here: --help answers without importing torch

    chosen = {each.name: getattr(flags, each.name) for each in fields(ExperimentSettings)} | {"bos": bool(flags.bos)}
    if flags.measure == CIRCUIT:
        own = {name: getattr(flags, name) for name in CIRCUIT_FLAGS if getattr(flags, name) is not None}
        settings = ExperimentSettings(**{**chosen, "measure": "patching"})
        folder = circuit_experimenting.circuit_experiment(flags, settings, own)
    else:
        folder = experimenting.experiment(flags, ExperimentSettings(**chosen))
    return f"The experiment is in {folder}: the page Experiments opens it."


if __name__ == "__main__":
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    reuse_freed_memory()
    sys.exit(main())

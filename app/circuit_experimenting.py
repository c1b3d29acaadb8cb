"""The circuit of a set as the command makes it: its bar, what it will take, its tables and its files."""

import sys
from argparse import Namespace
from pathlib import Path

from tqdm import tqdm

from headlight.app.experimenting import EXPERIMENTS, opened, say
from headlight.app.exports.csv_files import csv_bytes
from headlight.app.scanning import spelled
from headlight.model.circuits.files import write_circuit
from headlight.model.circuits.settings import CircuitSettings
from headlight.model.circuits.study import as_file, circuit_study_tables
from headlight.model.circuits.study_plan import measure_passes, score_passes
from headlight.model.corpus.disk import write_whole
from headlight.model.experiments.circuit_results import CircuitFolder, clear
from headlight.model.experiments.cost import seconds_per_token
from headlight.model.experiments.settings import ExperimentSettings


def circuit_experiment(flags: Namespace, settings: ExperimentSettings, own: dict[str, object]) -> Path:
    """Score and measure the rows of a set that are left, and give the folder.

    Args:
        flags: the command's flags.
        settings: the settings that circuits share with measures.
        own: the settings of circuits alone, by name.

    Raises:
        HeadlightError: a model or set is missing or has no such circuit.
    """
    shared = {name: getattr(settings, name) for name in ("metric", "only_correct", "rows", "seed")}
    circuit_settings = CircuitSettings(**{**own, **shared})
    model, token_set = opened(flags, settings)
    name = f"circuit-{circuit_settings.method}-{circuit_settings.baseline}-{circuit_settings.unit}"
    folder: Path = flags.out or EXPERIMENTS / Path(flags.model).name / Path(flags.pairs).name / name
    if flags.restart:
        clear(folder)
    model = model.to(settings.device)
    run = CircuitFolder(model, token_set, circuit_settings, folder)
    train, held_out = run.plan.train, run.plan.held_out
    passes = len(train) * score_passes(model.cfg, circuit_settings) + len(held_out) * measure_passes()
    seconds = passes * len(train[0].clean) * seconds_per_token(model, train[0].clean[None])
    say(
        f"{len(train):,} rows are scored and {len(held_out):,} held out; {len(run.plan.left_out):,} are left out. "
        f"About {spelled(seconds)} for all of them."
    )
    n_rows = len(train) + len(held_out)
    with tqdm(total=n_rows, unit="row", disable=None, file=sys.stderr, dynamic_ncols=True) as bar:
        study = run.run(lambda n_rows: bar.update(n_rows) and None)
    for table, columns in circuit_study_tables(study).items():
        write_whole(folder / f"{table}.csv", csv_bytes(columns))
    for suffix in (".json", ".pt"):
        write_circuit(folder / f"circuit{suffix}", as_file(study), model.cfg)
    return folder

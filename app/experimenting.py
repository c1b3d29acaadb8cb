"""An experiment as the command makes it: its bar, what it will take, who computes it, and its table."""

import csv
import io
import sys
from argparse import Namespace
from collections.abc import Callable
from pathlib import Path

from tqdm import tqdm

from headlight.app.scanning import engine, spelled
from headlight.model.checkpoints.loading import load
from headlight.model.corpus.disk import write_whole
from headlight.model.experiments.cost import estimate_seconds
from headlight.model.experiments.intervals import summarise
from headlight.model.experiments.measurement import Measurement
from headlight.model.experiments.results import TABLE, Experiment, clear
from headlight.model.experiments.running import Progress
from headlight.model.experiments.settings import ExperimentSettings
from headlight.model.experiments.tables import experiment_tables
from headlight.model.nn.transformer import Transformer
from headlight.model.prompt_sets.encoding import TokenSet, to_tokens
from headlight.model.prompt_sets.reading import read_prompt_set
from headlight.model.runs.run import tokenizer_of

EXPERIMENTS = Path("experiments")
MOST_REFUSED = 5  # rows that are listed one by one


def experiment(flags: Namespace, settings: ExperimentSettings) -> Path:
    """Measure the rows of a set that are left, and give the folder.

    Raises:
        HeadlightError: a model, set or engine is missing or does not work.
    """
    model, token_set = opened(flags, settings)
    name = f"{settings.measure}-{settings.part}"
    folder: Path = flags.out or EXPERIMENTS / Path(flags.model).name / Path(flags.pairs).name / name
    if flags.restart:
        clear(folder)
    run = Experiment(model.to(settings.device), token_set, settings, folder)
    run.begin()
    plan = run.plan()
    seconds = estimate_seconds(model, plan) / max(flags.workers, 1)
    say(f"{len(plan.rows):,} rows; about {spelled(seconds)} for all of them.")
    with tqdm(total=len(plan.rows), unit="row", disable=None, file=sys.stderr, dynamic_ncols=True) as bar:
        measurement = run.run(plan, lambda worker: engine(flags, worker), _watch(bar))
    write_whole(folder / TABLE, _csv(measurement, settings))
    return folder


def opened(flags: Namespace, settings: ExperimentSettings) -> tuple[Transformer, TokenSet]:
    """The model, and the set in its tokens, of which it is said which rows cannot be used.

    Raises:
        HeadlightError: one is missing, or no row can be used.
    """
    prompt_set = read_prompt_set(flags.pairs, split=flags.split)
    model = load(flags.model, flags.revision, dtype=settings.dtype)
    token_set = to_tokens(prompt_set, tokenizer_of(model), settings.bos, with_space=flags.with_space, cfg=model.cfg)
    token_set.check_usable()
    _say_rows(token_set)
    return model, token_set


def _watch(bar: tqdm) -> Callable[[Progress], None]:
    def watch(progress: Progress) -> None:
        bar.update(progress.done - bar.n)
        summary = summarise(progress.measurement.measure.values, "t")
        strongest = int(summary.mean.abs().nan_to_num(-1.0).argmax())
        bar.set_postfix_str(f"strongest mean {float(summary.mean.flatten()[strongest]):.3f}")

    return watch


def _say_rows(token_set: TokenSet) -> None:
    """Which rows are left out, and what is worth knowing of the others."""
    for why in list(token_set.refused.values())[:MOST_REFUSED]:
        say(why)
    if len(token_set.refused) > MOST_REFUSED:
        say(f"{len(token_set.refused) - MOST_REFUSED:,} more rows are left out.")
    for note in token_set.notes:
        say(note)


def say(text: str) -> None:
    """Write a line beside the command's bar."""
    print(text, file=sys.stderr)


def _csv(measurement: Measurement, settings: ExperimentSettings) -> bytes:
    """The table of every cell's mean with its interval."""
    table = experiment_tables(measurement, interval=settings.interval, seed=settings.seed)["cells"]
    text = io.StringIO()
    out = csv.writer(text, lineterminator="\n")
    out.writerow(table)
    out.writerows(zip(*table.values(), strict=True))
    return text.getvalue().encode()

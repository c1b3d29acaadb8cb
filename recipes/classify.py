"""Trains a classifier of texts on a trained model: the embedded `subject-number` on `mini`, or another on your csv.

`python -m headlight.recipes.classify` (`make train-classifier`) trains the embedded one, a head on
`mini`'s frozen body; with `--data reviews.csv --text review --label stars --model gpt2 --out folder` one on a csv
file's columns. With `--whole` the body is trained too. A run that was stopped goes on from its last checkpoint when
the same command is run again.
"""

import argparse
from pathlib import Path

import torch

from headlight.model.base.errors import TrainingError, exit_on_error
from headlight.model.checkpoints.loading import EMBEDDED, load
from headlight.model.nn.transformer import Transformer
from headlight.model.training.bag_of_words import bag_of_words_accuracy, majority_accuracy
from headlight.model.training.fine_tuning import FILE, Task, accuracy, classifier_from, fine_tune, save_classifier
from headlight.model.training.labelled import read_labelled, split
from headlight.model.training.log import keep_log
from headlight.model.training.loop import Settings
from headlight.model.training.outputs import check_out
from headlight.model.training.schedules import Cosine
from headlight.recipes.subject_number import CLASSES, examples

NAME, BODY = "subject-number", "mini"
N_TWINS, N_HELD_OUT_TWINS = 4000, 500
STEPS = 200
HEAD_RATE, WHOLE_RATE = 5e-2, 5e-4


def subject_number_task(seed: int) -> Task:
    """8000 beginnings of sentences about one thing or about several, and 1000 with nouns held out."""
    return Task(CLASSES, examples(N_TWINS, seed), examples(N_HELD_OUT_TWINS, seed, "held_out_fillers"))


def csv_task(path: Path, text: str, label: str, seed: int) -> Task:
    """A csv file's texts, a tenth of each label held out.

    Raises:
        TrainingError: the file cannot be used; the message says where and why.
    """
    examples = read_labelled(path, text, label)
    return Task(tuple(sorted({label for _, label in examples})), *split(examples, seed))


def settings_for(freeze: bool, steps: int = STEPS, seed: int = 0, rate: float | None = None) -> Settings:
    """A short warm-up, then half a cosine; a head alone takes a higher rate than a body that is to keep its skill."""
    peak = rate or (HEAD_RATE if freeze else WHOLE_RATE)
    schedule = Cosine(peak=peak, warmup=max(1, steps // 10), steps=steps)
    return Settings(steps=steps, schedule=schedule, measure_every=max(1, steps // 10), seed=seed)


def report(classifier: Transformer, task: Task) -> str:
    """Accuracy on the held-out texts, beside what needs no transformer."""
    baselines = {
        "the most frequent label": majority_accuracy(task.train, task.held_out),
        "logistic regression on counts of words": bag_of_words_accuracy(task.train, task.held_out),
    }
    beside = ", ".join(f"{name} {share:.3f}" for name, share in baselines.items())
    right = accuracy(classifier, task.classes, task.held_out)
    return f"Right of {len(task.held_out)} held-out texts: {right:.3f} ({beside})"


@exit_on_error()
def main() -> None:
    """Train from the command line and write the classifier's folder."""
    parser = argparse.ArgumentParser(description="Train a classifier of texts on a trained model.")
    parser.add_argument("--data", type=Path, help="a UTF-8 csv file with a header line; the project's own if left out")
    parser.add_argument("--text", default="text", help="the column that holds the texts")
    parser.add_argument("--label", default="label", help="the column that holds their classes")
    parser.add_argument("--model", default=BODY, help="an embedded model's name, a folder, a file or a hub name")
    parser.add_argument("--whole", action="store_true", help="train the body too, not only the head")
    parser.add_argument("--out", type=Path, help="the classifier's folder; the embedded one's if left out")
    parser.add_argument("--run", type=Path, help="where checkpoints and log are kept; runs/ and the folder's name")
    parser.add_argument("--steps", type=int, default=STEPS)
    parser.add_argument("--rate", type=float, help=f"highest learning rate; {HEAD_RATE:g}, with --whole {WHOLE_RATE:g}")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    arguments = parser.parse_args()
    if not arguments.out and (arguments.data or arguments.whole or arguments.model != BODY):
        parser.error("say by --out where your classifier is to be written")
    if arguments.steps < 1:
        parser.error(f"--steps is {arguments.steps}; it has to be 1 or more")
    if arguments.rate is not None and not arguments.rate > 0:
        parser.error(f"--rate is {arguments.rate:g}; it has to be greater than 0")

    torch.set_num_threads(arguments.threads)
    _train(arguments)


def _train(arguments: argparse.Namespace) -> None:
    seed, out = arguments.seed, arguments.out or EMBEDDED / NAME
    run = arguments.run or Path("runs") / out.name
    own = arguments.data is None
    check_out(out, FILE)
    if (out / "config.json").exists():
        raise TrainingError(f"{out} is a model's folder; with a classifier in it, it would not open. Name another.")
    task = subject_number_task(seed) if own else csv_task(arguments.data, arguments.text, arguments.label, seed)
    body = load(arguments.model).to(arguments.device)
    settings = settings_for(not arguments.whole, arguments.steps, seed, arguments.rate)
    classifier = classifier_from(body, len(task.classes), freeze=not arguments.whole)
    fine_tune(classifier, task, settings, run)
    keep_log(run, out)
    save_classifier(classifier, task.classes, out)
    print(report(classifier, task))


if __name__ == "__main__":
    main()

"""The card of the embedded classifier `subject-number`: its figures, beside those of untrained bodies and of words.

`python -m headlight.recipes.classify_card` prints them all, with a NAME one of them, and `--write`
(`make card-classifier`) writes the card. What it is compared with is trained for it, from each evaluation seed; that
takes a minute or less a training.
"""

import math
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from tempfile import TemporaryDirectory

from headlight.model.checkpoints.loading import EMBEDDED, load
from headlight.model.nn.transformer import Transformer
from headlight.model.training.bag_of_words import bag_of_words_accuracy, majority_accuracy
from headlight.model.training.cards import Card, Figure, command_line, megabytes
from headlight.model.training.fine_tuning import BATCH_SIZE, accuracy, classifier_from, fine_tune, load_classifier
from headlight.model.training.labelled import Example
from headlight.recipes.classify import (
    BODY,
    HEAD_RATE,
    N_HELD_OUT_TWINS,
    N_TWINS,
    NAME,
    STEPS,
    WHOLE_RATE,
    settings_for,
    subject_number_task,
)
from headlight.recipes.grammar import Split
from headlight.recipes.mini import new_model
from headlight.recipes.subject_number import (
    CLASSES,
    HELD_OUT_SUBJECT_FIRST,
    HELD_OUT_SUBJECT_LAST,
    SUBJECT_FIRST,
    SUBJECT_LAST,
    examples,
)

SHIPPED_SEED = 0

Measure = Callable[[Split, Transformer, int], float]
Bounds = tuple[float, float]  # for held-out nouns and for held-out templates
NO_LEAST, NO_MOST = (-math.inf, -math.inf), (math.inf, math.inf)


@cache
def held_out(split: Split, seed: int) -> list[Example]:
    """Held-out texts."""
    return examples(N_HELD_OUT_TWINS, seed, split)


def shipped(split: Split, classifier: Transformer, seed: int) -> float:
    """Accuracy of the classifier whose card this is."""
    return accuracy(classifier, CLASSES, held_out(split, seed))


def other(body: str, freeze: bool, split: Split, classifier: Transformer, seed: int) -> float:
    """Accuracy of one that is trained for comparison."""
    return accuracy(_trained(body, freeze, seed), CLASSES, held_out(split, seed))


@cache
def _trained(body: str, freeze: bool, seed: int) -> Transformer:
    """A classifier trained from the seed, on `mini`, or on a body of its shape as drawn from the seed."""
    model = load(BODY)
    if body == "untrained":
        tokenizer, model = model.tokenizer, new_model(seed)
        model.tokenizer = tokenizer
    classifier = classifier_from(model, len(CLASSES), freeze)
    with TemporaryDirectory() as run:
        fine_tune(classifier, subject_number_task(seed), settings_for(freeze, seed=seed), Path(run))
    return classifier


def words(split: Split, classifier: Transformer, seed: int) -> float:
    """Accuracy of logistic regression on counts of words."""
    return bag_of_words_accuracy(subject_number_task(seed).train, held_out(split, seed))


def majority(classifier: Transformer, seed: int) -> float:
    """Accuracy of saying always the same."""
    return majority_accuracy(subject_number_task(seed).train, held_out("held_out_fillers", seed))


def seen(classifier: Transformer, seed: int) -> float:
    """Number of held-out texts that were in the head's training data."""
    trained_on = {text for text, _ in subject_number_task(SHIPPED_SEED).train}
    splits: tuple[Split, ...] = ("held_out_fillers", "held_out_templates")
    return sum(text in trained_on for split in splits for text, _ in held_out(split, seed))


def _on_both(
    name: str, who: str, measure: Measure, at_least: Bounds = NO_LEAST, at_most: Bounds = NO_MOST
) -> dict[str, Figure[Transformer]]:
    """A figure on held-out nouns and one on held-out templates, each with its bound."""
    splits: dict[str, Split] = {"nouns": "held_out_fillers", "templates": "held_out_templates"}
    return {
        f"{name}_{what}": Figure(f"{who}, {what} held out", partial(measure, split), least, most)
        for (what, split), least, most in zip(splits.items(), at_least, at_most, strict=True)
    }


untrained_head, untrained_whole = partial(other, "untrained", True), partial(other, "untrained", False)
FIGURES: dict[str, Figure[Transformer]] = {
    **_on_both("head", "head on mini, its body frozen", shipped, at_least=(0.85, 0.65)),
    **_on_both("whole", "mini fine-tuned as a whole", partial(other, "mini", False), at_least=(0.97, 0.9)),
    **_on_both("untrained_head", "head on an untrained body, frozen", untrained_head, at_most=(0.6, 0.6)),
    **_on_both("untrained_whole", "an untrained body trained as a whole", untrained_whole, at_most=(0.6, 0.7)),
    **_on_both("words", "logistic regression on counts of words", words, at_most=(0.5, 0.5)),
    "majority": Figure("always the same answer", majority, at_most=0.5),
    "seen": Figure("held-out texts that training held", seen, at_most=0),
    "megabytes": Figure("size of the classifier's folder, MB", megabytes, at_most=0.1),
}


def open_classifier(source: str) -> Transformer:
    """The embedded classifier by name, or one in a folder."""
    embedded = EMBEDDED / source
    classifier, _ = load_classifier(embedded if embedded.is_dir() else Path(source), load(BODY))
    return classifier


def facts(classifier: Transformer, folder: Path) -> dict[str, object]:
    """Facts of the card's text besides its figures."""
    one, several = examples(1, SHIPPED_SEED)
    return {
        "body": BODY,
        "one": one[0],
        "several": several[0],
        "n_head": f"{sum(parameter.numel() for parameter in classifier.unembed.parameters()):,}",
        "n_train": f"{2 * N_TWINS:,}",
        "n_held_out": f"{2 * N_HELD_OUT_TWINS:,}",
        "n_templates": len(SUBJECT_FIRST) + len(SUBJECT_LAST),
        "n_held_out_templates": len(HELD_OUT_SUBJECT_FIRST) + len(HELD_OUT_SUBJECT_LAST),
        "n_steps": STEPS,
        "batch_size": BATCH_SIZE,
        "head_rate": f"{HEAD_RATE:g}",
        "whole_rate": f"{WHOLE_RATE:g}",
    }


TEMPLATE = Path(__file__).with_name("classify_card.md")
CARD = Card(NAME, "headlight.recipes.classify_card", FIGURES, open_classifier, TEMPLATE, facts)

if __name__ == "__main__":
    command_line(CARD)

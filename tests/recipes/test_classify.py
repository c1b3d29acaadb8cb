"""The embedded classifier does what its card says, on data whose label no single word gives away."""

import re
import sys
from collections import Counter, defaultdict
from dataclasses import replace
from pathlib import Path

import pytest

from headlight.model import Transformer, load
from headlight.model.checkpoints.loading import EMBEDDED
from headlight.model.training.bag_of_words import bag_of_words_accuracy
from headlight.model.training.cards import SEEDS, folder_of
from headlight.model.training.fine_tuning import accuracy, classifier_from, fine_tune, load_classifier, predict
from headlight.recipes import classify
from headlight.recipes.classify import BODY, NAME, settings_for, subject_number_task
from headlight.recipes.classify_card import FIGURES, held_out, open_classifier
from headlight.recipes.grammar import Split
from headlight.recipes.grammar.agreement import HELD_OUT_NOUNS
from headlight.recipes.grammar.words import ADJECTIVES, NOUNS
from headlight.recipes.mini import new_model
from headlight.recipes.subject_number import CLASSES, examples

SPLITS: tuple[Split, ...] = ("train", "held_out_fillers", "held_out_templates")
MEASURED_NOW = ("head_nouns", "head_templates", "words_nouns", "words_templates", "majority", "seen", "megabytes")

# The words that govern the noun phrase after them, so that it is not the subject of what follows.
GOVERNING = frozenset(
    """
    near behind beside of from between with by under below to around for like not after when see saw found know above
    opposite besides about
    """.split()  # noqa: SIM905
)


def words(text: str) -> list[str]:
    return re.findall(r"\w+", text)


def subject(text: str) -> str:
    """The noun that the verb has to agree with: the one whose article follows no word that governs it."""
    nouns, before = NOUNS.keys() | set(NOUNS.values()), words(text.lower())
    free = []
    for place, word in enumerate(before):
        if word in nouns:
            article = max(index for index in range(place) if before[index] == "the")
            if article == 0 or before[article - 1] not in GOVERNING:
                free.append(word)
    (match,) = free
    return match


@pytest.fixture(scope="module")
def classifier() -> Transformer:
    return open_classifier(NAME)


@pytest.fixture(scope="module")
def card(classifier: Transformer) -> dict[str, list[float]]:
    """What the card states: mean, lowest and highest value by figure."""
    text = (folder_of(classifier) / "README.md").read_text(encoding="utf-8")
    rows = re.findall(
        r"\| (\S+) \((\S+) to (\S+)\) \| yes \| "
        r"`python -m headlight\.recipes\.classify_card (\w+)` \|",
        text,
    )
    return {name: [float(value) for value in values] for *values, name in rows}


@pytest.mark.parametrize("split", SPLITS)
def test_the_label_is_the_number_of_the_subject(split: Split) -> None:
    for text, label in examples(500, 1, split):
        assert label == ("one" if subject(text) in NOUNS else "several"), text


@pytest.mark.parametrize("split", SPLITS)
def test_twins_have_the_same_words_and_different_labels(split: Split) -> None:
    """So whatever counts words, and nothing else, is right for exactly one of each two."""
    labels = defaultdict[tuple[str, ...], Counter[str]](Counter)
    for text, label in examples(500, 1, split):
        labels[tuple(sorted(words(text.lower())))][label] += 1
    assert all(of_bag["one"] == of_bag["several"] for of_bag in labels.values())
    assert bag_of_words_accuracy(examples(500, 0), examples(200, 1, split)) == 0.5


@pytest.mark.parametrize("split", SPLITS)
def test_the_last_noun_is_as_good_as_a_coin(split: Split) -> None:
    drawn = examples(500, 1, split)
    singular = [[word in NOUNS for word in words(text) if word in NOUNS or word in NOUNS.values()] for text, _ in drawn]
    assert all(sorted(numbers) == [False, True] for numbers in singular)
    by_last = [numbers[-1] == (label == "one") for numbers, (_, label) in zip(singular, drawn, strict=True)]
    assert sum(by_last) == 500


def test_what_is_held_out_is_in_no_training() -> None:
    held_out_words = HELD_OUT_NOUNS | {NOUNS[noun] for noun in HELD_OUT_NOUNS}
    trained = examples(4000, 0)
    assert len(dict(trained)) == len(trained)  # no text twice
    assert not any(held_out_words & set(words(text)) for text, _ in trained)
    for text, _ in examples(500, 1, "held_out_fillers"):
        assert len([word for word in words(text) if word in held_out_words]) == 2
    assert not dict(trained).keys() & dict(examples(500, 1, "held_out_templates")).keys()
    frames = {split: {frame(text) for text, _ in examples(4000, 0, split)} for split in SPLITS}
    assert len(frames["train"]) > 30
    assert len(frames["held_out_templates"]) == 10
    assert not frames["train"] & frames["held_out_templates"]
    assert frames["held_out_fillers"] == frames["train"]


def frame(text: str) -> str:
    """A text with its nouns and adjective left out."""
    return re.sub(rf"\b(?:{'|'.join((*NOUNS, *NOUNS.values(), *ADJECTIVES))})\b", "_", text).replace("_ _", "_")


def test_the_card_states_every_figure_and_each_is_kept(card: dict[str, list[float]]) -> None:
    assert set(card) == set(FIGURES)
    assert not [name for name, values in card.items() if not all(map(FIGURES[name].holds, values))]


@pytest.mark.thorough
@pytest.mark.parametrize("name", MEASURED_NOW)
def test_a_figure_measured_now_is_the_one_on_the_card(
    name: str, classifier: Transformer, card: dict[str, list[float]]
) -> None:
    _, lowest, highest = card[name]
    # Another machine's sums may turn a close call or two of a thousand; the card is written after its size is taken.
    slack = 0.003 if name != "megabytes" else 0.01
    assert lowest - slack <= FIGURES[name].measure(classifier, SEEDS[0]) <= highest + slack


def test_the_shipped_head_is_what_the_card_names(classifier: Transformer) -> None:
    """A few hundred numbers on a body that is mini's own, and the body without them knows nothing of the classes."""
    mini = load(BODY)
    assert sum(tensor.numel() for name, tensor in classifier.named_parameters() if name.startswith("unembed")) == 258
    for name, tensor in classifier.named_parameters():
        assert name.startswith("unembed") or tensor.equal(mini.get_parameter(name))
    new = classifier_from(mini, 2, freeze=True)
    assert accuracy(new, CLASSES, held_out("held_out_fillers", 1)) == 0.5
    assert predict(classifier, CLASSES, ["The key near the cups", "The keys near the cup"]) == ["one", "several"]


@pytest.mark.thorough
def test_a_few_steps_teach_mini_what_they_do_not_teach_an_untrained_body(tmp_path: Path) -> None:
    mini = load(BODY)
    untrained = new_model(1)
    untrained.tokenizer = mini.tokenizer
    whole = subject_number_task(1)
    task = replace(whole, train=whole.train[:1280], held_out=whole.held_out[:400])
    reached = {}
    for name, body in {"mini": mini, "untrained": untrained}.items():
        classifier = classifier_from(body, 2, freeze=True)
        fine_tune(classifier, task, settings_for(freeze=True, steps=20), tmp_path / name)
        reached[name] = accuracy(classifier, CLASSES, task.held_out)
    assert reached["mini"] > 0.8
    assert reached["untrained"] < 0.6  # of 400 coins, four standard deviations above a half


def command(monkeypatch: pytest.MonkeyPatch, *arguments: object) -> None:
    monkeypatch.setattr(sys, "argv", ["classify", *map(str, arguments), "--threads", "1", "--device", "cpu"])
    classify.main()


@pytest.mark.thorough
@pytest.mark.parametrize("how", [(), ("--whole",)], ids=["head", "whole"])
def test_the_command_trains_on_ones_own_csv(
    how: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [
        f"The {noun} is here,thing\nThey {verb} now,deed" for noun, verb in zip(NOUNS, "abcdefghijkl", strict=False)
    ]
    (tmp_path / "ours.csv").write_text("\n".join(["what,kind", *rows]), encoding="utf-8")
    columns = ("--data", tmp_path / "ours.csv", "--text", "what", "--label", "kind")
    command(
        monkeypatch, *columns, "--out", tmp_path / "out", "--run", tmp_path / "run", "--steps", 20, "--rate", 0.01, *how
    )
    assert "Right of 2 held-out texts: 1.000 (the most frequent label 0.500, " in capsys.readouterr().out
    assert {path.name for path in (tmp_path / "out").iterdir()} == {"classifier.safetensors", "training_log.csv"}
    opened, classes = load_classifier(tmp_path / "out", load(BODY))
    assert classes == ("deed", "thing")
    assert predict(opened, classes, ["The duck is here"]) == ["thing"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--data", "ours.csv"], "say by --out where"),
        (["--whole"], "say by --out where"),
        (["--model", "gpt2"], "say by --out where"),
        (["--rate", "0"], "--rate is 0; it has to be greater than 0"),
        (["--steps", "0"], "--steps is 0; it has to be 1 or more"),
    ],
)
def test_a_command_that_cannot_be_meant_is_refused(
    arguments: list[str], message: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    before = (EMBEDDED / NAME / "classifier.safetensors").read_bytes()
    with pytest.raises(SystemExit):
        command(monkeypatch, *arguments)
    assert message in capsys.readouterr().err
    assert (EMBEDDED / NAME / "classifier.safetensors").read_bytes() == before


def test_bad_data_and_models_end_the_command_with_their_message(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "ours.csv").write_text("text,label\na,x\nb,x\n", encoding="utf-8")
    with pytest.raises(SystemExit, match=r"ours\.csv has one label, 'x'"):
        command(monkeypatch, "--data", tmp_path / "ours.csv", "--out", tmp_path / "out")
    with pytest.raises(SystemExit, match=r"There is no folder, file or model 'minni'\. Nearest: mini"):
        command(monkeypatch, "--model", "minni", "--out", tmp_path / "out")
    assert not (tmp_path / "out").exists()

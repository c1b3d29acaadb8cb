"""The command that trains on two files, from the text to a folder that opens."""

import sys
from itertools import product
from pathlib import Path

import pytest

from headlight.model.checkpoints.loading import load_seq2seq
from headlight.model.decoding import greedy
from headlight.model.training.log import read_rows
from headlight.model.training.train_seq2seq import held_out_scores
from headlight.recipes import translate

GERMAN = [["der Hund", "die Katze", "das Kind"], ["sieht", "hört", "mag"], ["den Ball", "die Frau", "das Haus"]]
ENGLISH = [["the dog", "the cat", "the child"], ["sees", "hears", "likes"], ["the ball", "the woman", "the house"]]


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    for name, parts in (("text.de", GERMAN), ("text.en", ENGLISH)):
        (tmp_path / name).write_text("".join(f"{' '.join(words)}.\n" for words in product(*parts)), encoding="utf-8")
    return ["--source", str(tmp_path / "text.de"), "--target", str(tmp_path / "text.en")]


def command(monkeypatch: pytest.MonkeyPatch, *arguments: object) -> None:
    monkeypatch.setattr(sys, "argv", ["translate", *map(str, arguments), "--threads", "1"])
    translate.main()


@pytest.mark.thorough
def test_two_files_become_a_model_that_has_begun_to_learn(
    files: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "model"
    job = translate.parallel_text_job(Path(files[1]), Path(files[3]), steps=6, seed=0)
    loss, _ = held_out_scores(job.model.eval(), job.data)
    command(monkeypatch, *files, "--out", out, "--run", tmp_path / "run", "--steps", 6)
    (row,) = read_rows(out / "training_log.csv")
    assert row["held_out_loss"] < 0.7 * loss
    model = load_seq2seq(out)
    assert held_out_scores(model, job.data)[0] == pytest.approx(row["held_out_loss"], rel=1e-5)  # the log's six digits
    assert model.source_tokenizer is not None
    assert model.source_tokenizer.to_string(model.to_source_tokens("die Frau hört")) == "die Frau hört</s>"
    (written,) = greedy(model, model.to_source_tokens("die Frau hört"), max_new_tokens=5)
    assert len(written.tokens) > 0


def test_what_cannot_be_trained_on_ends_the_command_with_its_reason(
    files: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path(files[1]).write_text("ein Satz\n", encoding="utf-8")
    with pytest.raises(SystemExit, match=r"text\.de has 1 lines and text\.en 27"):
        command(monkeypatch, *files, "--out", tmp_path / "model")
    assert not (tmp_path / "model").exists()


@pytest.mark.parametrize(("dropped", "message"), [
    (slice(2, 4), "--source and --target belong together"),
    (slice(4, 6), "--out is needed"),
    (slice(0, 0), "--steps is 0"),
])  # fmt: skip
def test_a_command_that_lacks_something_says_what(
    files: list[str], dropped: slice, message: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = [*files, "--out", "model", "--steps", "0"]
    del arguments[dropped]
    with pytest.raises(SystemExit):
        command(monkeypatch, *arguments)
    assert message in capsys.readouterr().err

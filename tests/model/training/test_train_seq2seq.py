"""Training an encoder-decoder: the loss, what is measured, and a run that is killed."""

import csv
import io
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from headlight.model.base.errors import TrainingError
from headlight.model.training.buckets import Bucketed
from headlight.model.training.pairs import pad_pairs
from headlight.model.training.schedules import InverseSqrt
from headlight.model.training.train_seq2seq import Seq2SeqRecipe, held_out_scores, new_model
from tests.model.training.killed_run import CFG, SETTINGS, copies, run
from tests.places import ROOT


def rows(folder: Path) -> list[dict[str, str]]:
    with (folder / "log.csv").open() as file:
        return list(csv.DictReader(file))


def log_probabilities(seed: int) -> list[tuple[torch.Tensor, torch.Tensor]]:
    """Each pair alone, without padding: log-probabilities [target, d_vocab] and the tokens that they foretell."""
    model = new_model(replace(CFG, dropout=0.0), seed)
    pairs = []
    for source, target in copies(6):
        inputs = torch.tensor([[0, *target[:-1]]])
        pairs.append((model(torch.tensor([source]), inputs)[0].log_softmax(-1), torch.tensor(target)))
    return pairs


def test_the_loss_is_smoothed_cross_entropy_over_the_real_target_tokens() -> None:
    recipe = Seq2SeqRecipe(CFG, Bucketed(copies(6), [], 6, seed=0), SETTINGS)
    model = new_model(replace(CFG, dropout=0.0), seed=3)
    expected = torch.cat([  # 0.9 on the right token and 0.1 spread over all 20, the right one among them
        -(0.9 * logs.gather(1, target[:, None])[:, 0] + 0.1 * logs.mean(1)) for logs, target in log_probabilities(3)
    ])  # fmt: skip
    # Sums over padded and unpadded rows in float32.
    torch.testing.assert_close(recipe.loss(model, pad_pairs(copies(6)), 0), expected.mean(), rtol=1e-5, atol=0)


def test_held_out_pairs_are_measured_without_smoothing_and_without_padding() -> None:
    model = new_model(replace(CFG, dropout=0.0), seed=3)
    loss, accuracy = held_out_scores(model, Bucketed([], copies(6), 4, seed=0))
    pairs = log_probabilities(3)
    logs, targets = torch.cat([logs for logs, _ in pairs]), torch.cat([target for _, target in pairs])
    assert loss == pytest.approx(-logs.gather(1, targets[:, None]).mean().item(), rel=1e-5)
    assert accuracy == pytest.approx((logs.argmax(1) == targets).float().mean().item())


def test_a_run_that_was_killed_and_resumed_has_the_weights_of_one_that_was_not(tmp_path: Path) -> None:
    """Weights, dropout and the order of the data go on to the last bit; the log has every row once."""
    whole = run(tmp_path / "whole")
    process = subprocess.Popen([sys.executable, "-m", "tests.model.training.killed_run", tmp_path / "killed"], cwd=ROOT)
    while not (tmp_path / "killed" / "checkpoint.pt").exists():
        assert process.poll() is None
        time.sleep(0.01)
    time.sleep(0.12)  # two steps or so beyond the checkpoint
    process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    assert 1 <= len(rows(tmp_path / "killed")) < 5
    resumed = run(tmp_path / "killed")
    for name, parameter in whole.state_dict().items():
        assert resumed.state_dict()[name].equal(parameter), name
    kept = [{**row, "tokens_per_second": ""} for row in rows(tmp_path / "whole")]
    assert [{**row, "tokens_per_second": ""} for row in rows(tmp_path / "killed")] == kept
    assert [row["step"] for row in kept] == ["5", "10", "15", "20", "25"]


def test_what_was_logged_after_the_last_checkpoint_is_logged_once(tmp_path: Path) -> None:
    """A kill between log and checkpoint, and in the middle of a line."""
    short = replace(SETTINGS, steps=10)
    run(tmp_path, settings=replace(SETTINGS, steps=5))
    with (tmp_path / "log.csv").open("a") as file:
        file.write("10,1,1,1,1,1,1,1\n15,1")
    run(tmp_path, settings=short)
    assert [row["step"] for row in rows(tmp_path)] == ["5", "10"]
    assert float(rows(tmp_path)[1]["loss"]) != 1


def test_the_log_says_how_much_is_padding(tmp_path: Path) -> None:
    run(tmp_path, settings=replace(SETTINGS, steps=10, measure_every=10))
    (row,) = rows(tmp_path)
    pairs = copies(100)[20:]
    batches = [Bucketed(pairs, [], batch_size=8, seed=0).indices(step) for step in range(10)]
    longest = [[max(len(pairs[index][side]) for index in batch) for side in (0, 1)] for batch in batches]
    positions = sum(8 * (source + 1 + target) for source, target in longest)  # 1 for the start token
    tokens = sum(len(source) + 1 + len(target) for source, target in pairs)
    assert float(row["padding_per_sentence"]) == pytest.approx((positions - tokens) / 160, rel=1e-4)  # six digits
    assert float(row["tokens_per_step"]) == pytest.approx(tokens / 10, rel=1e-4)


def test_a_rate_that_is_far_too_high_stops_the_run_and_says_what_to_do(tmp_path: Path) -> None:
    wild = replace(SETTINGS, schedule=InverseSqrt(peak=1e30, warmup=1))
    with pytest.raises(TrainingError, match=r"is nan at step \d+, at a learning rate of .*Lower the rate"):
        run(tmp_path, settings=wild)
    assert not (tmp_path / "checkpoint.pt").exists()


def test_a_checkpoint_of_other_data_or_another_seed_is_refused(tmp_path: Path) -> None:
    run(tmp_path, settings=replace(SETTINGS, steps=1))
    with pytest.raises(TrainingError, match=r"another seed\. Give another run folder, or delete"):
        run(tmp_path, settings=replace(SETTINGS, seed=1))
    (tmp_path / "checkpoint.pt").write_bytes(b"PK")
    with pytest.raises(TrainingError, match="is damaged"):
        run(tmp_path)


def test_a_terminal_sees_loss_and_speed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setattr(sys, "stderr", screen := Terminal())
    run(tmp_path, settings=replace(SETTINGS, steps=3))
    assert "3/3" in screen.getvalue()
    assert "loss 3." in screen.getvalue()
    assert "tokens/s" in screen.getvalue()

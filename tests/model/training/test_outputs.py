"""No command that trains or measures replaces a file that it has not written itself."""

import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from headlight.model import load
from headlight.model.base.errors import CheckpointError, TrainingError, WriteError
from headlight.model.base.files import replacing, write_text
from headlight.model.checkpoints.families.headlight import save_transformer
from headlight.model.checkpoints.gpt2_export import save_gpt2
from headlight.model.training.cards import fill
from headlight.model.training.dictionaries.__main__ import main as train_dictionary
from headlight.model.training.log import LOG, TRAINING_LOG, drop_rows_after
from headlight.model.training.loop import train
from headlight.model.training.outputs import check_out
from headlight.recipes import bpe, classify, lenses, mini, mini_llama, reverse, translate
from tests.model.training.test_loop import TinyRecipe, new_model
from tests.places import ROOT

HEAD = "step,tokens_per_step,loss,tokens_per_second\n"
LOGS = ("assets/models/*/*.csv", "assets/lenses/*/*/*.csv", "assets/dictionaries/*/*/training_log.csv")
HOOK = "blocks.0.hook_resid_post"
README = str(ROOT / "README.md")


@pytest.mark.parametrize(
    ("command", "arguments", "file"),
    [
        (lambda: mini.main("mini", mini.CONFIG, save_gpt2), [], "model.safetensors"),
        (lambda: mini.main("mini-llama", mini_llama.CONFIG, save_transformer), [], "config.json"),
        (reverse.main, [], "source_tokenizer.json"),
        (translate.main, [], "config.json"),
        (classify.main, [], classify.FILE),
        (classify.main, [], "config.json"),  # a model, which would open no more
        (classify.main, [], TRAINING_LOG),
        (lenses.main, ["mini"], "tuned/params.pt"),
        (lenses.main, ["mini"], "README.md"),
        (lenses.main, ["mini", "--card"], "figures.json"),
        (train_dictionary, ["mini", HOOK], f"{HOOK}/cfg.json"),
        (bpe.main, [], "tokenizer_config.json"),
    ],
)
def test_a_command_refuses_a_folder_with_files_that_it_has_not_written(
    command: Callable[[], None], arguments: list[str], file: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out, run = tmp_path / "out", ["--run", str(tmp_path / "run")] if command is not bpe.main else []
    write_text(out / file, "mine")
    monkeypatch.setattr(sys, "argv", ["command", *arguments, "--out", str(out), *run])
    with pytest.raises(SystemExit) as ended:
        command()
    assert "folder" in str(ended.value)
    assert Path(file).name in str(ended.value) or "model's folder" in str(ended.value)
    assert [path.read_text() for path in out.rglob("*") if path.is_file()] == ["mine"]


def test_what_an_earlier_training_left_is_replaced(tmp_path: Path) -> None:
    write_text(tmp_path / "weights", "old")
    with pytest.raises(TrainingError):
        check_out(tmp_path, "weights")
    write_text(tmp_path / TRAINING_LOG, f"{HEAD}1,2,3,4\n")
    check_out(tmp_path, "weights")
    check_out(tmp_path / "new", "weights")
    with pytest.raises(TrainingError, match="is no folder"):
        check_out(tmp_path / "weights", "weights")


def test_the_log_of_every_training_that_is_shipped_tells_whose_it_is() -> None:
    paths = [path for pattern in LOGS for path in ROOT.glob(pattern)]
    assert len(paths) > 8
    for path in paths:
        check_out(path.parent)


@pytest.mark.parametrize("text", ["epoch,loss\n1,2\n", "step,loss\n1,2\n", "notes\n"])
def test_another_programs_log_in_the_folder_of_a_run_is_left_as_it_is(text: str, tmp_path: Path) -> None:
    (tmp_path / LOG).write_text(text)
    with pytest.raises(TrainingError, match="another --run"):
        train(new_model(), TinyRecipe(steps=2), tmp_path)
    assert (tmp_path / LOG).read_text() == text
    (tmp_path / LOG).write_text(f"{HEAD}2,1,1,1\n4,1,1,1\n6,1,")
    drop_rows_after(tmp_path, 2)
    assert (tmp_path / LOG).read_text() == f"{HEAD}2,1,1,1\n"


def test_a_card_replaces_its_like_alone(tmp_path: Path) -> None:
    template = tmp_path / "template.md"
    template.write_text("---\nlibrary_name: headlight\n---\n\n# Lenses of `$name`\n\n$text\n")
    for text in ("one", "two"):
        fill(template, tmp_path, {"name": "mini", "text": text})
        assert text in (tmp_path / "README.md").read_text()
    for mine in ("# My model\n", "# Lenses of `mini-llama`\n", ""):
        (tmp_path / "README.md").write_text(mine)
        with pytest.raises(TrainingError, match="not replaced"):
            fill(template, tmp_path, {"name": "mini", "text": "one"})
        assert (tmp_path / "README.md").read_text() == mine


def test_a_model_is_saved_over_one_of_its_kind_alone(tmp_path: Path) -> None:
    model = load("mini")
    save_gpt2(model, tmp_path)
    save_gpt2(model, tmp_path)
    before = (tmp_path / "config.json").read_bytes()
    with pytest.raises(CheckpointError, match=r"holds a 'gpt2'.*another folder"):
        save_transformer(model, tmp_path)
    assert (tmp_path / "config.json").read_bytes() == before


def test_a_file_is_replaced_whole_or_not_at_all_and_never_through_a_link(tmp_path: Path) -> None:
    mine, path = tmp_path / "mine", tmp_path / "config.json"
    mine.write_text("mine")
    (tmp_path / ".config.json.part").symlink_to(mine)  # where a killed run would have left its half
    path.symlink_to(mine)
    write_text(path, "ours")
    assert (mine.read_text(), path.read_text(), path.is_symlink()) == ("mine", "ours", False)

    def fail() -> None:
        with replacing(path) as beside:
            beside.write_text("half")
            raise OSError("full")

    with pytest.raises(WriteError, match=r"config\.json cannot be written \(the disk may be full\)"):
        fail()
    assert path.read_text() == "ours"
    assert {each.name for each in tmp_path.iterdir()} == {"mine", "config.json"}


def test_weights_that_are_in_use_outlive_their_file(tmp_path: Path) -> None:
    """Loaded tensors are views of the file: written over in place, they would change, or end the process."""
    save_gpt2(load("mini"), tmp_path)
    opened = load(str(tmp_path), attention_dir="causal")
    before = opened.embed.W_E.clone()
    other = load("mini")
    other.load_state_dict({name: torch.zeros_like(tensor) for name, tensor in other.state_dict().items()})
    save_gpt2(other, tmp_path)
    assert opened.embed.W_E.equal(before)

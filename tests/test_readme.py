"""What the README says is so."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from headlight.app.server.flags import FIELDS, default_text, flag
from tests.places import ROOT

README = (ROOT / "README.md").read_text(encoding="utf-8")


def _block(language: str, place: int = 0) -> str:
    return re.findall(rf"```{language}\n(.*?)```", README, re.DOTALL)[place]


def test_the_example_runs_and_finds_a_head_that_matters() -> None:
    """In a process of its own, as a reader would run it."""
    run = subprocess.run([sys.executable, "-c", _block("python")], cwd=ROOT, capture_output=True, text=True, check=True)
    said = r"L\dH\d looks .* weight (0\.\d\d)\nnext is ' \w+' at (\d+)%, without this head at (\d+)%\n"
    found = re.fullmatch(said, run.stdout)
    assert found
    assert float(found[1]) > 0.5
    assert int(found[3]) < int(found[2])


def test_the_example_of_an_encoder_decoder_translates() -> None:
    command = [sys.executable, "-c", _block("python", 1)]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert run.stdout == "Today the old man sees the small dog.\ntorch.Size([1, 4, 10, 10])\n"


def test_the_example_is_as_short_as_it_says() -> None:
    assert len([line for line in _block("python").splitlines() if line]) <= 15


def test_the_tree_names_what_is_there() -> None:
    folder = ""
    for line in _block("text").splitlines():
        name = line.split()[0]
        if not line.startswith(" "):
            folder = name
        assert (ROOT / (name if name == folder else folder + name)).exists(), line


@pytest.mark.parametrize("link", re.findall(r"\]\(([^)#:]+)\)|(?:src|srcset)=\"([^\"]+)\"", README), ids="".join)
def test_every_link_leads_to_a_file(link: tuple[str, str]) -> None:
    assert (ROOT / "".join(link)).is_file()


@pytest.mark.parametrize("card", sorted(ROOT.glob("assets/*/**/README.md")), ids=lambda card: card.parent.name)
def test_every_file_that_a_card_names_exists(card: Path) -> None:
    paths = re.findall(r"`((?:app|assets|model|tests)/[\w./-]+)`", card.read_text(encoding="utf-8"))
    assert [path for path in paths if not (ROOT / path).exists()] == []


def test_every_make_target_named_exists() -> None:
    targets = set(re.findall(r"(?:`|    )make ([a-z][a-z-]+)", README))
    assert {"run", "test"} <= targets
    environment = os.environ | {"MAKEFLAGS": ""}
    command = ["make", "-n", *targets, "TORCH_INDEX="]  # which takes a second to be found
    subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, check=True)


def test_every_setting_is_in_the_table_with_its_default_and_meaning() -> None:
    defaults = {each.name: f"`{default_text(each)}`" if default_text(each) else "none" for each in FIELDS.values()}
    rows = [
        f"| `{flag(name)}` | {text} | {FIELDS[name].metadata['about'].meaning} |" for name, text in defaults.items()
    ]
    assert [line for line in README.splitlines() if line.startswith("| `--")] == rows

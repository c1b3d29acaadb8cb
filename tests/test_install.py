"""What `make` and the Dockerfile do on a new machine, as far as it shows without a network."""

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from headlight.model.base.commands import make
from tests.places import ROOT, STREAMLIT_CONFIG

PIN = re.compile(r"[\w-]+==[\w.]+(; sys_platform [^#]+)?(  #.*)?")


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """What `make` reads, in a folder whose name has a space."""
    folder = tmp_path / "a clone"
    folder.mkdir()
    requirements = ("requirements.txt", "requirements-dev.txt", "requirements-docs.txt")
    for name in ("Makefile", *requirements, "pyproject.toml", "setup.py"):
        shutil.copy(ROOT / name, folder)
    return folder


def _make(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run make in a folder, with its own variables alone."""
    command = ["env", "-u", "MAKEFLAGS", "-u", "MAKELEVEL", "make", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def _installed(folder: Path) -> None:
    for name in (".venv/bin/python", ".venv/requirements", ".venv/installed"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).touch()


def test_a_new_clone_installs_only_what_the_application_needs(clone: Path) -> None:
    steps = _make(clone, "-n", "run", "TORCH_INDEX=").stdout
    assert "-m venv --clear .venv" in steps
    assert "pip install --requirement requirements.txt" in steps
    assert "requirements-dev.txt" not in steps


def test_the_manual_is_built_without_installing_the_application(clone: Path) -> None:
    steps = _make(clone, "-n", "docs", "TORCH_INDEX=").stdout
    assert "pip install --requirement requirements-docs.txt" in steps
    assert "mkdocs build --strict" in steps
    assert "requirements.txt" not in steps


def test_the_next_start_installs_nothing(clone: Path) -> None:
    _installed(clone)
    assert _make(clone, "-n", "run").stdout == ".venv/bin/python -m headlight.app \n"
    assert _make(clone, "-n", "run", "MODEL=gpt2").stdout == '.venv/bin/python -m headlight.app --model "$MODEL" \n'


@pytest.mark.parametrize("target", ["scan", "experiment", "fit-lens", "lens-card", "train-dictionary"])
def test_a_command_that_a_page_gives_runs_nothing_of_the_names_in_it(target: str, clone: Path) -> None:
    """The same shell and the same make, before a program that writes down what it is given."""
    name = "a b`touch ran`$(touch ran)$(shell touch ran)$HOME'\"; touch ran; #\n\ttouch ran\n\\"
    _installed(clone)
    python = clone / ".venv/bin/python"
    python.write_text(f"#!{sys.executable}\nimport json, sys\nopen('given', 'w').write(json.dumps(sys.argv[1:]))\n")
    python.chmod(0o755)
    for made in (".venv/requirements", ".venv/installed"):  # later than what they are made of
        (clone / made).touch()
    others = {"scan": {"CORPUS": name}, "experiment": {"PAIRS": name}, "train-dictionary": {"HOOK": "one two"}}.get(
        target, {}
    )
    command = make(target, "--features", name, MODEL=name, **others)
    environment = {key: value for key, value in os.environ.items() if not key.startswith("MAKE")}
    subprocess.run(["sh", "-c", f"{command} TORCH_INDEX="], cwd=clone, env=environment, check=True)
    assert not (clone / "ran").exists()
    arguments = json.loads((clone / "given").read_text())
    positional = {
        "scan": [name, name],
        "experiment": [name, name],
        "train-dictionary": [name, "one", "two"],
        "lens-card": [name, "--card"],
    }
    assert arguments[2:] == [*positional.get(target, [name]), "--features", name]


def test_a_second_server_finds_a_port() -> None:
    """Streamlit takes the next free port only where none is configured."""
    settings = tomllib.loads(STREAMLIT_CONFIG.read_text())
    assert "port" not in settings["server"]
    assert settings["server"]["address"] == "127.0.0.1"


def test_changed_requirements_are_installed(clone: Path) -> None:
    _installed(clone)
    with (clone / "requirements.txt").open("a") as file:
        file.write("another==1.0\n")
    assert "pip install" in _make(clone, "-n", "run", "TORCH_INDEX=").stdout


def test_an_index_for_torch_is_asked_besides_the_usual_one(clone: Path) -> None:
    assert (
        "--extra-index-url https://torch.example/cpu"
        in _make(clone, "-n", "setup", "TORCH_INDEX=https://torch.example/cpu").stdout
    )


def test_an_old_python_is_told_in_plain_words(clone: Path, tmp_path: Path) -> None:
    pretend = 'import sys; sys.version_info = (3, 9, 1, "final", 0); exec(sys.argv[2])'
    old = tmp_path / "python3.9"
    old.write_text(f"#!/bin/sh\nexec '{sys.executable}' -c '{pretend}' \"$@\"\n")
    old.chmod(0o755)
    run = _make(clone, "setup", f"PYTHON={old}")
    assert run.returncode != 0
    assert f"Headlight needs Python 3.11 or newer, and {old} is 3.9." in run.stderr
    assert not (clone / ".venv").exists()


@pytest.mark.parametrize("name", ["requirements.txt", "requirements-dev.txt", "requirements-docs.txt"])
def test_every_requirement_is_pinned(name: str) -> None:
    lines = [line for line in (ROOT / name).read_text().splitlines() if not line.startswith(("#", "-r "))]
    assert lines
    assert not [line for line in lines if not PIN.fullmatch(line)]


def test_the_container_takes_the_steps_of_make_run() -> None:
    dockerfile = (ROOT / "Dockerfile").read_text()
    command = re.findall(r"^CMD (.*)$", dockerfile, re.MULTILINE)
    assert "\nRUN make setup\nRUN make docs\n" in dockerfile
    assert _make(ROOT, "-n", "-o", "setup", "run").stdout.split() == re.findall(r'"([^"]+)"', command[0])


def test_the_lock_has_every_requirement_with_hashes_and_names_no_index() -> None:
    lock = (ROOT / "requirements.lock").read_text()
    assert "://" not in lock
    blocks = re.findall(r"^([\w-]+)==(\S+).*?((?:\n    --hash=sha256:[0-9a-f]{64}(?: \\)?)+)$", lock, re.MULTILINE)
    assert len(blocks) == len(re.findall(r"^[^#\s]", lock, re.MULTILINE))
    locked = {(name, version) for name, version, _ in blocks}
    pins = re.findall(r"^([\w-]+)==([\w.]+)", (ROOT / "requirements.txt").read_text(), re.MULTILINE)
    needed = {(name.replace("_", "-"), version) for name, version in pins if name != "torch"}
    assert needed <= locked
    assert not [name for name, _ in locked if re.match("torch$|triton$|cuda-|nvidia-", name)]


def test_hashes_are_compared_where_a_lock_is_named(clone: Path) -> None:
    shutil.copy(ROOT / "requirements.lock", clone)
    steps = _make(clone, "-n", ".venv/requirements", "LOCK=requirements.lock", "TORCH_INDEX=").stdout
    first, second = "--require-hashes --requirement requirements.lock", "--requirement requirements.txt"
    assert 0 < steps.index(first) < steps.index(second)
    assert "--require-hashes" not in _make(clone, "-n", ".venv/requirements", "TORCH_INDEX=").stdout


def test_the_server_in_a_container_owns_neither_its_code_nor_what_it_imports() -> None:
    lines = (ROOT / "Dockerfile").read_text().splitlines()
    user = lines.index("USER headlight")
    assert not [line for line in lines if "--chown" in line]
    assert not [line for line in lines[user:] if line.startswith(("COPY", "RUN", "USER root", "ADD"))]
    assert [line for line in lines[:user] if line.startswith("COPY")]


def test_images_and_actions_are_pinned() -> None:
    """An image by its full version, an action by its commit: no digest of an image is known here."""
    workflows = "\n".join(path.read_text() for path in (ROOT / ".github" / "workflows").glob("*.yml"))
    dockerfile = (ROOT / "Dockerfile").read_text()
    images = re.findall(r"(?:^FROM|^    container:) (\S+)", f"{dockerfile}\n{workflows}", re.MULTILINE)
    assert len(images) == 2
    assert all(re.fullmatch(r"python:\d+\.\d+\.\d+-(slim-)?bookworm", image) for image in images)
    actions = re.findall(r"uses: (\S+)", workflows)
    assert actions
    assert all(re.fullmatch(r"[\w-]+/[\w-]+@[0-9a-f]{40}", action) for action in actions)


def test_the_container_gets_every_folder_that_the_application_reads() -> None:
    kept = [line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")]
    assert {"app", "model", "assets", "Makefile", "requirements.txt"} < set(kept)
    assert {"docs", "mkdocs.yml", "requirements-docs.txt"} < set(kept)
    assert {"pyproject.toml", "setup.py", "__init__.py", "README.md"} < set(kept)
    assert not [name for name in kept if not (ROOT / name).exists()]

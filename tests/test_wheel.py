"""The wheel: what it holds, and that in an environment of its own, elsewhere, it is the whole program."""

import os
import shutil
import subprocess
import sys
from importlib.metadata import Distribution, distribution
from pathlib import Path
from zipfile import ZipFile

import pytest
import torch
from packaging.requirements import Requirement
from playwright.sync_api import Browser

from headlight import __version__
from headlight.app.pages.attention import EXPORT
from headlight.app.runs import comparisons
from headlight.app.selection import Selection
from tests.e2e.driver import Driver
from tests.places import ROOT
from tests.serving import headlight

pytestmark = [pytest.mark.thorough, pytest.mark.real]

SOURCES = ("app", "model", "assets", "LICENSES", "__init__.py", "py.typed", "pyproject.toml", "setup.py")
SOURCES += ("README.md", "LICENSE")
PROMPT = "The keys to the cabinet"


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built from a copy of the sources, since building leaves its own files beside them."""
    folder, clone = tmp_path_factory.mktemp("wheel"), tmp_path_factory.mktemp("built") / "a clone"
    clone.mkdir()
    for name in SOURCES:
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
        copy(ROOT / name, clone / name)
    _pip("wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", str(folder), str(clone))
    return next(folder.glob("*.whl"))


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The commands of an environment with the wheel in it, and what it needs from this one.

    Packages are found here by their folder alone: the .pth files in it, as that of an editable installation, are not
    read from there.
    """
    environment = tmp_path_factory.mktemp("environment")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(environment)], check=True)
    _pip("--python", str(environment / "bin" / "python"), "install", "--no-deps", str(wheel))
    (packages,) = environment.glob("lib/python*/site-packages")
    (packages / "needed.pth").write_text(f"{Path(torch.__file__).parents[1]}\n")
    return environment / "bin"


@pytest.fixture(scope="module")
def library(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the wheel, and with what it requires without an extra."""
    folder = tmp_path_factory.mktemp("library")
    ZipFile(wheel).extractall(folder)
    (metadata,) = folder.glob("*.dist-info")
    for name in _closure(Distribution.at(metadata).requires or []):
        for file in distribution(name).files or []:
            link = folder / file.parts[0]
            if file.parts[0] != ".." and not link.exists():
                link.symlink_to(distribution(name).locate_file(file.parts[0]))
    return folder


def _closure(requirements: list[str]) -> set[str]:
    """The distributions that these requirements name, apart from extras, and all that those require."""
    names, queue = set[str](), list(requirements)
    while queue:
        requirement = Requirement(queue.pop())
        wanted = requirement.marker is None or requirement.marker.evaluate({"extra": ""})
        if wanted and requirement.name not in names:
            names.add(requirement.name)
            queue += distribution(requirement.name).requires or []
    return names


def _pip(*arguments: str) -> None:
    offline = os.environ | {"PIP_NO_INDEX": "1", "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    subprocess.run([sys.executable, "-m", "pip", *arguments], env=offline, check=True, capture_output=True)


def _said(folder: Path, *command: str) -> str:
    run = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    return run.stdout


def test_it_holds_the_program_and_no_more(wheel: Path) -> None:
    names = ZipFile(wheel).namelist()
    members = {name.removeprefix("headlight/") for name in names if name.startswith("headlight/")}
    files = (path for folder in ("app", "model") for path in (ROOT / folder).rglob("*") if path.is_file())
    needed = (path for path in files if "__pycache__" not in path.parts and not path.name.startswith("tsconfig"))
    code = {path.relative_to(ROOT).as_posix() for path in needed}
    assert {name for name in members if not name.startswith("assets/")} == code | {"__init__.py", "py.typed"}
    assert {name.split("/")[1] for name in members if name.startswith("assets/")} == {
        "dictionaries",
        "icon.png",
        "lenses",
        "lessons",
        "logo.svg",
        "models",
        "prompts",
        "scans",
        "sets",
    }
    assert {name.split("/")[0] for name in names} == {"headlight", f"headlight-{__version__}.dist-info"}
    licences = {"LICENSE", *(f"LICENSES/{path.name}" for path in (ROOT / "LICENSES").iterdir())}
    assert {name.partition(".dist-info/licenses/")[2] for name in names} == licences | {""}


def test_the_command_says_what_it_takes(installed: Path, tmp_path: Path) -> None:
    assert _said(tmp_path, str(installed / "headlight"), "--help").startswith("usage: headlight ")
    assert _said(tmp_path, str(installed / "headlight"), "--version") == f"headlight {__version__}\n"


def test_the_library_runs_with_what_it_requires_and_without_the_page(library: Path, tmp_path: Path) -> None:
    """In a Python without its site-packages, since Streamlit is in those."""
    code = """if True:
        import headlight.model as library
        for name in library.__all__:
            getattr(library, name)
        tokens = library.run_prompt(library.load("mini"), "The keys to the cabinet").tokens
        print(library.__file__, len(tokens))
    """
    python, only_library = [sys.executable, "-S"], os.environ | {"PYTHONPATH": str(library)}
    run = subprocess.run([*python, "-c", code], cwd=tmp_path, env=only_library, capture_output=True, text=True)
    assert run.stdout.split() == [str(library / "headlight" / "model" / "__init__.py"), "8"], run.stderr
    page = subprocess.run(
        [*python, "-m", "headlight.app"], cwd=tmp_path, env=only_library, capture_output=True, text=True
    )
    assert page.returncode == 1
    assert page.stderr.startswith("The page needs more than the library: pip install 'headlight[app]'")


def test_a_script_of_the_page_runs_from_any_folder(installed: Path, tmp_path: Path) -> None:
    chosen = Selection(model="mini", prompt=PROMPT)
    (tmp_path / "script.py").write_text(EXPORT.script(comparisons.for_selection(chosen), chosen), encoding="utf-8")
    where = "import headlight; print(*headlight.__path__)"
    assert _said(tmp_path, str(installed / "python"), "-c", where).startswith(str(installed.parent))
    printed = _said(tmp_path, str(installed / "python"), "script.py")
    assert printed == _said(tmp_path, sys.executable, "script.py")
    assert len(printed.splitlines()) > 10


def test_the_page_is_served_from_any_folder(installed: Path, tmp_path: Path, browser: Browser) -> None:
    working = tmp_path / "elsewhere"
    working.mkdir()
    with headlight(tmp_path, command=[str(installed / "headlight")], working=working) as url:
        driver = Driver(browser, url)
        driver.open(prompt=PROMPT)
        style = "getComputedStyle(document.querySelector('[data-testid=stApp]')).fontFamily"
        assert driver.page.evaluate(style).startswith("Inter, system-ui")  # Streamlit has read our configuration
        loaded = "[...document.fonts].filter(font => font.status === 'loaded').map(font => font.family)"
        assert {name.strip('"') for name in driver.page.evaluate(loaded)} >= {"Inter", "JetBrains Mono"}
        driver.close()
        assert not driver.complaints
        assert not driver.outside
    assert not list(working.iterdir())

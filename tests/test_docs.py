"""What the README and the manual say is so: their code runs, what they name exists, and their tables are complete."""

import os
import re
import subprocess
from argparse import ArgumentParser
from pathlib import Path
from pkgutil import resolve_name

import pytest

from headlight.app import scan
from headlight.app.frame.view import View
from headlight.app.registry import VIEWS
from headlight.app.server.flags import FIELDS, default_text, flag
from headlight.model.checkpoints.families import FAMILIES, OWN, SEQ2SEQ_FAMILIES
from headlight.model.training.dictionaries import __main__ as dictionaries
from headlight.recipes import lenses
from tests.places import DOCS, ROOT

README = ROOT / "README.md"
PAGES = {page.relative_to(ROOT).as_posix(): page for page in (README, *sorted(DOCS.rglob("*.md")))}
TEXT = {name: page.read_text(encoding="utf-8") for name, page in PAGES.items()}
CODE = re.compile(r"^```python\n(.*?)^```\n(?:\n```text\n(.*?)^```\n)?", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"\]\(([^)#:\s]+)[^)]*\)|(?:src|srcset)=\"([^\"]+)\"")
MAX_README = 8192  # bytes: a screen and a half
SECTIONS = ["How to read it", "What it does not mean", "Formula", "Sources"]


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[pytest.mark.thorough] if "import GPT2" in text else [])  # of transformers: seconds
        for name, text in TEXT.items()
        if CODE.search(text)
    ],
)
def test_the_code_of_a_page_runs_and_prints_what_stands_below_it(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """One block after the other, as a reader would run them."""
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {"__name__": "__main__"}
    for block, printed in CODE.findall(TEXT[name]):
        exec(compile(block, name, "exec"), names)
        output = capsys.readouterr().out
        assert not printed or output == printed


def test_the_readme_is_a_screen_and_a_half_and_its_example_short() -> None:
    assert README.stat().st_size < MAX_README
    ((example, _),) = CODE.findall(TEXT["README.md"])
    assert len([line for line in example.splitlines() if line]) <= 12


def test_the_readme_has_a_line_for_every_page() -> None:
    rows = re.findall(r"^\| \[([^]]+)\]\(docs/pages/(\w+)\.md\) \| \w", TEXT["README.md"], re.MULTILINE)
    assert rows == [(view.title, view.slug) for view in VIEWS]


@pytest.mark.parametrize("view", VIEWS, ids=lambda view: view.slug)
def test_every_page_of_the_app_has_one_in_the_manual(view: View) -> None:
    text = TEXT[f"docs/pages/{view.slug}.md"]
    assert text.startswith(f"# {view.title}\n")
    assert re.findall(r"^## (.*)$", text, re.MULTILINE) == SECTIONS


def test_the_readme_counts_the_architectures() -> None:
    (counted,) = re.findall(r"(\d+) architectures", TEXT["README.md"])
    table = TEXT["docs/reference/architectures.md"].partition("<!-- end of architectures")[0]
    assert int(counted) == len(re.findall(r"^\| \w+ \| \d", table, re.MULTILINE))
    assert int(counted) <= len({*FAMILIES, *SEQ2SEQ_FAMILIES} - set(OWN))


def test_the_tree_names_what_is_there() -> None:
    (tree,) = re.findall(r"^```text\n(app/.*?)```", TEXT["docs/how-to/write-a-page.md"], re.DOTALL | re.MULTILINE)
    folder = ""
    for line in tree.splitlines():
        name = line.split()[0]
        if not line.startswith(" "):
            folder = name
        assert (ROOT / (name if name == folder else folder + name)).exists(), line


@pytest.mark.parametrize("name", PAGES)
def test_every_link_leads_to_a_file(name: str) -> None:
    for link in map("".join, LINK.findall(TEXT[name])):
        assert (PAGES[name].parent / link).is_file(), link


@pytest.mark.parametrize("page", [*PAGES.values(), *sorted(ROOT.glob("assets/*/**/README.md"))], ids=str)
def test_every_path_that_is_named_exists(page: Path) -> None:
    paths = re.findall(r"`((?:app|assets|docs|model|tests)/[\w./-]+)`", page.read_text(encoding="utf-8"))
    assert [path for path in paths if not (ROOT / path).exists()] == []


@pytest.mark.parametrize("name", PAGES)
def test_every_module_and_name_of_the_library_that_is_named_exists(name: str) -> None:
    for dotted in re.findall(r"`((?:headlight\.app|headlight\.model|tests)(?:\.\w+)+)`", TEXT[name]):
        assert resolve_name(dotted) is not None, dotted


def test_every_make_target_named_exists() -> None:
    text = "\n".join(TEXT.values())
    targets = set(re.findall(r"(?:`|    |do )make ([a-z][a-z-]+)", text))
    assert {"run", "test", "docs", "scan"} <= targets
    environment = os.environ | {"MAKEFLAGS": ""}
    command = ["make", "-n", *sorted(targets), "TORCH_INDEX="]  # which takes a second to be found
    subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, check=True)


def _rows(parser: ArgumentParser) -> list[str]:
    """A row for each flag of a command, as `--help` has it."""
    rows = []
    for action in parser._actions:
        if action.option_strings and action.dest != "help":
            help_text = (action.help or "") % {"default": action.default}
            meaning, _, default = help_text.removesuffix(")").partition(" (default: ")
            default = "1" if action.default is True else default or action.default or ""
            text = f"`{default}`" if default else "none"
            rows.append(f"| `{action.option_strings[0]}` | {text} | {meaning} |")
    return rows


@pytest.mark.parametrize(
    ("page", "heading", "parser"),
    [
        ("how-to/scan-a-corpus.md", "", scan.parser()),
        ("reference/training-commands.md", "## Train dictionaries", dictionaries.parser()),
        ("reference/training-commands.md", "## Fit lenses", lenses.parser()),
    ],
    ids=["scan", "train-dictionary", "fit-lens"],
)
def test_every_flag_of_a_command_is_in_the_table_with_its_default_and_meaning(
    page: str, heading: str, parser: ArgumentParser
) -> None:
    section = TEXT[f"docs/{page}"].partition(heading)[2] if heading else TEXT[f"docs/{page}"]
    section = section.partition("\n## ")[0] if heading else section
    assert [line for line in section.splitlines() if line.startswith("| `--")] == _rows(parser)


def test_every_setting_is_in_the_table_with_its_default_and_meaning() -> None:
    defaults = {each.name: f"`{default_text(each)}`" if default_text(each) else "none" for each in FIELDS.values()}
    rows = [
        f"| `{flag(name)}` | {text} | {FIELDS[name].metadata['about'].meaning} |" for name, text in defaults.items()
    ]
    settings = TEXT["docs/reference/settings.md"]
    assert [line for line in settings.splitlines() if line.startswith("| `--")] == rows

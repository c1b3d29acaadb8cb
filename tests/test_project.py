"""The files that describe the project agree with each other and with the code."""

import re

import pytest
import yaml

from headlight import __version__
from tests.places import ROOT


def _text(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def test_the_citation_names_this_version_and_holder() -> None:
    citation = yaml.safe_load(_text("CITATION.cff"))
    assert citation["version"] == __version__
    assert citation["license"] == _text("LICENSE").split()[0] == "MIT"
    assert f"Copyright (c) 2026 {citation['authors'][0]['name']}\n" in _text("LICENSE")


def test_the_changelog_begins_with_this_version() -> None:
    assert re.search(
        rf"^## \[(Unreleased\]\n\nWhat will be )?{re.escape(__version__)}\b", _text("CHANGELOG.md"), re.MULTILINE
    )


def test_every_file_that_the_license_names_exists() -> None:
    named = re.findall(r"`((?:assets|LICENSES)[\w./-]*)`", _text("LICENSE"))
    assert len(named) == 3
    assert all((ROOT / name).exists() for name in named)


@pytest.mark.parametrize("name", ["bug", "feature"])
def test_a_form_of_an_issue_has_what_is_required_of_one(name: str) -> None:
    content = yaml.safe_load(_text(f".github/ISSUE_TEMPLATE/{name}.yml"))
    assert content["name"]
    assert content["description"]
    assert {part["type"] for part in content["body"]} <= {"markdown", "textarea", "input", "dropdown", "checkboxes"}


def test_a_commit_is_checked_by_the_commands_of_make_check() -> None:
    (local,) = yaml.safe_load(_text(".pre-commit-config.yaml"))["repos"]
    makefile = _text("Makefile").replace("$(PY)", ".venv/bin/python").replace("$(NODE)", ".venv/bin/node")
    for hook in local["hooks"]:
        assert f"\t{hook['entry'].removesuffix(' --force-exclude')} " in makefile

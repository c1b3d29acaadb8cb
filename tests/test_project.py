"""The files that describe the project agree with each other and with the code."""

import re
import tomllib

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from headlight import __version__
from tests.places import ROOT
from tests.slow import Costs

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
# What `make` installs of a file of exact versions stands, as a range, in these lists of pyproject.toml.
RANGES_OF = {
    "": ("dependencies", "app", "gguf"),
    "-dev": ("dev",),
    "-devices": ("devices",),
    "-ray": ("ray",),
    "-docs": ("docs",),
}


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


def _requirements(lines: list[str]) -> dict[str, Requirement]:
    """The requirements of some lines, by their name; comments and other files apart."""
    requirements = (
        Requirement(line.partition("  #")[0]) for line in lines if line and not line.startswith(("#", "-r"))
    )
    return {canonicalize_name(each.name): each for each in requirements}


@pytest.mark.parametrize("file", RANGES_OF)
def test_the_exact_versions_lie_in_the_ranges(file: str) -> None:
    extras = {"dependencies": PROJECT["dependencies"], **PROJECT["optional-dependencies"]}
    ranges = _requirements([line for name in RANGES_OF[file] for line in extras[name]])
    pins = _requirements(_text(f"requirements{file}.txt").splitlines())
    ranges.pop("headlight", None)  # other extras of its own
    assert ranges.keys() == pins.keys() - ({"accelerate"} if file == "-dev" else set())
    for name, allowed in ranges.items():
        (pin,) = pins[name].specifier
        assert pin.operator == "=="
        assert allowed.specifier.contains(pin.version), name
        assert allowed.extras == pins[name].extras
        assert str(allowed.marker) == str(pins[name].marker)


@pytest.mark.parametrize("name", ["test", "release"])
def test_a_workflow_runs_targets_that_exist_and_may_write_only_where_it_says_so(name: str) -> None:
    workflow = yaml.safe_load(_text(f".github/workflows/{name}.yml"))
    assert workflow["permissions"] == {"contents": "read"}
    runs = [step["run"] for job in workflow["jobs"].values() for step in job["steps"] if "run" in step]
    targets = {run.removeprefix("make ") for run in runs if run.startswith("make ")}
    assert targets
    assert targets <= set(re.findall(r"^([\w-]+):", _text("Makefile"), re.MULTILINE))
    assert all(job["timeout-minutes"] for job in workflow["jobs"].values())


def test_every_supported_python_is_tested() -> None:
    matrix = yaml.safe_load(_text(".github/workflows/test.yml"))["jobs"]["quick"]["strategy"]["matrix"]
    assert matrix["os"] == ["ubuntu-latest", "macos-latest"]
    assert f">={matrix['python'][0]}" == PROJECT["requires-python"]


def test_every_test_that_is_listed_as_slow_exists() -> None:
    files = {path: path.read_text(encoding="utf-8") for path in (ROOT / "tests").rglob("test_*.py")}
    tests = {
        f"{path.name}::{name}" for path, text in files.items() for name in re.findall(r"^def (test_\w+)", text, re.M)
    }
    listed = [line for line in _text("tests/slow.txt").splitlines() if not line.startswith("#")]
    assert listed == sorted(set(listed) & tests)


def test_a_test_is_as_slow_as_what_it_needs_and_the_costliest_are_left_out_until_the_others_fit() -> None:
    def fixture() -> None:
        """Two tests share it, and it costs 5 s."""

    costs = Costs()
    costs.own |= {"quick": 1.0, "sharing": 0.1, "sharing, too": 2.0}
    costs.fixtures[fixture] = 5.0
    for test in ("sharing", "sharing, too"):
        costs.used[test].add(fixture)
    assert costs.total(list(costs.own)) == pytest.approx(8.1)  # the fixture once
    assert costs.slowest(budget=9) == []
    assert costs.slowest(budget=1.5) == ["sharing, too", "sharing"]


def test_every_path_and_command_of_the_guide_for_contributors_exists() -> None:
    guide = _text("CONTRIBUTING.md")
    folders = r"(?:app|assets|docs|model|recipes|tests|\.github|\.ci)"
    paths = re.findall(rf"(?<![\w/])({folders}/[\w./-]*\w)|`({folders}|[\w-]+\.(?:md|toml|txt|cff|py|lock))`", guide)
    named = {one or other for one, other in paths}
    assert len(named) > 30
    assert not [path for path in named if not (ROOT / path).exists()]
    targets = set(re.findall(r"\bmake ([a-z][a-z-]*[a-z])\b(?=`|,| {2,}|\n)", guide))
    assert len(targets) > 12
    assert targets <= set(re.findall(r"^([\w-]+):", _text("Makefile"), re.MULTILINE))

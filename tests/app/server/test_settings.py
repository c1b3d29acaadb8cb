"""Settings by flag, variable and file: which of them wins, and what each refuses."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path

import pytest
import streamlit

from headlight.app.__main__ import server_options
from headlight.app.runs import models
from headlight.app.server.flags import Settings, flag, parser, variable
from headlight.app.server.settings import SERVER, is_loopback, only_this_machine, read
from headlight.model.base.errors import ConfigError
from tests.places import ROOT

# Of every setting another value than its default: as text, and as it is to be read.
OTHER = {
    "model": ("gpt2", "gpt2"),
    "models_folder": (".", "."),
    "any_model": ("0", False),
    "device": ("cuda", "cuda"),
    "dtype": ("bfloat16", "bfloat16"),
    "threads": ("3", 3),
    "workers": ("2", 2),
    "models_gib": ("0.5", 0.5),
    "cache_gib": ("2", 2.0),
    "run_gib": ("1e-1", 0.1),
    "run_seconds": ("7", 7.0),
    "runs_at_once": ("4", 4),
    "runs_waiting": ("0", 0),
    "sessions": ("20", 20),
    "sessions_of_address": ("7", 7),
    "runs_per_minute": ("60", 60),
    "uploads_per_minute": ("10", 10),
    "upload_mb": ("6", 6),
    "upload_prompts": ("10", 10),
    "address": ("localhost", "localhost"),
    "port": ("8600", 8600),
    "allowed_hosts": ("a.example, *.b.example", ("a.example", "*.b.example")),
    "frame_ancestors": ("https://a.example, https://*.b.example", ("https://a.example", "https://*.b.example")),
    "require_token": ("a secret", "a secret"),
    "user_header": ("X-Remote-User", "X-Remote-User"),
    "open_metrics": ("1", True),
}
TOML = {str: '"{}"'}


@pytest.fixture(autouse=True)
def _in_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def _toml(name: str) -> str:
    (kind,) = [each.type for each in fields(Settings) if each.name == name]
    text = {"0": "false", "1": "true"}.get(OTHER[name][0], OTHER[name][0]) if kind is bool else OTHER[name][0]
    if kind == tuple[str, ...]:
        return f"{name} = {json.dumps(OTHER[name][1])}\n"
    return f"{name} = {TOML.get(kind, '{}').format(text)}\n"


def test_nothing_given_is_the_defaults() -> None:
    assert read([], {"HEADLIGHT_RUNS_AT_ONCE": "", "PATH": "x"}) == Settings()


@pytest.mark.parametrize("how", ["flags", "environment", "file"])
def test_every_setting_can_be_given_in_every_way(how: str, tmp_path: Path) -> None:
    if how == "file":
        (tmp_path / "headlight.toml").write_text("".join(map(_toml, OTHER)))
    flags = [part for name, (text, _) in OTHER.items() for part in (flag(name), text)] if how == "flags" else []
    environment = {variable(name): text for name, (text, _) in OTHER.items()} if how == "environment" else {}
    assert vars(read(flags, environment)) == {name: value for name, (_, value) in OTHER.items()}


def test_a_flag_wins_over_a_variable_and_that_over_the_file(tmp_path: Path) -> None:
    (tmp_path / "headlight.toml").write_text("threads = 1\nport = 1\nrun_gib = 1\n")
    chosen = read(["--threads=3"], {"HEADLIGHT_THREADS": "2", "HEADLIGHT_PORT": "2"})
    assert (chosen.threads, chosen.port, chosen.run_gib) == (3, 2, 1.0)


def test_the_file_can_be_named(tmp_path: Path) -> None:
    for name, threads in (("one.toml", 1), ("two.toml", 2)):
        (tmp_path / name).write_text(f"threads = {threads}\n")
    assert read([], {"HEADLIGHT_CONFIG": "one.toml"}).threads == 1
    assert read(["--config", "two.toml"], {"HEADLIGHT_CONFIG": "one.toml"}).threads == 2
    with pytest.raises(ConfigError, match=r"settings in three\.toml cannot be read"):
        read(["--config", "three.toml"], {})


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir])
def test_what_is_no_regular_file_is_not_waited_for(make: Callable[[Path], None], tmp_path: Path) -> None:
    make(tmp_path / "pipe.toml")
    with pytest.raises(ConfigError, match=r"pipe\.toml is not a file that can be read"):
        read(["--config", str(tmp_path / "pipe.toml")], {})


WRONG = [
    ("threads", "plenty", "a whole number from 0 to 1,024. Give that, or leave it out for 0"),
    ("threads", "1.5", "a whole number"),
    ("runs_at_once", "0", "a whole number from 1 to 64"),
    ("run_gib", "nan", "a number from 0 to 4,096"),
    ("run_gib", "inf", "a number from 0 to 4,096"),
    ("port", "65536", "a whole number from 0 to 65,535"),
    ("any_model", "yes", "0 or 1"),
    ("device", "tpu", "cpu or cuda. Give that, or leave it out for cpu"),
]


@pytest.mark.parametrize(("name", "text", "said"), WRONG)
def test_a_value_that_is_not_allowed_is_refused_by_the_name_it_was_given_under(name: str, text: str, said: str) -> None:
    with pytest.raises(ConfigError, match=f"^{flag(name)} is '{text}'; it has to be {said}"):
        read([flag(name), text], {})
    with pytest.raises(ConfigError, match=f"^{variable(name)} is '{text}'; it has to be {said}"):
        read([], {variable(name): text})


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ('threads = "3"', "threads in headlight.toml is '3'; it has to be a whole number"),
        ("threads = true", "it has to be a whole number"),
        ("any_model = 1", "it has to be 0 or 1 .true or false"),
        ("model = 3", "it has to be text"),
        ('allowed_hosts = "a"', "it has to be names"),
        ("port = 70000", "from 0 to 65,535"),
        ("theads = 3", r"no setting 'theads'\. Nearest: threads.* There are model, models_folder"),
        ("[server]", "no setting 'server'"),
        ("threads: 3", "cannot be read"),
    ],
)
def test_a_line_of_the_file_that_is_wrong_is_named(line: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "headlight.toml").write_text(line)
    with pytest.raises(ConfigError, match=said):
        read([], {})


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (["--thread", "3"], r"no flag '--thread'\. Nearest: --threads"),
        (["mini"], "no flag 'mini'"),
        (["--model"], "--model: expected one argument"),
        (["--models-folder", "nowhere"], "models_folder is 'nowhere', which is no folder. Create it"),
        (
            ["--frame-ancestors", "https://a.example; script-src *"],
            "frame_ancestors has 'https://a.example; script",
        ),
        (["--address", "0.0.0.0"], "allowed_hosts names this one alone. Give the names"),
    ],
)
def test_flags_that_mean_nothing_are_refused(flags: list[str], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        read(flags, {})


def test_help_tells_of_every_setting() -> None:
    said = re.sub(r"\s+", " ", parser().format_help().replace("-\n", "-"))
    for each in fields(Settings):
        assert f" {flag(each.name)} " in said
        assert each.metadata["about"].meaning in said


@pytest.mark.parametrize(("flag", "first_line"), [("--help", "usage: headlight"), ("--version", "headlight 0.1.0\n")])
def test_help_and_version_wait_for_neither_torch_nor_streamlit(flag: str, first_line: str) -> None:
    script = (
        f"import sys; from headlight.app.__main__ import main; sys.argv[1:] = ['{flag}']; main(); print(*sys.modules)"
    )
    output = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
    assert output.startswith(first_line)
    assert not {"torch", "streamlit"} & set(output.splitlines()[-1].split())


@pytest.mark.parametrize(
    ("loopback", "addresses"),
    [
        (True, ["127.0.0.1", "127.8.8.8", "::1", "localhost"]),
        (False, ["0.0.0.0", "::", "192.168.0.7", "localhost.example", ""]),
    ],
)
def test_loopback_is_told_from_what_others_reach(
    loopback: bool, addresses: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for address in addresses:
        assert is_loopback(address) == loopback
        options = {"server.address": address or None, "server.allowedHosts": list(Settings.allowed_hosts)}
        monkeypatch.setattr(streamlit, "get_option", options.__getitem__)
        assert only_this_machine() == loopback


@pytest.mark.parametrize(
    ("private", "hosts"),
    [
        (True, ["localhost"]),
        (True, ["127.0.0.1", "::1"]),
        (False, ["headlight.example"]),
        (False, ["localhost", "127.0.0.1", "headlight.example"]),
        (False, ["*"]),
        (False, ["*.localhost.example"]),
        (False, []),  # Streamlit then takes any
    ],
)
def test_a_server_behind_a_reverse_proxy_is_not_for_this_machine_alone(
    private: bool, hosts: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    options = {"server.address": "127.0.0.1", "server.allowedHosts": hosts}
    monkeypatch.setattr(streamlit, "get_option", options.__getitem__)
    assert only_this_machine() == private
    assert models.any_model_allowed() == private


def test_what_the_server_has_to_know_is_given_to_it() -> None:
    chosen = read(["--address=0.0.0.0", "--allowed-hosts=a.example,b.example", "--upload-mb=7", "--port=8600"], {})
    assert server_options(chosen) == [
        "--server.address=0.0.0.0",
        "--server.maxUploadSize=7",
        "--browser.serverAddress=localhost",
        "--server.allowedHosts=a.example",
        "--server.allowedHosts=b.example",
        "--server.port=8600",
    ]
    assert not [option for option in server_options(Settings()) if "port" in option]


def test_streamlits_own_file_says_the_same_as_the_defaults() -> None:
    """So that `streamlit run app/server/server.py` starts a server that is no more open than that of `make run`."""
    options = {"server.address": Settings.address, "server.maxUploadSize": Settings.upload_mb}
    options |= {"server.allowedHosts": list(Settings.allowed_hosts)}
    code = f"import streamlit; print(*[streamlit.get_option(name) for name in {list(options)}], sep='\\n')"
    run = subprocess.run([sys.executable, "-c", code], cwd=SERVER.parent, capture_output=True, text=True, check=True)
    assert run.stdout.splitlines() == [str(value) for value in options.values()]


def test_a_wrong_setting_keeps_the_server_from_starting_with_a_plain_message() -> None:
    command = [sys.executable, "-m", "headlight.app", "--threads", "-1"]
    run = subprocess.run(command, cwd=ROOT, env=os.environ | {"PYTHONWARNINGS": ""}, capture_output=True, text=True)
    assert run.returncode == 1
    assert run.stderr.startswith(
        "Headlight cannot start. --threads is '-1'; it has to be a whole number from 0 to 1,024."
    )
    assert len(run.stderr.splitlines()) == 1

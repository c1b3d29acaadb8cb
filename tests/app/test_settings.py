"""Settings from the environment."""

import pytest

from app.settings import Settings, from_environment
from model.errors import ConfigError


def test_an_empty_environment_gives_the_defaults(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HEADLIGHT_MODEL", raising=False)
    monkeypatch.setenv("HEADLIGHT_RUNS_AT_ONCE", "")
    assert from_environment() == Settings()


def test_each_variable_sets_its_field(monkeypatch: pytest.MonkeyPatch) -> None:
    given = {"model": "gpt2", "allow_paths": "0", "runs_at_once": "3", "runs_waiting": "4", "run_gib": "0.5"}
    given |= {"run_seconds": "7", "cache_gib": "2.5"}
    for name, text in given.items():
        monkeypatch.setenv(f"HEADLIGHT_{name.upper()}", text)
    assert from_environment() == Settings("gpt2", False, 3, 4, 0.5, 7.0, 2.5)


@pytest.mark.parametrize("variable", ["HEADLIGHT_RUN_GIB", "HEADLIGHT_ALLOW_PATHS", "HEADLIGHT_RUNS_AT_ONCE"])
def test_a_value_of_another_kind_is_refused_by_the_variables_name(
    monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    monkeypatch.setenv(variable, "plenty")
    with pytest.raises(ConfigError, match=f"{variable} is 'plenty'"):
        from_environment()

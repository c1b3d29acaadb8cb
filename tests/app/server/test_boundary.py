"""What of an error reaches the page and what the log."""

import logging

import pytest

from headlight.app.server.boundary import guard
from headlight.model.errors import InputError


def test_what_a_user_can_mend_is_said_as_it_is() -> None:
    said: list[str] = []
    with guard(said.append):
        raise InputError("Type less.")
    assert said == ["Type less."]


def test_anything_else_is_an_id_on_the_page_and_one_line_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    said: list[str] = []
    with caplog.at_level(logging.ERROR), guard(said.append):
        {}["/secret/path\nsecond line"]
    (line,) = caplog.messages
    incident = line.split()[1].removesuffix(":")
    assert incident in said[0]
    assert "secret" not in said[0]
    assert "KeyError" in line
    assert "test_boundary.py" in line
    assert "\n" not in line
    assert caplog.records[0].exc_info is None


def test_what_ends_the_script_on_purpose_passes() -> None:
    from streamlit.runtime.scriptrunner_utils.exceptions import StopException

    with pytest.raises(StopException), guard(pytest.fail):
        raise StopException

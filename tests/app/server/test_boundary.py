"""What of an error reaches the page and what the log."""

import logging
import re

import pytest

from headlight.app.server.boundary import guard
from headlight.model.base.errors import InputError


def test_what_a_user_can_mend_is_said_as_it_is() -> None:
    said: list[str] = []
    with guard(said.append):
        raise InputError("Type less.")
    assert said == ["Type less."]


def test_anything_else_is_an_id_on_the_page_and_a_traceback_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    said: list[str] = []
    with caplog.at_level(logging.ERROR), guard(said.append):
        _fail()
    (message,) = said
    (incident,) = re.findall(r"Error id ([0-9a-f]{8}); the log has the traceback\.", message)
    assert "secret" not in message
    assert caplog.messages == [f"error {incident}"]
    assert "Traceback (most recent call last)" in caplog.text
    assert "in _fail" in caplog.text  # each call on the way to it
    assert "KeyError: '/secret/path" in caplog.text


def _fail() -> None:
    {}["/secret/path"]


def test_what_ends_the_script_on_purpose_passes() -> None:
    from streamlit.runtime.scriptrunner_utils.exceptions import StopException

    with pytest.raises(StopException), guard(pytest.fail):
        raise StopException

"""The theme in the message that begins a run: as Streamlit itself writes it, and read once."""

from collections.abc import Iterator

import pytest
from streamlit import config
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.runtime import app_session

from headlight.app.server import theme

STREAMLITS_OWN = theme._fill_anew
SECTIONS = ("light", "dark", "sidebar", "light.sidebar", "dark.sidebar")


@pytest.fixture(autouse=True)
def _worn(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(app_session, "_populate_theme_msg", STREAMLITS_OWN)  # which gives it back afterwards
    before = {name: config.get_option(name) for name in theme.options()}
    theme._section.cache_clear()
    theme.wear()
    yield
    theme._section.cache_clear()
    for name, value in before.items():
        config.set_option(name, value)


def test_it_is_as_streamlit_writes_it_and_its_options_are_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    theirs = _begun(STREAMLITS_OWN)
    assert theirs.new_session.custom_theme.light.primary_color
    assert not theirs.new_session.custom_theme.HasField("sidebar")
    assert _begun(app_session._populate_theme_msg) == theirs
    monkeypatch.setattr(config, "get_options_for_section", pytest.fail)
    assert _begun(app_session._populate_theme_msg) == theirs


def _begun(fill: object) -> ForwardMsg:
    """A message whose theme is filled in as `AppSession._create_new_session_message` does it."""
    assert callable(fill)
    message = ForwardMsg()
    fill(message.new_session.custom_theme)
    for section in SECTIONS:
        part = message.new_session.custom_theme
        for name in section.split("."):
            part = getattr(part, name)
        fill(part, f"theme.{section}")
    return message

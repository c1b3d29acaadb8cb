"""A press of Stop in a fragment ends the running script; other presses there wait, as Streamlit has them."""

import pytest
from streamlit.proto.WidgetStates_pb2 import WidgetStates
from streamlit.runtime.scriptrunner_utils.script_requests import RerunData, ScriptRequests

from headlight.app.server import presses


def _pressed(key: str, fragment: str | None = "view") -> ScriptRequests:
    """Streamlit's own queue with a press of a button whose element has this key."""
    states = WidgetStates()
    states.widgets.add(id=f"$$ID-0123-{key}", trigger_value=True)
    states.widgets.add(id="$$ID-4567-other", bool_value=True)
    requests = ScriptRequests()
    requests.on_scriptrunner_yield()
    assert requests.request_rerun(RerunData(fragment_id=fragment, widget_states=states))
    return requests


def test_a_press_of_stop_in_a_fragment_ends_the_script_and_is_heard_with_its_state() -> None:
    requests = _pressed("stop_graph")
    assert requests.on_scriptrunner_yield() is None  # by itself it waits
    presses.make_urgent(requests, "stop_graph")
    request = requests.on_scriptrunner_yield()
    assert request is not None
    assert request.rerun_data.fragment_id_queue == []
    states = request.rerun_data.widget_states
    assert states is not None
    assert states.widgets[0].trigger_value


@pytest.mark.parametrize(("pattern", "is_heard"), [("stop_*", True), ("start_*", False)])
def test_a_key_with_a_star_is_that_of_every_button_that_begins_so(pattern: str, is_heard: bool) -> None:
    requests = _pressed("stop_graph")
    presses.make_urgent(requests, pattern)
    assert (requests.on_scriptrunner_yield() is not None) is is_heard


@pytest.mark.parametrize("key", ["stop_why", "graph"])
def test_any_other_press_waits(key: str) -> None:
    requests = _pressed(key)
    presses.make_urgent(requests, "stop_graph")
    assert requests.on_scriptrunner_yield() is None


def test_any_event_in_a_fragment_ends_work_that_resumes() -> None:
    """Also a component's click or word that its data was lost, whose state is no button's."""
    requests = ScriptRequests()
    requests.on_scriptrunner_yield()
    states = WidgetStates()
    states.widgets.add(id="$$ID-0123-heads", json_value="{}")
    assert requests.request_rerun(RerunData(fragment_id="view", widget_states=states))
    assert requests.on_scriptrunner_yield() is None
    presses.make_urgent(requests)
    request = requests.on_scriptrunner_yield()
    assert request is not None
    assert request.rerun_data.widget_states == states


def test_nothing_is_asked_of_a_queue_without_a_press() -> None:
    requests = ScriptRequests()
    presses.make_urgent(requests, "stop_graph")
    assert requests.on_scriptrunner_yield() is None

"""Events in a fragment, as presses of a button, that end the running script, as those outside fragments do."""

from dataclasses import replace
from fnmatch import fnmatchcase

from streamlit.runtime.scriptrunner import get_script_run_ctx
from streamlit.runtime.scriptrunner_utils.script_requests import ScriptRequests, ScriptRequestType


def let_through(key: str | None = None) -> None:
    """Have a press of the button with this key, or without one any event, end the script where it reads its state next.

    A key that ends with * is that of every button whose key begins so.

    Streamlit keeps an event in a fragment until the script has run, and with it the work that a press is to stop, or
    that holds up what a click is to show.
    """
    context = get_script_run_ctx(suppress_warning=True)
    if context is not None and context.script_requests is not None:
        make_urgent(context.script_requests, key)


def make_urgent(requests: ScriptRequests, key: str | None = None) -> None:
    """Turn a waiting run of a fragment into one of the whole script, if it is for a press of this button or any event.

    Source: `on_scriptrunner_yield` of Streamlit 1.67, which lets runs of fragments wait.
    """
    if requests._state != ScriptRequestType.RERUN:  # without the lock, as Streamlit looks itself
        return
    with requests._lock:
        waiting = requests._rerun_data
        pressed = waiting.widget_states.widgets if waiting.widget_states else ()
        is_heard = key is None or any(widget.trigger_value and fnmatchcase(widget.id, f"*-{key}") for widget in pressed)
        if waiting.fragment_id_queue and is_heard:
            requests._rerun_data = replace(waiting, fragment_id_queue=[])

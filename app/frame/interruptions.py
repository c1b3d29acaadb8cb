"""Pauses between scripts of a page that asks again before it has been answered, again and again.

Each request ends the script that is under way and begins it anew. Who does that without end would take the processor
from those who wait for what they have asked; who is alone on the server takes it from nobody.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from threading import local

from streamlit.runtime.scriptrunner import RerunException

from headlight.app.server import capacity

FREE = 2  # interruptions in a row that cost nothing, as of somebody who clicks twice
SHORTEST, LONGEST = 0.25, 8.0  # seconds; each pause doubles the one before

_thread = local()  # one runs a session's scripts as long as each interrupts the one before


@contextmanager
def paused() -> Iterator[None]:
    """Run a script; where it is interrupted once more, pause before the next one, which has what was asked last."""
    n_before, _thread.n_interrupted = getattr(_thread, "n_interrupted", 0), 0
    try:
        yield
    except RerunException as again:
        if again.rerun_data.widget_states is not None:  # asked by the browser: what draws itself anew has done its part
            _thread.n_interrupted = n_before + 1
            if n_before >= FREE and capacity.n_sessions() > 1:
                time.sleep(min(LONGEST, SHORTEST * 2.0 ** (n_before - FREE)))
        raise

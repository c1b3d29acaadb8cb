"""Error boundary: a user's error is shown as a plain message, any other gets an id under which the log has it."""

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from secrets import token_hex

from headlight.model.base.errors import HeadlightError

_LOG = logging.getLogger("headlight")


@contextmanager
def guard(report: Callable[[str], None]) -> Iterator[None]:
    """Give the message of an error inside the `with` block to `report`; no path and no traceback reaches the page."""
    try:
        yield
    except HeadlightError as error:
        report(str(error))
    except Exception as error:
        incident = token_hex(4)
        _LOG.error("error %s", incident, exc_info=error)
        report(f"Unexpected error (not caused by your input). Error id {incident}; the log has the traceback.")

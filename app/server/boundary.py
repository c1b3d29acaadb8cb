"""Where errors end: what a user can mend is said plainly, anything else gets an id that the log has too."""

import logging
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from secrets import token_hex

from headlight.model.errors import HeadlightError

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
        where = traceback.extract_tb(error.__traceback__)[-1]
        _LOG.error("error %s: %r at %s:%s", incident, error, where.filename, where.lineno)
        report(f"Something went wrong that is not your doing. The server's log has the details under {incident}.")

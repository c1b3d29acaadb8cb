"""What the hub's client raises where the network or the hub fails."""

from json import JSONDecodeError
from typing import Any


def network_errors() -> tuple[type[Exception], ...]:
    """The exceptions that the hub's client raises for failures of the network or the hub; OSError covers both."""
    from huggingface_hub.errors import (
        EntryNotFoundError,
        HfHubHTTPError,
        RevisionResolutionError,
        XetDownloadError,
    )

    http: Any = HfHubHTTPError.__bases__  # of its HTTP library, whichever that is
    # A page of a hotel's network in place of the hub's answer is no JSON.
    return (*http, OSError, EntryNotFoundError, RevisionResolutionError, XetDownloadError, JSONDecodeError)

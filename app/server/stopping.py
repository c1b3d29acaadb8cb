"""How a server stops: a connection whose other end reads slowly, or sleeps, holds it for a few seconds at most."""

from typing import Any

from streamlit.web.server.starlette import starlette_server

DRAINING = 3  # seconds in which answers that are on their way may arrive


def bound() -> None:
    """Have the server that Streamlit starts end its connections so long after it was told to stop."""
    starlette_server._get_uvicorn_config_kwargs = _uvicorn_settings  # for which Streamlit has no setting


def _uvicorn_settings() -> dict[str, Any]:
    # Who a proxy says that a request is from is noted by a middleware of the application.
    return _streamlits() | {"timeout_graceful_shutdown": DRAINING, "proxy_headers": False}


_streamlits = starlette_server._get_uvicorn_config_kwargs

"""The server: Streamlit's, with an address at which a page fetches what would else wait for the script to run again."""

import webbrowser
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from streamlit import App, get_option

from headlight.app.components.shared.fetchable import fetch
from headlight.app.runs.limits import BusyError
from headlight.app.server.preload import preload
from headlight.app.server.settings import MAIN, is_loopback

ADDRESS = "/fetch/{name}/{layer:int}/{head:int}"
HEADERS = {
    "Cache-Control": "no-store",
    "Content-Encoding": "identity",  # weights hardly shrink, and compressing them takes longer than sending them
    "X-Content-Type-Options": "nosniff",
}


def _fetched(request: Request) -> Response:
    """A head's pattern for the browser; 404 for a name that is not or no more to be had, or a head that is not there.

    It is 503 where too many are asked for at once: what cannot be fetched comes with the script's answer.
    It takes no check of who asks: a name is known to the session that was told it, and no other page can read an
    answer.
    """
    asked = request.path_params
    try:
        packed = fetch(asked["name"], asked["layer"], asked["head"])
    except BusyError:
        return Response(status_code=503, headers={"Cache-Control": "no-store"})
    if packed is None:
        return Response(status_code=404, headers={"Cache-Control": "no-store"})
    return Response(packed, headers=HEADERS, media_type="application/octet-stream")


@asynccontextmanager
async def _with_browser(_: App) -> AsyncIterator[None]:
    """Show the page to who has started the server, on a machine with a screen; Streamlit leaves it to us."""
    if not get_option("server.headless"):
        address = get_option("server.address")
        host = "localhost" if is_loopback(address) or address in ("0.0.0.0", "::") else address
        webbrowser.open(f"http://{host}:{get_option('server.port')}")
    yield


preload()
app = App(MAIN, routes=[Route(ADDRESS, _fetched)], lifespan=_with_browser)

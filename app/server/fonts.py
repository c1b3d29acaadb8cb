"""The fonts of every page, named to browsers with the page itself.

Streamlit's page asks for a font when the first text is set in it, so that at a first load all texts are laid out twice.
"""

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from streamlit import get_option

from headlight.app.server.capacity import is_page

RARE = "-latin-ext"  # in the names of files for letters that few texts have
EARLY = '<{}>; rel=preload; as=font; type="font/woff2"; crossorigin; fetchpriority=low'  # the scripts come first


class Fonts:
    """ASGI middleware that names the fonts in the head of the page."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, with one header more where the page is asked for."""

        async def told(message: Message) -> None:
            if message["type"] == "http.response.start":
                faces = get_option("theme.fontFaces")
                early = [EARLY.format(face["url"]) for face in faces if RARE not in face["url"]]
                MutableHeaders(scope=message)["Link"] = ", ".join(early)
            await send(message)

        await self.app(scope, receive, told if is_page(scope) else send)

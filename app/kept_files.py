"""Streamlit's own files from memory: a first visit asks for a hundred of them, each of which is else read anew."""

from posixpath import normpath

from starlette.types import ASGIApp, Message, Receive, Scope, Send

FOLDER = "/static/"
IN_PART = {b"range", b"if-none-match", b"if-modified-since", b"if-range"}  # such a question has an answer of its own


class KeptFiles:
    """Answers with what the app behind it has answered before; its files cannot change while it runs.

    Only files that are there are kept, each by the one path that leads to it, so that there is no more than these.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._kept: dict[str, tuple[Message, ...]] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or have it answered."""
        if not _is_for_a_file(scope):
            await self._app(scope, receive, send)
            return
        path = scope["path"]
        if path not in self._kept:
            await self._ask(scope, receive, send)
            return
        for message in self._kept[path]:
            await send(message)

    async def _ask(self, scope: Scope, receive: Receive, send: Send) -> None:
        told: list[Message] = []

        async def hear(message: Message) -> None:
            told.append(message)
            await send(message)

        await self._app(scope, receive, hear)
        if not told or told[-1].get("more_body", told[-1]["type"] != "http.response.body"):
            return  # who asked has gone away before the end
        begin, *parts = told
        if begin["status"] == 200 and not _is_page(begin):
            body = b"".join(part.get("body", b"") for part in parts)
            self._kept[scope["path"]] = begin, {"type": "http.response.body", "body": body}


def _is_page(begin: Message) -> bool:
    """What Streamlit gives in the place of any file that is not there."""
    return dict(begin["headers"]).get(b"content-type", b"").startswith(b"text/html")


def _is_for_a_file(scope: Scope) -> bool:
    return (
        scope["type"] == "http"
        and scope["method"] == "GET"
        and scope["path"].startswith(FOLDER)
        and scope["path"] == normpath(scope["path"])
        and IN_PART.isdisjoint(name for name, _ in scope["headers"])
    )

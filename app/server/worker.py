"""One of several processes that serve: it takes the connections that the front process hands to it."""

import asyncio
import socket
import sys
from collections.abc import Iterator
from contextlib import suppress

import uvicorn
from starlette.datastructures import MutableHeaders
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import RedirectResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from streamlit import get_option
from streamlit.runtime.memory_media_file_storage import MemoryMediaFileStorage
from streamlit.web import bootstrap
from streamlit.web.server.starlette import starlette_server

from headlight.app.server.affinity import ASKED, COOKIE, PARAMETER, is_document, named_worker
from headlight.app.server.flags import EVERYWHERE
from headlight.app.server.front import FREE, FULL, READY, TAKEN, Place
from headlight.app.server.settings import settings

SECONDS = 5.0  # for which a worker is waited for that is asked for its figures
FAILED = 3  # the status of Streamlit's server that has not started

_place: Place | None = None
_channel: socket.socket | None = None  # to the front process, while this worker serves
_is_full = False


def take(place: Place) -> list[str]:
    """Have Streamlit serve the connections of a worker's channel, and return the flags that it needs for that."""
    global _place
    _place = place
    starlette_server.UvicornRunner = _Runner  # type: ignore[misc]  # for which Streamlit has no setting
    MemoryMediaFileStorage.get_url = _media_address  # type: ignore[method-assign, assignment]
    is_seen = place.number == 0 and not place.is_again  # else a browser is open already
    return [f"--server.port={place.port}", *([] if is_seen else ["--server.headless=true"])]


def is_one_of_several() -> bool:
    """Whether this process is a worker, beside others that a front process has started."""
    return _place is not None


def own(address: str) -> str:
    """The address of what a worker alone has, which names it: another tab may have changed the cookie meanwhile."""
    return f"{address}?{PARAMETER}={_place.number}" if _place else address


def elsewhere(request: Request) -> RedirectResponse | None:
    """Where to ask for what this worker lacks: each worker in turn, whatever the cookie says; None after the last."""
    asked = ASKED.search(request.url.query)
    following = int(asked[1]) + 1 if asked else 0
    is_there = _place is not None and following < settings().workers
    return RedirectResponse(f"?{PARAMETER}={following}", headers={"Cache-Control": "no-store"}) if is_there else None


def _media_address(storage: MemoryMediaFileStorage, file_id: str) -> str:
    return own(_get_url(storage, file_id))


_get_url = MemoryMediaFileStorage.get_url


def tell_full(is_full: bool) -> None:
    """Tell the front process whether this worker has all the sessions that it takes: another is asked for new pages."""
    global _is_full
    if _channel is not None and is_full != _is_full:
        with suppress(OSError):  # the front process is gone
            _channel.send(FULL if is_full else FREE)
            _is_full = is_full


class _Runner(starlette_server.UvicornRunner):
    """Streamlit's, without a port of its own."""

    def run(self) -> None:
        """Serve until a signal, or the end of the front process."""
        global _channel
        assert _place is not None
        if _place.number == 0 and not _place.is_again:
            bootstrap._print_url(is_running_hello=False)
        server = _Receiver(uvicorn.Config(self._app, **starlette_server._get_uvicorn_config_kwargs()))
        with socket.socket(fileno=_place.channel) as server.channel:
            _channel = server.channel
            server.channel.set_inheritable(False)
            server.channel.setblocking(False)
            server.run(sockets=[])
        if not server.started:
            sys.exit(FAILED)


class _Receiver(uvicorn.Server):
    """uvicorn's server for connections that another process has accepted."""

    channel: socket.socket

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start, and tell the front process so."""
        await super().startup(sockets)
        self._adopting = set[asyncio.Task[None]]()
        asyncio.get_running_loop().add_reader(self.channel, self._receive)
        self.channel.send(READY)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Take no more connections, and end those that there are."""
        asyncio.get_running_loop().remove_reader(self.channel)
        await super().shutdown(sockets)

    def _receive(self) -> None:
        said, numbers, _, _ = socket.recv_fds(self.channel, 1, 1)
        if not said:  # the front process is gone
            asyncio.get_running_loop().remove_reader(self.channel)
            self.should_exit = True
        for number in numbers:
            self.channel.send(TAKEN)
            task = asyncio.create_task(self._adopt(socket.socket(fileno=number)))
            self._adopting.add(task)
            task.add_done_callback(self._adopting.discard)

    async def _adopt(self, connection: socket.socket) -> None:
        connection.set_inheritable(False)
        connection.setblocking(False)
        with suppress(OSError):  # it has ended already
            await asyncio.get_running_loop().connect_accepted_socket(self._protocol, connection)

    def _protocol(self) -> asyncio.Protocol:
        parts = {"config": self.config, "server_state": self.server_state, "app_state": self.lifespan.state}
        protocol: asyncio.Protocol = self.config.http_protocol_class(**parts)
        return protocol


class Stay:
    """ASGI middleware by which a visitor's requests come to this worker: a cookie, and one request a connection.

    A proxy sends the requests of many visitors by one connection, of which the front process reads the first alone.
    """

    def __init__(self, app: ASGIApp, number: int) -> None:
        self.app, self._number = app, number

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Hand on, and add the headers to the answer."""

        async def staying(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers["Connection"] = "close"
                if is_document(scope):
                    for cookie in self._cookies(message["status"], named_worker(scope, settings().workers)):
                        secure = "; Secure" if scope["scheme"] == "https" else ""
                        headers.append("Set-Cookie", f"{COOKIE}={cookie}; Path=/; HttpOnly; SameSite=Lax{secure}")
            await send(message)

        await self.app(scope, receive, staying)

    def _cookies(self, status: int, named: int | None) -> Iterator[str]:
        """What a page's answer makes of the cookie: this worker's number, or none where this one takes no more."""
        if status < 400 and named != self._number:
            yield f"{self._number}"
        elif status == 503 and named is not None:  # the page asks again, and then the next in turn
            yield "; Max-Age=0"


def middleware() -> list[Middleware]:
    """What a worker's application has in front of all else; nothing where one process serves."""
    return [Middleware(Stay, _place.number)] if _place else []


def is_for_all(request: Request) -> bool:
    """Whether a request for figures is for those of all workers together."""
    return _place is not None and PARAMETER not in request.query_params


async def ask_all(request: Request) -> list[bytes]:
    """What each worker answers to a request for figures; nothing for one that does not."""
    return list(await asyncio.gather(*(_ask(number, request) for number in range(settings().workers))))


async def _ask(number: int, request: Request) -> bytes:
    names = {"host", "authorization", "cookie", settings().user_header.lower()}
    headers = "".join(f"{name}: {text}\r\n" for name, text in request.headers.items() if name in names)
    address = get_option("server.address")
    here = {EVERYWHERE[0]: "127.0.0.1", EVERYWHERE[1]: "::1"}.get(address, address)
    with suppress(OSError):
        async with asyncio.timeout(SECONDS):
            reader, writer = await asyncio.open_connection(here, get_option("server.port"))
            writer.write(f"GET {request.url.path}?{PARAMETER}={number} HTTP/1.0\r\n{headers}\r\n".encode("latin-1"))
            head, _, body = (await reader.read()).partition(b"\r\n\r\n")
            writer.close()
            return body if head.split(b" ", 2)[1:2] == [b"200"] else b""
    return b""

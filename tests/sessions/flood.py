"""A flood: connections that want nothing but to be there, and pages that are read slowly and ask for more."""

import socket
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from threading import Event, Thread
from typing import Any
from urllib.parse import urlencode, urlparse

from streamlit.proto.BackMsg_pb2 import BackMsg
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import ClientConnection, connect
from websockets.typing import Subprotocol

ADDRESS = "203.0.113.9"  # whose connections these are, by what a proxy on this machine says
UPGRADE = (
    "GET /_stcore/stream HTTP/1.1\r\nHost: {host}\r\nX-Forwarded-For: {address}\r\nUpgrade: websocket\r\n"
    "Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n"
)
SECONDS_A_MESSAGE = 0.5  # that a slow reader takes


@contextmanager
def flood(url: str, n_connections: int, n_slow: int) -> Iterator[list[int]]:
    """Inside the `with` block, hold so many connections, and have so many pages read slowly.

    Every fourth connection sends nothing at all, the others ask for a page's stream and then say nothing. Yields the
    statuses that these were answered with.
    """
    is_over = Event()
    with ExitStack() as stack:
        sockets = [stack.enter_context(_connection(url)) for _ in range(n_connections)]
        asking = [each for number, each in enumerate(sockets) if number % 4]
        statuses = [_ask(each, urlparse(url).netloc) for each in asking]
        readers = [Thread(target=_read_slowly, args=(url, number, is_over)) for number in range(n_slow)]
        for reader in readers:
            reader.start()
        stack.callback(is_over.set)
        yield statuses
    for reader in readers:
        reader.join()


@contextmanager
def sleeper(url: str) -> Iterator[Callable[[str], None]]:
    """Inside the `with` block, a page that reads nothing, as if its machine slept; yields what asks for a prompt."""
    with _page(url, sock=_connection(url, SO_RCVBUF=4096)) as line:
        yield partial(_ask_for_prompt, line)


def _connection(url: str, **options: int) -> socket.socket:
    address, connection = urlparse(url), socket.socket()
    for name, value in options.items():
        connection.setsockopt(socket.SOL_SOCKET, getattr(socket, name), value)
    connection.settimeout(60)
    connection.connect((address.hostname, address.port))
    return connection


def _page(url: str, **named: Any) -> ClientConnection:
    """A page's stream of messages, of which not more than one is taken from the line before it is asked for."""
    stream = f"{url.replace('http', 'ws', 1)}/_stcore/stream"
    own = [Subprotocol("streamlit")]
    return connect(stream, proxy=None, max_size=None, max_queue=1, ping_interval=None, subprotocols=own, **named)


def _ask_for_prompt(line: ClientConnection, prompt: str) -> None:
    message = BackMsg()
    message.rerun_script.query_string = urlencode({"prompt": prompt})
    line.send(message.SerializeToString())


def _ask(connection: socket.socket, host: str) -> int:
    """Ask for a page's stream, and return the status of the answer."""
    connection.sendall(UPGRADE.format(host=host, address=ADDRESS).encode())
    return int(connection.recv(1000).split()[1])


def _read_slowly(url: str, number: int, is_over: Event) -> None:
    """Ask for another prompt's page again and again, and read a message now and then."""
    n_requests = 0
    while not is_over.is_set():
        with suppress(ConnectionClosed, InvalidStatus, TimeoutError), _page(url) as line:
            while not is_over.wait(SECONDS_A_MESSAGE):
                _ask_for_prompt(line, f"slow {number} {n_requests}")
                line.recv(timeout=60)
                n_requests += 1
        time.sleep(SECONDS_A_MESSAGE)

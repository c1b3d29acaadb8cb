"""A flood: connections that want nothing but to be there, and pages that are read slowly and ask for more."""

import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from threading import Event, Thread
from urllib.parse import urlencode, urlparse

from streamlit.proto.BackMsg_pb2 import BackMsg
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import connect
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


def _connection(url: str) -> socket.socket:
    address = urlparse(url)
    assert address.hostname is not None
    assert address.port is not None
    return socket.create_connection((address.hostname, address.port), timeout=60)


def _ask(connection: socket.socket, host: str) -> int:
    """Ask for a page's stream, and return the status of the answer."""
    connection.sendall(UPGRADE.format(host=host, address=ADDRESS).encode())
    return int(connection.recv(1000).split()[1])


def _read_slowly(url: str, number: int, is_over: Event) -> None:
    """Ask for another prompt's page again and again, and read a message now and then."""
    stream = f"{url.replace('http', 'ws', 1)}/_stcore/stream"
    n_requests = 0
    while not is_over.is_set():
        with (
            suppress(ConnectionClosed, InvalidStatus, TimeoutError),
            connect(
                stream,
                proxy=None,
                max_size=None,
                max_queue=1,
                ping_interval=None,
                subprotocols=[Subprotocol("streamlit")],
            ) as line,
        ):
            while not is_over.wait(SECONDS_A_MESSAGE):
                message = BackMsg()
                message.rerun_script.query_string = urlencode({"prompt": f"slow {number} {n_requests}"})
                line.send(message.SerializeToString())
                line.recv(timeout=60)
                n_requests += 1
        time.sleep(SECONDS_A_MESSAGE)

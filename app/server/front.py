"""A small process in front of several that serve: it hands each connection to the worker that has its visitor.

The socket itself is handed over, so that no byte of an answer passes through here. A worker that the system has ended
is started again, as `guard` does for a server of one process.
"""

import asyncio
import json
import os
import socket
import sys
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from errno import EADDRINUSE
from signal import SIGTERM, Signals
from typing import NamedTuple

from starlette.types import Scope

from headlight.app.server.affinity import is_document, named_worker, scope_of, worker_by_address
from headlight.app.server.flags import HEALTH, Settings
from headlight.app.server.guard import FORWARDED, MIN_SECONDS, WORKER
from headlight.app.server.open_files import raise_files_limit
from headlight.app.server.settings import trusted_proxies

CORES = os.sched_getaffinity(0) if sys.platform == "linux" else set[int]()
CONNECTION, READY, TAKEN = b"c", b"r", b"t"  # what is said on a channel, the first with a socket
FULL, FREE = b"f", b"o"  # said by a worker when it has its last session, and when it has room again
FIRST_PORT, PORTS = 8501, 100
MAX_HEAD = 2**16  # bytes of a request's head that are looked at; uvicorn takes no more
HEAD_SECONDS = 30.0  # for which a connection may say nothing, or half of a head
MAX_FLYING = 64  # sockets on the way to a worker, of which the system bounds the number
NOT_READY = (
    b"HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/json\r\nCache-Control: no-store\r\n"
    b'Connection: close\r\nContent-Length: 16\r\n\r\n{"ready": false}'
)


class Place(NamedTuple):
    """What a process is told that becomes a worker: its number, the file number of its channel, and the port."""

    number: int
    channel: int
    port: int
    is_again: bool


class Worker:
    """One process that serves, and the connections that it has not taken yet."""

    def __init__(self, number: int, port: int, cores: set[int]) -> None:
        self.number, self._port, self._cores = number, port, cores
        self.is_ready = self.is_full = False
        self._waiting, self._flying = deque[socket.socket](), deque[socket.socket]()
        self._stopped = asyncio.Event()
        self._process: asyncio.subprocess.Process | None = None

    async def run(self, again: bool) -> int:
        """Keep the process running until it ends by itself or is stopped, and return its status."""
        while True:
            began, status = time.monotonic(), await self._run_once(again)
            if status >= 0 or self._stopped.is_set():
                return status
            again, name = True, Signals(-status).name
            print(f"The system ended worker {self.number} ({name}). It starts again.", file=sys.stderr, flush=True)
            with suppress(TimeoutError):
                await asyncio.wait_for(self._stopped.wait(), max(0.0, began + MIN_SECONDS - time.monotonic()))
                return status

    async def _run_once(self, again: bool) -> int:
        self._channel, theirs = socket.socketpair()
        with self._channel, theirs:
            self._channel.setblocking(False)
            place = Place(self.number, theirs.fileno(), self._port, again)
            environment = os.environ | {WORKER: json.dumps(place)}
            command = sys.executable, *sys.orig_argv[1:]
            with _started_on(self._cores):
                self._process = await asyncio.create_subprocess_exec(
                    *command, env=environment, pass_fds=[theirs.fileno()]
                )
            theirs.close()
            if self._stopped.is_set():
                self._process.terminate()
            hearing = asyncio.create_task(self._hear())
            status = await self._process.wait()
            hearing.cancel()
            await asyncio.wait([hearing])
        self.is_ready = self.is_full = False
        self._waiting.extendleft(reversed(self._flying))  # the next one takes what this one has not taken
        self._flying.clear()
        return status

    async def _hear(self) -> None:
        loop = asyncio.get_running_loop()
        with suppress(ConnectionError):  # the process has ended
            while said := await loop.sock_recv(self._channel, 4096):
                for number in said:
                    self._take_note(bytes([number]))
                self._send()

    def _take_note(self, word: bytes) -> None:
        if word == TAKEN:
            self._flying.popleft().close()
        elif word == READY:
            self.is_ready = True
        else:
            self.is_full = word == FULL

    @property
    def has_room(self) -> bool:
        """Whether it takes one more session."""
        return self.is_ready and not self.is_full

    def hand(self, connection: socket.socket) -> None:
        """Hand over a connection, as soon as the process takes it."""
        self._waiting.append(connection)
        self._send()

    def _send(self) -> None:
        while self.is_ready and self._waiting and len(self._flying) < MAX_FLYING:
            try:
                socket.send_fds(self._channel, [CONNECTION], [self._waiting[0].fileno()])
            except OSError:  # the process has just ended, or the channel is full: it is sent later
                return
            self._flying.append(self._waiting.popleft())  # open until it is taken: macOS would lose it on the way

    def stop(self, number: int) -> None:
        """End the process by a signal."""
        self._stopped.set()
        if self._process is not None and self._process.returncode is None:
            self._process.send_signal(number)


class Front:
    """Accepts connections, reads who they are from, and hands them over."""

    def __init__(self, listener: socket.socket, n_workers: int) -> None:
        self._listener, port = listener, listener.getsockname()[1]
        self.workers = [Worker(number, port, share_of(CORES, number, n_workers)) for number in range(n_workers)]
        self._turn = 0
        self._trusted = trusted_proxies()
        self._handing = set[asyncio.Task[None]]()

    async def accept(self) -> None:
        """Accept connections without end; a client that says nothing holds up nobody."""
        loop = asyncio.get_running_loop()
        while True:
            try:
                connection, address = await loop.sock_accept(self._listener)
            except OSError:  # too many open files, or a client that has gone
                await asyncio.sleep(0.05)
                continue
            task = asyncio.create_task(self._hand(connection, address[0]))
            self._handing.add(task)
            task.add_done_callback(self._handing.discard)

    async def _hand(self, connection: socket.socket, peer: str) -> None:
        try:
            async with asyncio.timeout(HEAD_SECONDS):
                scope = scope_of(await _head(connection), peer)
            if scope["path"].endswith(f"/{HEALTH}") and not all(worker.is_ready for worker in self.workers):
                connection.recv(MAX_HEAD)  # else the client might hear of the end before the answer
                connection.send(NOT_READY)
                connection.close()
                return
            (await self._worker_for(scope)).hand(connection)
        except OSError:  # the client has gone, or has said nothing for too long
            connection.close()

    async def _worker_for(self, scope: Scope) -> Worker:
        """The worker that a visitor has; for a page, where it is none or has ended or is full, the next in turn."""
        n_workers = len(self.workers)
        number = named_worker(scope, n_workers)
        if is_document(scope) and (number is None or not self.workers[number].has_room):
            self._turn += 1
            turns = [self.workers[(self._turn + more) % n_workers] for more in range(n_workers)]
            return max(turns, key=lambda worker: (worker.has_room, worker.is_ready))  # of equals the first
        if number is None:
            number = await worker_by_address(scope, self._trusted, n_workers)
        return self.workers[number]


def share_of(cores: set[int], number: int, n_workers: int) -> set[int]:
    """The processor's cores that a worker runs on; none where the system has not told of any.

    Threads pass Python's lock to each other thousands of times an answer, and within a core that costs the least.
    """
    return set(sorted(cores)[number % max(1, len(cores)) :: n_workers])


@contextmanager
def _started_on(cores: set[int]) -> Iterator[None]:
    """Have a process that is started meanwhile run on these cores alone: it inherits what this thread may use."""
    if cores:
        os.sched_setaffinity(0, cores)
    yield
    if cores:
        os.sched_setaffinity(0, CORES)


async def _head(connection: socket.socket) -> bytes:
    """The head of a request, or what there is of it, which stays in the socket for the worker."""
    loop, pause = asyncio.get_running_loop(), 0.01
    readable = asyncio.Event()
    loop.add_reader(connection, readable.set)
    try:
        await readable.wait()
    finally:
        loop.remove_reader(connection)
    while True:
        head = connection.recv(MAX_HEAD, socket.MSG_PEEK)
        if not head:
            raise ConnectionResetError
        if b"\r\n\r\n" in head or len(head) == MAX_HEAD:
            return head.partition(b"\r\n\r\n")[0]
        await asyncio.sleep(pause := min(2 * pause, 1.0))  # it is readable all the time, so that nothing tells of more


def listen(address: str, port: int) -> socket.socket:
    """A socket that listens at a port, or for 0 at the first free one.

    Raises:
        OSError: it is not free, or the address is not this machine's.
    """
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    ports = [port] if port else range(FIRST_PORT, FIRST_PORT + PORTS)
    for number in ports:
        try:
            listener = socket.create_server(
                (address, number), family=family, backlog=2048, dualstack_ipv6=address == "::"
            )
        except OSError as error:
            if error.errno != EADDRINUSE or number == ports[-1]:
                raise
        else:
            listener.setblocking(False)
            return listener
    raise AssertionError


def serve(chosen: Settings, restarted: bool) -> int:
    """Serve by several workers until they are stopped or one of them ends by itself; return the exit status."""
    raise_files_limit()
    try:
        listener = listen(chosen.address, chosen.port)
    except OSError as error:
        print(f"Headlight cannot listen at {chosen.address}, port {chosen.port}: {error.strerror}.", file=sys.stderr)
        return 1
    with listener:
        return asyncio.run(_serve(listener, chosen.workers, restarted))


async def _serve(listener: socket.socket, n_workers: int, restarted: bool) -> int:
    front, loop, stopped_by = Front(listener, n_workers), asyncio.get_running_loop(), list[int]()

    def stop(number: int) -> None:
        stopped_by.append(number)
        accepting.cancel()
        for worker in front.workers:
            worker.stop(number)

    for number in FORWARDED:
        loop.add_signal_handler(number, stop, number)
    accepting = asyncio.create_task(front.accept())
    running = [asyncio.create_task(worker.run(restarted)) for worker in front.workers]
    done, _ = await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
    status = 128 + stopped_by[0] if stopped_by else done.pop().result()
    if not stopped_by:  # one has ended by itself, and has said why
        stop(SIGTERM)
    await asyncio.wait(running)
    return status

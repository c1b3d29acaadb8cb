"""Limits of how often one address may do something within a minute."""

import math
import time
from collections import defaultdict, deque
from collections.abc import Callable
from ipaddress import IPv6Address, ip_address, ip_network
from threading import Lock

from headlight.app.server.settings import is_loopback

WINDOW = 60.0  # seconds
PREFIX = 64  # bits of an IPv6 address; whoever has one has all that begin with them


class RateLimit:
    """At most `most` uses within a minute for each address but this machine's own; 0 is any number."""

    def __init__(self, most: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._most, self._clock, self._lock = most, clock, Lock()
        self._used = defaultdict[str, deque[float]](deque)

    def seconds_until_free(self, address: str) -> int:
        """Count one use, and return 0; or whole seconds until one more is free, where there were too many."""
        if not self._most or not address or is_loopback(address):
            return 0
        with self._lock:
            now = self._clock()
            self._forget(now - WINDOW)
            used = self._used[address]
            if len(used) >= self._most:
                return math.ceil(used[0] + WINDOW - now)
            used.append(now)
            return 0

    def _forget(self, before: float) -> None:
        for address, used in list(self._used.items()):
            while used and used[0] <= before:
                used.popleft()
            if not used:
                del self._used[address]


def network_of(host: str) -> str:
    """An address as visitors are counted: of an IPv6 one the network that it is in; empty where none is known."""
    try:
        address = ip_address(host)
    except ValueError:  # what a proxy says of those that it hides
        return host
    if not isinstance(address, IPv6Address) or address.is_loopback:
        return str(address)
    return str(address.ipv4_mapped or ip_network((address, PREFIX), strict=False))

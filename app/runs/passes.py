"""Progress of a computation, such as a forward pass after each layer, reported to waiting sessions."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from headlight.app.runs.gate import Place
from headlight.model.nn.hooks import BeforeLayers, Tap

WAITING = "Waiting for another run to end"
Listener = Callable[[int, int, str], None]
"""Receive how many steps are done, of how many, and what they are if the caller does not know.

Zero steps mean that something else has to end first.
What it raises ends the computation, of which nothing is kept."""

_listener: ContextVar[Listener | None] = ContextVar("listener", default=None)
_checking: ContextVar[Callable[[], None] | None] = ContextVar("checking", default=None)


@contextmanager
def heard_by(listener: Listener, checking: Callable[[], None] | None = None) -> Iterator[None]:
    """Report progress inside the `with` block to this listener, and call `checking` within long steps.

    What that raises ends the computation too.
    """
    token, checked = _listener.set(listener), _checking.set(checking)
    try:
        yield
    finally:
        _listener.reset(token)
        _checking.reset(checked)


def check() -> None:
    """End the computation here where nobody waits for it any more."""
    if (checking := _checking.get()) is not None:
        checking()


def tell(done: int, total: int, steps: str = "") -> None:
    """Report to the listener that this many steps are done."""
    if (listener := _listener.get()) is not None:
        listener(done, total, steps)


def tell_waiting() -> None:
    """Report to the listener that the computation waits for another one."""
    tell(0, 0, WAITING)


def tell_place(place: Place) -> None:
    """Report to the listener which place in the line of runs the computation has."""
    ends = {1: "st", 2: "nd", 3: "rd"} if place.number % 100 not in (11, 12, 13) else {}
    number = f"{place.number:,}{ends.get(place.number % 10, 'th')}"
    tell(0, 0, f"{number} in line, about {max(1, round(place.seconds)):,} s")


def told_layers(n_layers: int) -> Tap:
    """Tap that reports each layer of a pass to the listener."""
    return BeforeLayers(lambda layer: tell(layer, n_layers))

"""Arrays that the browser fetches before the script has run again, for what the user is about to see."""

from collections.abc import Callable, Mapping
from secrets import token_urlsafe
from typing import Any
from weakref import WeakValueDictionary

import numpy as np

from headlight.app.components.shared.mount import digest
from headlight.app.components.shared.packing import pack

Content = tuple[Mapping[str, Any], Mapping[str, np.ndarray]]  # what `pack` packs


class Fetchable:
    """Content that is made when the browser asks for it by this object's name, which cannot be guessed.

    It can be had as long as somebody holds the object. `make` gets the numbers that stand behind the name, and returns
    None where there is nothing by these.
    """

    def __init__(self, make: Callable[..., Content | None]) -> None:
        self.name = token_urlsafe(16)
        self.fetched: set[str] = set()  # the digests of arrays that the browser has got this way
        self._make = make
        _BY_NAME[self.name] = self

    def answer(self, *which: int) -> bytes | None:
        """The content, packed with its arrays' digests."""
        made = self._make(*which)
        if made is None:
            return None
        header, arrays = made
        digests = {name: digest(array) for name, array in arrays.items()}
        packed = pack({**header, "digests": digests}, arrays)
        self.fetched.update(digests.values())
        return packed


_BY_NAME: WeakValueDictionary[str, Fetchable] = WeakValueDictionary()


def fetch(name: str, *which: int) -> bytes | None:
    """Packed content with this name and these numbers; None where there is none, or none any more."""
    content = _BY_NAME.get(name)
    return None if content is None else content.answer(*which)

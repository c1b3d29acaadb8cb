"""What the browser may fetch: by a name that cannot be guessed, as long as somebody holds it."""

import numpy as np

from headlight.app.components.shared.fetchable import Content, Fetchable, fetch
from headlight.app.components.shared.mount import digest
from tests.unpacking import unpack

WEIGHTS = np.eye(3, dtype=np.float32)


def _content(layer: int, head: int) -> Content | None:
    return ({"heads": [layer, head]}, {"weights": WEIGHTS * (layer + head)}) if layer < 2 else None


def test_content_is_had_by_name_with_what_tells_that_the_browser_has_it() -> None:
    fetchable = Fetchable(_content)
    packed = fetch(fetchable.name, 1, 3)
    assert packed is not None
    header, arrays = unpack(packed)
    np.testing.assert_array_equal(arrays["weights"], 4 * WEIGHTS)
    assert header == {"heads": [1, 3], "digests": {"weights": digest(4 * WEIGHTS)}}
    assert fetchable.fetched == {digest(4 * WEIGHTS)}


def test_nothing_is_had_by_another_name_or_of_what_is_not_there() -> None:
    fetchable, other = Fetchable(_content), Fetchable(_content)
    assert fetch(fetchable.name, 2, 0) is None
    assert fetch(fetchable.name[:-1], 0, 0) is None
    assert not fetchable.fetched
    assert len(fetchable.name) >= 20  # of 16 random bytes
    assert fetchable.name != other.name


def test_nothing_is_had_of_what_nobody_holds_any_more() -> None:
    fetchable = Fetchable(_content)
    name = fetchable.name
    del fetchable
    assert fetch(name, 0, 0) is None

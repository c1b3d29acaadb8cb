"""A disk on which hardly anything fits."""

import resource
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def small_disk(nbytes: int = 100) -> Iterator[None]:
    """Inside the `with` block files of so many bytes can be written; not none, for pytest may write to one."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (nbytes, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)

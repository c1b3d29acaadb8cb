"""A lock around libraries that import their own parts when these are first used, as transformers does.

Of parts that import each other, two threads that begin with different ones could see a half-imported one.
"""

from threading import RLock

IMPORTING = RLock()

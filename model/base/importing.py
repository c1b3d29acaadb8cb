"""A lock around libraries that import their own parts when these are first used, as transformers does.

Of parts that import each other, two threads that begin with different ones could be given half of one.
"""

from threading import RLock

IMPORTING = RLock()

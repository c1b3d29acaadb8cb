"""Memory of the process: freed memory returns to the system, and the collector skips permanent objects."""

import gc
import sys
import time
from ctypes import CDLL
from threading import Event, Thread

M_MMAP_THRESHOLD = -3  # malloc.h
LARGE = 2**20  # bytes
MANY = 100  # modules, as a large library brings them; to look through everything for a few takes longer than it saves

COLLECT_EVERY = 5.0  # seconds

_n_modules = 0
_has_run = Event()


def return_freed_memory() -> None:
    """Have large tensors' memory returned to the system as soon as they are freed.

    glibc takes what it has seen freed once for worth keeping, up to 32 MB apiece and for each thread apart: 150 MB more
    for a run of 1024 tokens of GPT-2. Other systems' allocators have no such setting.

    Source: mallopt(3), "dynamic mmap threshold".
    """
    if sys.platform == "linux" and (mallopt := getattr(CDLL(None), "mallopt", None)) is not None:
        mallopt(M_MMAP_THRESHOLD, LARGE)


def spare_modules() -> None:
    """Freeze imported objects, so that the collector does not rescan them every few seconds.

    To go through 600,000 objects of torch, transformers and pandas takes 0.2 s, in which nobody is served. Modules that
    are imported later, as pages need them, join once they are many. What was spared with them and is of no more use is
    collected then.

    Source: gc.freeze in Python's library reference.
    """
    global _n_modules
    _has_run.set()
    if len(sys.modules) >= _n_modules + MANY:
        _n_modules = len(sys.modules)
        gc.unfreeze()
        gc.collect()
        gc.freeze()
    gc.enable()  # which it is not yet when the server starts


def collect_regularly() -> None:
    """Collect garbage every few seconds in which scripts have run, from now on.

    Streamlit would collect after each script, which goes through the objects of all sessions: with sixty of them a
    third of the time in which Python runs (config.toml switches that off).
    """

    def collect() -> None:
        while True:
            time.sleep(COLLECT_EVERY)
            _has_run.wait()
            _has_run.clear()
            gc.collect()

    Thread(target=collect, name="collector", daemon=True).start()

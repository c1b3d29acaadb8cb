"""Memory of the server: freed memory is bounded while it rests, and the collector skips permanent objects."""

import gc
import sys
import time
from threading import Event, Thread

from headlight.model.base.allocator import MIB, return_freed_memory
from headlight.model.base.file_copies import drop_unmapped_copies

SPARE = 256 * MIB  # of freed memory that the server keeps for the next run
MANY = 100  # modules, as a large library brings them; to look through everything for a few takes longer than it saves

COLLECT_EVERY = 5.0  # seconds
SHARE = 0.02  # of the time at most, since nobody is served meanwhile

_n_modules = 0
_has_run = Event()


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
    """Collect garbage every few seconds in which scripts have run, from now on, and return freed memory.

    The more sessions there are the longer it takes, and the less often it is done. Streamlit would collect after each
    script, which goes through the objects of all sessions: with sixty of them a third of the time in which Python runs
    (config.toml switches that off).
    """

    def collect() -> None:
        took = 0.0
        while True:
            time.sleep(max(COLLECT_EVERY, took / SHARE))
            _has_run.wait()
            _has_run.clear()
            began = time.thread_time()
            gc.collect()
            drop_unmapped_copies()
            return_freed_memory(SPARE)
            took = time.thread_time() - began

    Thread(target=collect, name="collector", daemon=True).start()

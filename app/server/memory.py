"""Memory of the process: freed memory returns to the system, and the collector skips permanent objects."""

import gc
import sys
from ctypes import CDLL

M_MMAP_THRESHOLD = -3  # malloc.h
LARGE = 2**20  # bytes
MANY = 100  # modules, as a large library brings them; to look through everything for a few takes longer than it saves

_n_modules = 0


def return_freed_memory() -> None:
    """Have large tensors' memory returned to the system as soon as they are freed.

    glibc takes what it has seen freed once for worth keeping, up to 32 MB apiece and for each thread apart: 150 MB more
    for a run of 1024 tokens of GPT-2. Other systems' allocators have no such setting.

    Source: mallopt(3), "dynamic mmap threshold".
    """
    if sys.platform == "linux" and (mallopt := getattr(CDLL(None), "mallopt", None)) is not None:
        mallopt(M_MMAP_THRESHOLD, LARGE)


def spare_modules() -> None:
    """Freeze imported objects, so that the collector does not rescan them after every script run.

    Streamlit collects at the end of each run of its script, and 600,000 objects of torch, transformers and pandas take
    it 0.2 s, for which the browser waits. Modules that are imported later, as pages need them, join once they are many.
    What was spared with them and is of no more use is collected then.

    Source: gc.freeze in Python's library reference; runner.postScriptGC in Streamlit's configuration.
    """
    global _n_modules
    if len(sys.modules) >= _n_modules + MANY:
        _n_modules = len(sys.modules)
        gc.unfreeze()
        gc.collect()
        gc.freeze()
    gc.enable()  # which it is not yet when the server starts

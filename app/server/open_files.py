"""The system's limit of open files, of which each connection is one."""

import sys
from contextlib import suppress

if sys.platform != "win32":  # which has neither the module nor the limit
    import resource

MAX_FILES = 2**16  # more are of no use, and some programs go through all numbers up to the limit


def files_limit() -> int:
    """How many files this process may open."""
    if sys.platform == "win32":
        return MAX_FILES
    soft = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return MAX_FILES if soft == resource.RLIM_INFINITY else soft


def raise_files_limit() -> None:
    """Let the process open as many files as the system lets it ask for: often 1,024 unless it asks."""
    if sys.platform != "win32":
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        wanted = MAX_FILES if hard == resource.RLIM_INFINITY else min(hard, MAX_FILES)
        if soft != resource.RLIM_INFINITY and soft < wanted:
            with suppress(ValueError, OSError):  # macOS tells no bound and has one
                resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))

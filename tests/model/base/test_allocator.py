"""Freed memory is used again and given back, as the kernel counts page faults and resident pages of a fresh process."""

import subprocess
import sys

import pytest

MIB = 2**20
PAGES = 64 * MIB // 4096
SCRIPT = """
import resource, threading
from headlight.model.base.allocator import MIB, return_freed_memory, reuse_freed_memory

def resident():
    return int(open("/proc/self/statm").read().split()[1]) * resource.getpagesize() // MIB

def faults():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    bytearray(64 * MIB)
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

def measure():
    before = resident()
    faults()  # the first time it is fresh
    print(faults(), resident() - before, end=" ")
    return_freed_memory(32 * MIB)
    print(resident() - before, end=" ")
    return_freed_memory()
    print(resident() - before)

{call}
thread = threading.Thread(target=measure)
thread.start()
thread.join()
"""


def _measured(call: str) -> list[int]:
    """Faults of a second large allocation; and MiB held once it is freed, once 32 may be kept, and once none may."""
    ran = subprocess.run([sys.executable, "-c", SCRIPT.format(call=call)], capture_output=True, text=True, check=True)
    return [int(each) for each in ran.stdout.split()]


@pytest.mark.skipif(sys.platform != "linux", reason="glibc's allocator")
def test_after_the_call_freed_memory_is_used_again_in_every_thread_and_returned_when_asked() -> None:
    faults, resident, kept, returned = _measured("reuse_freed_memory()")
    assert faults < PAGES / 100
    assert resident >= 64
    assert 25 <= kept <= 40
    assert returned < 5


@pytest.mark.skipif(sys.platform != "linux", reason="glibc's allocator")
def test_without_the_call_nothing_changes_by_the_import() -> None:
    faults, resident, *_ = _measured("")
    assert faults > PAGES / 2
    assert resident < 5

"""What a benchmark ran on."""

import os
import platform
import re
from pathlib import Path


def machine() -> str:
    """The processor's name and how many of them."""
    listed = Path("/proc/cpuinfo")  # where there is none, as outside Linux, Python's own word has to do
    name = re.search(r"model name\s*: (.*)", listed.read_text()) if listed.exists() else None
    return f"{os.cpu_count()} × {name[1] if name else platform.processor()}"

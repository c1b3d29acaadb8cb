"""The program that renders chat templates: a request a line comes in as JSON, and an answer a line goes out.

It runs in a process of its own (see `rendering`), which ends when what it takes passes the limits, or when its input
does. It imports nothing of this project.
"""

import json
import sys
from pathlib import Path
from typing import Any

CPU_SECONDS = 2  # of one template; an ordinary one takes a few milliseconds
MEMORY = 2**28  # bytes beside what the process has when it begins
MAX_CHARACTERS = 2**20


def _limit_memory() -> None:
    import resource

    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])  # of addresses, which are torch's own
    most = pages * resource.getpagesize() + MEMORY
    resource.setrlimit(resource.RLIMIT_AS, (most, most))


def _limit_time() -> None:
    import resource

    used = resource.getrusage(resource.RUSAGE_SELF)
    most = int(used.ru_utime + used.ru_stime) + CPU_SECONDS
    resource.setrlimit(resource.RLIMIT_CPU, (most, resource.getrlimit(resource.RLIMIT_CPU)[1]))


def _rendered(request: dict[str, Any]) -> dict[str, str]:
    from transformers.utils.chat_template_utils import render_jinja_template

    try:
        rendered: Any = render_jinja_template(
            [request["messages"]],
            chat_template=request["template"],
            add_generation_prompt=request["add_generation_prompt"],
            **request["special"],
        )
        text = str(rendered[0][0])
    except ImportError:
        return {"lacks": "jinja2"}
    except MemoryError:
        return {"error": "it takes too much memory"}
    except Exception as error:  # whatever the template raises
        return {"error": str(error)[:1000]}
    return {"text": text} if len(text) <= MAX_CHARACTERS else {"error": f"it makes {len(text):,} characters of it"}


def main() -> None:
    """Answer until there are no more requests."""
    import transformers.utils.chat_template_utils  # noqa: F401 (before memory is limited)

    has_limits = sys.platform.startswith("linux")
    if has_limits:
        _limit_memory()
    for line in sys.stdin.buffer:
        if has_limits:
            _limit_time()
        sys.stdout.buffer.write(json.dumps(_rendered(json.loads(line))).encode() + b"\n")
        sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()

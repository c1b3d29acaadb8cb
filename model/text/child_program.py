"""Child program that runs code from a model's files: one JSON request a line, one answer a line.

Its argument is which of `KINDS` it is: rendering chat templates, or splitting texts by a tokenizer's patterns. It runs
in a process of its own (see `child_process`), which ends when what it takes passes the limits, or when its input does.
It imports nothing of this project.
"""

import json
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

CPU_SECONDS, MAX_SECONDS = 2, 12  # of one request, an ordinary one of which takes a few milliseconds, and a long one
CHARACTERS_PER_SECOND = 2**19  # for each of which a long one has a second more; ordinary patterns split more
MAX_CHARACTERS = 2**20


def _limit_memory(spare: int) -> None:
    import resource

    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])  # of addresses, which are torch's own
    most = pages * resource.getpagesize() + spare
    resource.setrlimit(resource.RLIMIT_AS, (most, most))


def _limit_time(n_characters: int) -> None:
    import resource

    used = resource.getrusage(resource.RUSAGE_SELF)
    seconds = min(CPU_SECONDS + n_characters // CHARACTERS_PER_SECOND, MAX_SECONDS)
    most = int(used.ru_utime + used.ru_stime) + seconds
    resource.setrlimit(resource.RLIMIT_CPU, (most, resource.getrlimit(resource.RLIMIT_CPU)[1]))


def _import_templates() -> None:
    import transformers.utils.chat_template_utils  # noqa: F401


def _render(request: dict[str, Any]) -> dict[str, str]:
    from transformers.utils.chat_template_utils import render_jinja_template

    try:
        rendered: Any = render_jinja_template(
            [request["messages"]], chat_template=request["template"], **request["settings"]
        )
        text = str(rendered[0][0])
    except ImportError:
        return {"lacks": "jinja2"}
    except MemoryError:
        return {"error": "it takes too much memory"}
    except Exception as error:  # whatever the template raises
        return {"error": str(error)[:1000]}
    return {"text": text} if len(text) <= MAX_CHARACTERS else {"error": f"it makes {len(text):,} characters of it"}


def _import_tokenizers() -> None:
    import tokenizers  # noqa: F401


@lru_cache(8)
def _splitter(steps: str) -> Any:
    from tokenizers import Tokenizer

    word = {"type": "WordLevel", "vocab": {"": 0}, "unk_token": ""}
    parts = {"truncation": None, "padding": None, "post_processor": None, "model": word}
    return Tokenizer.from_str(json.dumps({"version": "1.0", **parts, **json.loads(steps)}))


def _split(request: dict[str, Any]) -> dict[str, str]:
    with suppress(BaseException):  # panics of the library are no Exception; whoever asks meets the same
        splitter = _splitter(request["steps"])
        splitter.encode_special_tokens = request["literal"]
        for text in request["texts"]:
            splitter.encode(text)
        if request["names"]:
            splitter.decoder.decode(request["names"])
    return {}


@dataclass(frozen=True)
class Kind:
    """Kind of child process: its imports before memory is limited, and the limit in further bytes."""

    answer: Callable[[dict[str, Any]], dict[str, str]]
    imports: Callable[[], None]
    memory: int


KINDS = {"templates": Kind(_render, _import_templates, 2**28), "patterns": Kind(_split, _import_tokenizers, 2**31)}


def main() -> None:
    """Answer until there are no more requests."""
    kind = KINDS[sys.argv[1]]
    kind.imports()
    has_limits = sys.platform.startswith("linux")
    if has_limits:
        _limit_memory(kind.memory)
    for line in sys.stdin.buffer:
        if has_limits:
            _limit_time(0)
        request = json.loads(line)
        if has_limits:
            _limit_time(sum(map(len, request.get("texts", ()))))
        sys.stdout.buffer.write(json.dumps(kind.answer(request)).encode() + b"\n")
        sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()

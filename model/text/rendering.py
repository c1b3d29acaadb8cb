"""Rendering chat templates in a process of their own: a template is anybody's program, and may never end.

The process is begun with the first template, which takes a second or two, and stays: another costs about a
millisecond. One that takes too much time or memory ends it, and the next begins a new one.
"""

import atexit
import json
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from threading import Lock, Timer
from typing import Any

from headlight.model.base.errors import InputError

PROGRAM = Path(__file__).with_name("chat_process.py")
SECONDS = 60.0  # for an answer, the process's beginning included; its own limit, of processor time, is far lower


class TemplateProcess:
    """A process that renders templates, one at a time."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._process: subprocess.Popen[bytes] | None = None

    def render(self, **request: Any) -> str:
        """The text of a conversation by a template, with what else it may name.

        Raises:
            InputError: the template refuses the conversation, or takes too much; the message says why.
        """
        try:
            line = json.dumps(request).encode() + b"\n"
        except (TypeError, ValueError) as error:
            raise InputError(f"The conversation holds what is no JSON ({error}). Give texts and numbers.") from error
        with self._lock:
            answer = self._answer(line)
        if "lacks" in answer:
            raise InputError(f"Chat templates need {answer['lacks']}: pip install {answer['lacks']}.")
        if "error" in answer:
            raise InputError(f"The chat template does not take this conversation ({answer['error']}).")
        return answer["text"]

    def _answer(self, line: bytes) -> Mapping[str, str]:
        process = self._running()
        assert process.stdin
        assert process.stdout
        timer = Timer(SECONDS, process.kill)
        timer.start()
        try:
            process.stdin.write(line)
            process.stdin.flush()
            answer = process.stdout.readline()
        except OSError:  # it has ended
            answer = b""
        finally:
            timer.cancel()
        if answer:
            return dict(json.loads(answer))
        self.end()
        return {"error": "it takes too much time or memory, as one that never ends would. Begin without it"}

    def _running(self) -> "subprocess.Popen[bytes]":
        if self._process is not None and self._process.poll() is not None:
            self.end()
        if self._process is None:
            # -P: what lies in the folder that the server was started from, or beside the program, is not imported.
            command = [sys.executable, "-P", str(PROGRAM)]
            self._process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
            )
        return self._process

    def end(self) -> None:
        """End the process; the next template begins another."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            with suppress(OSError), process:  # which closes its pipes, and waits for it
                pass


TEMPLATES = TemplateProcess()
atexit.register(TEMPLATES.end)

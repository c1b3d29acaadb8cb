"""A process that holds one implementation and does with it what it is told: `python -m tests.bench.worker PEER`.

A line of JSON in is a task: the name of one of the peer's methods, its arguments, and how matrix products are to be
made (null: as the peer itself decides). A line out is what it cost, and what it returned where that is a number or a
list of them. `workers` is the other end.
"""

import json
import os
import sys
from importlib import import_module
from typing import Any, TextIO

import torch

from tests.bench.timing import cost, use_precision


def serve(peer: Any, device: str, tasks: TextIO, answers: TextIO) -> None:
    """Do each task when it comes."""
    for line in tasks:
        task = json.loads(line)
        if task["precision"]:
            use_precision(task["precision"])
        work = getattr(peer, task["name"])
        with torch.inference_mode(task["name"] != "load"):
            took, result = cost(lambda: work(**task["arguments"]), device)  # noqa: B023 (called at once)
        value = result if isinstance(result, float | str | list) else None
        print(json.dumps({"clock": took.clock, "processor": took.processor, "value": value}), file=answers, flush=True)
        del result


def main(name: str, device: str, threads: str) -> None:
    """Serve one peer until nobody writes any more."""
    torch.set_num_threads(int(threads))
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "w")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # what a library prints is no answer
    peer = import_module(f"tests.bench.peers.{name}").Peer(device)
    serve(peer, device, sys.stdin, answers)


if __name__ == "__main__":
    main(*sys.argv[1:])

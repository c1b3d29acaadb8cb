"""The logit lens over all layers and positions of the longest prompt, beside its matrix products alone."""

from collections.abc import Iterator

from tests.bench.bench import Bench
from tests.bench.figures import Figure, Goal, ratio
from tests.bench.memory import extra_memory

GOAL, MEMORY = Goal(1.2), Goal(64)  # MB


def measure(bench: Bench) -> Iterator[Figure]:
    """Time, and memory in a process that has done nothing else."""
    n_tokens = max(bench.setting.lengths)
    tasks = {
        "Headlight": bench.task("headlight", "lens", n_tokens=n_tokens),
        "floor": bench.task("floor", "lens", bench.fastest, n_tokens=n_tokens),
    }
    turns = bench.take_turns(f"lens, {n_tokens} tokens", tasks)
    what = f"{n_tokens} tokens, all layers and positions"
    yield ratio("lens", f"{what} / its matrix products alone", turns["Headlight"], turns["floor"], GOAL)
    with bench.fresh("headlight") as worker:
        worker.do("load", folder=str(bench.folder))
        worker.do("lens", n_tokens=min(bench.setting.lengths))  # brings code and weights into memory
        worker.do("streams", n_tokens=n_tokens)
        extra, _ = extra_memory(worker.pid, lambda: worker.do("lens", n_tokens=n_tokens))
    yield Figure("lens", f"{what}: extra memory", (extra,), "MB", MEMORY)

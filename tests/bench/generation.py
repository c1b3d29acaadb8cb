"""Greedy decoding beside transformers' generate, both with a key-value cache.

Each token needs every weight once, so nobody is faster than memory is read: the floor is a plain sum of all weights.
"""

from collections.abc import Iterator
from typing import Any

from tests.bench.bench import Bench
from tests.bench.figures import Figure, Goal, per_second, ratio

GOAL = Goal(2, at_least=True)
PROMPT = 16  # tokens


def measure(bench: Bench) -> Iterator[Figure]:
    """Time for the same tokens.

    Raises:
        RuntimeError: they are not the same.
    """
    lengths: dict[str, Any] = {"n_tokens": PROMPT, "n_new": bench.setting.n_new}
    ours, theirs = (bench.task(peer, "generate", **lengths) for peer in ("headlight", "hugging_face"))
    if ours().value != theirs().value:
        raise RuntimeError("Headlight and transformers write different tokens.")
    default = bench.task("hugging_face", "generate", "none", **lengths)
    reading = bench.task("floor", "generate", n_new=bench.setting.n_new)
    tasks = {"Headlight": ours, "transformers": default, "floor": reading}
    turns = bench.take_turns("generation", tasks)
    what = f"{PROMPT} + {bench.setting.n_new} tokens"
    yield ratio("generation", f"{what}: transformers / ours", turns["transformers"], turns["Headlight"], GOAL)
    for name in ("Headlight", "transformers"):
        yield per_second("generation", f"{what}: {name}", turns[name], bench.setting.n_new, "tokens/s")
    yield ratio("generation", f"{what}: ours / reading the weights", turns["Headlight"], turns["floor"])
    yield ratio("generation", f"{what}: transformers / reading the weights", turns["transformers"], turns["floor"])

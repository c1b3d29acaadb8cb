"""A pass that keeps everything, of a Llama of GPT-2-small's shape, beside transformers' pass that keeps nothing."""

from collections.abc import Iterator, Mapping
from functools import partial

from tests.bench.bench import Bench
from tests.bench.figures import Figure, at_most, ratio
from tests.bench.forward import KEPT, SDPA, SDPA_FAST

LLAMA = {
    "num_hidden_layers": 12,
    "hidden_size": 768,
    "num_attention_heads": 12,
    "num_key_value_heads": 4,
    "intermediate_size": 2048,
    "max_position_embeddings": 1024,
    "vocab_size": 50257,
}
LENGTHS = (128, 1024)
GOAL = 1.1


def measure(bench: Bench, shape: Mapping[str, int] = LLAMA, lengths: tuple[int, ...] = LENGTHS) -> Iterator[Figure]:
    """The ratio at each length: to transformers as it is, and with the fastest exact product that ours takes."""
    folder = bench.checkpoint("llama", shape, kind="llama")
    with bench.fresh("headlight") as ours, bench.fresh("hugging_face") as theirs:
        for worker in (ours, theirs):
            worker.do("load", folder=str(folder))
        for n_tokens in lengths:
            bench.check_alike(ours, theirs, "hugging_face", n_tokens)
            forward = partial(theirs.do, "forward", n_tokens=n_tokens, attention="sdpa")
            tasks = {
                SDPA: partial(forward, precision="none"),
                KEPT: partial(ours.do, "cached", n_tokens=n_tokens),
                SDPA_FAST: partial(forward, precision=bench.fastest),
            }
            turns = bench.take_turns(f"llama, {n_tokens} tokens", tasks)
            for name, goal in ((SDPA, at_most(GOAL)), (SDPA_FAST, at_most(None))):
                yield ratio("llama", f"{n_tokens} tokens: everything kept / {name}", turns[KEPT], turns[name], goal)

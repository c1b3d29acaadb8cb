"""One pass over a prompt: with everything kept but each head's output apart, and without keeping anything.

Scores and patterns are kept as queries and keys, and computed when they are first read: so the same is also measured
with a look at every one of them.
"""

from collections.abc import Callable, Iterator, Mapping
from itertools import zip_longest

from tests.bench.bench import Bench
from tests.bench.figures import Figure, Turns, at_least, at_most, milliseconds, ratio
from tests.bench.workers import Answer

KEPT, READ = "Headlight, everything kept", "Headlight, everything kept and read"
PLAIN, FLOOR = "Headlight", "floor"
SDPA, SDPA_FAST = "transformers sdpa", "transformers sdpa, fastest product"
EAGER, EAGER_FAST = "transformers eager, all outputs", "transformers eager, all outputs, fastest product"
HOOKED, BRIDGE = "HookedTransformer", "TransformerBridge"

# Goals by the number of tokens.
KEPT_GOAL = {16: 1.0, 128: 1.0, 512: 1.0, 1024: 1.15}  # beside transformers' sdpa with the same product
READ_GOAL = {16: 1.1, 128: 1.1, 512: 1.1, 1024: 1.15}
READ_OVER_EAGER = dict.fromkeys((16, 128, 512, 1024), 0.95)
DEFAULT_BACKEND = {16: 0.5, 128: 0.5, 512: 0.5, 1024: 0.6}
OVER_BRIDGE, OVER_HOOKED = {16: 3, 512: 2.2}, {16: 5, 1024: 2.5}
ON_GPU: dict[str, dict[int, float]] = {SDPA: {}, EAGER: {1024: 0.5}}
OVER_FLOOR = 1.15  # from 128 tokens
SHORT = 128  # tokens, up to which there are more rounds, as each takes little


def measure(bench: Bench) -> Iterator[Figure]:
    """All ratios at each length."""
    for n_tokens in bench.setting.lengths:
        bench.check_answers(n_tokens)
        rounds = bench.setting.rounds * (3 if n_tokens <= SHORT else 1)
        turns = bench.take_turns(f"forward, {n_tokens} tokens", tasks(bench, n_tokens), rounds)
        turns[FLOOR] = [each.times(1 + attention_share(bench.setting.shape, n_tokens)) for each in turns[FLOOR]]
        yield from beside_transformers(bench, n_tokens, turns)
        yield from beside_transformer_lens(n_tokens, turns)
        goal = at_most(OVER_FLOOR if n_tokens >= SHORT else None)
        yield ratio("forward", f"{n_tokens} tokens: plain / floor of operations", turns[PLAIN], turns[FLOOR], goal)
        yield milliseconds("forward", f"{n_tokens} tokens: everything kept", turns[KEPT])


def tasks(bench: Bench, n_tokens: int) -> dict[str, Callable[[], Answer]]:
    """Everybody's turn. Who has several has others between them, as a process that has just worked is quicker."""
    ours = {
        KEPT: bench.task("headlight", "cached", n_tokens=n_tokens),
        READ: bench.task("headlight", "cached_and_read", n_tokens=n_tokens),
        PLAIN: bench.task("headlight", "forward", n_tokens=n_tokens),
    }
    theirs = {}
    for attention, default, fast in (("sdpa", SDPA, SDPA_FAST), ("eager", EAGER, EAGER_FAST)):
        precisions = {default: "none", fast: bench.fastest} if bench.on_cpu else {default: "none"}
        for name, precision in precisions.items():
            theirs[name] = bench.task("hugging_face", "forward", precision, n_tokens=n_tokens, attention=attention)
    others = {FLOOR: bench.task("floor", "forward", bench.fastest, n_tokens=n_tokens)}
    for name, peer in ((HOOKED, "hooked_transformer"), (BRIDGE, "bridge")):
        if bench.has(peer):
            others[name] = bench.task(peer, "cached", n_tokens=n_tokens)
    rounds = zip_longest(ours.items(), theirs.items(), others.items())
    return dict(each for round_ in rounds for each in round_ if each)


def attention_share(shape: Mapping[str, int], n_tokens: int) -> float:
    """Operations of attention's two products over those of the products with weights."""
    d_model, n_layers = shape["n_embd"], shape["n_layer"]
    weights = 2 * n_tokens * d_model * (12 * d_model * n_layers + shape["vocab_size"])
    return 4 * n_layers * d_model * n_tokens**2 / weights


def beside_transformers(bench: Bench, n_tokens: int, turns: Turns) -> Iterator[Figure]:
    """Everything kept here, beside transformers that keeps nothing, and that gives all it can."""
    of_kept = {SDPA_FAST: KEPT_GOAL, SDPA: DEFAULT_BACKEND, EAGER_FAST: {}, EAGER: {}} if bench.on_cpu else ON_GPU
    of_read = of_kept | ({SDPA_FAST: READ_GOAL, EAGER_FAST: READ_OVER_EAGER} if bench.on_cpu else {})
    for name in of_kept:
        for ours, kept, goals in (
            (KEPT, "everything kept", of_kept),
            (READ, "everything kept and read", of_read),
        ):
            what, limit = f"{n_tokens} tokens: {kept} / {name}", goals[name].get(n_tokens)
            yield ratio("forward", what, turns[ours], turns[name], at_most(limit))


def beside_transformer_lens(n_tokens: int, turns: Turns) -> Iterator[Figure]:
    """TransformerLens's `run_with_cache` over ours."""
    for name, goals in ((BRIDGE, OVER_BRIDGE), (HOOKED, OVER_HOOKED)):
        if name in turns:
            for ours, kept in ((KEPT, "ours"), (READ, "ours, all read")):
                what = f"{n_tokens} tokens: {name} run_with_cache / {kept}"
                yield ratio("forward", what, turns[name], turns[ours], at_least(goals.get(n_tokens)))

"""The map of all heads beside its arithmetic floor, and beside TransformerLens's.

Two prompts of 16 tokens. The floor is what the map's matrix products would take if nothing else were done: every head's
variant from its own layer on, at the rate of such products, as tall as the variants in flight.
"""

from collections.abc import Iterator

from headlight.model import TransformerConfig
from headlight.model.patching import grid
from headlight.model.patching.grids import operations
from tests.bench.bench import Bench
from tests.bench.figures import Figure, Goal, at_least, ratio

TOKENS = 16
GOAL, OVER_TRANSFORMER_LENS = Goal(1.5), 18
ROUNDS = 3  # at most: TransformerLens takes one whole run for each head


def measure(bench: Bench) -> Iterator[Figure]:
    """Time of the map, of its products, and of TransformerLens's map."""
    tasks = {
        "Headlight": bench.task("headlight", "patching", n_tokens=TOKENS),
        "floor": bench.task("floor", "patching", bench.fastest, n_tokens=TOKENS),
    }
    peers = {"HookedTransformer": "hooked_transformer", "TransformerBridge": "bridge"}
    tasks |= {name: bench.task(peer, "patching", n_tokens=TOKENS) for name, peer in peers.items() if bench.has(peer)}
    turns = bench.take_turns("patching", tasks, min(ROUNDS, bench.setting.rounds))
    floor = [each.times(work_over_floor(bench)) for each in turns["floor"]]
    turns["floor"] = floor
    heads = f"{bench.setting.shape['n_layer'] * bench.setting.shape['n_head']} heads, {TOKENS} tokens"
    yield ratio("patching", f"map of {heads} / floor of operations", turns["Headlight"], floor, GOAL)
    for name in peers.keys() & turns.keys():
        goal = at_least(OVER_TRANSFORMER_LENS)
        yield ratio("patching", f"map of {heads}: {name} / ours", turns[name], turns["Headlight"], goal)


def work_over_floor(bench: Bench) -> float:
    """The map's operations over those that the floor's products took."""
    shape = bench.setting.shape
    cfg = TransformerConfig(
        n_layers=shape["n_layer"],
        d_model=shape["n_embd"],
        n_ctx=shape["n_positions"],
        n_heads=shape["n_head"],
        d_head=shape["n_embd"] // shape["n_head"],
        d_vocab=shape["vocab_size"],
    )
    rows = sum(TOKENS * cfg.n_heads * layer for layer in range(1, cfg.n_layers))
    return operations(cfg, grid("z", cfg, TOKENS).variants, TOKENS) / (2 * 12 * cfg.d_model**2 * rows)

"""How the time of a pass with everything kept grows with tokens, layers and prompts."""

from collections.abc import Iterator

from tests.bench.bench import Bench
from tests.bench.figures import Figure
from tests.bench.memory import exponent

TOKENS = 64  # of each prompt, where layers or prompts grow
PROMPTS = (1, 2, 4, 8, 16)


def measure(bench: Bench) -> Iterator[Figure]:
    """The fitted power of each."""
    longest, n_layers = max(bench.setting.lengths), bench.setting.shape["n_layer"]
    lengths = [2**power for power in range(4, longest.bit_length())]
    fewer = sorted({1, n_layers // 4, n_layers // 2, 3 * n_layers // 4, n_layers} - {0})
    yield grown(bench, "tokens", {n_tokens: {"n_tokens": n_tokens} for n_tokens in lengths})
    yield grown(bench, "layers", {layers: {"n_tokens": TOKENS, "n_layers": layers} for layers in fewer})
    yield grown(bench, "prompts", {prompts: {"n_tokens": TOKENS, "n_prompts": prompts} for prompts in PROMPTS})


def grown(bench: Bench, what: str, sizes: dict[int, dict[str, int]]) -> Figure:
    """The power of a size with which time grows, in each round."""
    tasks = {str(size): bench.task("headlight", "cached", None, **arguments) for size, arguments in sizes.items()}
    turns = bench.take_turns(f"growth, {what}", tasks)
    rounds = zip(*turns.values(), strict=True)
    powers = tuple(exponent(list(sizes), [each.clock for each in round_]) for round_ in rounds)
    return Figure("growth", f"time's power of the number of {what}", powers, "")

"""Patching every head's z over a set, beside its matrix products alone and TransformerLens (`bench experiments`).

Random weights of GPT-2-small's shape and pairs of random prompts of 16 tokens. The products are those of every changed
run from its own layer on, as tall as ours are, and nothing else. TransformerLens patches one pair's heads one by one,
as its utility does. All take turns, and are compared by the processor's time, which what else the machine does changes
little, and by the clock, as `bench patching` compares the same two maps.
"""

import argparse
import statistics
import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from headlight.model import Transformer, TransformerConfig
from headlight.model.experiments.patching import flights
from headlight.model.experiments.running import run
from headlight.model.experiments.runs import Prompts, Readout
from headlight.model.experiments.settings import ExperimentSettings
from headlight.model.prompt_sets.encoding import TokenRow, TokenSet
from tests.bench.timing import Cost, cost

TOKENS = 16
GPT2 = {"n_layers": 12, "d_model": 768, "n_heads": 12, "d_head": 64, "d_vocab": 50257}
RATIOS = {
    "all pairs / products alone": ("all pairs", "products", "at most 1.3"),
    "TransformerLens / ours, one pair": ("theirs", "one pair", "at least 30"),
}
MIB = 2**20


def random_model(shape: dict[str, int]) -> Transformer:
    """Random weights of a shape."""
    torch.manual_seed(0)
    return Transformer(TransformerConfig(**shape, n_ctx=64, act_fn="gelu_new")).requires_grad_(False).eval()


def random_pairs(count: int, d_vocab: int) -> TokenSet:
    """Pairs of random prompts with an answer and a wrong one."""
    generator = torch.Generator().manual_seed(1)
    prompts = torch.randint(d_vocab, (count, 2, TOKENS), generator=generator)
    rows = [
        TokenRow(number, clean, corrupted, (3,), (5,), {"end": (TOKENS - 1, TOKENS - 1)})
        for number, (clean, corrupted) in enumerate(prompts, 1)
    ]
    return TokenSet("random", tuple(rows), {}, ("end",))


@dataclass
class Products:
    """The matrix products of a set's changed runs, of two unchanged runs of each pair, and nothing else."""

    model: Transformer
    pairs: TokenSet
    settings: ExperimentSettings

    @torch.inference_mode()
    def __call__(self) -> None:
        cfg, settings = self.model.cfg, self.settings
        for start in range(0, len(self.pairs.rows), settings.batch):
            rows = self.pairs.rows[start : start + settings.batch]
            tokens = torch.stack([row.clean for row in rows])
            prompts = Prompts(self.model, rows, tokens, Readout(self.model, rows, "logit_diff"))
            self._layers(0, 2 * len(rows), True)
            for layer in range(cfg.n_layers):
                for some, cells in flights(prompts, cfg.n_heads, settings.memory * MIB):
                    n_rows, n_cells = some.stop - some.start, cells.stop - cells.start
                    z = torch.ones(n_cells, n_rows * TOKENS, cfg.d_head)
                    torch.matmul(z, self.model.block(layer).attn.W_O[cells])
                    self._layers(layer, n_rows * n_cells, False)

    def _layers(self, first: int, n_runs: int, with_attention: bool) -> None:
        """From a layer on; of the first one its MLP alone, of the last its MLP at the last position."""
        cfg, stream = self.model.cfg, torch.ones(n_runs * TOKENS, self.model.cfg.d_model)
        for layer in range(first, cfg.n_layers):
            block = self.model.block(layer)
            if layer > first or with_attention:
                q, k, v = (
                    torch.matmul(stream, W.transpose(0, 1).reshape(cfg.d_model, -1))
                    .view(n_runs, TOKENS, cfg.n_heads, cfg.d_head)
                    .transpose(1, 2)
                    for W in (block.attn.W_Q, block.attn.W_K, block.attn.W_V)
                )
                z = (q @ k.mT) @ v
                torch.matmul(z.transpose(1, 2).reshape(n_runs * TOKENS, -1), block.attn.W_O.reshape(-1, cfg.d_model))
            read = stream[:n_runs] if layer == cfg.n_layers - 1 else stream
            torch.matmul(torch.matmul(read, block.mlp.W_in), block.mlp.W_out)  # type: ignore[union-attr]


def their_map(model: Transformer, row: TokenRow) -> Callable[[], Tensor]:
    """TransformerLens's map of one pair: a run with a hook for each head."""
    from transformer_lens import patching

    from tests.model.lens.lens_twin import lens_twin

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        twin = lens_twin(model)
    twin.set_use_attn_result(False)
    patching.tqdm = lambda steps, *_, **__: steps

    @torch.inference_mode()
    def patch() -> Tensor:
        assert row.corrupted is not None
        _, cache = twin.run_with_cache(row.clean[None])
        return patching.get_act_patch_attn_head_out_all_pos(
            twin, row.corrupted[None], cache, lambda logits: logits[0, -1, 3] - logits[0, -1, 5]
        )

    return patch


def measure(
    shape: dict[str, int], n_pairs: int, rounds: int, settings: ExperimentSettings
) -> Iterator[tuple[str, Cost]]:
    """Seconds and ratios, each the median of the rounds'."""
    model, pairs = random_model(shape), random_pairs(n_pairs, shape["d_vocab"])
    one = TokenSet("one", pairs.rows[:1], {}, ("end",))
    tasks: dict[str, Callable[[], object]] = {
        "all pairs": lambda: run(model, pairs, settings),
        "products": Products(model, pairs, settings),
        "one pair": lambda: run(model, one, settings),
        "theirs": their_map(model, one.rows[0]),
    }
    for task in tasks.values():
        task()
    times = [{name: cost(task)[0] for name, task in tasks.items()} for _ in range(rounds)]
    for name in tasks:
        yield f"{name} (s)", _median(each[name] for each in times)
    for name, (above, below, _) in RATIOS.items():
        pairs_of_times = [(each[above], each[below]) for each in times]
        yield name, _median(Cost(x.clock / y.clock, x.processor / y.processor) for x, y in pairs_of_times)


def _median(costs: Iterable[Cost]) -> Cost:
    clocks, processors = zip(*((each.clock, each.processor) for each in costs), strict=True)
    return Cost(statistics.median(clocks), statistics.median(processors))


def main() -> None:
    """Print the times and ratios."""
    flags = argparse.ArgumentParser("bench experiments", description=__doc__)
    flags.add_argument("--pairs", type=int, default=100)
    flags.add_argument("--rounds", type=int, default=3)
    flags.add_argument("--layers", type=int, default=GPT2["n_layers"])
    flags.add_argument("--batch", type=int, default=ExperimentSettings.batch)
    flags.add_argument("--memory", type=int, default=ExperimentSettings.memory)
    flags.add_argument("--threads", type=int, default=torch.get_num_threads())
    chosen = flags.parse_args()
    torch.set_num_threads(chosen.threads)
    settings = ExperimentSettings(batch=chosen.batch, memory=chosen.memory)
    print(f"{'':36}{'clock':>10}{'processor':>11}")
    for name, value in measure(GPT2 | {"n_layers": chosen.layers}, chosen.pairs, chosen.rounds, settings):
        print(f"{name:36}{value.clock:10.2f}{value.processor:11.2f}   {RATIOS[name][2] if name in RATIOS else ''}")


if __name__ == "__main__":
    main()

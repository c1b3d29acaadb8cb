"""One of the processes over which heads are divided: it compares what it gets with the same model, undivided.

`python -m tests.model.nn.parallel.process RANK FOLDER` meets the others in the folder, and leaves what differs by
how much of the largest value in RANK.json: for every kind of model, and there for each thing compared.
"""

import copy
import json
import sys
from collections.abc import Iterator
from pathlib import Path

import torch
from torch import Tensor
from torch.distributed import destroy_process_group, init_process_group
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import DTensor

from headlight.model import Transformer
from headlight.model.decoding import greedy
from headlight.model.nn.parallel import shard_heads
from headlight.model.nn.seq2seq import Seq2SeqTransformer
from tests.model.nn.parallel.kinds import KINDS, decoder, encoder_decoder

SIZE = 2
PARTS = ("a head's mixture", "the embedding")
Differences = Iterator[tuple[str, float]]


def difference(ours: Tensor, theirs: Tensor) -> float:
    assert ours.shape == theirs.shape
    seen = theirs.isfinite()  # scores of hidden keys are infinite
    assert torch.equal(ours.isfinite(), seen)
    return float((ours - theirs)[seen].abs().max() / theirs[seen].abs().max())


def compared(divided: Transformer, whole: Transformer, rank: int) -> Differences:
    tokens = torch.randint(50, (2, 11), generator=torch.Generator().manual_seed(1))
    mask = torch.ones_like(tokens)
    mask[0, :3] = 0
    yield from everything_kept(divided, whole, tokens)
    with torch.inference_mode():
        yield "a logit beside padding", difference(divided(tokens, mask)[mask == 1], whole(tokens, mask)[mask == 1])
        yield "a logit, after edits", difference(edited(divided, tokens), edited(whole, tokens))
        yield "a pattern that one process reads", alone(divided, whole, tokens, rank)
        written = [[row.tokens.tolist() for row in greedy(each, tokens, max_new_tokens=6)] for each in (divided, whole)]
    yield "a token that is written", float(written[0] != written[1])
    for what, *both in zip(PARTS, derivatives(divided, tokens), derivatives(whole, tokens), strict=True):
        yield f"a derivative by {what}", difference(*both)
    weights = divided.block(1).attn.W_O
    assert isinstance(weights, DTensor)
    yield "a weight", difference(weights.full_tensor(), whole.block(1).attn.W_O)


def everything_kept(divided: Transformer, whole: Transformer, tokens: Tensor) -> Differences:
    """Every activation, computed on the way and when it is read, each head's output apart as well."""
    assert divided.hook_names == whole.hook_names
    with torch.inference_mode():
        (logits, cache), (expected, kept) = (each.run_with_cache(tokens) for each in (divided, whole))
        yield "a logit", difference(logits, expected)
        for name in kept:
            yield f"{name}, when it is read", difference(cache[name], kept[name])
        (_, cache), (_, kept) = (each.run_with_cache(tokens, list(whole.hook_names)) for each in (divided, whole))
        for name in kept:
            yield name, difference(cache[name], kept[name])


def edited(model: Transformer, tokens: Tensor) -> Tensor:
    """Logits without one head of each process, and with a pattern that looks at the first token alone."""

    def cut(z: Tensor, hook: object) -> None:
        z[:, :, [1, -1]] = 0

    def first(pattern: Tensor, hook: object) -> None:
        pattern[:, -2], pattern[:, -2, :, 0] = 0, 1

    return model.run_with_hooks(tokens, [("blocks.0.attn.hook_z", cut), ("blocks.1.attn.hook_pattern", first)])


def alone(divided: Transformer, whole: Transformer, tokens: Tensor, rank: int) -> float:
    """A pattern that the first process reads while the other does not."""
    (_, cache), (_, kept) = (each.run_with_cache(tokens) for each in (divided, whole))
    return difference(cache["pattern", 1], kept["pattern", 1]) if rank == 0 else 0.0


def derivatives(model: Transformer, tokens: Tensor) -> tuple[Tensor, Tensor]:
    """Of the sum of the last logits' squares, by the heads' mixtures and by the embedding."""
    embedded = model.embed(tokens).requires_grad_()
    mixtures: list[Tensor] = []

    def replace(_: Tensor, hook: object) -> Tensor:
        return embedded * 1.0

    def keep(z: Tensor, hook: object) -> None:
        z.retain_grad()
        mixtures.append(z)

    logits = model.run_with_hooks(tokens, [("hook_embed", replace), ("blocks.0.attn.hook_z", keep)])
    logits[:, -1].square().sum().backward()
    assert mixtures[0].grad is not None
    assert embedded.grad is not None
    return mixtures[0].grad, embedded.grad


def translated(divided: Seq2SeqTransformer, whole: Seq2SeqTransformer) -> Differences:
    """Everything that is kept of a pass with attention to an encoder's output."""
    source, target = torch.randint(50, (2, 2, 9), generator=torch.Generator().manual_seed(1))
    with torch.inference_mode():
        (logits, cache), (expected, kept) = (each.run_with_cache(source, target) for each in (divided, whole))
    yield "a logit", difference(logits, expected)
    for name in kept:
        yield name, difference(cache[name], kept[name])


def main(rank: int, folder: Path) -> None:
    torch.set_num_threads(1)
    init_process_group("gloo", f"file://{folder / 'meeting'}", rank=rank, world_size=SIZE)
    mesh, results = init_device_mesh("cpu", (SIZE,)), {}
    for kind, cfg in KINDS.items():
        whole = decoder(cfg)
        results[kind] = dict(compared(shard_heads(copy.deepcopy(whole), mesh), whole, rank))
    both = encoder_decoder()
    results["T5"] = dict(translated(shard_heads(copy.deepcopy(both), mesh), both))
    (folder / f"{rank}.json").write_text(json.dumps(results))
    destroy_process_group()


if __name__ == "__main__":
    main(int(sys.argv[1]), Path(sys.argv[2]))

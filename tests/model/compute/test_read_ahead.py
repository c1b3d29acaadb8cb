"""Passes through models that are read layer by layer."""

import mmap
import os
import re
from collections.abc import Iterable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from headlight.model import load
from headlight.model.base import memory
from headlight.model.base.errors import CheckpointError
from headlight.model.compute import direct_reads
from headlight.model.compute.direct_reads import Buffer, Extent
from headlight.model.compute.read_ahead import COLD, POPULATE_READ, in_turn
from headlight.model.nn.transformer import Transformer

SLACK = 100_000  # bytes that are read besides, with the list of mapped files


def test_each_layer_is_read_while_the_one_before_is_computed() -> None:
    model, advised = load("mini"), list[tuple[int, int]]()
    tokens = model.to_tokens("The cat sat")
    with torch.inference_mode():
        expected = model(tokens)
        model.reads_ahead = True
        assert torch.equal(model(tokens), expected)
    blocks = in_turn(
        model.blocks, model.unembed.W_U, lambda tensor, advice: advised.append((tensor.data_ptr(), advice))
    )
    assert list(blocks) == list(model.blocks)
    of_layer = [[parameter.data_ptr() for parameter in block.parameters()] for block in model.blocks]
    needed = [at for layer in of_layer[1:] for at in layer] + [model.unembed.W_U.data_ptr()]
    assert [at for at, advice in advised if advice == POPULATE_READ] == needed
    assert [at for at, advice in advised if advice == COLD] == [at for layer in of_layer[:-1] for at in layer]


@pytest.fixture
def larger_than_memory(monkeypatch: pytest.MonkeyPatch) -> Transformer:
    """`mini-llama`, as if no memory were left to keep its pages in."""
    model = load("mini-llama")
    model.reads_ahead = True
    monkeypatch.setattr(memory, "free", lambda: 0)
    return model


@pytest.mark.skipif(not direct_reads.MAPS.is_file(), reason="the system lists no mapped files")
def test_a_mapped_file_may_have_any_name(tmp_path: Path) -> None:
    path = tmp_path / os.fsdecode("a \x0c \u2028 \x85 ".encode() + b"\xff")
    path.write_bytes(bytes(mmap.PAGESIZE))
    with path.open("r+b") as file, mmap.mmap(file.fileno(), 0):
        assert str(path) in [mapped.path for mapped in direct_reads._mapped()]


def _needs_direct_reads(model: Transformer) -> None:
    with ExitStack() as opened:
        if direct_reads.extents_of(model.blocks, opened) is None:
            pytest.skip("the system has no direct reads of the files where this checkout lies")


def _matrices(block: nn.Module) -> list[nn.Parameter]:
    return [parameter for parameter in block.parameters() if parameter.ndim > 1]


def _bytes_read() -> int:
    """What this process has read from files until now. Source: proc_pid_io(5)."""
    return int(re.findall(r"rchar: (\d+)", Path("/proc/self/io").read_text())[0])


def _in_blocks(blocks: Iterable[nn.Module]) -> range:
    """How many bytes it takes to read the matrices of some layers once: each may begin and end within a block."""
    matrices = [matrix for block in blocks for matrix in _matrices(block)]
    least = sum(matrix.nbytes for matrix in matrices)
    return range(least, least + 2 * direct_reads.BLOCK * len(matrices) + len(direct_reads.MAPS.read_bytes()) + SLACK)


def test_what_is_larger_than_memory_is_computed_with_what_was_read_into_two_buffers(
    larger_than_memory: Transformer,
) -> None:
    model = larger_than_memory
    _needs_direct_reads(model)
    assert model.hook_names  # found by a pass of their own, once
    tokens = model.to_tokens("When Mary and John went to the store")
    with torch.inference_mode():
        before = _bytes_read()
        logits, cache = model.run_with_cache(tokens)
        assert _bytes_read() - before in _in_blocks(model.blocks)
        model.reads_ahead = False
        expected, its = model.run_with_cache(tokens)
        # To the bit: the same numbers in the same steps, and what is computed after the pass of what it kept too.
        assert torch.equal(logits, expected)
        assert all(torch.equal(cache[name], its[name]) for name in its)
    own, buffers = {parameter.data_ptr() for parameter in model.parameters()}, set[int]()
    for block in in_turn(model.blocks, model.unembed.W_U):
        assert all((each.data_ptr() in own) == (each.ndim < 2) for each in block.parameters())
        buffers |= {matrix.untyped_storage().data_ptr() for matrix in _matrices(block)}
    assert len(buffers) == 2


def test_a_pass_that_stops_early_fills_no_buffer_behind_the_next(larger_than_memory: Transformer) -> None:
    _needs_direct_reads(larger_than_memory)
    tokens = larger_than_memory.to_tokens("The cat sat")
    before = _bytes_read()
    with torch.inference_mode():
        larger_than_memory(tokens, stop_at_layer=2)
    assert _bytes_read() - before in _in_blocks(larger_than_memory.blocks[:2])


def _refused(*args: Any) -> int:
    raise OSError(22, "Invalid argument")


@pytest.mark.parametrize("what", ["the file system refuses them", "the system is not Linux"])
def test_without_direct_reads_the_system_reads_ahead(
    larger_than_memory: Transformer, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    advised = list[int]()
    if what == "the file system refuses them":
        monkeypatch.setattr(os, "open", _refused)
    else:
        monkeypatch.setattr(direct_reads, "MAPS", Path("/nowhere"))
    model = larger_than_memory
    tokens = model.to_tokens("The cat sat")
    with torch.inference_mode():
        logits = model(tokens)
        assert list(in_turn(model.blocks, model.unembed.W_U, lambda _, advice: advised.append(advice)))
        model.reads_ahead = False
        assert torch.equal(logits, model(tokens))
    assert POPULATE_READ in advised


def test_a_file_that_became_shorter_is_said(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(bytes(range(256)) * 16)
    with path.open("rb") as file:
        matrix = torch.zeros(2, 1024, dtype=torch.uint8)
        whole = Extent(matrix, file.fileno(), 0, 4096, 0, skip=100)
        buffer = Buffer(8192)
        buffer.fill([whole])
        weight = next(buffer.layer(nn.ParameterList([nn.Parameter(matrix, False)]), []).parameters())
        assert not weight.any()  # what is in no extent stays as it is
        with pytest.raises(CheckpointError, match="became shorter"):
            buffer.fill([Extent(torch.zeros(1, 8000, dtype=torch.uint8), file.fileno(), 0, 8192, 0, skip=0)])

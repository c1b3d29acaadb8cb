"""Passes through models that are read layer by layer."""

import mmap
import os
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from headlight.model import load
from headlight.model.base import memory
from headlight.model.base.errors import CheckpointError
from headlight.model.compute import direct_reads, read_ahead
from headlight.model.compute.direct_reads import Buffer, Extent
from headlight.model.compute.read_ahead import COLD, POPULATE_READ
from headlight.model.nn.transformer import Transformer


def test_each_layer_is_read_while_the_one_before_is_computed(monkeypatch: pytest.MonkeyPatch) -> None:
    model, advised = load("mini"), list[tuple[int, int]]()
    tokens = model.to_tokens("The cat sat")
    with torch.inference_mode():
        expected = model(tokens)
        monkeypatch.setattr(model, "reads_ahead", True)
        assert torch.equal(model(tokens), expected)
        monkeypatch.setattr(read_ahead, "_advise", lambda given, advice: advised.append((given.data_ptr(), advice)))
        model(tokens)
        of_layer = [[parameter.data_ptr() for parameter in block.parameters()] for block in model.blocks]
        needed = [at for layer in of_layer[1:] for at in layer] + [model.unembed.W_U.data_ptr()]
        assert [at for at, advice in advised if advice == POPULATE_READ] == needed
        assert [at for at, advice in advised if advice == COLD] == [at for layer in of_layer[:-1] for at in layer]


def test_a_pass_that_stops_early_reads_no_layer_behind_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    model, advised = load("mini"), set[int]()
    monkeypatch.setattr(model, "reads_ahead", True)
    monkeypatch.setattr(read_ahead, "_advise", lambda given, advice: advised.add(given.data_ptr()))
    with torch.inference_mode():
        model(model.to_tokens("The cat sat"), stop_at_layer=2)
    assert not advised & {parameter.data_ptr() for parameter in model.blocks[3].parameters()}


@pytest.fixture
def larger_than_memory(monkeypatch: pytest.MonkeyPatch) -> Transformer:
    """`mini-llama`, as if no memory were left to keep its pages in."""
    model = load("mini-llama")
    monkeypatch.setattr(model, "reads_ahead", True)
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


def test_what_is_larger_than_memory_is_computed_with_what_was_read_into_two_buffers(
    larger_than_memory: Transformer, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, filled, used = larger_than_memory, list[int](), list[nn.Module]()
    _needs_direct_reads(model)
    fill, layer = Buffer.fill, Buffer.layer

    def counted(buffer: Buffer, extents: list[Extent]) -> None:
        filled.append(len(extents))
        fill(buffer, extents)

    def kept(buffer: Buffer, block: nn.Module, extents: list[Extent]) -> nn.Module:
        used.append(layer(buffer, block, extents))
        return used[-1]

    assert model.hook_names  # found by a pass of their own, once
    monkeypatch.setattr(Buffer, "fill", counted)
    monkeypatch.setattr(Buffer, "layer", kept)
    tokens = model.to_tokens("When Mary and John went to the store")
    with torch.inference_mode():
        given, cache = model.run_with_cache(tokens)
        model.reads_ahead = False
        expected, its = model.run_with_cache(tokens)
        # To the bit: the same numbers in the same steps, and what is computed after the pass of what it kept too.
        assert torch.equal(given, expected)
        assert all(torch.equal(cache[name], its[name]) for name in its)
    matrices = [[each for each in block.parameters() if each.ndim > 1] for block in model.blocks]
    assert filled == [len(each) for each in matrices]
    own = {parameter.data_ptr() for parameter in model.parameters()}
    for block in used:
        assert all((each.data_ptr() in own) == (each.ndim < 2) for each in block.parameters())
    read = [next(each for each in block.parameters() if each.ndim > 1) for block in used]
    assert len({each.untyped_storage().data_ptr() for each in read}) == 2


def test_a_pass_that_stops_early_fills_no_buffer_behind_the_next(
    larger_than_memory: Transformer, monkeypatch: pytest.MonkeyPatch
) -> None:
    filled = list[Any]()
    monkeypatch.setattr(Buffer, "fill", lambda buffer, extents: filled.append([each.matrix for each in extents]))
    _needs_direct_reads(larger_than_memory)
    with torch.inference_mode():
        larger_than_memory(larger_than_memory.to_tokens("The cat sat"), stop_at_layer=2)
    blocks = larger_than_memory.blocks[:2]
    assert [{id(each) for each in of_layer} for of_layer in filled] == [
        {id(each) for each in block.parameters() if each.ndim > 1} for block in blocks
    ]


def _refused(*given: Any) -> int:
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
    monkeypatch.setattr(read_ahead, "_advise", lambda given, advice: advised.append(advice))
    tokens = larger_than_memory.to_tokens("The cat sat")
    with torch.inference_mode():
        given = larger_than_memory(tokens)
        larger_than_memory.reads_ahead = False
        assert torch.equal(given, larger_than_memory(tokens))
    assert POPULATE_READ in advised


def test_a_file_that_became_shorter_is_said(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(bytes(range(256)) * 16)
    with path.open("rb") as file:
        matrix = torch.zeros(2, 1024, dtype=torch.uint8)
        whole = Extent(matrix, file.fileno(), 0, 4096, 0, skip=100)
        buffer = Buffer(8192)
        buffer.fill([whole])
        found = next(buffer.layer(nn.ParameterList([nn.Parameter(matrix, False)]), []).parameters())
        assert not found.any()  # what is in no extent stays as it is
        with pytest.raises(CheckpointError, match="became shorter"):
            buffer.fill([Extent(torch.zeros(1, 8000, dtype=torch.uint8), file.fileno(), 0, 8192, 0, skip=0)])

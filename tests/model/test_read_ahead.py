"""Passes through models that are read layer by layer."""

import pytest
import torch

from headlight.model import load, read_ahead
from headlight.model.read_ahead import COLD, POPULATE_READ


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

"""Layers over several devices: which goes where, and a pass over devices that are pretended against one in memory."""

import re
from copy import deepcopy
from dataclasses import replace
from importlib.metadata import version

import pytest
import torch
from torch import Tensor

from headlight.model import Transformer
from headlight.model.decoding import greedy
from headlight.model.nn.cache import ActivationCache
from headlight.model.nn.config import TransformerConfig
from headlight.model.nn.devices import device_map_of, over_devices
from tests.model.nn.parallel.kinds import GPT2, KINDS, LLAMA, decoder
from tests.model.pretended import FIRST, SECOND, Elsewhere, Pretended
from tests.places import ROOT

QUICK = ("GPT-2", "Llama")
TOKENS = torch.randint(50, (2, 11), generator=torch.Generator().manual_seed(1))


@pytest.fixture(params=[kind if kind in QUICK else pytest.param(kind, marks=pytest.mark.thorough) for kind in KINDS])
def model(request: pytest.FixtureRequest) -> Transformer:
    return decoder(KINDS[request.param])


def parted(model: Transformer, second: str = SECOND) -> dict[str, str]:
    """The second layer, and what comes after it, elsewhere than the rest."""
    behind = ("blocks.1", "ln_final", "mlm_head", *(() if model.cfg.tie_word_embeddings else ("unembed",)))
    return {name: second if name in behind else FIRST for name in device_map_of(model)}


def back(tensor: Tensor) -> Tensor:
    return tensor.here if isinstance(tensor, Elsewhere) else tensor


def everything(model: Transformer) -> tuple[Tensor, ActivationCache]:
    with torch.inference_mode():
        return model.run_with_cache(TOKENS)


def assert_equal(actual: tuple[Tensor, ActivationCache], expected: tuple[Tensor, ActivationCache]) -> None:
    assert torch.equal(back(actual[0]), expected[0])
    assert list(actual[1]) == list(expected[1])
    for name in expected[1]:
        assert torch.equal(back(actual[1][name]), expected[1][name]), name


@pytest.mark.usefixtures("unchecked")
def test_a_pass_over_two_devices_is_one_in_memory_with_each_layer_on_its_own(model: Transformer) -> None:
    expected, hook_names = everything(model), model.hook_names
    with Pretended():
        logits, cache = everything(over_devices(model, parted(model)))
    assert_equal((logits, cache), expected)
    assert model.hook_names == hook_names
    assert logits.device == TOKENS.device
    for layer, device in enumerate((FIRST, SECOND)):
        of_layer = [cache[name] for name in cache if name.startswith(f"blocks.{layer}.")]
        assert {str(each.device) for each in of_layer} == {device}


@pytest.mark.usefixtures("unchecked")
def test_a_layer_that_is_left_in_memory_is_brought_to_the_device_in_each_pass(model: Transformer) -> None:
    expected = everything(model)
    with Pretended():
        spread = over_devices(model, parted(model, "cpu"))
        for _ in range(2):
            logits, cache = everything(spread)
            assert_equal((logits, cache), expected)
            assert {str(cache[name].device) for name in cache} == {FIRST}
            assert spread.block(1).attn.W_Q.device.type == "meta"


@pytest.mark.usefixtures("unchecked")
def test_edits_and_generation_go_over_two_devices() -> None:
    def cut(z: Tensor, hook: object) -> None:
        z[:, :, 2] = 0

    model, hooks = decoder(LLAMA), [(f"blocks.{layer}.attn.hook_z", cut) for layer in range(2)]
    with torch.inference_mode():
        expected, tokens = model.run_with_hooks(TOKENS, hooks), [row.tokens.tolist() for row in greedy(model, TOKENS)]
        with Pretended():
            spread = over_devices(model, parted(model))
            assert torch.equal(back(spread.run_with_hooks(TOKENS, hooks)), expected)
            assert [row.tokens.tolist() for row in greedy(spread, TOKENS)] == tokens


@pytest.mark.usefixtures("unchecked")
def test_operands_on_two_devices_are_noticed() -> None:
    with Pretended(), pytest.raises(RuntimeError, match="add is given tensors on maia:0 and maia:1"):
        torch.ones(2).to(FIRST) + torch.ones(2).to(SECOND)


@pytest.mark.parametrize("cfg", [GPT2, LLAMA])
def test_layers_fill_one_device_after_the_other_and_the_ends_are_with_their_neighbours(cfg: TransformerConfig) -> None:
    model = decoder(replace(cfg, n_layers=5))
    layer = sum(parameter.nbytes for parameter in model.block(0).parameters())
    whole = sum(parameter.nbytes for parameter in model.parameters())
    room = {0: whole - layer, 1: whole}  # accelerate leaves room for a layer more on the first
    device_map = device_map_of(model, room)
    layers = [device_map[f"blocks.{at}"] for at in range(5)]
    assert layers == sorted(layers)
    assert layers[0] == "cuda:0"
    assert layers[-1] == device_map["ln_final"] == "cuda:1"
    assert device_map["embed"] == "cuda:0"
    assert device_map["unembed"] == ("cuda:0" if cfg.tie_word_embeddings else "cuda:1")
    for number, of_device in room.items():
        names = [name for name in device_map if device_map[name] == f"cuda:{number}"]
        parameters = [parameter for name in names for parameter in model.get_submodule(name).parameters()]
        assert sum(parameter.nbytes for parameter in parameters) <= of_device


def test_what_no_gpu_has_room_for_is_left_in_memory_or_in_its_files() -> None:
    device_map = device_map_of(decoder(GPT2), {0: 1, "cpu": 1})
    assert set(device_map.values()) == {"cpu"}


def test_a_single_device_is_where_the_model_goes() -> None:
    model = decoder(GPT2)
    expected = everything(deepcopy(model))
    assert_equal(everything(over_devices(model)), expected)


def test_what_is_tested_is_what_is_pinned() -> None:
    pins = [(ROOT / f"requirements-{name}.txt").read_text() for name in ("devices", "dev")]
    assert [re.findall(r"^accelerate==(\S+)", pin, re.M) for pin in pins] == [[version("accelerate")]] * 2

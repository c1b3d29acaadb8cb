"""Heads divided over two processes against the same model in one."""

import json
import os
import subprocess
import sys
from typing import cast

import pytest
from torch.distributed.device_mesh import DeviceMesh

from headlight.model.base.errors import ConfigError
from headlight.model.nn.parallel import shard_heads
from tests.model.nn.parallel.kinds import GPT2, KINDS, LLAMA, decoder
from tests.model.nn.parallel.process import SIZE
from tests.places import ROOT

# Of the largest value: a layer's sum over heads is made in two parts, so that float32 rounds it differently.
TOLERANCE = 1e-5
Found = dict[str, dict[str, float]]


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> list[Found]:
    """What each process found to differ, for each kind of model."""
    folder = tmp_path_factory.mktemp("processes")
    environment = os.environ | {"GLOO_SOCKET_IFNAME": "lo", "OMP_NUM_THREADS": "1"}
    started = [
        subprocess.Popen(
            [sys.executable, "-m", "tests.model.nn.parallel.process", str(rank), str(folder)], cwd=ROOT, env=environment
        )
        for rank in range(SIZE)
    ]
    try:
        assert [process.wait(timeout=300) for process in started] == [0] * SIZE
    finally:
        for process in started:
            process.kill()
    return [json.loads((folder / f"{rank}.json").read_text()) for rank in range(SIZE)]


@pytest.mark.thorough
@pytest.mark.parametrize("kind", [*KINDS, "T5"])
def test_every_process_has_what_one_has(kind: str, results: list[Found]) -> None:
    for rank, of_process in enumerate(results):
        assert {f"blocks.{layer}.attn.hook_pattern" for layer in range(2)} <= {
            name.removeprefix("decoder.") for name in of_process[kind]
        }
        for what, difference in of_process[kind].items():
            assert difference <= TOLERANCE, f"{what} differs by {difference:.1e} of the largest in process {rank}"


class _Processes:
    """As much of a mesh as is asked before anything is divided."""

    def __init__(self, n: int) -> None:
        self.size = lambda: n


def test_heads_that_cannot_be_divided_are_refused_and_left_alone(unchecked: None) -> None:
    model = decoder(GPT2)
    with pytest.raises(ConfigError, match="6 heads cannot be divided evenly over 4 processes"):
        shard_heads(model, cast(DeviceMesh, _Processes(4)))
    assert type(model.block(0).attn.W_Q.detach()).__name__ == "Tensor"


def test_shared_keys_that_cannot_be_divided_are_refused(unchecked: None) -> None:
    with pytest.raises(ConfigError, match="2 heads with keys and values of their own cannot"):
        shard_heads(decoder(LLAMA), cast(DeviceMesh, _Processes(3)))

"""Programs written by hand: they answer as the same program in Python does, and their decoys are awake.

Their edges are held by tests/model/circuits/test_known_circuits.py.
"""

import random
from collections.abc import Sequence

import pytest
import torch
from torch import Tensor

from headlight.recipes.programs import BOS, LENGTH, programs

PROGRAMS = programs()
N_SEQUENCES = 60


def sequence(name: str, draw: random.Random, n_tokens: int) -> list[int]:
    """Tokens that a program is for."""
    d_vocab = PROGRAMS[name].model.cfg.d_vocab
    if name == "sort":
        return draw.sample(range(1, d_vocab), n_tokens)
    return [draw.randrange(1, min(d_vocab, 4)) for _ in range(n_tokens)]


def length(name: str, draw: random.Random) -> int:
    """The number of its tokens, which is fixed but for one program."""
    return draw.randint(1, LENGTH) if name == "reverse" else LENGTH


def ids(tokens: Sequence[int]) -> Tensor:
    return torch.tensor([[BOS, *tokens]])


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_answers_as_the_same_one_in_python(name: str) -> None:
    draw, program = random.Random(0), PROGRAMS[name]
    for _ in range(N_SEQUENCES):
        tokens = sequence(name, draw, length(name, draw))
        logits = program.model(ids(tokens))[0, 1:]
        assert logits.argmax(-1).tolist() == program.answers(tokens)
        if name == "share":
            shares = [sum(token == 1 for token in tokens[: at + 1]) / (at + 1) for at in range(LENGTH)]
            assert logits[:, 1].tolist() == pytest.approx([10 * each for each in shares], abs=1e-4)  # float32


def test_every_layer_has_a_decoy_that_is_awake() -> None:
    for program in PROGRAMS.values():
        _, cache = program.model.run_with_cache(ids([1, 2, 1, 1, 2]))
        for layer in range(program.model.cfg.n_layers):
            assert float(cache["z", layer][..., 1, :].abs().max()) > 0.1

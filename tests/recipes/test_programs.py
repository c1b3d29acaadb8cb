"""Programs written by hand: they answer as the same program in Python does, by the edges that are said alone."""

import random
from collections.abc import Sequence

import pytest
import torch
from torch import Tensor

from headlight.model import Transformer
from headlight.model.circuits.running import EdgeRuns, edge_runs
from headlight.model.patching import LogitDifference, Patching
from headlight.recipes.programs import BOS, LENGTH, Program, programs

PROGRAMS = programs()
N_PAIRS = 20


def sequence(name: str, draw: random.Random) -> list[int]:
    """Tokens that a program is for."""
    d_vocab = PROGRAMS[name].model.cfg.d_vocab
    if name == "sort":
        return draw.sample(range(1, d_vocab), LENGTH)
    return [draw.randrange(1, min(d_vocab, 4)) for _ in range(LENGTH)]


def ids(tokens: Sequence[int]) -> Tensor:
    return torch.tensor([[BOS, *tokens]])


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_answers_as_the_same_one_in_python(name: str) -> None:
    draw, program = random.Random(0), PROGRAMS[name]
    for _ in range(200):
        tokens = sequence(name, draw)
        tokens = tokens[: draw.randint(1, LENGTH)] if name == "reverse" else tokens
        logits = program.model(ids(tokens))[0, 1:]
        assert logits.argmax(-1).tolist() == program.answers(tokens)
        if name == "share":
            share = [sum(token == 1 for token in tokens[: at + 1]) / (at + 1) for at in range(LENGTH)]
            assert logits[:, 1].tolist() == pytest.approx([10 * each for each in share], abs=1e-4)  # float32


def pairs(name: str) -> list[EdgeRuns]:
    """Pairs of sequences that differ in what is measured: the clean answer less the corrupted one's."""
    draw, program, made = random.Random(1), PROGRAMS[name], list[EdgeRuns]()
    while len(made) < N_PAIRS:
        a, b, at = sequence(name, draw), sequence(name, draw), draw.randrange(LENGTH)
        target, distractor = program.answers(a)[at], program.answers(b)[at]
        if target != distractor:
            measured = LogitDifference(target, distractor, at + 1)
            made.append(edge_runs(Patching(program.model, ids(a), ids(b), measured)))
    return made


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_varying_edges_alone_give_the_answer_and_each_of_them_is_needed(name: str) -> None:
    program, needed = PROGRAMS[name], set[tuple[str, str]]()
    for runs in pairs(name):
        true = edges_of(program, runs)
        with torch.inference_mode():
            assert float(runs.run(true)) == pytest.approx(runs.patching.a, abs=1e-3)
            for receiver, sender in true.nonzero().tolist():
                without = runs.wires.before.float()
                without[receiver, sender] = 0
                if abs(float(runs.run(without)) - runs.patching.a) > 0.1:
                    needed.add((runs.wires.receivers[receiver].name, runs.wires.senders[sender].name))
    assert needed == program.varying


def edges_of(program: Program, runs: EdgeRuns) -> Tensor:
    names = [[(r.name, s.name) for s in runs.wires.senders] for r in runs.wires.receivers]
    return torch.tensor([[each in program.varying for each in row] for row in names]).float()


def test_every_layer_has_a_decoy_that_is_awake() -> None:
    for program in PROGRAMS.values():
        assert isinstance(program.model, Transformer)
        _, cache = program.model.run_with_cache(ids([1, 2, 1, 1, 2]))
        for layer in range(program.model.cfg.n_layers):
            assert float(cache["z", layer][..., 1, :].abs().max()) > 0.1

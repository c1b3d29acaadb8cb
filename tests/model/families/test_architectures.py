"""Every architecture against transformers' own eager model: logits, streams, patterns, padding and generation.

The models are tiny, random, off the defaults, and have noise on every parameter: gains of 1 and biases of 0 would hide
one that is forgotten.
"""

import re
from typing import Any

import pytest
import torch

from headlight.model import Transformer, load
from headlight.model.decoding import greedy
from tests.model.families import architectures
from tests.model.families.architectures import Case
from tests.model.families.twins import N_POS, TOLERANCE, difference, differences, noisy, tokens_of
from tests.model.oracles import assert_mapped

CASES = dict(architectures.every())
MATRIX = re.compile(r"(.*\.)?_?W_\w+")
WRITING = [name for name, case in CASES.items() if case.writes]


@pytest.fixture(params=CASES, scope="module")
def case(request: pytest.FixtureRequest) -> Case:
    return CASES[request.param]


@pytest.fixture(scope="module")
def both(case: Case, tmp_path_factory: pytest.TempPathFactory) -> tuple[Transformer, Any]:
    """A model as we open it, and as transformers has it."""
    theirs, folder = noisy(case), tmp_path_factory.mktemp("saved")
    theirs.save_pretrained(folder)
    return load(folder), theirs


def assert_same(difference: float, what: str) -> None:
    assert difference <= TOLERANCE, f"{what} differs by {difference:.1e} of the largest"


def test_logits_streams_and_patterns_are_those_of_transformers(case: Case, both: tuple[Transformer, Any]) -> None:
    for what, found in differences(case, *both):
        assert_same(found, what)


def test_matrices_are_views_of_the_files(case: Case, both: tuple[Transformer, Any]) -> None:
    model, _ = both
    matrices = {name: each for name, each in model.named_parameters() if MATRIX.fullmatch(name)}
    viewed = {name: each for name, each in matrices.items() if not re.fullmatch(case.copied, name)}
    assert len(viewed) >= 4 * model.cfg.n_layers
    assert_mapped(viewed, model.source.path)


@torch.no_grad()
@pytest.mark.parametrize("side", ["left", "right"])
def test_padding_changes_nothing_for_real_tokens(case: Case, both: tuple[Transformer, Any], side: str) -> None:
    model, reference = both
    tokens, mask = tokens_of(case, 3), torch.ones(3, N_POS, dtype=torch.long)
    padding = slice(0, 3) if side == "left" else slice(-3, None)
    mask[1, padding] = 0
    positions = (mask.cumsum(-1) - 1).clamp(min=0) + case.first_position(case.config)
    expected = reference(tokens, attention_mask=mask, position_ids=positions).logits
    assert_same(difference(model(tokens, mask)[mask.bool()], expected[mask.bool()]), "a logit")


@torch.no_grad()
@pytest.mark.parametrize("case", WRITING, indirect=True, scope="module")
def test_generation_with_the_cache_is_that_of_transformers(case: Case, both: tuple[Transformer, Any]) -> None:
    model, reference = both
    prompt = tokens_of(case)[:, :6]
    settings: dict[str, Any] = {"do_sample": False, "max_new_tokens": 8, "eos_token_id": None, "pad_token_id": 0}
    expected = reference.generate(prompt, attention_mask=torch.ones_like(prompt), **settings)[:, 6:]
    written = greedy(model, prompt, max_new_tokens=8)
    assert [row.tokens.tolist() for row in written] == expected.tolist()

"""Every architecture against transformers' own eager model: logits, streams, patterns, padding and generation.

The models are tiny, random, off the defaults, and have noise on every parameter: gains of 1 and biases of 0 would hide
one that is forgotten.
"""

import re
from functools import partial
from typing import Any

import pytest
import torch
from torch import Tensor

from headlight.model import Transformer, load
from headlight.model.base.errors import CheckpointError
from headlight.model.decoding import greedy
from headlight.model.features.hooks import translated
from headlight.model.nn.hooks import Collect
from tests.model.checkpoints import architectures
from tests.model.checkpoints.architectures import Case
from tests.model.checkpoints.twins import N_POS, TOLERANCE, difference, differences, noisy, tokens_of
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
    for what, error in differences(case, *both):
        assert_same(error, what)


@torch.no_grad()
def test_a_module_s_name_is_that_of_the_activation_that_it_gives(case: Case, both: tuple[Transformer, Any]) -> None:
    """Dictionaries say so what they are of. Of each module of a layer: either it is refused, or it is that activation.

    Bloom's attention and MLP give what they add and the stream; others' are normalised or multiplied behind them.
    """
    model, reference = both
    tokens, outputs, kept = tokens_of(case), dict[str, Tensor](), Collect(model.hook_names)

    def keep(name: str, module: Any, args: Any, kwargs: Any, output: Any) -> None:
        output = output[0] if isinstance(output, tuple) else output
        whole = {name: output, f"{name}.input": args[0] if args else kwargs.get("hidden_states")}
        # A copy: Falcon adds to it in place.
        outputs.update({name: output.clone() for name, output in whole.items() if isinstance(output, Tensor)})

    handles = [
        module.register_forward_hook(partial(keep, name), with_kwargs=True)
        for name, module in reference.named_modules()
        if name
    ]
    reference(tokens)
    model(tokens, tap=kept)
    for handle in handles:
        handle.remove()
    compared = set()
    for name, theirs in outputs.items():
        try:
            ours = translated(name, model.cfg)
        except CheckpointError:
            continue
        if ours == name:
            continue
        value = _activation(ours, model, kept.kept).flatten(2)
        if value.shape[-1] == theirs.shape[-1]:  # of another width a dictionary is refused, as of narrow embeddings
            compared.add(ours.split(".", 2)[-1])
            theirs = theirs.reshape(-1, *value.shape[1:]).expand_as(value)
            assert_same(difference(value, theirs), f"{name}, {ours},")
    added = {"hook_attn_out", "hook_mlp_out"} if model.cfg.residual_scale == 1.0 and not model.cfg.post_norm else set()
    one_module = {"albert"}  # for several layers, so that no name is that of one of them
    assert compared >= (set() if case.config.model_type in one_module else {"hook_resid_pre"} | added)


def _activation(name: str, model: Transformer, kept: dict[str, Tensor]) -> Tensor:
    """An activation, or what heads or an MLP read: what their norm gives, times its gain, plus its bias."""
    blocks, layer, end = name.split(".", 2) if name.startswith("blocks") else ("", "", name)
    if not end.endswith("hook_in"):
        return kept[name]
    before = {"attn.hook_in": "ln1", "mlp.hook_in": "ln2"}[end]
    norm = model.block(int(layer)).get_submodule(before)
    if f"{blocks}.{layer}.{before}.hook_normalized" not in kept:  # ModernBERT's first layer has no norm
        return kept[f"{blocks}.{layer}.hook_resid_pre"]
    activation = kept[f"{blocks}.{layer}.{before}.hook_normalized"]
    activation = activation if getattr(norm, "w", None) is None else activation * norm.w
    return activation if getattr(norm, "b", None) is None else activation + norm.b


def test_matrices_are_views_of_the_files(case: Case, both: tuple[Transformer, Any]) -> None:
    model, _ = both
    matrices = {name: each for name, each in model.named_parameters() if MATRIX.fullmatch(name)}
    viewed = {name: each for name, each in matrices.items() if not re.fullmatch(case.copied, name)}
    assert len(viewed) >= 3 * model.cfg.n_layers
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
    written = greedy(model, prompt, max_new_tokens=8, stop_tokens=())
    assert [row.tokens.tolist() for row in written] == expected.tolist()

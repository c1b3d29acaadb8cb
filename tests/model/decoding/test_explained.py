"""What explains a written token is what transformers' own modules have with their norms' scales held, in float64.

The oracle makes these modules linear in what heads, MLPs and embeddings write: a norm divides by a constant, and
nothing goes through attention or MLPs. So what a component adds to a logit, a query or a key is its write times the
derivative.
"""

from dataclasses import replace
from typing import Any, get_args

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.overrides import TorchFunctionMode
from transformers import MarianConfig

from headlight.model import load_seq2seq
from headlight.model.attribution.ablation import CUTS, MEAN, ZERO
from headlight.model.base.errors import InputError
from headlight.model.decoding.explained import (
    AttendedCell,
    WrittenToken,
    ablate_cell,
    explain_head_write,
    explain_score,
    token_effects,
)
from headlight.model.decoding.stack_parts import Pass, run_pass
from headlight.model.decoding.translation import Attends
from tests.model.checkpoints.seq2seq_twins import CONFIGS, drawn, noisy
from tests.model.checkpoints.test_marian import SIZES

KINDS = {
    "T5": CONFIGS["t5: version 1.1, not scaled"],
    "BART": CONFIGS["bart: scaled embedding, another start"],
    "Pegasus": CONFIGS["pegasus: tied"],
    "Marian": MarianConfig(**SIZES | {"vocab_size": 23, "decoder_start_token_id": 0, "max_position_embeddings": 20}),
}
SOURCE, TARGET = drawn(1, 9, 1), drawn(1, 8, 2)
WRITTEN = WrittenToken(position=6, target=5, distractor=9)
LAYER, HEAD, KEY = 1, 2, 3
ATTENTION = {
    "encoder": (".SelfAttention", ".self_attn"),
    "decoder": (".SelfAttention", ".self_attn"),
    "cross": (".EncDecAttention", ".encoder_attn"),
}
NAMES = {"encoder": "encoder ", "decoder": "self ", "cross": "cross "}
QUERIES, KEYS = ((f".{name}", f".{name}_proj") for name in "qk")
VALUES, FROM_HEADS = (".v", ".v_proj"), (".o", ".out_proj")
INTO_MLP, FROM_MLP = (".wi", ".wi_0", ".wi_1", ".fc1"), (".wo", ".fc2")
WORDS, PLACES = (".embed_tokens",), (".embed_positions",)
# T5LayerNorm of transformers takes its mean square in float32.
NEAR = {"rel": 1e-5, "abs": 1e-5}


class Linear(TorchFunctionMode):
    """Norms with constant scales."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        named = kwargs or {}
        output = func(*args, **named)
        if func is F.layer_norm:
            x, weight, bias, eps = args[0], *((*args[2:], *named.values())[:3])
            scale = (x.var(-1, keepdim=True, unbiased=False) + eps).sqrt().detach()
            return (x - x.mean(-1, keepdim=True)) / scale * weight + bias
        return output.detach() if func is torch.rsqrt else output


class Linearized:
    """transformers' logits, with what was written on the way, and the queries and keys that are made of it."""

    def __init__(self, theirs: nn.Module) -> None:
        self.written, self.read = dict[str, Tensor](), dict[tuple[str, str, int], Tensor]()
        hooks = [hook for name, module in theirs.named_modules() for hook in self._hooks(name, module)]
        with Linear():
            self.logits = theirs(SOURCE, decoder_input_ids=TARGET).logits[0]
        for hook in hooks:
            hook.remove()

    def _hooks(self, name: str, module: nn.Module) -> list[Any]:
        stack = "encoder" if "encoder." in name.replace("encoder_attn", "") and "decoder." not in name else "decoder"
        numbers = [int(each) for each in name.split(".") if each.isdigit()]
        layer = numbers[0] if numbers else 0
        kind = "cross" if any(each in name for each in ATTENTION["cross"]) else stack
        prefix = "encoder " if stack == "encoder" else ""

        def leaf(what: str, x: Tensor) -> Tensor:
            self.written[what] = x.detach().requires_grad_()
            return self.written[what]

        def keep(what: str, x: Tensor) -> Tensor:
            self.read[kind, what, layer] = x[0]
            return x.detach()

        if name.endswith(VALUES + INTO_MLP):
            return [module.register_forward_pre_hook(lambda _, args: (args[0].detach(), *args[1:]))]
        if name.endswith(QUERIES) or name.endswith(KEYS):
            what = "query" if name.endswith(QUERIES) else "key"
            return [module.register_forward_hook(lambda _, args, output: keep(what, output))]
        if name.endswith(FROM_HEADS):
            return [module.register_forward_pre_hook(lambda _, args: (leaf(f"{NAMES[kind]}L{layer}H", args[0]),))]
        if name.endswith(FROM_MLP):
            called = f"{prefix}L{layer} MLP"
            return [module.register_forward_hook(lambda _, args, output: leaf(called, output))]
        if name.endswith(WORDS + PLACES):
            called = f"{prefix}{'token' if name.endswith(WORDS) else 'position'} embedding"
            return [module.register_forward_hook(lambda _, args, output: leaf(called, output))]
        return []

    def parts(self, value: Tensor, n_heads: int) -> dict[str, float]:
        """What each component adds to a number."""
        grads = torch.autograd.grad(value, [*self.written.values()], retain_graph=True, allow_unused=True)
        parts = dict[str, float]()
        for (name, leaf), grad in zip(self.written.items(), grads, strict=True):
            if grad is None:
                continue
            added = (leaf.detach() * grad).flatten(0, -2).sum(0)
            if name.endswith("H"):
                parts |= {f"{name}{head}": each.item() for head, each in enumerate(added.view(n_heads, -1).sum(1))}
            else:
                parts[name] = added.sum().item()
        return parts


@pytest.fixture(scope="module", params=KINDS)
def both(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, Pass]:
    """transformers' random model, and a pass of ours by its files, both in float64."""
    theirs, folder = noisy(KINDS[request.param]), tmp_path_factory.mktemp("saved")
    theirs.save_pretrained(folder)
    return theirs.double(), run_pass(load_seq2seq(folder).double(), SOURCE[0], TARGET[0])


def logit_of(logits: Tensor) -> Tensor:
    return logits[WRITTEN.position, WRITTEN.target] - logits[WRITTEN.position, WRITTEN.outputs[1]]


@torch.no_grad()
def outputs_of(theirs: Any, **how: Any) -> Any:
    return theirs(SOURCE, decoder_input_ids=TARGET, **how)


def cell(attends: Attends, key: int = KEY) -> AttendedCell:
    return AttendedCell(attends, LAYER, HEAD, WRITTEN.position, key)


def test_each_components_effect_on_a_written_token_is_that_of_transformers_modules(both: tuple[Any, Pass]) -> None:
    theirs, run = both
    logits, linear = outputs_of(theirs).logits[0], Linearized(theirs)
    effects = token_effects(run, WRITTEN)
    assert float(effects.values.values.sum()) == pytest.approx(float(logit_of(logits)), **NEAR)
    expected = linear.parts(logit_of(linear.logits), run.model.cfg.n_heads)
    expected = {name: value for name, value in expected.items() if not name.startswith("encoder")}
    assert {f"cross L{LAYER}H{HEAD}", f"self L0H{HEAD}", "L2 MLP", "token embedding"} <= set(expected)
    assert {name: effects.by_name[name] for name in expected} == pytest.approx(expected, **NEAR)
    named = {part.name: row for part, row in zip(effects.heads, effects.by_source.values.sum(-1), strict=True)}
    assert {name: row.item() for name, row in named.items()} == pytest.approx(
        {name: value for name, value in expected.items() if name.startswith("cross")}, **NEAR
    )


def test_effects_on_a_logit_alone_add_up_to_it(both: tuple[Any, Pass]) -> None:
    theirs, run = both
    logits = outputs_of(theirs).logits[0]
    effects = token_effects(run, replace(WRITTEN, distractor=None))
    assert float(effects.values.values.sum()) == pytest.approx(float(logits[6, 5]), **NEAR)
    assert abs(float(effects.residual.values)) < 1e-9


@pytest.mark.parametrize("attends", get_args(Attends))
def test_a_score_is_the_sum_over_pairs_that_transformers_modules_make_it_of(
    attends: Attends, both: tuple[Any, Pass]
) -> None:
    theirs, run = both
    linear, n_heads, width = Linearized(theirs), run.model.cfg.n_heads, run.model.cfg.d_head
    rows = dict[str, dict[str, Tensor]]()
    for what, position in (("query", WRITTEN.position), ("key", KEY)):
        vector = linear.read[attends, what, LAYER][position].view(n_heads, -1)[HEAD]
        by_component = [linear.parts(each, n_heads) for each in vector]
        rows[what] = {name: torch.tensor([each[name] for each in by_component]) for name in by_component[0]}
        if what == "query" and not type(theirs).__name__.startswith("T5"):
            rows[what] = {name: row / width**0.5 for name, row in rows[what].items()}
    why = explain_score(run, cell(attends))
    assert abs(float(why.parts.residual.values)) < 1e-9
    ours = {
        (query_name, key_name): float(why.parts.matrix.values[i, j])
        for i, query_name in enumerate(why.query_names)
        for j, key_name in enumerate(why.key_names)
    }
    expected = {
        (query_name, key_name): float(query @ key)
        for query_name, query in rows["query"].items()
        for key_name, key in rows["key"].items()
    }
    assert len(expected) > 4 * n_heads
    assert {names: ours[names] for names in expected} == pytest.approx(expected, **NEAR)


@pytest.mark.parametrize("attends", get_args(Attends))
def test_the_parts_of_two_scores_are_as_far_apart_as_transformers_pattern_says(
    attends: Attends, both: tuple[Any, Pass]
) -> None:
    """Biases for distances included, which no derivative tells."""
    theirs, run = both
    output = outputs_of(theirs, output_attentions=True)
    patterns = {"encoder": "encoder_attentions", "decoder": "decoder_attentions", "cross": "cross_attentions"}
    row = output[patterns[attends]][LAYER][0, HEAD, WRITTEN.position]
    near, far = (explain_score(run, cell(attends, key)) for key in (6, 1))
    assert (near.weight, far.weight) == pytest.approx((float(row[6]), float(row[1])), **NEAR)
    apart = float(near.parts.matrix.values.sum() - far.parts.matrix.values.sum())
    assert apart == pytest.approx(float(row[6].log() - row[1].log()), **NEAR)


@pytest.mark.parametrize("attends", get_args(Attends))
def test_ablating_changes_the_logit_as_it_does_in_transformers(attends: Attends, both: tuple[Any, Pass]) -> None:
    theirs, run = both
    stack = "encoder" if attends == "encoder" else "decoder"
    names = [f"{each}{end}" for each in ATTENTION[attends] for end in FROM_HEADS]
    (module,) = (
        module
        for name, module in theirs.named_modules()
        if f"{stack}." in name and f".{LAYER}." in name.replace("layer.1", "") and name.endswith(tuple(names))
    )
    before, width = float(logit_of(outputs_of(theirs).logits[0])), run.model.cfg.d_value
    columns = slice(HEAD * width, (HEAD + 1) * width)

    def ablated(by_mean: bool) -> float:
        def ablate(_: nn.Module, args: tuple[Tensor, ...]) -> tuple[Tensor]:
            z = args[0].clone()
            z[..., columns] = z[..., columns].mean(1, keepdim=True) if by_mean else 0
            return (z,)

        hook = module.register_forward_pre_hook(ablate)
        logits = outputs_of(theirs).logits[0]
        hook.remove()
        return float(logit_of(logits)) - before

    outcomes = ablate_cell(run, cell(attends), WRITTEN)
    total = dict(zip(outcomes.names, outcomes.total.values.tolist(), strict=True))
    assert (total[ZERO], total[MEAN]) == pytest.approx((ablated(False), ablated(True)), **NEAR)
    assert total[ZERO] != pytest.approx(total[CUTS[0]])
    assert bool(outcomes.direct.values.any()) == (attends != "encoder")


def test_a_head_writes_by_key_what_its_effect_is_made_of(both: tuple[Any, Pass]) -> None:
    _, run = both
    effects, write = token_effects(run, WRITTEN), explain_head_write(run, cell("cross"), WRITTEN)
    assert write is not None
    assert float(write.by_key.values.sum()) == pytest.approx(effects.by_name[f"cross L{LAYER}H{HEAD}"], abs=1e-9)
    assert float(write.effect.values) == pytest.approx(float(write.by_key.values[KEY]), abs=1e-9)
    outcomes = ablate_cell(run, cell("cross"), WRITTEN)
    assert float(outcomes.direct.values[0]) == pytest.approx(-float(write.effect.values), abs=1e-9)
    assert float(outcomes.direct.values[2]) == pytest.approx(-float(write.by_key.values.sum()), abs=1e-9)
    assert explain_head_write(run, cell("encoder"), WRITTEN) is None


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (AttendedCell("cross", 9, 0, 0, 0), "There is no head L9H0"),
        (AttendedCell("encoder", 2, 0, 0, 0), "There is no head L2H0"),
        (AttendedCell("cross", 0, 0, 0, 99), "keys 0 to 8"),
        (AttendedCell("decoder", 0, 0, 1, 2), "comes after it"),
    ],
)
def test_a_cell_that_is_not_there_is_refused(wrong: AttendedCell, message: str, both: tuple[Any, Pass]) -> None:
    with pytest.raises(InputError, match=message):
        explain_score(both[1], wrong)

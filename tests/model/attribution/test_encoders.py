"""What explains a label of an encoder is what transformers' own modules have with their norms' scales held, in float64.

The oracle makes these modules linear in what heads, MLPs and embeddings write: a norm divides by a constant, an
activation function of the head multiplies by one, and nothing goes through attention or MLPs. So what a part adds to a
logit is its write times the derivative.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from torch import Tensor, nn
from torch.nn import functional as F
from torch.overrides import TorchFunctionMode
from transformers import PreTrainedModel

from headlight.model import Run, load, run_prompt
from headlight.model.attribution import Cell, Question, ablation_effects, explain_cell, logit_attribution
from headlight.model.attribution.logits import attribution_by_source
from headlight.model.neurons.effects import direct_effects
from tests.model.checkpoints.test_heads import CONFIGS, ENCODER, built, outputs_of

PROMPT, TOKENS = "ids: 7 3 11 5 9", torch.tensor([[7, 3, 11, 5, 9]])
DISTANCES: dict[str, Any] = {"pos_att_type": ["c2p", "p2c"], "position_buckets": 4, "max_relative_positions": 9}
OTHERS: dict[str, Callable[..., Any]] = {
    "Albert": lambda **more: transformers.AlbertConfig(**ENCODER, embedding_size=12, **more),
    "DebertaV2": lambda **more: transformers.DebertaV2Config(
        **ENCODER, **DISTANCES, relative_attention=True, pooler_hidden_size=20, **more
    ),
}
LABELS, EACH = "ForSequenceClassification", "ForTokenClassification"
CASES: list[Any] = [
    ("Bert", LABELS, {}, 0),
    ("Bert", EACH, {}, 3),
    ("Bert", "ForMaskedLM", {}, 2),
    ("Roberta", LABELS, {}, 0),
    ("DistilBert", LABELS, {}, 0),
    ("Albert", LABELS, {}, 0),
    ("Electra", LABELS, {}, 0),
    ("DebertaV2", LABELS, {}, 0),
    ("DebertaV2", EACH, {"conv_kernel_size": 3, "conv_act": "gelu"}, 2),
    ("ModernBert", LABELS, {"classifier_pooling": "mean"}, 0),
]
QUERIES, KEYS = ("attention.self.query", "q_lin", "attention.query"), ("attention.self.key", "k_lin", "attention.key")
READ = ("self.value", "v_lin", "attention.value", "query_proj", "key_proj", "value_proj", "Wqkv")
MLP_READ = ("intermediate.dense", "ffn.lin1", "ffn", "mlp.Wi", "conv.conv")
FROM_HEADS = ("attention.output.dense", "attention.dense", "attention.out_lin", "attn.Wo")
FROM_MLP = ("output.dense", "ffn.lin2", "ffn_output", "mlp.Wo")
WORDS = ("word_embeddings", "tok_embeddings")


def near(expected: Any, kind: str) -> Any:
    """Equal up to float64's rounding; angles, and queries and keys of distances, are float32."""
    tolerance = 1e-6 if kind in ("ModernBert", "DebertaV2") else 1e-9
    return pytest.approx(expected, rel=tolerance, abs=tolerance)


class Linear(TorchFunctionMode):
    """Norms with constant scales, and activation functions as constant factors."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        named = kwargs or {}
        output = func(*args, **named)
        if func is F.layer_norm:
            x, bias = args[0], named["bias"]
            scale = (x.var(-1, keepdim=True, unbiased=False) + named["eps"]).sqrt().detach()
            return (x - x.mean(-1, keepdim=True)) / scale * named["weight"] + (0.0 if bias is None else bias)
        if func in (torch.tanh, F.gelu, F.relu):
            return args[0] * (output / args[0]).detach()
        return output


class Linearized:
    """transformers' logits, with what was written on the way: of heads before W_O, of MLPs, and of tokens."""

    def __init__(self, theirs: nn.Module) -> None:
        self.heads, self.mlps, self.words = list[Tensor](), list[Tensor](), list[Tensor]()
        self.queries, self.keys = list[Tensor](), list[Tensor]()
        hooks = [hook for name, module in theirs.named_modules() for hook in self._hooks(f".{name}", module)]
        with Linear():
            self.logits = theirs(TOKENS).logits[0]
        for hook in hooks:
            hook.remove()

    def _hooks(self, name: str, module: nn.Module) -> list[Any]:
        def ends(names: tuple[str, ...]) -> bool:
            return name.endswith(tuple(f".{each}" for each in names))

        def leaf(x: Tensor, to: list[Tensor]) -> Tensor:
            to.append(x.detach().requires_grad_())
            return to[-1]

        def read(x: Tensor, to: list[Tensor]) -> Tensor:
            to.append(x)
            return x.detach()

        if ends(READ + MLP_READ):
            return [module.register_forward_pre_hook(lambda _, args: (args[0].detach(), *args[1:]))]
        if ends(QUERIES) or ends(KEYS):
            to = self.queries if ends(QUERIES) else self.keys
            return [module.register_forward_hook(lambda _, args, output: read(output, to))]
        if ends(FROM_HEADS):
            return [module.register_forward_pre_hook(lambda _, args: (leaf(args[0], self.heads),))]
        if ends(FROM_MLP):
            return [module.register_forward_hook(lambda _, args, output: leaf(output, self.mlps))]
        if ends(WORDS):
            return [module.register_forward_hook(lambda _, args, output: leaf(output, self.words))]
        return []

    def parts(self, output: Tensor, n_heads: int, layers: int) -> dict[str, float]:
        """What heads, MLPs and tokens of the first layers add to a number."""
        leaves = [*self.heads[:layers], *self.mlps[:layers], *self.words]
        added = [
            leaf * grad
            for leaf, grad in zip(leaves, torch.autograd.grad(output, leaves, retain_graph=True), strict=True)
        ]
        heads = [each.sum((0, 1)).unflatten(0, (n_heads, -1)).sum(1).tolist() for each in added[:layers]]
        by_name = {f"L{layer}H{head}": value for layer, row in enumerate(heads) for head, value in enumerate(row)}
        mlps = {f"L{layer} MLP": float(added[layers + layer].sum().detach()) for layer in range(layers)}
        return by_name | mlps | {"token embedding": float(added[-1].sum().detach())}


def opened(kind: str, head: str, settings: dict[str, Any], folder: Path) -> tuple[PreTrainedModel, Run]:
    """transformers' random model, and a run of ours on its files, both in float64."""
    theirs = built(kind, head, **settings)
    theirs.save_pretrained(folder)
    theirs.double()
    return theirs, run_prompt(load(folder).double(), PROMPT, False)


@pytest.fixture(autouse=True)
def other_kinds(monkeypatch: pytest.MonkeyPatch) -> None:
    for kind, config in OTHERS.items():
        monkeypatch.setitem(CONFIGS, kind, config)


@pytest.mark.parametrize(("kind", "head", "settings", "position"), CASES)
def test_each_part_s_effect_on_a_label_is_that_of_transformers_modules(
    kind: str, head: str, settings: dict[str, Any], position: int, tmp_path: Path
) -> None:
    theirs, run = opened(kind, head, settings, tmp_path)
    logits = outputs_of(theirs, TOKENS)[0]
    logits = logits[position if len(logits) > 1 else 0]
    effects = logit_attribution(run, Question(0, 1, position))
    difference = float(logits[0] - logits[1])
    assert float(effects.difference.values) == near(difference, kind)
    assert float(effects.values.values.sum()) == near(difference, kind)
    assert float(effects.accumulated.values[-1]) == near(difference, kind)
    linear = Linearized(theirs)
    label_logits = linear.logits if linear.logits.ndim == 1 else linear.logits[position]
    expected = linear.parts(label_logits[0] - label_logits[1], run.cfg.n_heads, run.cfg.n_layers)
    ours = dict(zip(effects.names, effects.values.values.tolist(), strict=True))
    assert {name: ours[name] for name in expected} == near(expected, kind)
    by_source = attribution_by_source(run, (0, 1), Question(0, 1, position))
    assert float(by_source.values.sum()) == near(expected["L0H1"], kind)


@pytest.mark.parametrize(
    ("kind", "head", "settings", "position"), [CASES[0], CASES[2], CASES[5], ("ModernBert", EACH, {}, 1), CASES[-1]]
)
def test_each_neuron_s_effect_is_that_of_transformers_modules(
    kind: str, head: str, settings: dict[str, Any], position: int, tmp_path: Path
) -> None:
    """Its activation times its row of W_out times the derivative; with the biases they are all that the MLP adds."""
    theirs, run = opened(kind, head, settings, tmp_path)
    neurons, question = list[tuple[Tensor, Tensor]](), Question(0, 1, position)
    for name, module in theirs.named_modules():
        if name.endswith(FROM_MLP) and not name.endswith(FROM_HEADS):
            W: Tensor = module.weight.detach()  # type: ignore[assignment]
            module.register_forward_pre_hook(lambda _, args, W=W: neurons.append((args[0].detach(), W)))
    linear = Linearized(theirs)
    label_logits = linear.logits if linear.logits.ndim == 1 else linear.logits[position]
    gradients = torch.autograd.grad(label_logits[0] - label_logits[1], linear.mlps)
    expected = [(post * (each @ W))[0].sum(0) for (post, W), each in zip(neurons, gradients, strict=True)]
    ours, whole = direct_effects(run, question), logit_attribution(run, question)
    torch.testing.assert_close(ours.values.values, torch.stack(expected), rtol=1e-6, atol=1e-6)  # kept in float32
    by_name = dict(zip(whole.names, whole.values.values.tolist(), strict=True))
    sums = ours.values.values.sum(-1) + ours.bias.values
    assert sums.tolist() == pytest.approx([by_name["L0 MLP"], by_name["L1 MLP"]], rel=1e-6, abs=1e-6)  # as above


@pytest.mark.parametrize("kind", ["Bert", "Roberta", "DistilBert", "Albert", "Electra"])
def test_a_score_is_the_sum_of_transformers_queries_and_keys_by_part(kind: str, tmp_path: Path) -> None:
    theirs, run = opened(kind, EACH, {}, tmp_path)
    layer, head, query, key = 1, 2, 3, 1
    why, linear, d_head = explain_cell(run, Cell(layer, head, query, key)), Linearized(theirs), run.cfg.d_head
    components = range(head * d_head, (head + 1) * d_head)
    q, k = linear.queries[layer][0, query], linear.keys[layer][0, key]
    score = float((q[[*components]] @ k[[*components]]).detach()) / d_head**0.5
    assert float(why.parts.score.values) == near(score, kind)
    assert float(why.parts.matrix.values.sum()) == near(score, kind)
    of_query, of_key = ([linear.parts(x[at], run.cfg.n_heads, layer) for at in components] for x in (q, k))
    names = list(of_query[0])
    by_query, by_key = (torch.tensor([[row[name] for row in rows] for name in names]) for rows in (of_query, of_key))
    places = [why.query_names.index(name) for name in names], [why.key_names.index(name) for name in names]
    ours = why.parts.matrix.values[places[0]][:, places[1]]
    torch.testing.assert_close(ours, by_query.double() @ by_key.double().T / d_head**0.5, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize(
    ("kind", "head", "settings"), [("Bert", LABELS, {}), ("ModernBert", LABELS, {"classifier_pooling": "mean"})]
)
def test_without_a_head_the_label_changes_as_in_transformers(
    kind: str, head: str, settings: dict[str, Any], tmp_path: Path
) -> None:
    """The direct effect is the head's own with its sign turned, at all tokens where their mean is read."""
    theirs, run = opened(kind, head, settings, tmp_path)
    question, width = Question(0, 1, 0), run.cfg.d_head
    outcomes = ablation_effects(run, Cell(0, 1, 2, 3), question)
    slot = outcomes.names.index("head zero-ablated")
    effects = logit_attribution(run, question)
    own = float(effects.values.values[effects.names.index("L0H1")])
    assert float(outcomes.direct.values[slot]) == near(-own, kind)
    before = outputs_of(theirs, TOKENS)[0, 0]
    module = next(part for name, part in theirs.named_modules() if name.endswith(FROM_HEADS[0::3]))

    def zero(_: nn.Module, args: tuple[Tensor]) -> tuple[Tensor]:
        without = args[0].clone()
        without[..., width : 2 * width] = 0
        return (without,)

    module.register_forward_pre_hook(zero)
    change = outputs_of(theirs, TOKENS)[0, 0] - before
    assert float(outcomes.total.values[slot]) == near(float(change[0] - change[1]), kind)

"""Ablating a graph's nodes: what is predicted and what is measured agree where the model is linear, else need not."""

from collections.abc import Sequence
from dataclasses import astuple, replace
from pathlib import Path
from typing import Any

import pytest
import torch

from headlight.model import Run, Transformer, TransformerConfig, load, run_prompt
from headlight.model.base.errors import InputError
from headlight.model.features.opening import open_dictionary
from headlight.model.graph import Aim, checking, graph_of
from headlight.model.graph.checking import Check, Outcome, check_graph, top_nodes
from headlight.model.graph.influence import prune
from headlight.model.graph.tables import in_words
from headlight.model.graph.without import FreezeToFirst
from headlight.model.nn.hooks import Tap
from headlight.model.runs.edits import FreezePatterns
from tests.model.checkpoints.test_heads import built
from tests.tiny import SIZES, open_tiny

AIM = Aim(40, 90, 5)


def attention_only(folder: Path, **settings: Any) -> Transformer:
    """A model of heads alone, with noise on every parameter."""
    mini = open_tiny("gpt2-like", folder)
    torch.manual_seed(0)
    sizes = {key: value for key, value in SIZES.items() if key != "d_mlp"}
    model = Transformer(TransformerConfig(**sizes, attn_only=True, **settings))
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.3)
    model.tokenizer, model.source = mini.tokenizer, mini.source
    return model.requires_grad_(False)


PROMPT = "one two three one two three one"


def linear(folder: Path) -> Run:
    """A run of heads alone, without norms and with patterns that no edit changes: it is what the graph takes it for."""
    return run_prompt(attention_only(folder, normalization_type=None), PROMPT, edits=(FreezePatterns(),))


def test_where_the_model_is_linear_prediction_and_measurement_are_one(tmp_path: Path) -> None:
    run = linear(tmp_path)
    graph = graph_of(run, AIM, most=1000)
    nodes = top_nodes(graph, prune(graph), 12)
    check = check_graph(run, graph, nodes)
    # Float32 passes, of logits of size 10.
    predicted, measured = zip(*((each.predicted, each.measured) for each in check.each), strict=True)
    assert predicted == pytest.approx(measured, rel=1e-4, abs=1e-4)
    assert check.together.predicted == pytest.approx(check.together.measured, rel=1e-4)
    # Nodes on one way are not counted twice: the sum of the effects is another number.
    assert abs(sum(predicted) - check.together.measured) > 0.1
    assert check.correlation() == pytest.approx(1.0)
    assert check.holds()
    assert check.is_complete


@pytest.mark.parametrize("norm", ["LN", "RMS"])
def test_without_mlps_a_held_model_does_what_is_predicted(tmp_path: Path, norm: str) -> None:
    """Norms and softmax are there: held, all between embeddings and logits is linear, and free it is not."""
    run = run_prompt(attention_only(tmp_path, normalization_type=norm), PROMPT)
    graph = graph_of(run, AIM, most=1000)
    check = check_graph(run, graph, top_nodes(graph, prune(graph), 12))
    outcomes = [*check.each, check.together, check.rest]
    predicted, frozen = ([getattr(each, name) for each in outcomes] for name in ("predicted", "frozen"))
    assert frozen == pytest.approx(predicted, rel=1e-4, abs=1e-4)  # float32 passes, of logits of size 10
    assert check.correlation("frozen") == pytest.approx(1.0)
    assert check.holds("frozen")
    assert max(abs(each.measured - each.frozen) for each in outcomes) > 0.1


@pytest.mark.parametrize(("kind", "settings"), [("Bert", {}), ("ModernBert", {"classifier_pooling": "mean"})])
def test_without_mlps_a_held_encoder_s_label_does_what_is_predicted(
    kind: str, settings: dict[str, Any], tmp_path: Path
) -> None:
    """Behind norms of the stream and a pooler, or by the mean of all tokens."""
    built(kind, "ForSequenceClassification", **settings).save_pretrained(tmp_path)
    model = load(tmp_path).double()
    for name, parameter in model.named_parameters():
        if name.endswith("mlp.W_out"):
            parameter.data = torch.zeros_like(parameter)
    run = run_prompt(model, "ids: 7 3 11 5 9", False)
    graph = graph_of(run, Aim(0, 1, 0), most=1000)
    check = check_graph(run, graph, top_nodes(graph, prune(graph), 12))
    outcomes = [*check.each, check.together, check.rest]
    predicted, frozen = ([getattr(each, name) for each in outcomes] for name in ("predicted", "frozen"))
    assert frozen == pytest.approx(predicted, rel=1e-6, abs=1e-6)  # float64; ModernBERT's angles are float32
    assert max(map(abs, predicted)) > 0.01


def test_of_a_long_prompt_fewer_ablations_run_side_by_side(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = run_prompt(open_tiny("gpt2-like", tmp_path), PROMPT)
    graph = graph_of(run, AIM)
    nodes, rows = top_nodes(graph, prune(graph), 12), list[int]()
    together = check_graph(run, graph, nodes)
    forward = run.model.forward

    def counted(*args: Any, **named: Any) -> torch.Tensor:
        rows.append(len(logits := forward(*args, **named)))
        return logits

    monkeypatch.setattr(run.model, "forward", counted)
    monkeypatch.setattr(checking, "CELLS", 1)
    check = check_graph(replace(run), graph, nodes)
    assert max(rows) == 2  # the run as it was, and one ablation
    for one, other in zip((*check.each, check.rest), (*together.each, together.rest), strict=True):
        assert astuple(one) == pytest.approx(astuple(other), abs=1e-4)  # float32 logits, in batches of other sizes


def test_where_nothing_is_left_out_every_ablation_has_its_own_outcome(monkeypatch: pytest.MonkeyPatch) -> None:
    """At the first token all active features are nodes: the last batch is what was left out, in which no tap acts."""
    run = run_prompt(model := load("mini"), "one two")
    dictionaries = open_dictionary("mini/transcoders", model)
    graph = graph_of(run, Aim(40, 90, 0), dictionaries)
    nodes = top_nodes(graph, prune(graph), 3)
    monkeypatch.setattr(checking, "AT_ONCE", 4)
    check = check_graph(run, graph, nodes, dictionaries)
    assert len(check.each) == len(nodes) == 3
    assert (check.rest.frozen, check.rest.measured) == (0, 0)
    alone = check_graph(replace(run), graph, nodes[:1], dictionaries).together
    assert (alone.frozen, alone.measured) == pytest.approx((check.each[0].frozen, check.each[0].measured), abs=1e-4)


def test_holding_takes_patterns_and_scales_of_the_first_run_and_leaves_the_rest() -> None:
    activation = torch.arange(6.0).reshape(2, 3)
    tap = FreezeToFirst()
    for name in ("blocks.0.attn.hook_pattern", "blocks.1.ln1.hook_scale", "blocks.0.ln2_post.hook_scale"):
        assert torch.equal(tap(name, activation), activation[[0, 0]])
    for name in ("blocks.0.attn.hook_attn_scores", "blocks.1.ln1.hook_normalized", "blocks.0.mlp.hook_post"):
        assert torch.equal(tap(name, activation), activation)


def test_what_is_left_out_is_predicted_too(tmp_path: Path) -> None:
    run = linear(tmp_path)
    graph = graph_of(run, AIM, most=5)
    rest = check_graph(run, graph, top_nodes(graph, prune(graph, 1.0, 1.0))).rest
    assert abs(rest.measured) > 0.1
    assert rest.predicted == pytest.approx(rest.measured, rel=1e-4)


def test_ablated_is_ablated(tmp_path: Path) -> None:
    """A neuron and a head are taken out at their position alone, by hand."""
    run = run_prompt(open_tiny("gemma2-like", tmp_path), "one two three one two three one")
    graph = graph_of(run, AIM, most=60)
    nodes = [next(place for place, node in enumerate(graph.nodes) if node.kind == kind) for kind in ("head", "neuron")]
    check = check_graph(run, graph, nodes)

    class By(Tap):
        def __init__(self, chosen: Sequence[int]) -> None:
            self.chosen, self.logits = chosen, torch.empty(0)

        def __call__(self, name: str, activation: torch.Tensor) -> torch.Tensor:
            for place in self.chosen:
                node = graph.nodes[place]
                part = "attn.hook_z" if node.kind == "head" else "mlp.hook_post"
                if name == f"blocks.{node.layer}.{part}":
                    activation = activation.clone()
                    activation[:, node.position, node.index] = 0
            return self.keep(name, activation)

        def keep(self, name: str, activation: torch.Tensor) -> torch.Tensor:
            if name == "unembed.hook_out":
                self.logits = activation[0, AIM.position]
            return activation

    measured = []
    for chosen in ((), nodes[:1], nodes[1:], nodes):
        by = By(chosen)
        run.model(run.tokens[None], tap=by)
        measured.append(float(by.logits[AIM.token] - by.logits[AIM.distractor or 0]))
    own, *others = measured
    theirs = [each - own for each in others]
    ours = [*(each.measured for each in check.each), check.together.measured]
    assert ours == pytest.approx(theirs, abs=1e-3)  # float32 logits


def test_a_graph_that_cannot_see_what_moves_a_pattern_says_that_it_is_not_complete() -> None:
    """In the induction circuit the first head moves the second one's pattern, which a graph holds still."""
    run = run_prompt(load("teach-induction"), "the quick fox found the")
    graph = graph_of(run, Aim(int(run.next_logits.argmax()), None, len(run.tokens) - 1))
    assert [node.name for node in graph.nodes[: graph.n_followed]] == ["L1H0", "logit"]
    check = check_graph(run, graph, (0,))
    assert check.holds()
    assert check.rest.predicted == pytest.approx(0.0, abs=1e-9)
    assert check.rest.frozen == pytest.approx(0.0, abs=1e-3)  # what is missed is where a head looks
    assert check.rest.measured == pytest.approx(-graph.target.value, rel=1e-3)  # without it nothing is predicted
    assert not check.is_complete


@pytest.mark.parametrize(
    ("frozen", "measured", "words"),
    [
        ((2.0, 1.0, 3.0), (2.0, 1.0, 3.0), "The graph holds: correlation 1.00 over 2 nodes, ablated together +3"),
        (
            (2.0, 1.0, 3.0),
            (1.0, 2.0, -3.0),
            "The graph holds only with attention patterns and norm scales frozen: corr",
        ),
        (
            (1.0, 2.0, 3.0),
            (1.0, 2.0, 3.0),
            "The graph does not hold: correlation −1.00 over 2 nodes, ablated together +3",
        ),
        (
            (2.0, 1.0, 9.0),
            (2.0, 1.0, 9.0),
            "The graph does not hold: correlation 1.00 over 2 nodes, ablated together +9",
        ),
    ],
)
def test_it_is_said_whether_a_graph_holds_freely_or_only_frozen(
    frozen: tuple[float, ...], measured: tuple[float, ...], words: str
) -> None:
    one, other, both = map(Outcome, (2.0, 1.0, 3.0), frozen, measured)
    check = Check((0, 1), (one, other), both, Outcome(0.0, 0.0, 0.0), 1.0)
    assert in_words(check).startswith(words)


def test_only_parts_can_be_ablated(tmp_path: Path) -> None:
    run = linear(tmp_path)
    graph = graph_of(run, AIM)
    token = next(place for place, node in enumerate(graph.nodes) if node.kind == "token")
    for nodes in ((), (token,)):
        with pytest.raises(InputError, match="can be ablated"):
            check_graph(run, graph, nodes)

"""Ablating a graph's nodes: what is predicted and what is measured agree where the model is linear, else need not."""

from collections.abc import Sequence
from pathlib import Path

import pytest
import torch

from headlight.model import Run, Transformer, TransformerConfig, load, run_prompt
from headlight.model.edits import FreezePatterns
from headlight.model.errors import InputError
from headlight.model.graph import Aim, graph_of
from headlight.model.graph.checking import check_graph, top_nodes
from headlight.model.graph.influence import prune
from headlight.model.hooks import Tap
from tests.tiny import SIZES, open_tiny

pytestmark = pytest.mark.usefixtures("unchecked")  # a batch grows where ablations run side by side
AIM = Aim(40, 90, 5)


def linear(folder: Path) -> Run:
    """A run of heads alone, without norms and with patterns that no edit changes: it is what the graph takes it for."""
    mini = open_tiny("gpt2-like", folder)
    torch.manual_seed(0)
    sizes = {key: value for key, value in SIZES.items() if key != "d_mlp"}
    model = Transformer(TransformerConfig(**sizes, attn_only=True, normalization_type=None))
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.3)
    model.tokenizer, model.source = mini.tokenizer, mini.source
    return run_prompt(model.requires_grad_(False), "one two three one two three one", edits=(FreezePatterns(),))


def test_where_the_model_is_linear_prediction_and_measurement_are_one(tmp_path: Path) -> None:
    run = linear(tmp_path)
    graph = graph_of(run, AIM, most=1000)
    nodes = top_nodes(graph, prune(graph), 12)
    found = check_graph(run, graph, nodes)
    # Float32 passes, of logits of size 10.
    predicted, measured = zip(*((each.predicted, each.measured) for each in found.each), strict=True)
    assert predicted == pytest.approx(measured, rel=1e-4, abs=1e-4)
    assert found.together.predicted == pytest.approx(found.together.measured, rel=1e-4)
    # Nodes on one way are not counted twice: the sum of the effects is another number.
    assert abs(sum(predicted) - found.together.measured) > 0.1
    assert found.correlation == pytest.approx(1.0)
    assert found.holds
    assert found.is_complete


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
    found = check_graph(run, graph, nodes)

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
    ours = [*(each.measured for each in found.each), found.together.measured]
    assert ours == pytest.approx(theirs, abs=1e-3)  # float32 logits


def test_a_graph_that_cannot_see_what_moves_a_pattern_says_that_it_is_not_complete() -> None:
    """In the induction circuit the first head moves the second one's pattern, which a graph holds still."""
    run = run_prompt(load("teach-induction"), "the quick fox found the")
    graph = graph_of(run, Aim(int(run.next_logits.argmax()), None, len(run.tokens) - 1))
    assert [node.name for node in graph.nodes[: graph.n_followed]] == ["L1H0", "logit"]
    found = check_graph(run, graph, (0,))
    assert found.holds
    assert found.rest.predicted == pytest.approx(0.0, abs=1e-9)
    assert found.rest.measured == pytest.approx(-graph.target.value, rel=1e-3)  # without it nothing is predicted
    assert not found.is_complete


def test_only_parts_can_be_ablated(tmp_path: Path) -> None:
    run = linear(tmp_path)
    graph = graph_of(run, AIM)
    token = next(place for place, node in enumerate(graph.nodes) if node.kind == "token")
    for nodes in ((), (token,)):
        with pytest.raises(InputError, match="can be ablated"):
            check_graph(run, graph, nodes)

"""The graph's edges, biases and effects against autograd, on a tiny model of each kind of architecture."""

from pathlib import Path
from typing import Any

import pytest
import torch

from headlight.model import Run, load, run_prompt
from headlight.model.base.errors import InputError
from headlight.model.graph import Aim, Graph, graph_of
from headlight.model.runs.edits import AblateHeads, ClampNeurons, Drop, Steer
from tests.model.checkpoints.test_heads import built
from tests.model.graph.oracle import Autograd, followed
from tests.tiny import KINDS, open_tiny

pytestmark = pytest.mark.usefixtures("unchecked")  # the oracle's leaves pass through annotated functions many times
TEXT = "one two three one two three one"
AIM = Aim(40, 90, 5)  # not the last position: what comes after it has no say
ALL = 10_000  # more nodes than there are, so that every head's write and every neuron is followed
REFUSED = ("gpt_oss-like", "qwen2_moe-like", "deberta-like")
QUICK = ("gpt2-like", "gemma2-like", "neox-like", "bert-like")  # between them all that is folded into an edge
TAKEN = [
    kind if kind in QUICK else pytest.param(kind, marks=pytest.mark.thorough) for kind in KINDS if kind not in REFUSED
]
# The oracle's sums are of some hundred float32 numbers of size 10 to 100, taken in another order.
CLOSE = {"rtol": 2e-3, "atol": 2e-3}


class Runs(dict[str, Run]):
    """A run of a tiny model of each kind, made when a test first asks for it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __missing__(self, kind: str) -> Run:
        self[kind] = run_prompt(open_tiny(kind, self.folder / kind), TEXT)
        return self[kind]


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Runs:
    return Runs(tmp_path_factory.mktemp("models"))


def some(graph: Graph) -> list[int]:
    """The target's logit, and nodes of every layer and kind."""
    return [*range(0, graph.n_followed, 41), graph.logit]


@pytest.mark.parametrize("kind", TAKEN)
def test_edges_and_biases_are_those_of_autograd(kind: str, runs: Runs) -> None:
    run = runs[kind]
    graph, oracle = graph_of(run, AIM, most=ALL), Autograd(run, AIM)
    sources = [place for place, node in enumerate(graph.nodes) if node.kind in ("token", "head", "neuron")]
    for row in some(graph):
        node = graph.nodes[row]
        along = oracle.through_everything(node.layer or 0)[node.position, node.index] if node.kind == "head" else None
        theirs = oracle.edges(node, [graph.nodes[place] for place in sources], along)
        torch.testing.assert_close(graph.edges[row, sources].float(), theirs, **CLOSE)
        assert float(graph.bias[row]) == pytest.approx(oracle.bias(node, along), rel=2e-3, abs=5e-3), node


@pytest.mark.parametrize("kind", TAKEN)
def test_with_heads_folded_into_the_edges_they_are_circuit_tracers(kind: str, runs: Runs) -> None:
    """Derivatives through patterns and norm scales held still, past all other MLPs, as Ameisen et al. define them."""
    run, aim = runs[kind], Aim(40, None, 5)
    graph, oracle = graph_of(run, aim, most=ALL, folded=True), Autograd(run, aim, folded=True)
    sources = [place for place, node in enumerate(graph.nodes) if node.kind in ("token", "neuron")]
    assert "head" not in {node.kind for node in graph.nodes}
    for row in some(graph):
        theirs = oracle.edges(graph.nodes[row], [graph.nodes[place] for place in sources])
        torch.testing.assert_close(graph.edges[row, sources].float(), theirs, **CLOSE)
        assert float(graph.bias[row]) == pytest.approx(oracle.bias(graph.nodes[row]), rel=2e-3, abs=5e-3)


CLASSIFIERS: list[Any] = [
    ("Bert", {}),
    pytest.param(("ModernBert", {"classifier_pooling": "mean"}), marks=pytest.mark.thorough),
]


@pytest.fixture(scope="module", params=CLASSIFIERS, ids=lambda case: case[0])
def classified(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A run of a classifier behind a pooler, or of one that reads the mean of all tokens, in float64."""
    kind, settings = request.param
    folder = tmp_path_factory.mktemp("classifier")
    built(kind, "ForSequenceClassification", **settings).save_pretrained(folder)
    return run_prompt(load(folder).double(), "ids: 7 3 11 5 9", False)


@pytest.mark.parametrize("folded", [False, True])
def test_edges_to_a_label_are_those_of_autograd(folded: bool, classified: Run) -> None:
    """Through the norms of the stream, the pooler, or the mean of all tokens."""
    aim = Aim(0, 1, 0)
    graph, oracle = graph_of(classified, aim, most=ALL, folded=folded), Autograd(classified, aim, folded)
    sources = [place for place, node in enumerate(graph.nodes) if node.kind in ("token", "head", "neuron")]
    for row in (*range(0, graph.n_followed, 13), graph.logit):
        node = graph.nodes[row]
        along = oracle.through_everything(node.layer or 0)[node.position, node.index] if node.kind == "head" else None
        theirs = oracle.edges(node, [graph.nodes[place] for place in sources], along)
        # float64; ModernBERT's angles are float32.
        torch.testing.assert_close(graph.edges[row, sources], theirs, rtol=1e-5, atol=1e-6)
        assert float(graph.bias[row]) == pytest.approx(oracle.bias(node, along), rel=1e-5, abs=1e-6), node
    logits = classified.next_logits
    assert graph.target.value == pytest.approx(float(logits[0] - logits[1]), abs=1e-6)
    rest = [place for place in range(len(graph.nodes)) if place != graph.logit]
    torch.testing.assert_close(graph.flows.sum(0)[rest], graph.effects[rest], rtol=1e-9, atol=1e-9)
    begins = graph.effects[[not node.is_followed for node in graph.nodes]].sum()
    assert float(begins + graph.bias @ graph.slopes) == pytest.approx(graph.target.value, abs=1e-9)


@pytest.mark.parametrize("folded", [False, True])
@pytest.mark.parametrize("most", [1, 30, ALL])
def test_what_a_node_gives_to_all_others_adds_up_to_its_effect(runs: Runs, most: int, folded: bool) -> None:
    graph = graph_of(runs["gpt2-like"], AIM, most=most, folded=folded)
    rest = [place for place in range(len(graph.nodes)) if place != graph.logit]
    # In float64 throughout.
    torch.testing.assert_close(graph.flows.sum(0)[rest], graph.effects[rest], rtol=1e-9, atol=1e-9)
    begins = graph.effects[[not node.is_followed for node in graph.nodes]].sum()
    assert float(begins + graph.bias @ graph.slopes) == pytest.approx(graph.target.value, abs=1e-9)
    assert len(followed(graph)) == min(most, graph.n_candidates) + 1


def test_the_target_is_what_the_model_says(runs: Runs) -> None:
    for kind in ("gpt2-like", "granite-like"):
        run = runs[kind]
        logits = run.model(run.tokens[None])[0, 5]
        for distractor, other in ((90, logits[90]), (None, logits.mean())):
            target = graph_of(run, Aim(40, distractor, 5), most=1).target
            assert target.value == pytest.approx(float(logits[40] - other), abs=1e-3)  # float32 logits of size 10
            assert target.probability == pytest.approx(float(logits.softmax(-1)[40]), rel=1e-3)


def test_all_edges_come_from_before(runs: Runs) -> None:
    graph = graph_of(runs["neox-like"], AIM, most=ALL)
    for row, node in enumerate(followed(graph)):
        for place in graph.edges[row].nonzero().flatten().tolist():
            source = graph.nodes[place]
            assert source.position <= node.position
            assert node.kind == "logit" or (source.layer if source.layer is not None else -1) <= (node.layer or 0)


@pytest.mark.parametrize("kind", REFUSED)
def test_a_model_that_has_no_such_graph_is_refused(kind: str, runs: Runs) -> None:
    with pytest.raises(InputError, match=r"experts|convolution"):
        graph_of(runs[kind], AIM)


@pytest.mark.parametrize(
    ("aim", "most", "message"),
    [
        (Aim(40, 40, 5), 10, "same token"),
        (Aim(40, 90, 70), 10, "no position 70"),
        (Aim(9000, 90, 5), 10, "no token 9000"),
        (Aim(40, 90, 5), 0, "at least 1"),
    ],
)
def test_a_question_that_has_no_answer_is_refused(runs: Runs, aim: Aim, most: int, message: str) -> None:
    with pytest.raises(InputError, match=message):
        graph_of(runs["gpt2-like"], aim, most=most)


EDITS = {
    "a head without its output": AblateHeads(((1, 2),)),
    "a stream steered": Steer(1, "two", "one", 2.0),
    "a neuron clamped": ClampNeurons(((1, 3),), 2.5),
    "an MLP dropped": Drop(1, "MLP"),
}


def last_scales(run: Run) -> torch.Tensor:
    """What the last norm divides by at each position."""
    stream = list(run.streams())[-1]
    return ((stream - stream.mean(-1, keepdim=True)).square().mean(-1) + run.cfg.eps).sqrt()


@pytest.mark.parametrize("named", EDITS)
def test_of_a_run_with_edits_all_adds_up_too(named: str, runs: Runs) -> None:
    """What an edit puts somewhere is a constant: nothing flows into it, and what it adds beside is a node by itself."""
    model = runs["gpt2-like"].model
    edited = run_prompt(model, TEXT, edits=(EDITS[named],))
    graph = graph_of(edited, AIM, most=ALL)
    with torch.inference_mode():
        logits = model(edited.tokens[None], tap=edited.tap)[0, 5]
    assert graph.target.value == pytest.approx(float(logits[40] - logits[90]), abs=2e-3)  # float32 logits of size 10
    rest = [place for place in range(len(graph.nodes)) if place != graph.logit]
    torch.testing.assert_close(graph.flows.sum(0)[rest], graph.effects[rest], rtol=1e-9, atol=1e-9)
    kinds = {node.kind for node in graph.nodes}
    assert ("edits" in kinds) is (named in ("a stream steered", "an MLP dropped"))
    clamped = [
        row for row, node in enumerate(followed(graph)) if (node.kind, node.layer, node.index) == ("neuron", 1, 3)
    ]
    if named == "a neuron clamped":
        assert len(clamped) == 6
        assert not bool(graph.edges[clamped].any())
        assert graph.activations[clamped].tolist() == [2.5] * 6
    # Nothing that an edit did is left to the target's bias: what is written by no node is each layer's biases alone.
    blocks = [model.block(layer) for layer in range(3)]
    written = sum(block.attn.b_O + block.get_parameter("mlp.b_out") for block in blocks)
    centred = (written - written.mean()) * model.ln_final.w / last_scales(edited)[5]
    direction = model.unembed.W_U[:, 40] - model.unembed.W_U[:, 90]
    own = model.ln_final.b @ direction + model.unembed.b_U[40] - model.unembed.b_U[90]
    assert float(graph.bias[graph.logit]) == pytest.approx(float(centred @ direction + own), abs=5e-3)

"""Edges between parts: runs with their own streams against the model's own, scores against autograd and patching."""

from pathlib import Path

import pytest
import torch
from torch import Tensor

from headlight.model import Transformer, load, run_prompt
from headlight.model.base.errors import InputError
from headlight.model.circuits import Receiver, Sender, above_share, measure_circuit, score
from headlight.model.circuits.preparing import edge_runs, edge_runs_against_means, edge_runs_of
from headlight.model.circuits.running import EdgeRuns, Moved
from headlight.model.nn.hooks import Tap
from headlight.model.patching import LogitDifference, Patching
from headlight.model.patching.of_runs import patch_runs
from headlight.model.patching.paths import path_differences
from headlight.model.runs.edits import AblateHeads
from tests.tiny import KINDS, open_tiny

pytestmark = pytest.mark.usefixtures("unchecked")  # each receiver's stream travels as a row of a batch
A, B = "one two three one two three one", "one two four one three three one"
ASKED = LogitDifference(40, 90, 6)
REFUSED = ("gemma2-like", "olmo2-like")
PLAIN = ("gpt2-like", "neox-like")  # whose streams are sums
QUICK = (*PLAIN, "bert-like")
TAKEN = [
    kind if kind in QUICK else pytest.param(kind, marks=pytest.mark.thorough) for kind in KINDS if kind not in REFUSED
]


class Models(dict[str, Transformer]):
    """A tiny model of each kind, opened when a test first asks for it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __missing__(self, kind: str) -> Transformer:
        self[kind] = open_tiny(kind, self.folder / kind)
        return self[kind]


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Models:
    return Models(tmp_path_factory.mktemp("models"))


def patching_of(models: Models, kind: str) -> Patching:
    a, b = (run_prompt(models[kind], text) for text in (A, B))
    return patch_runs(a, b, ASKED)


def made(models: Models, kind: str) -> EdgeRuns:
    a, b = (run_prompt(models[kind], text) for text in (A, B))
    return edge_runs_of(a, b, ASKED)


@pytest.mark.parametrize("kind", TAKEN)
def test_with_all_edges_it_is_run_a_and_with_none_run_b(kind: str, models: Models) -> None:
    patching = patching_of(models, kind)
    runs = edge_runs(patching)
    whole = runs.wires.before.float()
    with torch.inference_mode():
        # Float32 logits of size 10, of streams added up in another order.
        assert float(runs.run(whole)) == pytest.approx(patching.a, abs=2e-3)
        assert float(runs.run(torch.zeros_like(whole))) == pytest.approx(patching.b, abs=2e-3)
        assert float(runs.run(whole, moved=Moved(-1, 1.0))) == pytest.approx(patching.b, abs=2e-3)


@pytest.mark.parametrize("kind", ["gpt2-like", "deberta-like"])
def test_one_path_from_b_is_path_patching(kind: str, models: Models) -> None:
    """With one edge from B, from a head to a later one's key, it is what path patching measures by another way."""
    patching = patching_of(models, kind)
    runs = edge_runs(patching)
    wires, whole = runs.wires, runs.wires.before.float()
    for read in ("q", "k", "v"):
        edge = wires.receivers.index(Receiver(2, 1, read)), wires.senders.index(Sender(0, 3))
        without = whole.clone()
        without[edge] = 0
        with torch.inference_mode():
            ours = float(runs.run(without))
        theirs = float(path_differences(patching, [(0, 3)], (2, 1), read)[0])
        assert ours == pytest.approx(theirs, abs=2e-3)  # as above


class Grown(Tap):
    """A run in which one sender's write is B's, but only what one receiver reads hears of it, by hand."""

    def __init__(self, name: str, change: Tensor) -> None:
        self.name, self.change = name, change.clone().requires_grad_()

    def __call__(self, name: str, activation: Tensor) -> Tensor:
        return activation + self.change if name == self.name else activation


@pytest.mark.parametrize("kind", PLAIN)
def test_scores_are_changes_times_gradients_of_the_model_itself(kind: str, models: Models) -> None:
    """By autograd through the model's own forward: of an MLP's write, into the logits, and into all later readers."""
    patching = patching_of(models, kind)
    runs = edge_runs(patching)
    model, wires, scores, changes = runs.model, runs.wires, score(runs)[0], runs.changes[0]
    n_pos, d_model = patching.reach, model.cfg.d_model
    into = {
        "blocks.1.hook_mlp_out": None,
        "blocks.2.hook_resid_post": [wires.receivers.index(Receiver())],
    }
    for name, rows in into.items():
        zero = Grown(name, torch.zeros(1, n_pos, d_model))
        with torch.enable_grad():
            resid = model(patching.tokens, tap=zero, stop_at_layer=3)
            (gradient,) = torch.autograd.grad(patching.read(resid).sum(), zero.change)
        if rows is None:  # what an MLP writes reaches all later receivers: their scores add up to it, to first order
            sender = wires.senders.index(Sender(1))
            assert float(scores[:, sender].sum()) == pytest.approx(
                float((gradient[0] * changes[sender]).sum()), rel=1e-3, abs=1e-3
            )
        else:
            theirs = torch.einsum("pd,spd->s", gradient[0], changes)
            torch.testing.assert_close(scores[rows[0]], theirs, rtol=1e-3, atol=1e-3)
    whole = Grown("blocks.1.hook_resid_pre", torch.zeros(1, n_pos, d_model))
    with torch.enable_grad():
        resid = model(patching.tokens, tap=whole, stop_at_layer=3)
        (gradient,) = torch.autograd.grad(patching.read(resid).sum(), whole.change)
    sender = wires.senders.index(Sender(0, 2))
    later = [row for row, receiver in enumerate(wires.receivers) if receiver.layer is None or receiver.layer >= 1]
    theirs_all = float((gradient[0] * changes[sender]).sum())
    assert float(scores[later, sender].sum()) == pytest.approx(theirs_all, rel=1e-3, abs=1e-3)


@pytest.mark.parametrize("kind", ["gpt2-like", "deberta-like"])
def test_a_small_change_is_what_its_score_says(kind: str, models: Models) -> None:
    """The score is a derivative: a hundredth of an edge from B changes the difference by a hundredth of its score."""
    runs = made(models, kind)
    scores, whole = score(runs)[0], runs.wires.before.double()
    edges = (scores.abs()).flatten().topk(6).indices.tolist()
    for at in edges:
        nearly = whole.clone().float()
        nearly.view(-1)[at] -= 0.01
        with torch.inference_mode():
            change = float(runs.run(nearly) - runs.run(whole.float()))
        assert change == pytest.approx(0.01 * float(scores.flatten()[at]), rel=0.1, abs=2e-4)  # to first order


@pytest.mark.parametrize("kind", REFUSED)
def test_where_heads_write_together_there_are_no_edges(kind: str, models: Models) -> None:
    with pytest.raises(InputError, match="write together"):
        made(models, kind)


def test_information_flow_routes_refuse_a_convolution(models: Models) -> None:
    runs = made(models, "deberta-like")
    with pytest.raises(InputError, match="takes from neighbouring tokens without a head"):
        score(runs, "flow")
    assert float(score(runs, "clean_corrupted").abs().max()) > 0


def test_what_has_no_circuit_is_refused(models: Models) -> None:
    a = run_prompt(models["gpt2-like"], A)
    edited = run_prompt(models["gpt2-like"], A, edits=(AblateHeads(((0, 0),)),))
    with pytest.raises(InputError, match="without edits"):
        edge_runs_of(a, edited, ASKED)
    runs = made(models, "gpt2-like")
    with pytest.raises(InputError, match="at least 1"):
        score(runs, steps=0)
    with pytest.raises(InputError, match="above 0 and at most 1"):
        above_share(runs.wires, score(runs)[0], 0.0)


# What is known weight by weight (recipes/teaching_weights.py): the earlier head tells the later one's keys
# which token came before, the later one's query is its own token, its value what comes next. Where the earlier head
# looks is a matter of places, and where the later one rests of the first token: these are the same in both prompts.
KNOWN = {
    (Receiver(0, 0, "v"), Sender()),
    (Receiver(1, 0, "k"), Sender(0, 0)),
    (Receiver(1, 0, "q"), Sender()),
    (Receiver(1, 0, "v"), Sender()),
    (Receiver(), Sender(1, 0)),
}
TAUGHT = {
    "teach-induction": ("the quick fox found the", "a small fox found john"),
    "teach-copy": ("! fox gave john ?", "( apples gave john ."),
}


@pytest.mark.parametrize("name", TAUGHT)
def test_of_a_circuit_that_is_known_exactly_its_edges_are_found(name: str) -> None:
    a, b = (run_prompt(load(name), text) for text in TAUGHT[name])
    right, position = int(a.next_logits.argmax()), len(a.tokens) - 1
    other = int(b.tokens[2])  # what B has in the place of the token that is predicted
    runs = edge_runs_of(a, b, LogitDifference(right, other, position))
    scores = score(runs, "eap_ig_inputs", 20)[0]
    edges = above_share(runs.wires, scores, least=1e-3)
    edge_set = {(runs.wires.receivers[row], runs.wires.senders[column]) for row, column in edges.nonzero().tolist()}
    assert edge_set == KNOWN
    circuit = measure_circuit(runs, edges)
    assert circuit.n_edges == 5
    assert circuit.faithfulness == pytest.approx(1.0, abs=1e-3)
    assert circuit.completeness == pytest.approx(0.0, abs=1e-3)
    for edge in edges.nonzero().tolist():  # each of them is needed
        fewer = edges.clone()
        fewer[tuple(edge)] = False
        assert measure_circuit(runs, fewer).faithfulness < 0.5


def joined(model: Transformer, runs: EdgeRuns) -> set[tuple[Receiver, Sender]]:
    """The edges that the weights alone make, and that lie on a way to the logits.

    They join what a sender writes, whatever it reads, to what a receiver reads, by a product that is not 0.
    """
    edges = set()
    for row, column in runs.wires.before.nonzero().tolist():
        receiver, sender = runs.wires.receivers[row], runs.wires.senders[column]
        if sender.layer is None:
            written = torch.cat([model.embed.W_E, model.pos_embed.W_pos])  # type: ignore[union-attr]
        else:
            attn = model.block(sender.layer).attn
            written = attn.W_V[sender.head] @ attn.W_O[sender.head]
        read = model.unembed.W_U
        if receiver.layer is not None:
            read = getattr(model.block(receiver.layer).attn, f"W_{str(receiver.read).upper()}")[receiver.head]
        if bool((written @ read).any()):
            edges.add((receiver, sender))
    ends: set[tuple[int | None, int | None]] = {(None, None)}
    while True:  # a head leads on if an edge leads from it to one that does
        on = ends | {(s.layer, s.head) for r, s in edges if s.layer is not None and (r.layer, r.head) in ends}
        if on == ends:
            return {(r, s) for r, s in edges if (r.layer, r.head) in ends}
        ends = on


MISSED = "! ring went to the ( shop near a ) key ?"


def against_means(name: str, text: str) -> EdgeRuns:
    """The best token against the runner-up, as on the page."""
    run = run_prompt(load(name), text)
    right, distractor = run.next_logits.topk(2).indices.tolist()
    return edge_runs_against_means(run, LogitDifference(right, distractor, len(run.tokens) - 1))


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("teach-induction", "the quick fox found the"),
        ("teach-induction", "Mary found the small key. John went to a shop. Mary found the small"),
        ("teach-copy", "! fox gave john ?"),
        ("teach-copy", "John went to the ! river and gave Mary a key ?"),
        ("teach-copy", "the two fox ! went ( near ) ?"),
        ("teach-copy", MISSED),
    ],
)
def test_against_its_own_means_exactly_the_edges_are_found_that_the_weights_make(name: str, text: str) -> None:
    """Of one prompt alone: also those that tell places apart, which two prompts share."""
    runs, a = against_means(name, text), run_prompt(load(name), text)
    edges = above_share(runs.wires, score(runs, "eap_ig_inputs", 20)[0], least=1e-3)
    edge_set = {(runs.wires.receivers[row], runs.wires.senders[column]) for row, column in edges.nonzero().tolist()}
    assert edge_set == joined(a.model, runs)
    assert len(edge_set) == 8
    assert edge_set > KNOWN
    circuit = measure_circuit(runs, edges)
    assert circuit.faithfulness == pytest.approx(1.0, abs=1e-3)
    assert circuit.completeness == pytest.approx(0.0, abs=1e-3)


def test_against_means_the_default_least_score_can_miss_edges() -> None:
    """What the manual says of it: two edges have less than 1% of the largest score, and nothing works without them."""
    runs = against_means("teach-copy", MISSED)
    edges = above_share(runs.wires, score(runs, "eap_ig_inputs", 10)[0], least=0.01)
    circuit = measure_circuit(runs, edges)
    assert circuit.n_edges == 6
    assert circuit.faithfulness == pytest.approx(-0.083, abs=5e-4)  # three digits


@pytest.mark.parametrize("kind", PLAIN)
def test_with_no_edge_every_reader_has_the_mean_of_the_streams(kind: str, models: Models) -> None:
    run = run_prompt(models[kind], A)
    runs = edge_runs_against_means(run, ASKED)
    *_, final = run.streams()
    mean = final[: ASKED.position + 1].mean(0)
    own, logits = run.model.to_logits(torch.stack([final[ASKED.position], mean])[None])[0]
    whole = runs.wires.before.float()
    with torch.inference_mode():
        # Float32 logits of size 10, of streams added up in another order.
        assert float(runs.run(whole)) == pytest.approx(float(own[40] - own[90]), abs=2e-3)
        assert float(runs.run(torch.zeros_like(whole))) == pytest.approx(float(logits[40] - logits[90]), abs=2e-3)


def test_what_has_no_circuit_against_means_is_refused(models: Models) -> None:
    edited = run_prompt(models["gpt2-like"], A, edits=(AblateHeads(((0, 0),)),))
    with pytest.raises(InputError, match="without edits"):
        edge_runs_against_means(edited, ASKED)
    alone = run_prompt(models["gpt2-like"], "one", prepend_bos=False)
    with pytest.raises(InputError, match="with every part at its mean"):
        edge_runs_against_means(alone, LogitDifference(40, 90, 0))


def test_gradients_in_a_alone_miss_what_saturated_attention_hides() -> None:
    """Why there are integrated gradients: with one step the queries' and keys' edges have no score."""
    a, b = (run_prompt(load("teach-induction"), text) for text in TAUGHT["teach-induction"])
    question = LogitDifference(int(a.next_logits.argmax()), int(b.tokens[2]), len(a.tokens) - 1)
    runs = edge_runs_of(a, b, question)
    edges = above_share(runs.wires, score(runs)[0], least=1e-3)
    edge_set = {(runs.wires.receivers[row], runs.wires.senders[column]) for row, column in edges.nonzero().tolist()}
    assert edge_set == {(Receiver(1, 0, "v"), Sender()), (Receiver(), Sender(1, 0))}

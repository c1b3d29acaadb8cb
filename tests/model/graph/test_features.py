"""A graph of transcoders' features: edges by autograd through the model in which they stand for its MLPs."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch
from torch import Tensor

from headlight.model import Run, run_prompt
from headlight.model.base.errors import InputError
from headlight.model.features import Dictionaries, Dictionary
from headlight.model.features.norms import fitted
from headlight.model.graph import Aim, Graph, Node, graph_of
from headlight.model.nn.hooks import Collect, Tap
from headlight.model.runs.dictionary import Output
from tests.tiny import SIZES, open_tiny

pytestmark = pytest.mark.usefixtures("unchecked")
AIM, N_FEATURES, D = Aim(40, None, 4), 9, SIZES["d_model"]
CLOSE = {"rtol": 1e-3, "atol": 2e-3}  # float32 sums of a hundred numbers of size 10, in another order


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return run_prompt(open_tiny("gpt2-like", tmp_path_factory.mktemp("models")), "one two three one two")


def transcoder(
    layer: int, hook_in: str, outputs: list[int], threshold: float | None = None, *, skips: bool = False
) -> Dictionary:
    torch.manual_seed(layer)
    return Dictionary(
        name=f"random {layer}",
        hook_in=f"blocks.{layer}.{hook_in}",
        architecture="standard" if threshold is None else "jumprelu",
        W_enc=torch.randn(D, N_FEATURES),
        b_enc=torch.randn(N_FEATURES),
        outputs=tuple(
            Output(f"blocks.{place}.hook_mlp_out", torch.randn(N_FEATURES, D), torch.randn(D) * (place == layer))
            for place in outputs
        ),
        threshold=None if threshold is None else torch.full((N_FEATURES,), threshold),
        skip=torch.randn(D, D) / D**0.5 if skips else None,
    )


SETS = {
    "per layer": [transcoder(layer, "ln2.hook_normalized", [layer]) for layer in range(3)],
    "of the stream": [transcoder(layer, "hook_resid_mid", [layer], threshold=1.0) for layer in range(3)],
    "behind the norm's gain": [transcoder(layer, "mlp.hook_in", [layer]) for layer in range(3)],
    "cross-layer": [transcoder(layer, "hook_resid_mid", list(range(layer, 3))) for layer in range(3)],
    "past the features": [transcoder(layer, "hook_resid_mid", [layer], skips=True) for layer in range(3)],
    "past them and the norm": [transcoder(layer, "mlp.hook_in", [layer], skips=True) for layer in range(3)],
}


class Replaced(Tap):
    """The model with transcoders in the MLPs' place: their activations are leaves, their errors constants."""

    def __init__(self, clean: dict[str, Tensor], dictionaries: Dictionaries) -> None:
        self.clean, self.dictionaries, self.activations = clean, dictionaries, dict[int, Tensor]()
        self.leaves = {
            layer: each.encode(clean[each.hook_in]).detach().requires_grad_() for layer, each in dictionaries.items()
        }
        self.stream = clean["blocks.0.hook_resid_pre"].clone().requires_grad_()
        self.read, self.logits = dict[int, Tensor](), torch.empty(0)

    def written(self, hook: str) -> Tensor:
        """By features, whose activations are leaves, and by skip connections, which are none."""
        layer = int(hook.split(".")[1])
        by_features = sum(
            self.leaves[layer] @ output.W_dec
            for layer, each in self.dictionaries.items()
            for output in each.outputs
            if output.hook == hook
        )
        skip = self.dictionaries[layer].skip
        return by_features if skip is None else by_features + self.read[layer] @ skip  # type: ignore[return-value]

    def __call__(self, name: str, activation: Tensor) -> Tensor:
        if name.endswith(("hook_pattern", "hook_scale")):
            return self.clean[name]
        if name == "blocks.0.hook_resid_pre":
            return self.stream
        for layer, each in self.dictionaries.items():
            if name == each.hook_in:
                self.activations[layer], self.read[layer] = each.encode(activation), each.reading.apply(activation)
        if name.endswith("hook_mlp_out"):
            written = self.written(name)
            return written + (self.clean[name] - written).detach()
        if name == "unembed.hook_out":
            self.logits = activation
        return activation


@pytest.mark.parametrize("named", SETS)
def test_edges_are_those_of_autograd_in_the_model_that_they_stand_in(run: Run, named: str) -> None:
    dictionaries = fitted(Dictionaries(named, SETS[named]), run.model)
    graph = graph_of(run, AIM, dictionaries, most=1000, folded=True)
    keep = Collect(run.model.hook_names)
    with torch.no_grad():
        run.model(run.tokens[None], tap=keep)
    with torch.enable_grad():
        replaced = Replaced(keep.kept, dictionaries)
        run.model(run.tokens[None], tap=replaced)
    leaves = [replaced.stream, *replaced.leaves.values()]
    for row in [*range(0, graph.n_followed, 13), graph.logit]:
        node = graph.nodes[row]
        if node.kind == "logit":
            logits = replaced.logits[0, AIM.position]
            target = logits[AIM.token] - logits.mean()
        else:
            target = replaced.activations[node.layer or 0][0, node.position, node.index]
        grads = torch.autograd.grad(target, leaves, retain_graph=True, allow_unused=True)
        products = [
            torch.zeros_like(leaf) if grad is None else (grad * leaf).detach()
            for grad, leaf in zip(grads, leaves, strict=True)
        ]
        for place, source in enumerate(graph.nodes):
            if source.kind == "token":
                theirs = products[0][0, source.position].sum()
            elif source.kind == "feature":
                theirs = products[1 + (source.layer or 0)][0, source.position, source.index]
            else:
                continue
            torch.testing.assert_close(graph.edges[row, place].float(), theirs, **CLOSE)


@pytest.mark.parametrize("named", SETS)
@pytest.mark.parametrize("most", [5, 1000])
def test_with_errors_all_adds_up(run: Run, named: str, most: int) -> None:
    """Biases are constants of the dictionary alone: errors and what was left out are among the nodes."""
    graph = graph_of(run, AIM, fitted(Dictionaries(named, SETS[named]), run.model), most=most)
    rest = [place for place in range(len(graph.nodes)) if place != graph.logit]
    torch.testing.assert_close(graph.flows.sum(0)[rest], graph.effects[rest], rtol=1e-9, atol=1e-9)
    assert kinds(graph) >= {"error", "feature", "logit", "token"}
    left_out = [node.kind == "features left out" for node in graph.nodes]
    assert bool(graph.effects[left_out].any()) is (most == 5)  # what has no way to the target is left out
    model, biases = run.model, torch.zeros(D)
    cache = model.run_with_cache(run.tokens[None])[1]
    for layer in range(3):
        block, each = model.block(layer), SETS[named][layer]
        biases = biases + block.attn.b_O
        skipped = torch.zeros(D)
        if each.skip is not None:  # past the features go the biases too, through the norm where there is one
            read = (biases - biases.mean()) / cache[f"blocks.{layer}.ln2.hook_scale"][
                0, AIM.position
            ] * block.ln2.w + block.ln2.b
            skipped = (biases if each.hook_in.endswith("resid_mid") else read) @ each.skip
        biases = biases + each.b_dec() + skipped
    W_U = model.unembed.W_U[:, AIM.token] - model.unembed.W_U.mean(1)
    scale = cache["ln_final.hook_scale"][0, AIM.position]
    own = (model.ln_final.b @ W_U) + model.unembed.b_U[AIM.token] - model.unembed.b_U.mean()
    through = ((biases - biases.mean()) / scale * model.ln_final.w) @ W_U
    # What no node gave to the target: every bias written to the stream, the final norm's, and the unembedding's.
    assert float(graph.bias[graph.logit]) == pytest.approx(float(own + through), abs=2e-3)


def kinds(graph: Graph) -> set[str]:
    return {node.kind for node in graph.nodes}


def test_dictionaries_that_are_no_transcoders_are_refused(run: Run) -> None:
    autoencoder = transcoder(0, "hook_resid_pre", [0])
    with pytest.raises(InputError, match="none for layer 1"):
        graph_of(run, AIM, Dictionaries("one", [autoencoder]))
    stream = Dictionary(
        **{
            **vars(autoencoder),
            "outputs": (Output("blocks.0.hook_resid_pre", torch.randn(N_FEATURES, D), torch.zeros(D)),),
        }
    )
    with pytest.raises(InputError, match="needs transcoders"):
        graph_of(run, AIM, Dictionaries("streams", [stream, *SETS["per layer"][1:]]))


def test_a_feature_that_is_not_active_is_no_node(run: Run, tmp_path: Path) -> None:
    graph = graph_of(run, AIM, Dictionaries("of", SETS["of the stream"]), most=1000)
    acts = SETS["of the stream"][1].encode(run.model.run_with_cache(run.tokens[None])[1]["blocks.1.hook_resid_mid"])
    active = {(position, index) for position, index in acts[0, : AIM.position + 1].nonzero().tolist()}
    assert {
        (node.position, node.index)
        for node in graph.nodes
        if isinstance(node, Node) and node.kind == "feature" and node.layer == 1
    } == active


@pytest.mark.parametrize("folded", [False, True])
def test_transcoders_that_miss_nothing_leave_nothing_to_errors(run: Run, folded: bool) -> None:
    """Guards against skip connections that are left out, whose part then stands in the errors' place.

    What features miss of each MLP is solved for, by a linear map of what they read at these few positions.
    """
    cache = run.model.run_with_cache(run.tokens[None])[1]
    exact = []
    for layer, each in enumerate(SETS["per layer"]):
        read, written = cache[each.hook_in][0], cache[f"blocks.{layer}.hook_mlp_out"][0]
        missed = written - each.decode(each.encode(read))
        exact.append(replace(each, skip=torch.linalg.lstsq(read.double(), missed.double(), driver="gelsd")[0].float()))
    graph = graph_of(run, AIM, Dictionaries("exact", exact), most=1000, folded=folded)
    errors = [node.kind == "error" for node in graph.nodes]
    tokens = [node.kind == "token" for node in graph.nodes]
    assert float(graph.effects[errors].abs().sum()) < 1e-3 * abs(graph.target.value)  # float32's, over five positions
    constants = float((graph.bias * graph.slopes).sum())
    rest = [node.kind == "heads left out" for node in graph.nodes]
    whole = float(graph.effects[tokens].sum() + graph.effects[rest].sum()) + constants
    assert whole == pytest.approx(graph.target.value, rel=2e-3)

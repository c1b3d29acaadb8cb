"""A neuron's weights as tokens and its composition with heads, by products of whole matrices."""

import pytest
import torch

from headlight.model import Run, load, run_prompt
from headlight.model.attribution.parts import stream_at
from headlight.model.neurons.weights import neuron_composition, neuron_tokens
from headlight.model.weights.composition import Product, composition, of_a_random_direction, read_by, size
from headlight.model.weights.head_circuit import heads_of

NEURON, POSITION = (1, 7), 5


@pytest.fixture(scope="module", params=["mini", "mini-llama"])
def run(request: pytest.FixtureRequest) -> Run:
    return run_prompt(load(request.param), "The cat sat on the mat and the dog")


@torch.inference_mode()
def test_the_tokens_that_it_moves_are_those_of_one_more_unit_in_the_last_layer(run: Run) -> None:
    """The final stream with one unit more of W_out's row, read off by the model's own norm and unembedding."""
    layer = run.cfg.n_layers - 1
    tokens = neuron_tokens(run, (layer, 7), POSITION).written
    assert tokens is not None
    stream, step = stream_at(run, POSITION), 1e-3
    row = run.model.block(layer).mlp.W_out[7]  # type: ignore[union-attr, index]
    both = torch.stack([stream, stream + step * row])[None].double()
    logits = run.model.to_logits(both.float())[0]
    moved = (logits[1] - logits[0]) / step
    token = int(tokens.raised.values[0])
    # The scale moves too, by what the row and the stream have in common: less than a tenth here.
    assert moved.topk(5).indices.tolist().count(token) == 1
    assert float(moved[token]) == pytest.approx(float(tokens.raised_by.values[0]), rel=0.15)


@torch.inference_mode()
def test_the_tokens_that_it_reads_are_the_rows_of_the_embedding(run: Run) -> None:
    reads, block = neuron_tokens(run, NEURON, POSITION).read, run.model.block(NEURON[0])
    matrices = {"input": "W_in", "gate": "W_gate", "up": "W_in"}
    assert set(reads) == ({"gate", "up"} if run.cfg.gated_mlp else {"input"})
    for name, tokens in reads.items():
        W = getattr(block.mlp, matrices[name])[:, NEURON[1]].double()
        gain = block.ln2.w.double()  # type: ignore[union-attr, operator]
        column = gain * W
        read = run.model.embed.W_E.double() @ (column if run.cfg.gated_mlp else column - column.mean())
        assert tokens.raised.values.tolist() == read.topk(10).indices.tolist()
        torch.testing.assert_close(tokens.lowered_by.values.double(), -(-read).topk(10).values, rtol=1e-4, atol=1e-5)


@torch.inference_mode()
def test_its_composition_is_that_of_a_head_of_rank_one(run: Run) -> None:
    """As `composition` has it of the neuron's own matrix W_in W_out, and 1/√d on the mean of squares at random."""
    compositions, block = neuron_composition(run, NEURON), run.model.block(NEURON[0])
    layer, index = NEURON
    W_out = block.mlp.W_out[[index]]  # type: ignore[union-attr, index]
    name = next(iter(compositions.writers))
    W_in = (block.mlp.W_gate if run.cfg.gated_mlp else block.mlp.W_in)[:, [index]]  # type: ignore[union-attr, index]
    read = block.ln2.w[:, None] * W_in  # type: ignore[union-attr, index]
    read = read if run.cfg.gated_mlp else read - read.mean(0, keepdim=True)
    for at in range(run.cfg.n_layers):
        heads = heads_of(run.model, at)
        if at <= layer:
            expected = composition(heads["value"], Product(read, W_out))
            torch.testing.assert_close(compositions.writers[name].values[at], expected, rtol=1e-4, atol=1e-5)
        else:
            assert compositions.writers[name].values[at].isnan().all()
        for through, measure in compositions.readers.items():
            if at > layer:
                expected = composition(Product(read, W_out), heads[through])
                torch.testing.assert_close(measure.values[at], expected, rtol=1e-4, atol=1e-5)
            else:
                assert measure.values[at].isnan().all()


def test_random_directions_score_one_over_the_root_of_the_width() -> None:
    generator = torch.Generator().manual_seed(0)
    matrix = Product(torch.randn(30, 4, generator=generator), torch.randn(4, 30, generator=generator))
    scores = torch.stack([read_by(matrix, torch.randn(30, generator=generator), size(matrix)) for _ in range(2000)])
    assert float(scores.square().mean().sqrt()) == pytest.approx(of_a_random_direction(30), rel=0.05)  # of 2000 draws

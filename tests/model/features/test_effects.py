"""A run by the features of a dictionary: every sum against what it explains, and against a pass of its own."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from headlight.model import Transformer, run_prompt
from headlight.model.attribution import Cell, Question
from headlight.model.attribution.logits import attribution_by_source, writes_of
from headlight.model.base.errors import InputError
from headlight.model.features.effects import (
    DECODER_BIAS,
    ERROR,
    activation,
    active,
    explain_cell_by_features,
    feature_parts,
    moved_by_features,
    moved_effects,
)
from headlight.model.runs.dictionary import Dictionary, Output
from headlight.model.runs.edits import AblateHeads, CutEdge, Edit
from headlight.model.runs.head import attend
from headlight.model.runs.run import Run
from tests.tiny import KINDS, open_tiny

N_FEATURES = 40
# Sums of float32 parts of size 1 to 10, against what the run's own float32 products gave in another order.
CLOSE = {"rtol": 1e-5, "atol": 2e-5}


def random_dictionary(hook: str, d_model: int, seed: int = 0) -> Dictionary:
    torch.manual_seed(seed)
    return Dictionary(
        name=f"random {seed}",
        hook_in=hook,
        architecture="topk",
        W_enc=torch.randn(d_model, N_FEATURES),
        b_enc=torch.randn(N_FEATURES),
        outputs=(Output(hook, torch.randn(N_FEATURES, d_model) * 0.1, torch.randn(d_model) * 0.1),),
        k=6,
        b_dec_from_input=True,
    )


@pytest.fixture
def dictionary(run: Run) -> Dictionary:
    return random_dictionary("blocks.1.hook_resid_pre", run.cfg.d_model)


def test_a_stream_is_the_sum_of_its_features_the_bias_and_the_error(run: Run, dictionary: Dictionary) -> None:
    parts = feature_parts(run, dictionary, 4)
    _, cache = run.model.run_with_cache(run.tokens[None])
    stream = cache["resid_pre", 1][0, 4]
    torch.testing.assert_close(parts.vectors.sum(0).float(), stream, **CLOSE)
    acts = dictionary.encode(stream)
    assert [part.feature for part in parts.parts[:-2]] == acts.argsort(descending=True)[:6].tolist()
    assert [part.name for part in parts.parts[-2:]] == [DECODER_BIAS, ERROR]
    torch.testing.assert_close(parts.vectors[-1].float(), stream - dictionary.decode(acts), **CLOSE)


def test_the_stream_after_a_layer_is_the_one_before_the_next(run: Run, dictionary: Dictionary) -> None:
    before = replace(
        dictionary,
        name="of the layer before",
        hook_in="blocks.0.hook_resid_post",
        outputs=(replace(dictionary.outputs[0], hook="blocks.0.hook_resid_post"),),
    )
    one, other = (feature_parts(run, each, 5) for each in (dictionary, before))
    assert one.parts == other.parts
    torch.testing.assert_close(one.vectors, other.vectors)


EDITS = [(), (AblateHeads(((0, 1),), "mean"), CutEdge((1, 2), 7, 3))]


@pytest.mark.parametrize("edits", EDITS)
def test_pairs_of_features_add_up_to_the_score(
    small: Transformer, dictionary: Dictionary, edits: tuple[Edit, ...]
) -> None:
    run = run_prompt(small, "one two three one two three one", edits=edits)
    why = explain_cell_by_features(run, Cell(1, 2, 7, 3), dictionary)
    assert why.parts.matrix.values.shape == (len(why.query_names), len(why.key_names))
    assert abs(float(why.parts.residual.values)) < 2e-5
    assert len({name for name in why.query_names if name.startswith("feature ")}) == 6


def test_one_pair_is_its_product_written_out(run: Run, dictionary: Dictionary) -> None:
    """A query's feature with a key's: both centred and divided by the scale, through W_Q and W_K."""
    cell = Cell(1, 2, 7, 3)
    why = explain_cell_by_features(run, cell, dictionary)
    block, acts = run.model.block(1), active(run, dictionary)
    _, cache = run.model.run_with_cache(run.tokens[None])
    rows = []
    for position, W in ((7, block.attn.W_Q[2]), (3, block.attn.W_K[2])):
        feature = int(acts[position].argmax())
        written = dictionary.decoder_rows([feature])[0] * acts[position, feature]
        centred = (written - written.mean()) / cache["blocks.1.ln1.hook_scale"][0, position]
        rows.append((centred * block.ln1.w) @ W)
    expected = float(rows[0] @ rows[1] / block.attn.attn_scale)
    assert float(why.parts.matrix.values[0, 0]) == pytest.approx(expected, rel=1e-4)


@pytest.mark.parametrize("edits", EDITS)
def test_what_is_moved_adds_up_to_the_write(
    small: Transformer, dictionary: Dictionary, edits: tuple[Edit, ...]
) -> None:
    run = run_prompt(small, "one two three one two three one", edits=edits)
    moved = moved_by_features(run, (1, 2), 7, dictionary)
    write = writes_of(run, (1, 2), 7).sum(0)
    torch.testing.assert_close(moved.vectors.sum(0).float(), write, **CLOSE)
    assert float(moved.residual.abs().max()) < 2e-5
    assert (3 in moved.sources) != bool(edits)  # the cut edge brings nothing


def test_effects_of_what_is_moved_add_up_to_those_by_source(run: Run, dictionary: Dictionary) -> None:
    question = Question(30, 50, 7)
    effects = moved_effects(run, (1, 2), dictionary, question).values
    by_source = attribution_by_source(run, (1, 2), question).values
    assert float(effects.sum()) == pytest.approx(float(by_source.sum()), abs=1e-5)


@pytest.mark.usefixtures("unchecked")  # a norm of each head's own has more axes than its annotation says
@pytest.mark.parametrize("kind", KINDS)
def test_sums_hold_in_every_architecture(kind: str, tmp_path: Path) -> None:
    """With rotary positions, grouped keys, norms of queries, windows, and where no stream is a sum of writes."""
    run = run_prompt(open_tiny(kind, tmp_path), "one two three one two three one")
    dictionary = random_dictionary("blocks.1.hook_resid_pre", run.cfg.d_model)
    why = explain_cell_by_features(run, Cell(1, 1, 6, 5), dictionary)
    assert float(why.parts.residual.values) == pytest.approx(0, abs=1e-5 * float(why.parts.matrix.values.abs().sum()))
    moved, write = moved_by_features(run, (1, 1), 6, dictionary), writes_of(run, (1, 1), 6).sum(0)
    torch.testing.assert_close(moved.vectors.sum(0).float(), write, rtol=1e-5, atol=1e-5 * float(moved.vectors.norm()))
    assert 0 < float(attend(run, 1, 1).pattern[6, 5]) < 1


def test_it_is_told_which_layer_a_dictionary_serves(run: Run, dictionary: Dictionary) -> None:
    with pytest.raises(InputError, match=r"heads of layer 2 read blocks\.2\.hook_resid_pre"):
        explain_cell_by_features(run, Cell(2, 0, 3, 1), dictionary)
    of_mlp = random_dictionary("blocks.1.hook_mlp_out", run.cfg.d_model)
    assert active(run, of_mlp).shape == (len(run.tokens), N_FEATURES)
    with pytest.raises(InputError, match="heads read the stream between layers"):
        feature_parts(run, of_mlp, 2)


def test_an_activation_is_that_of_the_pass_heads_side_by_side(run: Run) -> None:
    _, cache = run.model.run_with_cache(run.tokens[None])
    torch.testing.assert_close(activation(run, "blocks.1.attn.hook_z"), cache["z", 1][0].flatten(1))
    torch.testing.assert_close(activation(run, "blocks.2.hook_resid_mid"), cache["resid_mid", 2][0])

"""What a dictionary makes of a run and who made a feature active, against the model's own activations and sums."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch
from torch.nn import functional as F

from headlight.model import Transformer, run_prompt
from headlight.model.attribution import direct_effects
from headlight.model.attribution.logits import Question, logit_attribution, read_of
from headlight.model.attribution.parts import logits_at, stream_at
from headlight.model.features import Dictionaries, reconstruction, single_feature
from headlight.model.features import effects as features
from headlight.model.features.carried import carried
from headlight.model.features.opening import open_dictionary
from headlight.model.runs.edits import AblateHeads
from headlight.model.runs.linear import norm_before
from headlight.model.runs.run import Run
from headlight.model.weights import composition
from headlight.model.weights.composition import Product
from tests.saved_dictionary import save_dictionary
from tests.tiny import open_tiny

PROMPT = "one two three one two three one"
KINDS = {  # of what is read, what is written, and how wide
    "stream": ("blocks.1.hook_resid_pre", "", 20),
    "after attention": ("blocks.1.hook_resid_mid", "blocks.1.hook_mlp_out", 20),
    "after the layer": ("blocks.1.hook_resid_post", "", 20),
    "normalised": ("blocks.2.ln2.hook_normalized", "blocks.2.hook_mlp_out", 20),
    "heads": ("blocks.1.attn.hook_z", "", 24),
}
# Sums of some dozens of float32 products against one of them.
CLOSE = {"rtol": 1e-4, "atol": 1e-4}


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Transformer:
    return open_tiny("gpt2-like", tmp_path_factory.mktemp("tiny") / "m")


@pytest.fixture(scope="module")
def run(model: Transformer) -> Run:
    return run_prompt(model, PROMPT)


@pytest.fixture(params=KINDS)
def opened(request: pytest.FixtureRequest, tmp_path: Path) -> Dictionaries:
    hook, out, width = KINDS[request.param]
    return open_dictionary(save_dictionary(tmp_path / "d", hook, width, out=out))


def test_features_and_errors_are_those_of_the_models_activations(run: Run, opened: Dictionaries) -> None:
    ((layer, dictionary),) = opened.items()
    hooks = [dictionary.hook_in, dictionary.hooks_out[0]]
    with torch.inference_mode():
        logits, cache = run.model.run_with_cache(run.tokens[None], hooks)
        read, written = (cache[hook][0].flatten(1) for hook in hooks)
        acts = dictionary.encode(read)
        made = dictionary.decode(acts, read)
    layer_features = reconstruction.read_features(run, opened, layer)
    dense = torch.stack([layer_features.activation(each).values for each in range(dictionary.n_features)], 1)
    torch.testing.assert_close(dense, acts, **CLOSE)
    torch.testing.assert_close(layer_features.errors.values, (written - made).norm(dim=-1), **CLOSE)
    assert layer_features.n_active.values.tolist() == (acts > 0).sum(-1).tolist()
    assert layer_features.strongest(3) == acts[1:].amax(0).topk(3).indices.tolist()
    only_first = [each for each in layer_features.strongest(10**6) if not acts[1:, each].any()]
    assert only_first == layer_features.strongest(10**6)[len(acts[1:].any(0).nonzero()) :]
    assert layer_features.peak(0) == pytest.approx(float(acts[1:, 0].max()), abs=1e-4)
    assert layer_features.strongest(2, 4) == acts[4].topk(2).indices.tolist()
    put = [(dictionary.hooks_out[0], lambda activation, hook: made.reshape(activation.shape))]
    with torch.inference_mode():
        other = run.model.run_with_hooks(run.tokens[None], put)
    in_place = reconstruction.in_place(run, opened, layer)
    for loss, expected_logits in ((in_place.loss, logits), (in_place.loss_in_place, other)):
        torch.testing.assert_close(loss.values, F.cross_entropy(expected_logits[0, :-1], run.tokens[1:]), **CLOSE)
    expected = F.kl_div(other[0].log_softmax(-1), logits[0].log_softmax(-1), reduction="none", log_target=True).sum(-1)
    torch.testing.assert_close(in_place.moved.values.float(), expected, **CLOSE)


@pytest.mark.parametrize("edited", [False, True])
def test_the_parts_of_an_activation_add_up_to_it(model: Transformer, opened: Dictionaries, edited: bool) -> None:
    edits = (AblateHeads(((0, 1), (1, 2))),) if edited else ()
    run = run_prompt(model, PROMPT, edits=edits)
    ((layer, dictionary),) = opened.items()
    layer_features = reconstruction.read_features(run, opened, layer)
    for which in layer_features.strongest(3):
        position = int(layer_features.activation(which).values.argmax())
        made = single_feature.made_by(run, dictionary, which, position)
        if dictionary.hook_in.endswith("hook_z"):
            assert made is None
        else:
            assert made is not None
            torch.testing.assert_close(
                made.before.values.float(), layer_features.activation(which).values[position], **CLOSE
            )
            assert len(made.parts) == len(made.values.values)


def test_layers_of_a_cross_layer_transcoder_make_an_output_together(run: Run, tmp_path: Path) -> None:
    """Two layers, the first of which writes to the second's output too."""
    hooks = [(f"blocks.{at}.hook_resid_mid", f"blocks.{at}.hook_mlp_out") for at in (0, 1)]
    folders = [save_dictionary(tmp_path / out, hook, 20, out=out, seed=at) for at, (hook, out) in enumerate(hooks)]
    one, two = (open_dictionary(folder)[at] for at, folder in enumerate(folders))
    later = replace(two.outputs[0], W_dec=one.outputs[0].W_dec * 0.5, b_dec=torch.zeros(20))
    opened = Dictionaries("clt", [replace(one, outputs=(*one.outputs, later)), two])
    with torch.inference_mode():
        _, cache = run.model.run_with_cache(run.tokens[None], lambda name: "resid_mid" in name or "mlp_out" in name)
        reads = [cache["resid_mid", at][0] for at in (0, 1)]
        made = two.decode(two.encode(reads[1])) + one.encode(reads[0]) @ later.W_dec
    errors = reconstruction.read_features(run, opened, 1).errors.values
    torch.testing.assert_close(errors, (cache["mlp_out", 1][0] - made).norm(dim=-1), **CLOSE)


def test_the_nearest_features_and_the_tokens_are_by_the_decoder(run: Run, tmp_path: Path) -> None:
    opened = open_dictionary(save_dictionary(tmp_path / "d", "blocks.2.hook_resid_post", 20))
    dictionary = opened[2]
    rows = dictionary.decoder_rows(range(60))
    cosines = F.normalize(rows[7], dim=0) @ F.normalize(rows, dim=-1).T
    cosines[7] = -1
    neighbours = single_feature.nearest(dictionary, 7, 4)
    assert neighbours.features.tolist() == cosines.topk(4).indices.tolist()
    torch.testing.assert_close(neighbours.cosines, cosines.topk(4).values, **CLOSE)
    tokens = single_feature.tokens_of(run, dictionary, 7, 3)
    assert tokens is not None
    # The final norm's scale held still is a derivative in which the scale is: taken here at a tiny step by hand.
    *_, stream = run.streams()
    scale = (stream[3] - stream[3].mean()).square().mean().add(run.cfg.eps).sqrt()
    written = (rows[7] - rows[7].mean()) / scale * run.model.ln_final.w
    expected = (written @ run.model.unembed.W_U).topk(10)
    torch.testing.assert_close(tokens.raised_by.values, expected.values, **CLOSE)
    assert tokens.raised.values.tolist() == expected.indices.tolist()


def test_heads_read_a_direction_as_they_read_a_head_that_writes_it_alone(run: Run, tmp_path: Path) -> None:
    dictionary = open_dictionary(save_dictionary(tmp_path / "d", "blocks.1.hook_resid_pre", 20))[1]
    effects = single_feature.read_by(run, dictionary, 5)
    assert effects is not None
    row, attn = dictionary.decoder_rows([5])[0], run.model.block(2).attn
    reader = composition.reader("query", attn.W_Q[1], attn.W_K[1], attn.W_V[1], attn.W_O[1], norm_before(run.model, 2))
    alone = composition.composition(Product(row[:, None], row[None]), reader)
    torch.testing.assert_close(effects["query"].values[2, 1], alone.detach(), **CLOSE)
    assert effects["value"].values[0].isnan().all()
    assert not effects["value"].values[1:].isnan().any()


def test_heads_read_of_a_cross_layer_feature_what_is_written_before_them(run: Run, tmp_path: Path) -> None:
    """Guards against the sum of all that it ever writes, which no head but the last layer's sees."""
    one = open_dictionary(save_dictionary(tmp_path / "d", "blocks.0.hook_resid_mid", 20, out="blocks.0.hook_mlp_out"))[
        0
    ]
    rows = torch.randn(3, 60, 20, generator=torch.Generator().manual_seed(4))
    outputs = [replace(one.outputs[0], hook=f"blocks.{at}.hook_mlp_out", W_dec=rows[at]) for at in range(3)]
    effects = single_feature.read_by(run, replace(one, outputs=tuple(outputs)), 5)
    assert effects is not None
    assert effects["key"].values[0].isnan().all()
    for layer in (1, 2):
        attn, gain = run.model.block(layer).attn, run.model.block(layer).ln1.w[:, None]
        direction = rows[:layer, 5].sum(0)
        for head in range(run.cfg.n_heads):
            W_Q, W_K, W_V = (gain * W[head] - (gain * W[head]).mean(0) for W in (attn.W_Q, attn.W_K, attn.W_V))
            for through, matrix in (("query", W_Q @ W_K.T), ("key", W_K @ W_Q.T), ("value", W_V @ attn.W_O[head])):
                expected = (direction @ matrix).norm() / (direction.norm() * matrix.norm())
                torch.testing.assert_close(effects[through].values[layer, head], expected.detach(), **CLOSE)


def test_what_features_of_the_last_stream_carry_adds_up_to_the_difference(run: Run, tmp_path: Path) -> None:
    dictionary = open_dictionary(save_dictionary(tmp_path / "d", "blocks.2.hook_resid_post", 20))[2]
    question = Question(7, 300, 4)
    contributions = carried(run, dictionary, question)
    assert contributions is not None
    assert contributions.whole
    effects = logit_attribution(run, question)
    constants = effects.values.values[-2:].sum()  # the final norm's bias, and the unembedding's
    logits = logits_at(run, 4)
    torch.testing.assert_close(
        contributions.values.values.sum() + constants, (logits[7] - logits[300]).double(), **CLOSE
    )
    largest = contributions.values.values[: len(contributions.parts) - 2].abs().argmax()
    assert contributions.strongest(1) == [contributions.parts[int(largest)].feature]


def test_what_features_of_heads_carry_is_what_their_rows_do(run: Run, tmp_path: Path) -> None:
    dictionary = open_dictionary(save_dictionary(tmp_path / "d", "blocks.1.attn.hook_z", 24))[1]
    contributions = carried(run, dictionary, Question(7, 300, 4))
    assert contributions is not None
    assert not contributions.whole
    first, acts = contributions.parts[0].feature, features.active(run, dictionary)[4]
    assert first is not None
    read = read_of(run, Question(7, 300, 4))
    z = dictionary.decoder_rows([first])[0].reshape(4, 6)
    row = torch.einsum("hd,hdm->m", z, run.model.block(1).attn.W_O) * acts[first]
    expected = direct_effects.direct_effects(row.detach()[None], stream_at(run, 4), read.norm, read.direction).values[0]
    torch.testing.assert_close(contributions.values.values[0], expected, **CLOSE)

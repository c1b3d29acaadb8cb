"""What explains a run, on a tiny model of each kind of architecture: parts that have to add up do, or are refused.

What they have to add up to comes from a pass of its own, whose activations are taken as the model names them.
"""

from pathlib import Path

import pytest
import torch
from torch import Tensor

from headlight.model import Run, Transformer, run_prompt
from headlight.model.attention.fields import How, attention_of, cells, to_sink
from headlight.model.attribution import Cell, Question, ablation_effects, explain_cell, explain_write, logit_attribution
from headlight.model.attribution.logits import attribution_by_source, writes_of
from headlight.model.attribution.parts import parts_at
from headlight.model.base.errors import InputError
from headlight.model.lens.run_lens import logit_lens
from headlight.model.neurons.effects import measured_effects
from headlight.model.nn.cache import ActivationCache
from headlight.model.roles.copying import copying
from headlight.model.runs.head import attend, inside
from headlight.model.runs.linear import attention_bias
from headlight.model.weights.head_circuit import HeadCircuit, compositions
from tests.tiny import ENCODER, KINDS, open_tiny

TEXT = "one two three one two three one"
TARGET, DISTRACTOR, POSITION = 40, 90, 6
CELLS = [Cell(layer, head, 6, key) for layer in range(3) for head, key in ((0, 5), (1, 2), (3, 6))]
# Float32 sums of some dozen parts of size 10, taken in another order.
CLOSE = {"rtol": 1e-4, "atol": 2e-4}
READ = [kind for kind in KINDS if not KINDS[kind].get("post_norm") and not KINDS[kind].get("mlm_act_fn")]


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Transformer]:
    """A tiny model of each kind."""
    folder: Path = tmp_path_factory.mktemp("models")
    return {kind: open_tiny(kind, folder / kind) for kind in KINDS}


@pytest.fixture(scope="module")
def runs(models: dict[str, Transformer]) -> dict[str, Run]:
    """A run of each."""
    return {kind: run_prompt(model, TEXT) for kind, model in models.items()}


def activations(run: Run) -> ActivationCache:
    with torch.inference_mode():
        return run.model.run_with_cache(run.tokens[None], lambda name: True)[1]


@torch.inference_mode()
def uncapped(run: Run) -> Tensor:
    """The logits before any soft cap."""
    return activations(run)["unembed.hook_out"][0]


@pytest.mark.parametrize("kind", KINDS)
def test_streams_are_those_of_a_pass(kind: str, runs: dict[str, Run]) -> None:
    run, cache = runs[kind], activations(runs[kind])
    passed = [cache["resid_pre", layer][0] for layer in range(run.cfg.n_layers)]
    for ours, theirs in zip(run.streams(), passed, strict=False):
        torch.testing.assert_close(ours, theirs, **CLOSE)
    final = list(run.streams())[-1]
    torch.testing.assert_close(run.model.to_logits(final[None])[0, -1], run.next_logits, **CLOSE)


@pytest.mark.parametrize("kind", KINDS)
def test_what_was_written_adds_up_to_the_stream(kind: str, runs: dict[str, Run]) -> None:
    """Where the stream itself is normalised, at the scales of its norms."""
    run, cache = runs[kind], activations(runs[kind])
    with torch.inference_mode():
        final = run.model.forward(run.tokens[None], stop_at_layer=3)[0]
    for layer in (0, 1, 2, None):
        stream = final if layer is None else cache["resid_pre", layer][0]
        torch.testing.assert_close(parts_at(run, POSITION, layer).vectors.sum(0).float(), stream[POSITION], **CLOSE)
    torch.testing.assert_close(sum(part for _, part in run.writes()), final, **CLOSE)


@pytest.mark.parametrize("kind", KINDS)
def test_a_scores_parts_add_up_to_it(kind: str, runs: dict[str, Run]) -> None:
    run, cache = runs[kind], activations(runs[kind])
    for cell in CELLS:
        why = explain_cell(run, cell)
        theirs = float(cache["attn_scores", cell.layer][0, cell.head, cell.query, cell.key])
        if theirs == -torch.inf:  # beyond a window
            continue
        score = float(why.parts.score.values)
        cap = run.cfg.attn_scores_soft_cap
        score_after_cap = score if cap is None else cap * torch.tensor(score / cap).tanh().item()
        assert score_after_cap == pytest.approx(theirs, abs=2e-4)
        assert (why.capped is None) == (cap is None)
        assert float(why.parts.matrix.values.sum()) == pytest.approx(score, rel=1e-4, abs=2e-4)
        assert why.parts.matrix.values.shape == (len(why.query_names), len(why.key_names))


def test_what_is_clipped_is_a_part_of_its_own(runs: dict[str, Run]) -> None:
    """At that part stand the limits, and no other part has a share of a clipped component."""
    run, cell = runs["gpt_oss-like"], CELLS[0]
    why, q = explain_cell(run, cell), activations(run)["q", cell.layer][0, cell.query, cell.head]
    clipped = q.abs() == run.cfg.clip_qkv
    assert 0 < int(clipped.sum()) < len(q)
    constant = turned(run.model, (q * clipped).double()[None], cell.query)[0]
    key = activations(run)[f"blocks.{cell.layer}.attn.hook_rot_k"][0, cell.key, run.cfg.group_of(cell.head)].double()
    expected = float(constant @ key) / run.model.block(cell.layer).attn.attn_scale
    share = why.parts.query_parts.values[why.query_names.index("clipping of the query")]
    assert float(share) == pytest.approx(expected, abs=1e-4)


@pytest.mark.parametrize("kind", KINDS)
def test_direct_effects_add_up_to_the_difference_of_logits_before_any_cap(kind: str, runs: dict[str, Run]) -> None:
    run = runs[kind]
    effects, logits = logit_attribution(run, Question(TARGET, DISTRACTOR, POSITION)), uncapped(run)[POSITION]
    difference = float(logits[TARGET] - logits[DISTRACTOR])
    assert float(effects.difference.values) == pytest.approx(difference, abs=1e-3)
    assert float(effects.values.values.sum()) == pytest.approx(difference, abs=1e-3)
    assert float(effects.lens.values[-1]) == pytest.approx(difference, abs=1e-3)


def changed(run: Run, name: str, *part: int | slice) -> float:
    """By how much target less distractor, before any cap, changes with a part of an activation at zero."""
    kept: list[Tensor] = []

    def zero(activation: Tensor, hook: object) -> None:
        activation[(0, *part)] = 0

    with torch.inference_mode():
        read = ("unembed.hook_out", lambda logits, hook: kept.append(logits[0, POSITION]))
        run.model.run_with_hooks(run.tokens[None], fwd_hooks=[(name, zero), read])
    change = kept[0] - uncapped(run)[POSITION]
    return float(change[TARGET] - change[DISTRACTOR])


def test_a_neurons_measured_effect_is_of_logits_before_the_cap_as_its_direct_one_is(runs: dict[str, Run]) -> None:
    run = runs["gemma2-like"]
    measured = measured_effects(run, [(1, 3)], Question(TARGET, DISTRACTOR, POSITION), POSITION)
    assert -float(measured.values[0]) == pytest.approx(changed(run, "blocks.1.mlp.hook_post", POSITION, 3), abs=1e-3)


@pytest.mark.parametrize("kind", KINDS)
def test_what_a_head_writes_is_told_apart_by_key(kind: str, runs: dict[str, Run]) -> None:
    """All heads' writes and the bias are what attention wrote."""
    run, question = runs[kind], Question(TARGET, DISTRACTOR, POSITION)
    effects = logit_attribution(run, question)
    effect = dict(zip(effects.names, effects.values.values.tolist(), strict=True))
    for layer in range(3):
        heads = [writes_of(run, (layer, head), POSITION).sum(0) for head in range(4)]
        whole = torch.stack(heads).sum(0) + attention_bias(run, layer, POSITION)
        torch.testing.assert_close(whole, run.cache["attn_out", layer][POSITION], **CLOSE)
        by_source = float(attribution_by_source(run, (layer, 1), question).values.sum())
        assert by_source == pytest.approx(effect[f"L{layer}H1"], abs=1e-3)


@pytest.mark.parametrize("kind", KINDS)
def test_the_lengths_of_writes_are_those_of_what_is_written(kind: str, runs: dict[str, Run]) -> None:
    run = runs[kind]
    for layer, head in ((0, 0), (1, 2), (2, 3)):
        write_lengths = cells(attention_of(run, (layer, head)), How("write"))[POSITION]
        lengths = writes_of(run, (layer, head), POSITION).norm(dim=-1)
        seen = ~write_lengths.isnan()
        torch.testing.assert_close(write_lengths[seen], lengths[seen], **CLOSE)
        pattern = attend(run, layer, head).pattern[POSITION]
        assert not pattern[~seen].any()
        logsumexp = attention_of(run, (layer, head)).logsumexp[POSITION]
        scores = attention_of(run, (layer, head)).scores[POSITION]
        torch.testing.assert_close((scores - logsumexp).exp(), pattern, **CLOSE)


@pytest.mark.parametrize("kind", KINDS)
def test_weights_and_what_goes_to_the_sink_sum_to_one(kind: str, runs: dict[str, Run]) -> None:
    run = runs[kind]
    shares, sums = to_sink(run, (1, 2)), attend(run, 1, 2).pattern.sum(-1)
    assert (shares is not None) == run.cfg.use_attention_sinks
    torch.testing.assert_close(sums if shares is None else sums + shares, torch.ones_like(sums), **CLOSE)
    assert shares is None or shares.min() > 0


@pytest.mark.parametrize("kind", KINDS)
def test_a_heads_steps_are_those_of_the_pass(kind: str, runs: dict[str, Run]) -> None:
    run, cache = runs[kind], activations(runs[kind])
    for layer in range(3):
        steps = inside(run, layer, 1, POSITION)
        torch.testing.assert_close(steps.weights.values, cache["pattern", layer][0, 1, POSITION], **CLOSE)
        torch.testing.assert_close(steps.z.values, cache["z", layer][0, POSITION, 1], **CLOSE)


@pytest.mark.parametrize("kind", KINDS)
def test_what_an_edge_writes_and_what_ablating_does(kind: str, runs: dict[str, Run]) -> None:
    run, cell, question = runs[kind], Cell(1, 1, 6, 5), Question(TARGET, DISTRACTOR, 6)
    written = explain_write(run, cell, question)
    assert float(written.norm.values) == pytest.approx(float(writes_of(run, (1, 1), 6)[5].norm()), rel=1e-4)
    outcomes = ablation_effects(run, cell, question)
    change = changed(run, "blocks.1.attn.hook_z", slice(None), 1)
    assert float(outcomes.total.values[outcomes.names.index("head zero-ablated")]) == pytest.approx(change, abs=1e-3)


@pytest.mark.parametrize("kind", KINDS)
def test_the_lens_ends_with_the_models_own_prediction(kind: str, runs: dict[str, Run]) -> None:
    run = runs[kind]
    with torch.inference_mode():
        likeliest = uncapped(run).argmax(-1)  # which no cap changes
    assert logit_lens(run).top_tokens.values[-1, :, 0].tolist() == likeliest.tolist()


@pytest.mark.parametrize("kind", [kind for kind in KINDS if KINDS[kind].get("mlm_act_fn")])
def test_what_is_no_sum_is_refused_in_a_sentence(kind: str, runs: dict[str, Run]) -> None:
    run = runs[kind]
    with pytest.raises(InputError, match="no logit is a plain sum"):
        HeadCircuit(run.model, (1, 1), "ov").pairs()
    assert copying(run.model).values.isnan().all()


WORDS = torch.tensor([5, 40, 90, 1234, 4000])


def centred(x: Tensor, is_layer_norm: bool) -> Tensor:
    return x - x.mean(-1, keepdim=True) if is_layer_norm else x


def gain_of(model: Transformer, name: str, head: int = 0) -> Tensor | float:
    """The gain of a norm by its parameter's name, that of a head where it has one for each; 1 where there is none."""
    weight = dict(model.named_parameters()).get(f"{name}.w")
    if weight is None:
        return 1.0
    width = model.cfg.d_head if "_norm" in name else model.cfg.d_model
    return weight.double() if weight.shape == (width,) else weight.double().reshape(-1, width)[head]


def turned(model: Transformer, x: Tensor, position: int) -> Tensor:
    """Rotary positions by complex numbers: component i and i + half are one, turned by its frequency."""
    cfg = model.cfg
    if cfg.positional_embedding_type != "rotary":
        return x
    half = cfg.rotary_dim // 2  # type: ignore[operator]
    angles = position * cfg.rotary_base ** (-torch.arange(half).double() / half)
    angles = -angles if cfg.rotary_clockwise else angles
    pairs = torch.complex(x[..., :half], x[..., half : 2 * half]) * torch.polar(torch.ones_like(angles), angles)
    return torch.cat([pairs.real, pairs.imag, x[..., 2 * half :]], -1)


def tokens_read(model: Transformer, layer: int) -> Tensor:
    """What a head reads of tokens alone, every norm that it passes at a scale of 1."""
    with torch.inference_mode():
        embedded = model.begun(model.embed(WORDS[None]))[0].double()
    reads = model.cfg.normalize_before and not model.cfg.post_norm and layer not in model.cfg.no_ln1_layers
    if not reads:
        return embedded
    return centred(embedded, model.cfg.normalization_type == "LN") * gain_of(model, f"blocks.{layer}.ln1")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("distance", [0, 3])
@torch.inference_mode()
def test_a_query_key_circuit_is_the_score_of_two_tokens_so_far_apart(
    kind: str, distance: int, models: dict[str, Transformer]
) -> None:
    model, (layer, head) = models[kind], (1, 2)
    cfg, attn, x = model.cfg, model.block(layer).attn, tokens_read(model, layer)
    layer_norm = cfg.normalization_type == "LN"
    q, k = x @ attn.W_Q[head].double(), x @ attn.W_K[head].double()
    gains = (
        gain_of(model, f"blocks.{layer}.attn.q_norm", head),
        gain_of(model, f"blocks.{layer}.attn.k_norm", cfg.group_of(head)),
    )
    if cfg.use_qk_norm and not cfg.qk_norm_after_rotary:
        q, k = (centred(each, layer_norm) * gain for each, gain in zip((q, k), gains, strict=True))
    place = 0 if cfg.qk_norm_after_rotary else 10  # behind gains it is not the distance alone that counts
    q, k = turned(model, q, place + distance), turned(model, k, place)
    if cfg.use_qk_norm and cfg.qk_norm_after_rotary:
        q, k = (each * gain for each, gain in zip((q, k), gains, strict=True))
    expected = q @ k.T / cfg.attn_scale
    matrix = HeadCircuit(model, (layer, head), "qk", distance=distance).matrix
    torch.testing.assert_close((matrix.A[WORDS] @ matrix.B[:, WORDS]).double(), expected, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("kind", KINDS)
def test_pairs_have_a_score_at_each_distance(kind: str, models: dict[str, Transformer]) -> None:
    at = [HeadCircuit(models[kind], (1, 2), "qk", distance=distance) for distance in range(4)]
    pairs = at[2].partners(40)[0].highest
    expected = torch.stack([each.entries(pairs).values for each in at], -1)
    torch.testing.assert_close(at[0].over_distances(pairs, 4).values, expected, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("kind", READ)
@torch.inference_mode()
def test_an_output_value_circuit_is_what_attending_to_a_token_adds_to_logits(
    kind: str, models: dict[str, Transformer]
) -> None:
    model, (layer, head) = models[kind], (1, 2)
    cfg, attn, layer_norm = model.cfg, model.block(layer).attn, model.cfg.normalization_type == "LN"
    written = tokens_read(model, layer) @ attn.W_V[head].double() @ attn.W_O[head].double()
    if cfg.use_normalization_before_and_after:
        written = centred(written, layer_norm) * gain_of(model, f"blocks.{layer}.ln1_post")
    written = centred(written * cfg.residual_scale, layer_norm) * gain_of(model, "ln_final") * cfg.logits_scale
    matrix = HeadCircuit(model, (layer, head), "ov").matrix
    product = (matrix.A[WORDS] @ matrix.B[:, WORDS]).double()
    torch.testing.assert_close(product, written @ model.unembed.W_U[:, WORDS].double(), rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("kind", KINDS)
def test_copying_and_composition_have_a_score_for_every_head(kind: str, models: dict[str, Transformer]) -> None:
    composed = compositions(models[kind], (2, 1)).scores
    assert all(measure.values.isfinite().all() for measure in composed.values())
    assert kind not in READ or copying(models[kind]).values.abs().max() <= 1


def test_what_queries_and_keys_give_to_distances_is_part_of_their_score(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """DeBERTa's scores, which are remade from the run's own queries and keys."""
    distances = {"disentangled_attention": ("c2p", "p2c"), "position_buckets": 4, "relative_attention_max_distance": 9}
    monkeypatch.setitem(KINDS, "deberta-like", ENCODER | distances | {"positional_embedding_type": "none"})
    run = run_prompt(open_tiny("deberta-like", tmp_path), TEXT)
    cache = activations(run)
    for cell in CELLS:
        score = cache["attn_scores", cell.layer][0, cell.head, cell.query, cell.key]
        parts = explain_cell(run, cell).parts
        assert float(parts.score.values) == pytest.approx(float(score), abs=2e-4)
        assert float(parts.matrix.values.sum()) == pytest.approx(float(score), abs=2e-4)
        pattern = attend(run, cell.layer, cell.head).pattern
        torch.testing.assert_close(pattern, cache["pattern", cell.layer][0, cell.head], **CLOSE)

"""Each measure over a set beside TransformerLens: its cache, its gradients, and hooks by hand."""

from collections.abc import Callable, Iterator
from functools import partial

import pytest
import torch
from torch import Tensor

from headlight.model import Transformer
from headlight.model.base.errors import InputError
from headlight.model.experiments.running import run
from headlight.model.prompt_sets.encoding import TokenRow, TokenSet
from tests.model.experiments.cases import N_POS, TOLERANCE, by_hand, pairs, ragged, row, settings
from tests.model.lens.lens_twin import HookedTransformer, lens_twin
from tests.model.oracles import random_model

ROWS = pairs(3)
Hooks = list[tuple[str, Callable[..., Tensor]]]


@pytest.fixture(autouse=True)
def _no_gradients() -> Iterator[None]:
    with torch.no_grad():
        yield


@pytest.fixture(scope="module")
def model() -> Transformer:
    return random_model(n_layers=3)


@pytest.fixture(scope="module")
def twin(model: Transformer) -> HookedTransformer:
    return lens_twin(model)


def _raw(model: Transformer, rows: TokenSet = ROWS, **chosen: object) -> Tensor:
    raw = run(model, rows, settings(**chosen)).raw
    assert raw is not None
    return raw.values


def _put(value: Tensor, head: int, activation: Tensor, hook: object) -> Tensor:
    changed = activation.clone()  # it can be a kept one
    changed[:, :, head] = value[:, :, head]
    return changed


def _set(value: Tensor, activation: Tensor, hook: object) -> Tensor:
    return value


def test_estimates_are_changes_times_their_gradients(model: Transformer, twin: HookedTransformer) -> None:
    token_row, kept = ROWS.rows[1], dict[str, Tensor]()
    names = [f"blocks.1.{name}" for name in ("attn.hook_z", "attn.hook_pattern", "hook_mlp_out")]

    def keep(activation: Tensor, hook: object) -> None:
        activation.retain_grad()
        kept[hook.name] = activation  # type: ignore[attr-defined]

    _, clean = twin.run_with_cache(token_row.clean[None])
    with torch.enable_grad():
        logits = twin.run_with_hooks(token_row.corrupted[None], fwd_hooks=[(name, keep) for name in names])
        end = logits[0, -1]
        difference = end[list(token_row.answers)].mean() - end[list(token_row.wrong_answers)].mean()
        difference.backward()
    products = {name: ((clean[name] - kept[name]) * kept[name].grad)[0] for name in names}
    unpatched = float(difference.detach())
    z, pattern, mlp = (products[name] for name in names)
    places = [token_row.positions["name"][1], N_POS - 1]  # in the corrupted prompt
    for chosen, expected in (
        ({"part": "z"}, z.sum((0, 2))),
        ({"part": "z", "by": "position"}, z.sum(2)[places].T),
        ({"part": "pattern"}, pattern.sum((1, 2))),
        ({"part": "mlp_out"}, mlp.sum(1)[places]),
    ):
        estimate = _raw(model, measure="attribution", **chosen)[1, 1]
        torch.testing.assert_close(estimate, unpatched + expected, **TOLERANCE)


@pytest.mark.parametrize(("read", "through_mlps"), [("q", False), ("k", True), ("v", False), ("v", True)])
def test_paths_are_those_of_hooks_by_hand(
    model: Transformer, twin: HookedTransformer, read: str, through_mlps: bool
) -> None:
    token_row, head = ROWS.rows[2], 1
    chosen = {"measure": "path", "receiver": f"L2H{head}", "read": read, "through_mlps": through_mlps}
    values = _raw(model, **chosen)[2]
    assert values.shape == (2, 3)
    _, clean = twin.run_with_cache(token_row.clean[None])
    _, corrupted = twin.run_with_cache(token_row.corrupted[None])
    received = f"blocks.2.attn.hook_{read}"
    for layer, sender in ((0, 0), (0, 2), (1, 1)):
        frozen: Hooks = [(f"blocks.{at}.attn.hook_z", partial(_set, corrupted["z", at])) for at in range(2)]
        frozen += [(f"blocks.{at}.hook_mlp_out", partial(_set, corrupted["mlp_out", at])) for at in range(2)]
        frozen = [hook for hook in frozen if not (through_mlps and "mlp" in hook[0])]
        frozen.append((f"blocks.{layer}.attn.hook_z", partial(_put, clean["z", layer], sender)))
        with twin.hooks(fwd_hooks=frozen):
            _, changed = twin.run_with_cache(token_row.corrupted[None])
        logits = twin.run_with_hooks(
            token_row.corrupted[None], fwd_hooks=[(received, partial(_put, changed[received], head))]
        )
        assert float(values[layer, sender]) == pytest.approx(by_hand(logits, token_row), rel=1e-5, abs=2e-5)


def test_the_lens_reads_every_layer_by_the_final_norm(model: Transformer, twin: HookedTransformer) -> None:
    by_layer = _raw(model, measure="lens")
    by_position = _raw(model, measure="lens", by="position", prompt="corrupted")
    for place, token_row in enumerate(ROWS.rows):
        for side, at in (
            (token_row.clean, [N_POS - 1]),
            (token_row.corrupted, [token_row.positions["name"][1] or 0, N_POS - 1]),
        ):
            _, cache = twin.run_with_cache(side[None])
            streams = cache.accumulated_resid(incl_mid=False)[:, 0, at]
            logits = twin.unembed(twin.ln_final(streams))
            expected = logits[..., list(token_row.answers)].mean(-1) - logits[..., list(token_row.wrong_answers)].mean(
                -1
            )
            ours = by_layer[place][:, None] if side is token_row.clean else by_position[place]
            torch.testing.assert_close(ours, expected, **TOLERANCE)


def test_patterns_are_those_between_named_places(model: Transformer, twin: HookedTransformer) -> None:
    measurement = run(model, ragged(), settings(measure="patterns"))
    assert measurement.labels["pair"] == ("end→name", "end→end", "name→name")
    assert measurement.measure.unit == "probability"
    for place, token_row in enumerate(ragged().rows):
        _, cache = twin.run_with_cache(token_row.clean[None])
        name, end = token_row.positions["name"][0], len(token_row.clean) - 1
        expected = torch.stack(
            [cache["pattern", layer][0, :, [end, end, name], [name, end, name]] for layer in range(3)]
        )
        torch.testing.assert_close(measurement.measure.values[place], expected, **TOLERANCE)


def test_pairs_of_tokens_leave_out_what_comes_later(model: Transformer) -> None:
    measurement = run(model, pairs(2), settings(measure="patterns", positions="tokens"))
    assert len(measurement.labels["pair"]) == N_POS * (N_POS + 1) / 2
    assert not measurement.measure.values.isnan().any()


def test_direct_effects_are_theirs_and_add_up_to_the_logit_difference(small: Transformer) -> None:
    rows, model = pairs(2, d_vocab=4096), random_model(n_layers=3, d_vocab=4096)  # in which no bias is zero
    model.tokenizer, model.source, twin = small.tokenizer, small.source, lens_twin(model)
    heads = _raw(model, rows, measure="dla")
    whole = run(model, rows, settings(measure="dla", part="all"))
    assert whole.raw is not None
    assert whole.clean is not None
    torch.testing.assert_close(whole.raw.values.sum(1), whole.clean, **TOLERANCE)
    by_token = _raw(model, rows, measure="dla", by="position", positions="tokens")
    by_name = _raw(model, rows, measure="dla", by="position")
    torch.testing.assert_close(by_token.sum(-1), heads, **TOLERANCE)
    torch.testing.assert_close(by_name.sum(-1), heads, **TOLERANCE)
    attention, mlps = (_raw(model, rows, measure="dla", part=part) for part in ("attn_out", "mlp_out"))
    for place, token_row in enumerate(rows.rows):
        logits, cache = twin.run_with_cache(token_row.clean[None])
        assert float(whole.clean[place]) == pytest.approx(by_hand(logits, token_row), rel=1e-5, abs=2e-5)
        W_U = twin.unembed.W_U
        direction = W_U[:, list(token_row.answers)].mean(1) - W_U[:, list(token_row.wrong_answers)].mean(1)
        writes = {
            "heads": cache.stack_head_results(layer=-1, pos_slice=-1),
            "attention": torch.stack([cache["attn_out", layer][:, -1] for layer in range(3)]),
            "mlps": torch.stack([cache["mlp_out", layer][:, -1] for layer in range(3)]),
        }
        # Theirs supposes that the final norm's gain has been folded into the unembedding.
        read = twin.ln_final.w * direction
        theirs = {
            name: cache.apply_ln_to_stack(parts, layer=-1, pos_slice=-1)[:, 0] @ read for name, parts in writes.items()
        }
        torch.testing.assert_close(heads[place].flatten(), theirs["heads"], **TOLERANCE)
        torch.testing.assert_close(attention[place], theirs["attention"], **TOLERANCE)
        torch.testing.assert_close(mlps[place], theirs["mlps"], **TOLERANCE)


def _ablated(twin: HookedTransformer, token_row: TokenRow, name: str, value: Tensor, head: int | None = None) -> float:
    function = partial(_set, value) if head is None else partial(_put, value, head)
    return by_hand(twin.run_with_hooks(token_row.clean[None], fwd_hooks=[(name, function)]), token_row)


def test_ablations_replace_by_zero_or_by_the_means_of_the_set(model: Transformer, twin: HookedTransformer) -> None:
    zero, mean = (_raw(model, measure="ablation", ablation=how) for how in ("zero", "mean"))
    keys = _raw(model, measure="ablation", part="k", positions="tokens")
    by_name = _raw(model, measure="ablation", part="mlp_out")
    caches = [twin.run_with_cache(token_row.clean[None])[1] for token_row in ROWS.rows]
    z, k, mlp = (torch.stack([cache[name, 1] for cache in caches]) for name in ("z", "k", "mlp_out"))
    named = torch.stack(
        [mlp[place, 0, token_row.positions["name"][0]] for place, token_row in enumerate(ROWS.rows)]
    ).mean(0)
    for place, token_row in enumerate(ROWS.rows):
        expected = _ablated(twin, token_row, "blocks.1.attn.hook_z", torch.zeros_like(z[0]), 2)
        assert float(zero[place, 1, 2]) == pytest.approx(expected, rel=1e-5, abs=2e-5)
        expected = _ablated(twin, token_row, "blocks.1.attn.hook_z", z.mean(0), 2)
        assert float(mean[place, 1, 2]) == pytest.approx(expected, rel=1e-5, abs=2e-5)
        expected = _ablated(twin, token_row, "blocks.1.attn.hook_k", k.mean(0), 0)
        assert float(keys[place, 1, 0]) == pytest.approx(expected, rel=1e-5, abs=2e-5)
        changed = mlp[place].clone()
        changed[0, token_row.positions["name"][0]] = named
        expected = _ablated(twin, token_row, "blocks.1.hook_mlp_out", changed)
        assert float(by_name[place, 1, 0]) == pytest.approx(expected, rel=1e-5, abs=2e-5)


def test_means_of_rows_of_several_lengths_are_over_all_positions(model: Transformer, twin: HookedTransformer) -> None:
    values = _raw(model, ragged(), measure="ablation", batch=2)
    z = torch.cat([twin.run_with_cache(token_row.clean[None])[1]["z", 0][0] for token_row in ragged().rows]).mean(0)
    for place, token_row in enumerate(ragged().rows):
        mean = z.expand(1, len(token_row.clean), -1, -1)
        expected = _ablated(twin, token_row, "blocks.0.attn.hook_z", mean, 1)
        assert float(values[place, 0, 1]) == pytest.approx(expected, rel=1e-5, abs=2e-5)


def test_resampling_takes_another_row_s_prompt_by_its_seed(model: Transformer, twin: HookedTransformer) -> None:
    """Each ablated metric is that with one of the other rows' z; another seed draws others."""
    rows = pairs(6)
    values = _raw(model, rows, measure="ablation", ablation="resample", seed=1)
    caches = [twin.run_with_cache(token_row.clean[None])[1] for token_row in rows.rows]
    for place, token_row in enumerate(rows.rows):
        others = [_ablated(twin, token_row, "blocks.1.attn.hook_z", cache["z", 1], 0) for cache in caches]
        own = others.pop(place)
        assert min(abs(other - float(values[place, 1, 0])) for other in others) < 1e-5
        assert abs(own - float(values[place, 1, 0])) > 1e-3
    assert torch.equal(values, _raw(model, rows, measure="ablation", ablation="resample", seed=1))
    assert not torch.equal(values, _raw(model, rows, measure="ablation", ablation="resample", seed=2))


def test_an_ablation_is_given_as_a_change(model: Transformer) -> None:
    measurement = run(model, ROWS, settings(measure="ablation"))
    assert measurement.raw is not None
    assert measurement.clean is not None
    assert measurement.corrupted is None
    torch.testing.assert_close(measurement.measure.values, measurement.raw.values - measurement.clean[:, None, None])


def test_what_cannot_be_measured_is_said_before_it_runs(model: Transformer) -> None:
    without = TokenSet("alone", (TokenRow(1, torch.arange(4), None, (1,), (2,), {"end": (3, None)}),), {}, ("end",))
    for rows, chosen, what in (
        (without, {}, "corrupted prompt"),
        (without, {"measure": "ablation", "ablation": "resample"}, "at least two"),
        (ragged(), {"part": "resid_pre", "positions": "tokens"}, "6 to 7 tokens"),
        (ROWS, {"measure": "path", "receiver": "L0H1"}, "before the first layer"),
        (ROWS, {"measure": "path"}, "such as L5H1"),
        (ROWS, {"measure": "path", "receiver": "L9H1"}, "9"),
        (ROWS, {"measure": "dla", "part": "q"}, "not of q"),
        (ROWS, {"measure": "dla", "metric": "prob_diff"}, "logit difference"),
        (ROWS, {"part": "all"}, "such as z"),
        (ragged(), {"measure": "ablation", "part": "pattern"}, "one length"),
    ):
        with pytest.raises(InputError, match=what):
            run(model, rows, settings(**chosen))
    unequal = row(1), TokenRow(2, torch.arange(6), torch.arange(8), (1,), (2,), {"end": (5, 7)})
    with pytest.raises(InputError, match="one length"):
        run(model, TokenSet("unequal", unequal, {}, ("end",)), settings(part="pattern"))


def test_pairs_of_unequal_lengths_are_patched_at_their_names(model: Transformer, twin: HookedTransformer) -> None:
    token_row = TokenRow(2, torch.arange(6), torch.arange(3, 11), (1,), (2,), {"name": (2, 4), "end": (5, 7)})
    values = _raw(model, TokenSet("unequal", (token_row,), {}, ("name", "end")), part="resid_pre")
    heads = _raw(model, TokenSet("unequal", (token_row,), {}, ("name", "end")))
    _, clean = twin.run_with_cache(token_row.clean[None])
    _, corrupted = twin.run_with_cache(token_row.corrupted[None])

    def run_with(name: str, places: list[tuple[int, int]], head: int | None = None) -> float:
        value = corrupted[name].clone()
        for here, there in places:
            at = (0, there) if head is None else (0, there, head)
            value[at] = clean[name][(0, here) if head is None else (0, here, head)]
        return by_hand(
            twin.run_with_hooks(token_row.corrupted[None], fwd_hooks=[(name, partial(_set, value))]), token_row
        )

    expected = run_with("blocks.1.hook_resid_pre", [(2, 4)])
    assert float(values[0, 1, 0]) == pytest.approx(expected, rel=1e-5, abs=2e-5)
    expected = run_with("blocks.1.attn.hook_z", [(2, 4), (5, 7)], 1)
    assert float(heads[0, 1, 1]) == pytest.approx(expected, rel=1e-5, abs=2e-5)

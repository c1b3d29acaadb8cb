"""The logit lens against all logits at once, torch.distributions and cases worked out by hand."""

import math
from typing import Any

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch.distributions import Categorical, kl_divergence
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import FlopCounterMode

from headlight.model.base.errors import HeadlightError
from headlight.model.lens import best_words
from headlight.model.lens import logit_lens as lens
from headlight.model.lens.logit_lens import chosen_probabilities, chosen_ranks, logit_lens
from headlight.model.nn.config import TransformerConfig
from headlight.model.nn.hooks import NO_TAP
from headlight.model.nn.transformer import Transformer


def same(rows: Tensor) -> Tensor:
    return rows


def normalize(rows: Tensor) -> Tensor:
    return torch.nn.functional.layer_norm(rows, rows.shape[-1:])


def random_case(
    n_layers: int = 4, n_pos: int = 11, d_model: int = 6, d_vocab: int = 37, dtype: torch.dtype = torch.float64
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    generator = torch.Generator().manual_seed(0)
    resid, W_U, b_U = (
        torch.randn(shape, generator=generator, dtype=dtype)
        for shape in [(n_layers, n_pos, d_model), (d_model, d_vocab), (d_vocab,)]
    )
    return resid, W_U, b_U, torch.randint(d_vocab, (n_pos, 2), generator=generator)


def ranking(logits: Tensor) -> Tensor:
    """All token ids, best first and of equal logits the lowest id first."""
    return logits.argsort(dim=-1, descending=True, stable=True)


@pytest.fixture(params=[(1024, 2048, 64), (9, 5, 64), (1, 1, 1), (4, 36, 12), (8, 12, 4)], ids=str)
def tiles(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tile sizes that hold everything, divide nothing, hold fewer words than k, and leave one word over.

    Their words are in as many groups as there are words, in one, and in some of three.
    """
    for place, name, value in zip((lens, lens, best_words), ("ROWS", "WORDS", "GROUPS"), request.param, strict=True):
        monkeypatch.setattr(place, name, value)
    monkeypatch.setattr(best_words, "CANDIDATES", 1)  # so that they are cut again and again


@pytest.mark.usefixtures("tiles")
def test_agrees_with_all_logits_at_once() -> None:
    resid, W_U, b_U, _ = random_case()
    result = logit_lens(resid, normalize, W_U, b_U, k=7)
    logits = normalize(resid) @ W_U + b_U
    layers, final = Categorical(logits=logits), Categorical(logits=logits[-1])
    # Default tolerances for float64: both sides round the same sums in another order.
    torch.testing.assert_close(result.entropy.values, layers.entropy())
    torch.testing.assert_close(result.kl_from_final.values, kl_divergence(final, layers))
    torch.testing.assert_close(result.log_normalizer.values, logits.logsumexp(dim=-1))
    torch.testing.assert_close(result.top_probs.values, layers.probs.topk(7).values)
    assert torch.equal(result.top_tokens.values, logits.topk(7).indices)


@pytest.mark.usefixtures("tiles")
def test_followed_tokens_agree_with_all_logits_at_once() -> None:
    resid, W_U, b_U, chosen = random_case()
    logits = normalize(resid) @ W_U + b_U
    per_layer = chosen.expand(4, -1, -1)
    read = logit_lens(resid, normalize, W_U, b_U)
    probabilities = chosen_probabilities(resid, normalize, W_U, b_U, read.log_normalizer, chosen)
    # Default tolerances for float64: both sides round the same sums in another order.
    torch.testing.assert_close(probabilities.values, logits.softmax(dim=-1).gather(-1, per_layer))
    above = (logits[..., None, :] > logits.gather(-1, per_layer)[..., None]).sum(dim=-1)
    assert torch.equal(chosen_ranks(resid, normalize, W_U, b_U, chosen).values, above + 1)


def test_a_followed_token_costs_no_logits_but_its_own_and_a_rank_those_of_its_position() -> None:
    resid, W_U, b_U, chosen = random_case(n_layers=3, n_pos=200, d_model=8, d_vocab=5000)
    read = logit_lens(resid, normalize, W_U, b_U)
    with FlopCounterMode(display=False) as counter:
        chosen_probabilities(resid, normalize, W_U, b_U, read.log_normalizer, chosen)
    assert counter.get_total_flops() == 2 * 3 * 200 * 8 * 2
    with FlopCounterMode(display=False) as counter:
        chosen_ranks(resid[:, :1], normalize, W_U, b_U, chosen[:1])
    assert counter.get_total_flops() == 2 * 3 * 8 * (5000 + 2)


def test_measures_know_their_units_and_axes() -> None:
    resid, W_U, b_U, chosen = random_case()
    result = logit_lens(resid, normalize, W_U, b_U, k=3)
    units = {name: (measure.unit, measure.axes) for name, measure in vars(result).items()}
    assert units == {
        "top_tokens": ("token id", ("layer", "pos", "k")),
        "top_probs": ("probability", ("layer", "pos", "k")),
        "log_normalizer": ("nats", ("layer", "pos")),
        "final_probs": ("probability", ("layer", "pos")),
        "entropy": ("nats", ("layer", "pos")),
        "kl_from_final": ("nats", ("layer", "pos")),
    }
    probabilities = chosen_probabilities(resid, normalize, W_U, b_U, result.log_normalizer, chosen)
    ranks = chosen_ranks(resid, normalize, W_U, b_U, chosen)
    assert (probabilities.unit, probabilities.axes) == ("probability", ("layer", "pos", "chosen"))
    assert (ranks.unit, ranks.axes) == ("rank", ("layer", "pos", "chosen"))


def test_float32_on_logits_far_from_zero() -> None:
    """Sizes as in GPT-2, whose logits lie around -100: a shift that no probability may notice."""
    resid, W_U, b_U, _ = random_case(n_layers=3, n_pos=5, d_model=32, d_vocab=5000, dtype=torch.float32)
    result = logit_lens(resid, normalize, W_U, b_U - 100, k=5)
    logits = (normalize(resid) @ W_U + b_U).double()
    layers = Categorical(logits=logits)
    # float32 holds a logit of -100 to 4e-6, so each probability to that share of itself. Entropy and KL move by this
    # times the spread of the logarithms that they average: under 10 nats, and for KL some tens.
    torch.testing.assert_close(result.entropy.values.double(), layers.entropy(), atol=5e-5, rtol=0)
    kl = kl_divergence(Categorical(logits=logits[-1]), layers)
    torch.testing.assert_close(result.kl_from_final.values.double(), kl, atol=2e-4, rtol=0)
    torch.testing.assert_close(result.top_probs.values.double(), layers.probs.topk(5).values, atol=0, rtol=5e-5)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])  # every example sets the same tile sizes
@given(st.data())
@pytest.mark.usefixtures("tiles")
def test_equal_logits_are_listed_lowest_id_first(data: st.DataObject) -> None:
    """Small whole numbers make logits exact, and equal in many places, within tiles and across them."""
    d_vocab, n_pos = data.draw(st.integers(1, 20)), data.draw(st.integers(1, 3))
    k = data.draw(st.integers(1, d_vocab))
    words = data.draw(st.lists(st.integers(-2, 2), min_size=d_vocab, max_size=d_vocab))
    chosen_ids = data.draw(st.lists(st.integers(0, d_vocab - 1), min_size=n_pos, max_size=n_pos))
    resid = torch.arange(2.0 * n_pos).view(2, n_pos, 1) - n_pos
    chosen = torch.tensor(chosen_ids)[:, None]
    W_U, b_U = torch.tensor([words]).float(), torch.zeros(d_vocab)
    logits = resid * torch.tensor(words)
    assert torch.equal(logit_lens(resid, same, W_U, b_U, k).top_tokens.values, ranking(logits)[..., :k])
    above = (logits > logits.gather(-1, chosen.expand(2, -1, -1))).sum(dim=-1, keepdim=True)
    assert torch.equal(chosen_ranks(resid, same, W_U, b_U, chosen).values, above + 1)


@pytest.mark.usefixtures("tiles")
def test_every_token_has_the_rank_and_probability_of_its_place_in_the_list() -> None:
    """Guards against a token that outranks itself, when the product for it alone rounds otherwise than the tile's."""
    resid, W_U, b_U, _ = random_case(d_model=64, dtype=torch.float32)
    everything = torch.arange(37).expand(11, 37)
    result = logit_lens(resid, normalize, W_U, b_U, k=37)
    order = result.top_tokens.values
    ranks = chosen_ranks(resid, normalize, W_U, b_U, everything).values.gather(-1, order)
    probabilities = chosen_probabilities(resid, normalize, W_U, b_U, result.log_normalizer, everything).values
    # Sums of 64 products of size 1, rounded to float32's 6e-8 in another order: logits up to 4e-6 apart. So only tokens
    # that much apart have to keep their order.
    gaps = result.top_probs.values.log().diff(dim=-1).abs() > 1e-5
    places = torch.arange(1, 38).expand(4, 11, 37)
    clear = torch.nn.functional.pad(gaps, (1, 0), value=True) & torch.nn.functional.pad(gaps, (0, 1), value=True)
    assert clear.float().mean() > 0.95
    assert torch.equal(ranks[clear], places[clear])
    torch.testing.assert_close(probabilities.gather(-1, order), result.top_probs.values, atol=0, rtol=1e-5)
    # 37 probabilities, each rounded to float32's 6e-8 after a logarithm of size 10.
    torch.testing.assert_close(result.top_probs.values.sum(dim=-1), torch.ones(4, 11), atol=1e-5, rtol=0)


@pytest.mark.usefixtures("tiles")
def test_two_words_by_hand() -> None:
    """Layer: 1/4 and 3/4. Final: 1/2 and 1/2. KL(final || layer) = log 2 - log 3 / 2; the other way it would differ."""
    resid = torch.tensor([[[math.log(3)]], [[0.0]]])
    W_U, b_U, chosen = torch.tensor([[0.0, 1.0]]), torch.zeros(2), torch.tensor([[0]])
    result = logit_lens(resid, same, W_U, b_U, k=2)
    assert result.top_tokens.values.tolist() == [[[1, 0]], [[0, 1]]]
    torch.testing.assert_close(result.top_probs.values, torch.tensor([[[0.75, 0.25]], [[0.5, 0.5]]]))
    probabilities = chosen_probabilities(resid, same, W_U, b_U, result.log_normalizer, chosen)
    torch.testing.assert_close(probabilities.values, torch.tensor([[[0.25]], [[0.5]]]))
    assert chosen_ranks(resid, same, W_U, b_U, chosen).values.tolist() == [[[2]], [[1]]]
    entropy = math.log(4) - 0.75 * math.log(3)
    torch.testing.assert_close(result.entropy.values, torch.tensor([[entropy], [math.log(2)]]))
    kl = math.log(2) - math.log(3) / 2
    # The final layer's KL to itself is a difference of equal logarithms, 1e-7 of their size apart.
    torch.testing.assert_close(result.kl_from_final.values, torch.tensor([[kl], [0]]), atol=1e-6, rtol=0)


@pytest.mark.usefixtures("tiles")
def test_certain_predictions_stay_finite() -> None:
    """Logits 10,000 apart: exp would overflow or vanish; KL is the gap itself."""
    resid = torch.tensor([[[-1.0]], [[1.0]]])
    words = torch.tensor([[0.0, 0.0, 10_000.0]])
    result = logit_lens(resid, same, words, torch.zeros(3), k=1)
    assert result.top_tokens.values.tolist() == [[[0]], [[2]]]
    chosen = torch.tensor([[2]])
    probabilities = chosen_probabilities(resid, same, words, torch.zeros(3), result.log_normalizer, chosen)
    assert probabilities.values.tolist() == [[[0]], [[1]]]
    torch.testing.assert_close(result.entropy.values, torch.tensor([[math.log(2)], [0]]))
    torch.testing.assert_close(result.kl_from_final.values, torch.tensor([[10_000 + math.log(2)], [0]]))


def test_the_last_row_is_the_prediction_of_the_model_itself() -> None:
    cfg = TransformerConfig(n_layers=2, d_model=12, n_ctx=7, n_heads=3, d_head=5, d_vocab=50)
    model = Transformer(cfg).double()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.normal_(generator=torch.Generator().manual_seed(parameter.numel()))
        logits, cache = model.run_with_cache(torch.arange(7)[None])
    resid = [cache["resid_pre", 0][0], cache["resid_post", 0][0], cache["resid_post", 1][0]]
    unembed = model.unembed
    result = logit_lens(resid, lambda rows: model.ln_final(rows[None], NO_TAP)[0], unembed.W_U, unembed.b_U, k=50)
    probs, tokens = logits[0].softmax(dim=-1).sort(dim=-1, descending=True)
    assert torch.equal(result.top_tokens.values[-1], tokens)
    torch.testing.assert_close(result.top_probs.values[-1], probs)


@pytest.mark.usefixtures("tiles")
def test_a_stream_that_is_no_number_leaves_the_other_positions_as_they_are() -> None:
    resid, W_U, b_U, _ = random_case()
    expected = logit_lens(resid, normalize, W_U, b_U, k=7).top_tokens.values
    resid[:, 3] = torch.nan
    result = logit_lens(resid, normalize, W_U, b_U, k=7)
    others = torch.arange(11) != 3
    assert torch.equal(result.top_tokens.values[:, others], expected[:, others])
    assert result.top_probs.values[:, 3].isnan().all()


def test_parameters_that_want_gradients_get_none() -> None:
    resid, W_U, b_U, _ = random_case()
    result = logit_lens(resid, normalize, W_U.requires_grad_(), b_U.requires_grad_())
    assert not any(measure.values.requires_grad for measure in vars(result).values())


def test_each_logit_is_computed_once() -> None:
    resid, W_U, b_U, _ = random_case(n_layers=3, n_pos=200, d_model=8, d_vocab=5000)
    with FlopCounterMode(display=False) as counter:
        logit_lens(resid, normalize, W_U, b_U)
    # Besides, the mean of each logit under the final distribution is one product more, and the final answer's logit in
    # each layer is computed by itself.
    assert counter.get_total_flops() == 2 * 3 * 200 * ((8 + 1) * 5000 + 8)


def test_nothing_larger_than_a_tile_is_made() -> None:
    class Largest(TorchDispatchMode):
        size = 0

        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            result = func(*args, **(kwargs or {}))
            outputs = result if isinstance(result, tuple | list) else [result]
            made = [t.numel() for t in outputs if isinstance(t, Tensor) and not func.is_view]
            self.size = max([self.size, *made])
            return result

    resid, W_U, b_U, chosen = random_case(n_layers=3, n_pos=200, d_model=8, d_vocab=5000)
    with Largest() as largest:
        read = logit_lens(resid, normalize, W_U, b_U)
        chosen_probabilities(resid, normalize, W_U, b_U, read.log_normalizer, chosen)
        chosen_ranks(resid, normalize, W_U, b_U, chosen)
    assert largest.size <= lens.ROWS * lens.WORDS < 3 * 200 * 5000


def test_a_vocabulary_of_fewer_tokens_than_asked_for_is_listed_whole() -> None:
    resid, W_U, b_U, _ = random_case()
    top = logit_lens(resid, normalize, W_U, b_U, k=38).top_tokens.values
    assert (top.sort(-1).values == torch.arange(37)).all()
    with pytest.raises(HeadlightError, match="k is 0; ask for at least 1"):
        logit_lens(resid, normalize, W_U, b_U, k=0)


@pytest.mark.parametrize("token", [37, -1])
def test_tokens_outside_the_vocabulary_are_refused(token: int) -> None:
    resid, W_U, b_U, _ = random_case()
    read = logit_lens(resid, normalize, W_U, b_U)
    chosen = torch.full((11, 1), token)
    message = f"Token id {token} was chosen; choose ids from 0 to 36"
    with pytest.raises(HeadlightError, match=message):
        chosen_probabilities(resid, normalize, W_U, b_U, read.log_normalizer, chosen)
    with pytest.raises(HeadlightError, match=message):
        chosen_ranks(resid, normalize, W_U, b_U, chosen)

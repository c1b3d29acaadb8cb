"""Runs, against the library's own full cache."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest
import torch

from headlight.app.runs import limits, runs
from headlight.app.runs.cost import cost
from headlight.app.server.settings import settings as server_settings
from headlight.model import ActivationCache, TransformerConfig, load
from headlight.model.base.errors import HeadlightError, InputError, NotFiniteError
from headlight.model.lens.run_lens import followed_probabilities, followed_ranks
from headlight.model.measure import attention
from headlight.model.measure.mean_scores import MeanScores
from headlight.model.runs.head import HeadAttention, attend, write_norms
from headlight.model.runs.run import Run, make_run
from headlight.model.runs.summaries import THUMBNAIL
from tests.allocated import peak_bytes
from tests.model.oracles import random_model

PROMPT = "one two three one two three"


@pytest.fixture(scope="module")
def full(run: Run) -> ActivationCache:
    """Every activation of the same tokens, patterns included."""
    with torch.inference_mode():
        return run.model.run_with_cache(run.tokens[None])[1]


def test_kept_activations_are_the_models_own(run: Run, full: ActivationCache) -> None:
    assert len(run.cache) == 2 + 5 * run.cfg.n_layers
    for name, kept in run.cache.items():
        assert torch.equal(kept, full[name][0]), name


def test_streams_are_the_models_own(run: Run, full: ActivationCache) -> None:
    streams = list(run.streams())
    assert len(streams) == len(run.layer_labels) == run.cfg.n_layers + 1
    for layer in range(run.cfg.n_layers):
        assert torch.equal(streams[layer], full["resid_pre", layer][0])
    assert torch.equal(streams[-1], full["resid_post", -1][0])


def test_what_the_parts_write_adds_up_to_the_final_stream(run: Run, full: ActivationCache) -> None:
    names, parts = zip(*run.writes(), strict=True)
    assert len(set(names)) == len(names) == 2 + 2 * run.cfg.n_layers
    # Eight float32 numbers of size 1, added in another order: about 1e-6.
    torch.testing.assert_close(torch.stack(parts).sum(0), full["resid_post", -1][0], rtol=1e-5, atol=1e-5)


def test_a_pattern_on_demand_is_the_one_that_passed(run: Run, full: ActivationCache) -> None:
    for layer in range(run.cfg.n_layers):
        for head in range(run.cfg.n_heads):
            attended = attend(run, layer, head)
            # One head's product instead of all heads' at once may round differently: float32's 1e-7, over d_head sums.
            torch.testing.assert_close(attended.pattern, full["pattern", layer][0, head], rtol=1e-5, atol=1e-6)
            torch.testing.assert_close(attended.scores, full["attn_scores", layer][0, head], rtol=1e-5, atol=1e-5)


def test_thumbnails_are_the_maxima_of_the_patterns(folder: str) -> None:
    long = runs.run(folder, "one two three four five six " * 15, True)
    n_pos = len(long.tokens)
    assert THUMBNAIL < n_pos < 2 * THUMBNAIL  # so that bins hold one or two tokens
    with torch.inference_mode():
        _, cache = long.model.run_with_cache(long.tokens[None], names_filter=lambda name: name.endswith("pattern"))
    patterns = torch.cat(list(cache.values())).unflatten(0, (long.cfg.n_layers, 1))[:, 0]
    doubled = n_pos - THUMBNAIL  # the first bins hold two
    starts = [2 * place if place < doubled else place + doubled for place in range(THUMBNAIL + 1)]
    for row, column in ((0, 0), (5, 3), (doubled - 1, 1), (doubled, doubled), (63, 62), (63, 63)):
        cells = patterns[..., starts[row] : starts[row + 1], starts[column] : starts[column + 1]]
        assert torch.equal(long.thumbnails[..., row, column], cells.amax((-2, -1)))
    assert torch.equal(long.hidden, torch.ones(64, 64, dtype=torch.bool).triu(1))


def test_scores_are_those_of_the_patterns(run: Run, full: ActivationCache) -> None:
    for layer in range(run.cfg.n_layers):
        pattern = full["pattern", layer][0]
        expected = attention.head_scores(pattern, run.tokens).previous_token.values
        assert torch.equal(run.scores["previous_token"].values[layer], expected)
        assert torch.equal(run.scores["entropy"].values[layer], attention.entropy(pattern).values.mean(-1))
    assert run.scores["induction"].axes == ("layer", "head")
    assert not run.scores["induction"].values.isnan().any()


def test_next_logits_are_the_last_of_the_forward_pass(run: Run) -> None:
    with torch.inference_mode():
        logits = run.model(run.tokens[None])[0, -1]
    # The last row alone instead of all rows may be summed in another order.
    torch.testing.assert_close(run.next_logits, logits, rtol=1e-5, atol=1e-5)


def test_the_last_row_of_the_lens_is_the_models_own_prediction(run: Run) -> None:
    token = int(run.next_logits.argmax())
    probabilities = followed_probabilities(run, token)
    with torch.inference_mode():
        expected = run.model(run.tokens[None])[0].softmax(-1)[:, token]
    # A softmax over 4096 tokens in tiles instead of at once.
    torch.testing.assert_close(probabilities.values[-1], expected, rtol=1e-4, atol=1e-9)
    assert followed_ranks(run, token, positions=range(len(run.tokens) - 1, len(run.tokens))).values[-1].tolist() == [1]


def test_write_norms_are_those_of_what_each_key_would_write(run: Run, full: ActivationCache) -> None:
    layer, head = 1, 2
    W_O = run.model.get_parameter(f"blocks.{layer}.attn.W_O")[head]
    written = full["v", layer][0, :, head] @ W_O
    # float32's rounding
    torch.testing.assert_close(write_norms(run, layer, head), written.norm(dim=-1), rtol=1e-5, atol=0)


def test_the_same_prompt_is_run_once(folder: str, settings: dict[str, object]) -> None:
    first = runs.run(folder, PROMPT, True)
    assert runs.run(folder, PROMPT, True) is first
    assert runs.run(folder, PROMPT, False) is not first
    assert runs.run(folder, PROMPT, False).model is first.model


def test_all_runs_together_stay_within_the_caches_bytes(folder: str, settings: dict[str, object]) -> None:
    one = limits.held_bytes(runs.run(folder, PROMPT, True))
    settings["cache_gib"] = 3.5 * one / limits.GIB
    server_settings.cache_clear()
    runs._results.cache_clear()
    for word in "abcdefgh":
        runs.run(folder, f"{PROMPT} {word}", True)
    assert 2 * one < runs._results().nbytes <= 3.5 * one


def test_a_full_gate_says_busy(folder: str, settings: dict[str, object]) -> None:
    settings.update(runs_at_once=1, runs_waiting=0)
    full = pytest.raises(limits.BusyError, match="Busy: 1 runs")
    with ThreadPoolExecutor(1) as other, runs._gate().enter(), full:
        other.submit(runs.run, folder, PROMPT, True).result()
    assert runs.run(folder, PROMPT, True).prompt == PROMPT


@pytest.mark.parametrize(("threads", "expected"), [(0, [4, 2]), (3, [3, 3])])
def test_runs_at_a_time_share_the_processors_threads(
    folder: str, settings: dict[str, object], monkeypatch: pytest.MonkeyPatch, threads: int, expected: list[int]
) -> None:
    settings.update(threads=threads)
    taken = list[int]()
    monkeypatch.setattr(runs, "ALL_THREADS", 4)
    monkeypatch.setattr(torch, "set_num_threads", taken.append)
    with runs.turn(), ThreadPoolExecutor(1) as other:
        other.submit(runs.run, folder, PROMPT, True).result(60)
    assert taken == expected


def test_what_was_fed_is_what_was_typed(folder: str) -> None:
    odd = "<|endoftext|> <b>\u202ex</b> \x00"
    made = runs.run(folder, odd, False)
    assert made.tokenizer.to_string(made.tokens) == odd
    assert len(made.labels) == len(made.tokens)
    assert not {"\u202e", "\x00", " "} & set("".join(made.labels))
    with_bos = runs.run(folder, odd, True)
    assert with_bos.tokens.tolist() == [made.tokenizer.bos_token_id, *made.tokens.tolist()]


def test_a_prompt_is_what_a_user_says_to_a_chat_model(chat_folder: str) -> None:
    made = runs.run(chat_folder, PROMPT, "chat")
    plain = runs.run(chat_folder, f"user: {PROMPT}", True).tokens.tolist()
    end = runs.run(chat_folder, "assistant:", True).tokens.tolist()
    assert made.tokens.tolist() == plain + end
    assert made.bos == "chat"
    assert made is not runs.run(chat_folder, PROMPT, True)


@pytest.mark.parametrize(("prompt", "said"), [("", "empty"), ("  ", "2 spaces"), ("one " * 100, "holds 100")])
def test_a_prompt_that_does_not_fit_is_refused(folder: str, prompt: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        runs.run(folder, prompt, True)


def test_a_run_over_the_budget_is_refused(folder: str, settings: dict[str, object]) -> None:
    settings["run_gib"] = 1e-5
    with pytest.raises(HeadlightError, match=r"At most \d+ tokens fit"):
        runs.run(folder, PROMPT, True)


def test_the_estimate_covers_what_a_run_keeps(run: Run) -> None:
    kept = limits.held_bytes(dict(run.cache))
    assert kept <= cost(run.cfg, len(run.tokens)).nbytes <= 10 * kept


def test_the_estimate_of_a_long_prompt_counts_one_heads_pattern_and_shared_keys_once() -> None:
    """SmolLM2's shape: 4,096 tokens fit into the default of 1.5 GiB; where scores have a cap, all heads' count."""
    sizes = {"n_layers": 30, "d_model": 576, "n_heads": 9, "n_key_value_heads": 3, "d_head": 64, "d_mlp": 1536}
    cfg = TransformerConfig(**sizes, d_vocab=49152, n_ctx=8192, normalization_type="RMS")
    n, n_floats = 4096, 30 * 4096 * (9 + 2 * 3 + 2 * 9) * 64
    assert 4 * n_floats + 8 * n**2 <= cost(cfg, n).nbytes < 1.5 * limits.GIB
    capped = cost(replace(cfg, attn_scores_soft_cap=50.0), n)
    assert capped.nbytes - cost(cfg, n).nbytes == (9 * 16 - 8) * n**2


@pytest.mark.parametrize("n_tokens", [300, 1200])
@pytest.mark.parametrize("is_gated", [False, True])
def test_the_estimate_is_what_a_long_prompt_takes(n_tokens: int, is_gated: bool) -> None:
    """A run, its summaries and a whole head, by torch's own account."""
    rotary = {"positional_embedding_type": "rotary", "rotary_dim": 16} if is_gated else {}
    sizes = {"n_layers": 6, "d_model": 64, "n_heads": 4, "d_head": 16, "d_mlp": 256, "n_ctx": 1200}
    model = random_model(**sizes, **rotary, gated_mlp=is_gated, d_vocab=100)
    model.tokenizer = load("mini").tokenizer

    def look() -> tuple[Run, HeadAttention]:
        run = make_run(model, "", False, torch.arange(n_tokens) % 100)
        assert run.thumbnails.shape[:2] == (6, 4)
        return run, attend(run, 0, 0)

    with torch.inference_mode():
        look()  # what is kept from the first run on
        taken = peak_bytes(look)
    # Streams and neurons are counted as if all were there at once, a third of what six narrow layers keep.
    assert 0.9 * taken < cost(model.cfg, n_tokens).nbytes < 1.4 * taken


def test_thumbnails_and_scores_of_a_long_prompt_are_those_of_its_patterns() -> None:
    """Some rows of each head pass at a time."""
    model = load("mini")
    tokens = torch.arange(256) % 7 + 100
    with torch.inference_mode():
        run = make_run(model, "", False, tokens)
        _, cache = model.run_with_cache(tokens[None])
    for layer in range(model.cfg.n_layers):
        pattern = cache["pattern", layer][0]
        # Scores of 32 products, summed in another order.
        torch.testing.assert_close(run.thumbnails[layer], attention.max_pool(pattern, THUMBNAIL), rtol=1e-5, atol=1e-5)
        for name, score in MeanScores(tokens)(pattern).items():
            # Sums of 256 weights, in another order.
            torch.testing.assert_close(run.scores[name].values[layer], score.values, rtol=1e-5, atol=1e-5)


def _waiting_runs(folder: str, *prompts: str) -> list[Run | HeadlightError]:
    """Runs of prompts, or why there is none, that all wait in line before the first of them is let in."""

    def one(prompt: str) -> Run | HeadlightError:
        try:
            return runs.run(folder, prompt, True)
        except HeadlightError as error:
            return error

    with ThreadPoolExecutor(len(prompts)) as pool:
        with runs._gate().enter():
            waiting = [pool.submit(one, prompt) for prompt in prompts]
            while runs._gate().n_waiting < len(prompts):
                pass
        return [each.result(60) for each in waiting]


def test_prompts_that_wait_share_a_pass_and_get_what_they_get_alone(
    folder: str, settings: dict[str, object], caplog: pytest.LogCaptureFixture
) -> None:
    settings["runs_at_once"] = 1
    prompts = [f"one {word} three" + " two" * n for n, word in enumerate(("cat", "dog", "river", "Monday"))]
    with caplog.at_level("INFO", "headlight"):
        for prompt, made in zip(prompts, _waiting_runs(folder, *prompts), strict=True):
            assert isinstance(made, Run)
            assert made.prompt == prompt
            with torch.inference_mode():
                logits = made.model(made.model.to_tokens(prompt, prepend_bos=True))[0, -1]
            torch.testing.assert_close(made.next_logits, logits, rtol=1e-4, atol=1e-5)
    assert [record.getMessage().count("tokens") for record in caplog.records if "run of" in record.getMessage()] == [
        1
    ] * 4


def test_one_of_several_whose_numbers_become_infinite_is_refused_alone(
    folder: str, settings: dict[str, object], monkeypatch: pytest.MonkeyPatch
) -> None:
    settings["runs_at_once"] = 1
    places = runs.run(folder, "one", True).model.pos_embed
    with monkeypatch.context() as patch:
        spoilt = places.W_pos.detach().clone()
        spoilt[8] = torch.inf
        patch.setattr(places.W_pos, "data", spoilt)
        fine, refused, other = _waiting_runs(folder, "red cat", "one two" * 8, "red dog two")
    assert [type(each) for each in (fine, refused, other)] == [Run, NotFiniteError, Run]

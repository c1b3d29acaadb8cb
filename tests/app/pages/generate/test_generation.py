"""What the page *Generate* writes and says of it: held against the library, transformers, and sums by hand."""

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from streamlit.testing.v1 import AppTest

from headlight.app.components import WritingStep
from headlight.app.pages.generate import generation, written
from headlight.app.pages.generate import view as generate
from headlight.app.pages.generate.choices import Choices
from headlight.app.parts import panels
from headlight.app.runs import runs
from headlight.app.selection import Selection
from headlight.model import Transformer, load
from headlight.model.attention.axis import axis_of
from headlight.model.base.errors import ConfigError, HeadlightError, InputError
from headlight.model.decoding import Sampling, sample
from headlight.model.decoding.compared import Continuations
from headlight.model.decoding.continued import Written
from headlight.model.runs.comparison import Comparison
from headlight.model.runs.head import attend
from headlight.model.runs.run import Run
from tests.app.conftest import Options
from tests.app.pages.test_sides import page as view
from tests.app.test_page import SECONDS
from tests.places import MAIN

N_CTX = 100
OPTIONS = Choices(n_new=12, temperature=0.8, top_k=50, top_p=0.9, seed=5, stop=False)


@pytest.fixture(scope="module")
def continuation(run: Run) -> Written:
    return generation.continuation_of(run, OPTIONS)


def steps_of(continuation: Written) -> list[WritingStep]:
    """The steps of a run alone."""
    return written.steps_of(Continuations(continuation))["A"]


def test_a_seed_draws_what_the_library_draws(run: Run, folder: str, continuation: Written) -> None:
    model = load(folder)
    (drawn,) = sample(
        model,
        model.to_tokens(run.prompt, prepend_bos=True),
        sampling=Sampling(temperature=0.8, top_k=50, top_p=0.9),
        generator=torch.Generator().manual_seed(5),
        max_new_tokens=12,
    )
    assert continuation.tokens.tolist() == drawn.tokens.tolist()
    assert continuation.reason == drawn.reason == "length"
    # The same products over all positions at once instead of one at a time: float32's rounding of sums of size 10.
    torch.testing.assert_close(continuation.log_probs, drawn.log_probs, rtol=0, atol=2e-5)
    other = generation.continuation_of(run, replace(OPTIONS, seed=6))
    assert other.tokens.tolist() != continuation.tokens.tolist()


def test_greedy_writes_what_transformers_writes(run: Run, folder: str) -> None:
    from transformers import GPT2LMHeadModel

    theirs = GPT2LMHeadModel.from_pretrained(folder).eval()
    settings = {"max_new_tokens": 20, "do_sample": False, "eos_token_id": None, "pad_token_id": 0}
    expected = theirs.generate(run.tokens[None], attention_mask=torch.ones(1, len(run.tokens)), **settings)
    continuation = generation.continuation_of(run, replace(OPTIONS, temperature=0, n_new=20))
    assert continuation.run.tokens.tolist() == expected[0].tolist()
    assert torch.equal(continuation.chances().after.amax(1), torch.ones(20))
    assert not continuation.entropies[1].any()


def test_a_replaced_token_stays_and_the_seed_goes_on_behind_it(run: Run, folder: str, continuation: Written) -> None:
    tokens = (*continuation.tokens[:3].tolist(), 77, 77)
    changed = generation.continuation_of(run, replace(OPTIONS, written=tokens))
    assert tuple(changed.tokens[:5].tolist()) == tokens
    assert (changed.n_given, len(changed.labels)) == (5, 12)
    model = load(folder)
    begun = torch.cat([run.tokens, torch.tensor(tokens)])[None]
    sampling, generator = generation.writing_of(OPTIONS).sampling, torch.Generator().manual_seed(5)
    (drawn,) = sample(model, begun, sampling=sampling, generator=generator, max_new_tokens=7)
    assert changed.tokens[5:].tolist() == drawn.tokens.tolist()
    assert [step.is_given for step in steps_of(changed)] == [True] * 5 + [False] * 7


def test_only_as_many_as_asked_for_are_kept(run: Run) -> None:
    short = generation.continuation_of(run, replace(OPTIONS, n_new=2, written=(7, 8, 9)))
    assert (short.tokens.tolist(), short.n_given, short.reason) == ([7, 8], 2, "length")


def test_numbers_are_those_of_one_forward_pass_and_a_softmax_by_hand(
    run: Run, folder: str, continuation: Written
) -> None:
    logits = load(folder)(continuation.run.tokens[None])[0, len(run.tokens) - 1 : -1]
    # One product over other shapes: float32's rounding of sums of size 10.
    torch.testing.assert_close(continuation.logits(), logits, rtol=0, atol=2e-5)
    for step, row in enumerate(continuation.logits().double().numpy()):
        before = np.exp(row - row.max())
        before /= before.sum()
        after = _cut(row, temperature=0.8, top_k=50, top_p=0.9)
        choices = steps_of(continuation)[step].choices
        ids = [choice.token for choice in choices]
        assert ids[:-1] == np.argsort(-row, kind="stable")[: len(ids) - 1].tolist()
        assert int(continuation.tokens[step]) in ids
        assert [choice.rank for choice in choices] == [int((row > row[token]).sum()) + 1 for token in ids]
        # Probabilities are kept in float32.
        np.testing.assert_allclose([choice.before for choice in choices], before[ids], rtol=1e-5)
        np.testing.assert_allclose([choice.after for choice in choices], after[ids], rtol=1e-5)
        assert float(continuation.log_probs[step]) == pytest.approx(
            math.log(before[continuation.tokens[step]]), abs=1e-5
        )
        for own, expected in zip(continuation.entropies[:, step].tolist(), (before, after), strict=True):
            assert own == pytest.approx(-sum(p * math.log(p) for p in expected if p > 0), abs=1e-4)


def _cut(logits: np.ndarray, temperature: float, top_k: int, top_p: float) -> np.ndarray:
    """Temperature, top-k and top-p as a loop over the tokens from the likeliest down."""
    weights = np.exp((logits - logits.max()) / temperature)
    order = np.argsort(-weights, kind="stable")
    weights[order[top_k:]] = 0
    weights /= weights.sum()
    reached = 0.0
    for token in order:
        if reached >= top_p:
            weights[token] = 0
        reached += weights[token]
    return np.asarray(weights / weights.sum())


def test_the_written_token_is_listed_however_unlikely(run: Run) -> None:
    unlikely = int(run.next_logits.argmin())
    continuation = generation.continuation_of(run, replace(OPTIONS, written=(unlikely,)))
    last = steps_of(continuation)[0].choices[-1]
    assert (last.token, last.rank, last.after) == (unlikely, run.cfg.d_vocab, 0)


def test_attention_is_that_of_the_written_tokens_and_not_of_the_prompts_cached_run(
    run: Run, continuation: Written
) -> None:
    """The run of prompt and tokens has the prompt's text: its pictures must not be taken for the prompt's."""
    short = panels.panel(Comparison(run), (1, 2), axis_of(Comparison(run), "token", "tokens"), "token").a
    coded = written.panel(Continuations(continuation), (1, 2)).a
    assert short.weights.cells.shape == (len(run.tokens),) * 2
    assert coded.weights.cells.shape == (len(continuation.run.tokens),) * 2
    pattern = attend(continuation.run, 1, 2).pattern[: len(run.tokens), : len(run.tokens)]
    # Sums of other lengths: float32's rounding.
    torch.testing.assert_close(pattern, attend(run, 1, 2).pattern, rtol=1e-4, atol=1e-6)


def test_a_step_was_written_at_the_position_before_its_token(run: Run, continuation: Written) -> None:
    assert continuation.query(0) == len(run.tokens) - 1
    assert continuation.run.labels[continuation.query(4) + 1] == continuation.labels[4]


def test_the_end_of_the_text_ends_it_unless_it_is_told_not_to(run: Run) -> None:
    (end,) = run.model.stop_tokens
    assert end == run.tokenizer.bos_token_id
    stopped = generation.continuation_of(run, replace(OPTIONS, stop=True, written=(7, end, 9)))  # type: ignore[arg-type]
    assert (stopped.tokens.tolist(), stopped.reason) == ([7, end], "stop token")
    on = generation.continuation_of(run, replace(OPTIONS, stop=False, written=(7, end, 9)))  # type: ignore[arg-type]
    assert on.tokens[:3].tolist() == [7, end, 9]
    assert len(on.labels) == 12


def test_a_drawn_end_of_the_text_ends_it(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    greedy = replace(OPTIONS, temperature=0, n_new=7)
    second = int(generation.continuation_of(run, greedy).tokens[1])
    monkeypatch.setattr(run.model, "end_tokens", (second,))
    continuation = generation.continuation_of(run, replace(greedy, stop=True))
    assert int(continuation.tokens[-1]) == second
    assert (continuation.reason, len(continuation.labels)) == (
        "stop token",
        continuation.tokens.tolist().index(second) + 1,
    )


def test_a_full_context_ends_it(folder: str) -> None:
    almost = runs.run(folder, " one" * (N_CTX - 4), True)
    assert len(almost.tokens) == N_CTX - 3
    continuation = generation.continuation_of(almost, OPTIONS)
    assert (len(continuation.labels), continuation.reason) == (3, "context")
    full = runs.run(folder, " one" * (N_CTX - 1), True)
    assert generation.continuation_of(full, OPTIONS).labels == ()
    at = view("generate", Comparison(full))
    assert "fills the model's context" in at.info[0].value


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"n_new": 0}, ConfigError, "New tokens: 0. Choose 1 to 2048"),
        ({"n_new": 2049}, ConfigError, "New tokens: 2049"),
        ({"temperature": -1.0}, ConfigError, "temperature is -1.0; it has to be"),
        ({"top_k": 0}, ConfigError, "top_k"),
        ({"top_p": 0.0}, ConfigError, "top_p is 0.0"),
        ({"written": (4096,)}, InputError, r"Token 4096 was to be written.* from 0 to 4095"),
    ],
)
def test_what_cannot_be_written_is_refused_with_the_reason(
    run: Run, changes: dict[str, Any], error: type[HeadlightError], message: str
) -> None:
    with pytest.raises(error, match=message):
        generation.continuation_of(run, replace(OPTIONS, **changes))


def test_tokens_that_do_not_fit_behind_the_prompt_are_refused(folder: str) -> None:
    long = runs.run(folder, " one" * (N_CTX - 3), True)
    with pytest.raises(InputError, match=r"the 3 tokens kept behind it are 101; this model's context holds 100"):
        generation.continuation_of(long, replace(OPTIONS, written=(1, 2, 3)))


def test_more_than_the_budget_is_refused(settings: dict[str, object], run: Run) -> None:
    settings["run_seconds"] = 1e-12
    with pytest.raises(HeadlightError, match=f"{len(run.tokens) + 12} tokens of this model would take"):
        generation.continuation_of(run, OPTIONS)


@pytest.mark.parametrize(
    ("changes", "said"),
    [({"attention_dir": "bidirectional"}, "both directions"), ({"d_vocab_out": 2}, "2 classes, not tokens")],
)
def test_a_model_that_cannot_write_says_why(run: Run, changes: dict[str, Any], said: str) -> None:
    other = Transformer(replace(run.cfg, tie_word_embeddings=False, **changes))
    other.source = run.source
    assert said in generate.needs(Comparison(replace(run, model=other)))
    assert not generate.needs(Comparison(run))


def _generate(run: Run, **chosen: object) -> AppTest:
    return view("generate", Comparison(run), **{"n_new": 6, "heads": ((1, 2),), **chosen})


def _chosen(at: AppTest) -> Choices:
    chosen = at.session_state["headlight"].active
    assert isinstance(chosen, Selection)
    return chosen.choices_of(Choices)


def _button(at: AppTest, label: str) -> None:
    (button,) = [button for button in at.button if button.label == label]
    button.click().run()
    assert not at.exception


def test_the_tables_hold_the_same_numbers(run: Run, options: Options) -> None:
    at = _generate(run, table=True, step=2, temperature=0.5, top_k=3)
    continuation = generation.continuation_of(run, _chosen(at))
    steps, choices, weights = (table.value for table in at.dataframe)
    assert steps["Token"].tolist() == list(continuation.labels)
    np.testing.assert_array_equal(steps["Log-probability (nats)"], continuation.log_probs)
    np.testing.assert_array_equal(choices["Drawn with"], [choice.after for choice in steps_of(continuation)[2].choices])
    assert (choices["Drawn with"] > 0).sum() == 3
    np.testing.assert_array_equal(
        weights["L1H2"], attend(continuation.run, 1, 2).pattern[continuation.query(2), : continuation.query(2) + 1]
    )
    options.change(at, "step", 5)
    assert _chosen(at).step == 4


def test_a_re_roll_takes_the_next_seed_and_greedy_has_none(run: Run, options: Options) -> None:
    at = _generate(run, seed=999_999)
    assert not options.drawn["reroll"].look()["disabled"]
    options.change(at, "reroll", None)
    assert _chosen(at).seed == 0
    _generate(run, temperature=0.0)
    assert options.drawn["reroll"].look()["disabled"]


def test_a_typed_token_is_written_at_the_step_and_taken_back(run: Run) -> None:
    at = _generate(run, step=2)
    before = generation.continuation_of(run, _chosen(at)).tokens.tolist()
    at.text_input[0].set_value(" two").run()
    token = run.tokenizer.to_single_token(" two")
    assert _chosen(at).written == (*before[:2], token)
    assert (_chosen(at).step, at.text_input[0].value) == (2, "")
    _button(at, "Start over from the prompt")
    assert (_chosen(at).written, _chosen(at).step) == ((), 0)


def test_several_typed_tokens_are_refused_plainly(run: Run) -> None:
    at = _generate(run)
    at.text_input[0].set_value("one two <b>three</b>").run()
    assert any("tokens" in text.value and "not one" in text.value for text in at.text)
    assert _chosen(at).written == ()


@pytest.mark.parametrize("changes", [{"n_new": 3, "step": 50}, {"heads": ()}, {"top_k": 999_999}, {"top_p": 0.01}])
def test_any_selection_is_drawn(run: Run, changes: dict[str, object]) -> None:
    _generate(run, **changes)


def test_another_prompt_begins_without_what_was_written(settings: dict[str, object], folder: str) -> None:
    at = AppTest.from_file(MAIN, default_timeout=SECONDS)
    for name, value in {"model": folder, "prompt": "one two", "written": "7 8", "step": "1", "seed": "4"}.items():
        at.query_params[name] = value
    at.run()
    assert at.query_params["written"] == "7 8"
    at.text_area[0].set_value("one two three")
    at.button[0].click().run()
    assert not at.exception
    assert not {"written", "step"} & set(at.query_params)
    assert at.query_params["seed"] == "4"

"""Written text as it comes, in blocks of steps, and as part of the prompt."""

from dataclasses import replace
from typing import Any

import pytest
import streamlit as st
import torch
from streamlit.testing.v1 import AppTest
from transformers import AutoTokenizer

from headlight.app.pages.generate import stream
from headlight.app.runs import runs
from headlight.model import Comparison, Conversation
from headlight.model.decoding import Sampling, compared, continued, sample
from headlight.model.decoding.as_prompt import as_prompt, keeps_tokens
from headlight.model.decoding.compared import Continuations, generate_steps
from headlight.model.decoding.continued import Writing, continue_run, drawing_of
from headlight.model.runs.edits import AblateHeads
from headlight.model.runs.run import Run, run_prompt
from tests.app.conftest import Options
from tests.places import MAIN

HOW = Writing(12, Sampling(temperature=0.8), seed=3)
ASKED, SAID = {"role": "user", "content": "one two"}, {"role": "assistant", "content": "three"}


def test_more_is_drawn_behind_what_is_drawn_already(run: Run) -> None:
    """As `sample` draws it from the beginning; a shorter text is the beginning of the longer one, and runs nothing."""
    how = Writing(3, Sampling(), seed=11, prefix=(7, 8), stop=False)
    drawing = drawing_of(run, how)
    assert drawing_of(run, how) is drawing
    drawing.draw(2)
    assert len(drawing.so_far(9, ())[0]) == 2
    assert drawing.so_far(9, ())[1] is None
    begun = torch.cat([run.tokens, torch.tensor((7, 8))])[None]
    generator = torch.Generator().manual_seed(11)
    (theirs,) = sample(run.model, begun, sampling=Sampling(), generator=generator, max_new_tokens=9, stop_tokens=())
    assert continue_run(run, replace(how, n_new=11)).tokens[2:].tolist() == theirs.tokens.tolist()
    assert drawing.so_far(4, ()) == (tuple(theirs.tokens[:4].tolist()), "length")
    ends = theirs.tokens[5:6].tolist()
    first = theirs.tokens.tolist().index(ends[0])
    assert drawing.so_far(9, ends) == (tuple(theirs.tokens[: first + 1].tolist()), "stop token")
    assert drawing.take(1000, ())[1] == "context"


def test_edits_act_at_every_step_that_is_drawn(run: Run) -> None:
    """Greedily by hand: each time a run of the whole text with the edit."""
    edit = AblateHeads(((0, 1),), "zero")
    edited = runs.run(run.source.name, run.prompt, True, (edit,))
    drawn, _ = drawing_of(edited, Writing(5, Sampling(temperature=0))).take(5, ())
    tokens = run.tokens
    for _ in range(5):
        hooks = [("blocks.0.attn.hook_z", _zero)]
        logits = run.model.run_with_hooks(tokens[None], fwd_hooks=hooks)
        tokens = torch.cat([tokens, logits[0, -1:].argmax(-1)])
    assert tokens[len(run.tokens) :].tolist() == list(drawn)


def _zero(z: torch.Tensor, hook: object) -> torch.Tensor:
    z[:, :, 1] = 0
    return z


def test_blocks_of_steps_give_what_all_at_once_gives(
    run: Run, both: Comparison, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With runs that keep nothing, so that each is computed anew; B's text is shorter than A's."""
    a, b = (run_prompt(made.model, made.prompt) for made in both.runs)
    pair = replace(both, a=a, b=b)
    for b_writes in ("same", "own"):
        by_block_size = {}
        for n in (64, 5):
            monkeypatch.setattr(continued, "STEPS_AT_ONCE", n)
            monkeypatch.setattr(compared, "STEPS_AT_ONCE", n)
            by_block_size[n] = _numbers(generate_steps(pair, HOW, b_writes))
        for one, other in zip(by_block_size[64], by_block_size[5], strict=True):
            torch.testing.assert_close(one, other, rtol=1e-5, atol=1e-5)  # products over other shapes


def _numbers(made: Continuations) -> list[torch.Tensor]:
    own = [part for each in made.sides.values() for part in (each.tokens, each.log_probs, each.entropies)]
    listed = [part for each in made.candidates().values() for part in vars(each).values()]
    return [*own, *listed, made.divergence()]


def test_written_text_stands_behind_a_prompt(run: Run) -> None:
    written = continue_run(run, HOW)
    assert as_prompt(written) == run.prompt + run.tokenizer.to_string(written.tokens)
    tokens = run.tokenizer.to_tokens(as_prompt(written), True)[0]
    assert keeps_tokens(written) == (tokens.tolist() == written.run.tokens.tolist())


@pytest.mark.parametrize(
    ("chat", "expected"),
    [
        (Conversation((ASKED,)), (ASKED, {"role": "assistant", "content": "{}"})),
        (Conversation((ASKED, SAID), False, True), (ASKED, {"role": "assistant", "content": "three{}"})),
        (Conversation((ASKED,), enable_thinking=True), (ASKED, {"role": "assistant", "content": "{}"})),
    ],
)
def test_in_a_chat_it_is_the_models_turn(chat_folder: str, chat: Conversation, expected: Any) -> None:
    """It goes on, also where the model ended it: the last token is a written one. Tokens are transformers' of it."""
    run = runs.run(chat_folder, chat.to_prompt(), "chat")
    for ended in (True, False):
        ends = run.model.stop_tokens[:1] if ended else ()
        word = run.tokenizer.to_single_token(" two")
        written = continue_run(run, Writing(3, Sampling(), prefix=(word, word, *ends), stop=ended))
        text = run.tokenizer.to_string(written.tokens[: 2 if ended else 3])
        said = (*expected[:-1], {"role": "assistant", "content": expected[-1]["content"].format(text)})
        prompt = as_prompt(written)
        assert Conversation.from_prompt(prompt) == Conversation(said, False, True, chat.enable_thinking)
        theirs = AutoTokenizer.from_pretrained(chat_folder)
        settings = Conversation.from_prompt(prompt).settings
        ids: Any = theirs.apply_chat_template(list(said), return_dict=False, **settings)
        tokens = run.tokenizer.to_tokens(prompt, "chat")[0].tolist()
        assert tokens == ids
        assert tokens[-1] == written.tokens[1 if ended else 2]


def test_stop_leaves_what_is_written(
    folder: str, settings: dict[str, object], options: Options, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run of the page that ends with its first slice, as it stands while the next is awaited; then Stop."""
    again = st.rerun
    monkeypatch.setattr(stream, "SLICE", 1e-9)
    monkeypatch.setattr(st, "rerun", st.stop)
    page = AppTest.from_file(MAIN, default_timeout=60)
    query = {"model": folder, "prompt": "one two three", "page": "generate", "n_new": "40", "seed": "77", "stop": "0"}
    for name, value in query.items():
        page.query_params[name] = value
    page.run()
    assert not page.exception
    monkeypatch.setattr(st, "rerun", again)
    next(button for button in page.button if button.label == "Stop").click().run()
    assert not page.exception
    assert page.query_params["n_new"] == "1"
    assert not [button for button in page.button if button.label == "Stop"]
    next(button for button in page.button if button.label == "Write 100 more")
    next(button for button in page.button if button.label == "Use as prompt").click().run()
    assert not page.exception
    prompt = page.query_params["prompt"]
    assert prompt.startswith("one two three")
    assert len(prompt) > len("one two three")
    assert "page" not in page.query_params  # on the first page, where attention is

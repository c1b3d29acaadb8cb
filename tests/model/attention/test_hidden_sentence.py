"""What later sentences lose when one is hidden, against hooks by hand that mask every head's scores."""

import math
from dataclasses import replace

import pytest
import torch
from torch import Tensor

from headlight.model import AblateHeads, Run, Transformer, run_prompt
from headlight.model.attention import hidden_sentence
from headlight.model.attention.axis import grouping
from headlight.model.attention.hidden_sentence import cannot_hide, loss_without
from headlight.model.base.errors import InputError
from headlight.model.runs.host import Host

TEXT = "One two. Three one! Two, two. One. Four one? Five two."


@pytest.fixture(scope="module")
def text(small: Transformer) -> Run:
    return run_prompt(small, TEXT)


@pytest.mark.parametrize("hidden", [0, 1, 3])  # 0 is the first token alone
def test_it_is_the_divergence_from_a_pass_with_masked_scores(
    text: Run, hidden: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hidden_sentence, "POSITIONS", 5)
    group = grouping(text, "sentence")

    def hide(scores: Tensor, hook: object) -> None:
        for query in range(len(group)):
            if group[query] > hidden:
                scores[:, :, query, group == hidden] = -torch.inf

    hooks = [(f"blocks.{layer}.attn.hook_attn_scores", hide) for layer in range(text.cfg.n_layers)]
    masked = text.model.run_with_hooks(text.tokens[None], fwd_hooks=hooks)[0].double().log_softmax(-1)
    whole = text.model(text.tokens[None])[0].double().log_softmax(-1)
    kl = torch.nn.functional.kl_div(masked, whole, log_target=True, reduction="none").sum(-1)
    expected = torch.tensor([kl[group == unit].mean() for unit in range(int(group[-1]) + 1)])
    loss = loss_without(text, "sentence", hidden).values
    assert loss[: hidden + 1].isnan().all()
    # Two float32 passes whose sums go in another order.
    torch.testing.assert_close(loss[hidden + 1 :], expected[hidden + 1 :].float(), rtol=1e-3, atol=1e-6)
    assert (loss[hidden + 1 :] > 1e-5).any()


def test_each_layer_of_the_pass_and_each_block_of_tokens_is_told_of(text: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Stop is heard where progress is told: of a long text the pass takes most of the time."""
    monkeypatch.setattr(hidden_sentence, "POSITIONS", 5)
    told: list[tuple[int, int]] = []

    class Listening(Host):
        def tell(self, done: int, total: int) -> None:
            told.append((done, total))

    loss_without(replace(text, host=Listening()), "sentence", 1)
    n_later = int((grouping(text, "sentence") > 1).sum())
    total = text.cfg.n_layers + math.ceil(n_later / 5)
    assert told == [(done, total) for done in range(total + 1)]


def test_the_last_sentence_has_none_behind_it(text: Run) -> None:
    assert loss_without(text, "sentence", int(grouping(text, "sentence")[-1])).values.isnan().all()


def test_what_cannot_be_hidden_is_said(small: Transformer, text: Run) -> None:
    with pytest.raises(InputError, match="There is no sentence 7; this text has sentences 0 to 6"):
        loss_without(text, "sentence", 7)
    edited = run_prompt(small, TEXT, edits=(AblateHeads(((0, 1),)),))
    assert "Remove the run's edits" in cannot_hide(edited)
    with pytest.raises(InputError, match="Remove the run's edits"):
        loss_without(edited, "sentence", 1)

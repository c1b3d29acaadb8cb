"""The models written by hand do what they say: every head's pattern, and what the model predicts, are known."""

import torch

from headlight.recipes.teaching_weights import (
    BOS,
    COPY_HEADS,
    INDUCTION_HEADS,
    PREDICTED,
    copy_circuit,
    induction_circuit,
)

REPEATED = torch.tensor([[BOS, 3, 5, 7, 2, 3, 5, 7, 2]])
LOOKED_AT = {
    (0, 0): [0, 0, 1, 2, 3, 4, 5, 6, 7],
    (0, 1): [0, 1, 2, 3, 4, 5, 6, 7, 8],
    (0, 2): [0, 0, 0, 0, 0, 1, 2, 3, 4],
    (1, 0): [0, 0, 0, 0, 0, 2, 3, 4, 5],
    (1, 1): [0, 0, 0, 0, 0, 2, 3, 4, 5],
    (1, 2): [0, 0, 0, 0, 0, 0, 0, 0, 0],
}


def test_every_head_gives_all_its_weight_to_the_token_that_it_is_for() -> None:
    _, cache = induction_circuit().run_with_cache(REPEATED)
    assert set(LOOKED_AT) == set(INDUCTION_HEADS)
    for (layer, head), keys in LOOKED_AT.items():
        expected = torch.eye(9)[keys]
        torch.testing.assert_close(cache["pattern", layer][0, head], expected, atol=1e-12, rtol=0)  # 8 e^-30 is less


def test_a_token_that_was_seen_is_followed_by_what_followed_it_and_any_other_by_nothing() -> None:
    logits = induction_circuit()(REPEATED)[0]
    assert logits[5:].argmax(-1).tolist() == [5, 7, 2, 3]
    torch.testing.assert_close(logits[5:].max(-1).values, torch.full((4,), PREDICTED))
    torch.testing.assert_close(logits[:5], torch.zeros(5, 12), atol=1e-9, rtol=0)  # 20 times a weight of e^-30


def test_two_copies_share_the_weight_and_the_prediction() -> None:
    tokens = torch.tensor([[BOS, 4, 6, 4, 9, 4]])
    logits = induction_circuit()(tokens)[0, -1]
    expected = torch.zeros(12)
    expected[[6, 9]] = PREDICTED / 2
    torch.testing.assert_close(logits, expected, atol=1e-5, rtol=0)  # float32 near 10


def test_what_each_head_writes_is_what_its_description_says() -> None:
    model = induction_circuit()
    _, cache = model.run_with_cache(REPEATED, lambda name: name.endswith("hook_result"))
    for (layer, head), does in INDUCTION_HEADS.items():
        assert bool(cache["result", layer][0, :, head].any()) != does.endswith("writes nothing")


def test_sizes_can_be_chosen() -> None:
    model = induction_circuit(d_vocab=30, n_ctx=50)
    tokens = torch.cat([torch.tensor([BOS]), *[torch.arange(1, 25)] * 2])
    assert model(tokens[None])[0, 25:-1].argmax(-1).tolist() == list(range(2, 25))


MARK, ASK = 1, 2
MARKED = torch.tensor([[BOS, 5, 7, MARK, 4, 6, 3, ASK, 8]])
LOOKED_AT_TO_COPY = {
    (0, 0): [0, 0, 1, 2, 3, 4, 5, 6, 7],
    (0, 1): [0, 1, 2, 3, 4, 5, 6, 7, 8],
    (1, 0): [0, 0, 0, 0, 0, 0, 0, 4, 0],
    (1, 1): [0, 0, 0, 0, 0, 0, 0, 0, 0],
}


def test_what_was_marked_is_copied_where_it_is_asked_for_and_nothing_anywhere_else() -> None:
    logits, cache = copy_circuit(MARK, ASK).run_with_cache(MARKED)
    assert set(LOOKED_AT_TO_COPY) == set(COPY_HEADS)
    for (layer, head), keys in LOOKED_AT_TO_COPY.items():
        torch.testing.assert_close(cache["pattern", layer][0, head], torch.eye(9)[keys], atol=1e-12, rtol=0)
    expected = torch.zeros(9, 12)
    expected[7, 4] = PREDICTED
    torch.testing.assert_close(logits[0], expected, atol=1e-9, rtol=0)


def test_two_marked_tokens_share_the_prediction_and_without_a_mark_nothing_is_predicted() -> None:
    model = copy_circuit(MARK, ASK)
    logits = model(torch.tensor([[BOS, MARK, 4, 9, MARK, 6, ASK]]))[0, -1]
    assert logits[[4, 6]].tolist() == [PREDICTED / 2] * 2
    assert not model(torch.tensor([[BOS, 4, 9, 6, ASK]]))[0, -1].abs().max() > 1e-9

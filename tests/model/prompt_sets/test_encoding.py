"""Sets in a model's tokens: which rows can be used, where their positions are, and what is said of the others."""

import pytest
import torch
from tokenizers import Regex, pre_tokenizers
from tokenizers import Tokenizer as Backend

from headlight.model import HeadlightError, Tokenizer, load
from headlight.model.prompt_sets.encoding import TokenRow, batches, to_tokens
from headlight.model.prompt_sets.metric import metric
from headlight.model.prompt_sets.prompt_set import PromptPair, PromptSet
from headlight.model.text.patterns import PATTERNS
from tests.tiny import tiny


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    tokenizer = load("mini").tokenizer
    assert tokenizer is not None
    return tokenizer


def set_of(*rows: PromptPair) -> PromptSet:
    return PromptSet("a set", rows)


def test_positions_are_the_last_tokens_of_their_characters(tokenizer: Tokenizer) -> None:
    text = "The girls near the tree"
    start = text.index("girls")
    pair = PromptPair(
        text, positions={"noun": ((start, start + 5), None), "last but one": (-2, None), "first": (0, None)}
    )
    labels = tokenizer.labels(tokenizer.to_tokens(text))
    for bos in (False, True):
        row = to_tokens(set_of(pair), tokenizer, bos).rows[0]
        assert [labels[at - bos] for at in (row.positions["noun"][0], row.positions["first"][0])] == ["␣girls", "The"]
        assert row.positions["last but one"] == (len(labels) - 2 + bos, None)
        assert row.positions["end"] == (len(labels) - 1 + bos, None)
    assert to_tokens(set_of(pair), tokenizer).position_names == ("first", "noun", "last but one", "end")


def test_a_name_counts_where_every_row_has_it(tokenizer: Tokenizer) -> None:
    rows = [PromptPair("The girl", positions=names) for names in ({"a": (0, None), "b": (1, None)}, {"b": (0, None)})]
    assert to_tokens(set_of(*rows), tokenizer).position_names == ("b", "end")


@pytest.mark.parametrize(
    ("pair", "message"),
    [
        (PromptPair(" "), "clean prompt is empty"),
        (PromptPair("The", ""), "corrupted prompt is empty"),
        (PromptPair("The girl", "The"), "2 tokens and its corrupted prompt 1"),
        (PromptPair("The", answers=(" girl girl",)), "2 tokens"),
        (PromptPair("The", answers=("",)), "answer is empty"),
        (PromptPair("The", answers=(" girl",), wrong_answers=(" girl",)), "both an answer and a wrong answer"),
        (PromptPair("The", wrong_answers=(" girl",)), "no answer"),
        (PromptPair((5, 4096)), "token id 4096; this model's are 0 to 4095"),
        (PromptPair("The", answers=(-1,)), "token id -1"),
        (PromptPair("The", positions={"x": (3, None)}), "the prompt has 1 tokens"),
        (PromptPair("The girl", positions={"x": ((4, 99), None)}), "has 8 characters"),
        (PromptPair((5, 6), positions={"x": ((0, 1), None)}), "Give an index"),
        (PromptPair("The girl", positions={"end": (0, None)}), "not the last token"),
    ],
)
def test_a_row_that_cannot_be_used_is_said_with_its_number(
    tokenizer: Tokenizer, pair: PromptPair, message: str
) -> None:
    encoded = to_tokens(set_of(PromptPair("The"), pair), tokenizer)
    assert [row.number for row in encoded.rows] == [1]
    assert encoded.refused[2].startswith("Row 2: ")
    assert message in encoded.refused[2]


def test_pairs_of_unequal_lengths_need_names_in_both(tokenizer: Tokenizer) -> None:
    pair = PromptPair("The girl", "The", positions={"first": (0, 0)})
    encoded = to_tokens(set_of(pair), tokenizer, True)
    assert encoded.rows[0].positions == {"first": (1, 1), "end": (2, 1)}
    assert not encoded.is_aligned


def test_a_lacking_space_is_noted_and_can_be_put_there(tokenizer: Tokenizer) -> None:
    pair = PromptPair("The girl", answers=("is",), wrong_answers=("are",))
    spaced = tuple(tokenizer.to_single_token(f" {word}") for word in ("is", "are"))
    as_written = to_tokens(set_of(pair), tokenizer)
    assert len(as_written.notes) + len(as_written.refused) == 1
    row = to_tokens(set_of(pair), tokenizer, with_space=True).rows[0]
    assert (*row.answers, *row.wrong_answers) == spaced


def test_batches_have_one_length_and_every_row_once() -> None:
    lengths = [3, 4, 3, 3, 4, 3]
    rows = [TokenRow(n, torch.zeros(length).long(), None, (), (), {}) for n, length in enumerate(lengths, 1)]
    groups = list(batches(rows, 3))
    assert sorted(row.number for group in groups for row in group) == [1, 2, 3, 4, 5, 6]
    assert all(len({len(row.clean) for row in group}) == 1 and len(group) <= 3 for group in groups)
    assert len(groups) == 3


def test_the_metric_is_its_formula_and_has_a_gradient() -> None:
    rows = [
        TokenRow(1, torch.zeros(1).long(), None, (0, 2), (3,), {}),
        TokenRow(2, torch.zeros(1).long(), None, (1,), (), {}),
    ]
    logits = torch.tensor([[1.0, 2.0, 4.0, 8.0], [1.0, 3.0, 0.0, 0.0]], requires_grad=True)
    assert metric(logits, rows).tolist() == [2.5 - 8, 3 - 1]
    metric(logits, rows).sum().backward()
    assert logits.grad is not None
    assert logits.grad[0].tolist() == [0.5, 0, 0.5, -1]
    probabilities = torch.softmax(logits.detach().double(), -1)
    expected = [probabilities[0, 0] + probabilities[0, 2] - probabilities[0, 3], probabilities[1, 1]]
    torch.testing.assert_close(
        metric(logits.detach(), rows, "prob_diff").double(), torch.stack(expected), atol=1e-6, rtol=0
    )
    with pytest.raises(HeadlightError, match="Row 3 has no answer"):
        metric(logits[:1], [TokenRow(3, torch.zeros(1).long(), None, (), (), {})])


def test_a_model_that_is_not_read_at_the_last_token_is_refused(tokenizer: Tokenizer) -> None:
    with pytest.raises(HeadlightError, match="last token"):
        to_tokens(set_of(PromptPair("The")), tokenizer, cfg=tiny("bert-like").cfg)
    long = set_of(PromptPair((1,) * 65), PromptPair((1,) * 64))
    assert "65 tokens; the model takes 64" in to_tokens(long, tokenizer, cfg=tiny("gpt2-like").cfg).refused[1]


def test_prompts_are_tried_by_slow_patterns_together(tokenizer: Tokenizer, monkeypatch: pytest.MonkeyPatch) -> None:
    llama3 = r"[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+|\s+"
    backend = Backend.from_str(tokenizer._backend.to_str())
    split = pre_tokenizers.Split(Regex(llama3), "isolated")
    backend.pre_tokenizer = pre_tokenizers.Sequence([split, pre_tokenizers.ByteLevel(False, use_regex=False)])
    slow = Tokenizer(backend)
    requests, answer = list[bytes](), PATTERNS.answer
    monkeypatch.setattr(PATTERNS, "answer", lambda line: requests.append(line) or answer(line))
    texts = [f"Anna has {n} keys" for n in range(60)]
    start = texts[0].index("has")
    pairs = [PromptPair(text, text, positions={"verb": ((start, start + 3), None)}) for text in texts]
    pairs[7] = PromptPair("")  # which is refused, and no other
    encoded = to_tokens(set_of(*pairs), slow)
    assert list(encoded.refused) == [8]
    assert len(requests) == 1
    for row, text in zip(encoded.rows, texts[:7] + texts[8:], strict=True):
        assert row.clean.tolist() == backend.encode(text).ids
        label = slow.labels(row.clean[row.positions["verb"][0]])
        assert label == ["␣has"]


def test_a_text_that_fails_takes_no_other_row_with_it(tokenizer: Tokenizer) -> None:
    texts = ["Anna has a key", "half a pair \ud800", "Tom has a key"]
    encoded = to_tokens(set_of(*map(PromptPair, texts)), tokenizer)
    assert [row.number for row in encoded.rows] == [1, 3]
    assert "surrogate" in encoded.refused[2]

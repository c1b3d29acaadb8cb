"""Receiver heads against loops over transformers' attentions, with and without blocks of queries."""

from collections.abc import Callable
from itertools import pairwise

import numpy as np
import pytest
import torch
from scipy import stats
from transformers import GPT2LMHeadModel

from headlight.model import AblateHeads, Comparison, CutEdge, Run, Transformer, attention_tables, compare, run_prompt
from headlight.model.attention.axis import grouping
from headlight.model.attention.receiver_heads import MIN_SENTENCES, no_receiver_heads, receiver_heads
from headlight.model.runs import head
from headlight.model.runs.head import attend, pattern_blocks

SENTENCES = [
    "One two.",
    " Three one!",
    " Two, two.",
    " One.",
    " Four one?",
    " Five two.",
    " One.",
    " Two six.",
    " Six.",
]


@pytest.fixture(scope="module")
def text(small: Transformer) -> Run:
    return run_prompt(small, "".join(SENTENCES))


def _expected(run: Run, pattern: Callable[[int, int], np.ndarray]) -> np.ndarray:
    """[layer, head, sentence]: mean weight of single tokens on single tokens, at least four sentences later."""
    lengths = [len(run.model.to_tokens(each, prepend_bos=False)[0]) for each in SENTENCES]
    ends = np.cumsum([1, *lengths])  # behind the first token
    assert ends[-1] == len(run.tokens)
    places = [range(start, end) for start, end in pairwise(ends)]
    scores = np.full((run.cfg.n_layers, run.cfg.n_heads, 1 + len(places)), np.nan)  # the first token is a sentence
    for layer, number in np.ndindex(*scores.shape[:2]):
        weights = pattern(layer, number)
        for key in range(len(places) - 4):
            later = [weights[np.ix_(places[query], places[key])].mean() for query in range(key + 4, len(places))]
            scores[layer, number, key + 1] = np.mean(later)
    return scores


@pytest.mark.parametrize("queries", [5, 256])
def test_scores_are_means_over_transformers_attention(text: Run, queries: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(head, "QUERIES", queries)
    theirs = GPT2LMHeadModel.from_pretrained(text.source.weights[0].parent, attn_implementation="eager")
    with torch.no_grad():
        attentions = [each[0].numpy() for each in theirs(text.tokens[None], output_attentions=True).attentions]
    expected = _expected(text, lambda layer, number: attentions[layer][number])
    scores = receiver_heads(text, "sentence")
    np.testing.assert_allclose(scores.vertical.values, expected, rtol=1e-3, atol=1e-6)  # float32 through three layers
    peaks = stats.kurtosis(expected, axis=-1, fisher=True, bias=True, nan_policy="omit")
    np.testing.assert_allclose(scores.kurtosis.values, peaks, atol=1e-2)
    assert scores.ranked[0] == np.unravel_index(peaks.argmax(), peaks.shape)
    mean = expected.reshape(-1, expected.shape[-1])[: len(scores.receivers)].mean(0)  # all 15 heads are fewer than 20
    np.testing.assert_allclose(scores.mean, mean, rtol=1e-3, atol=1e-6)


def test_an_edited_pattern_is_the_one_that_is_averaged(small: Transformer) -> None:
    edited = run_prompt(small, "".join(SENTENCES), edits=(CutEdge((1, 2), 20, 1), AblateHeads(((0, 1),))))
    expected = _expected(edited, lambda layer, number: attend(edited, layer, number).pattern.numpy())
    np.testing.assert_allclose(receiver_heads(edited, "sentence").vertical.values, expected, rtol=1e-4, atol=1e-7)


def test_blocks_are_all_patterns(text: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(head, "QUERIES", 7)
    blocks = list(pattern_blocks(text, 1))
    assert len(blocks) > 1
    patterns = torch.stack([attend(text, 1, number).pattern for number in range(text.cfg.n_heads)])
    torch.testing.assert_close(torch.cat([rows for _, rows in blocks], 1), patterns)


def test_a_short_text_says_how_many_sentences_it_needs(small: Transformer, text: Run) -> None:
    short = run_prompt(small, "".join(SENTENCES[: MIN_SENTENCES - 1]))
    assert no_receiver_heads(short, "sentence") == "Vertical scores need at least 8 sentences; this text has 7."
    assert no_receiver_heads(text, "sentence") == ""
    assert "receivers" not in attention_tables(Comparison(short), [(0, 1)], unit="sentence")
    assert "receivers" not in attention_tables(Comparison(text), [(0, 1)])


def test_tables_name_places_of_the_common_axis(small: Transformer, text: Run) -> None:
    other = run_prompt(small, "Three four six. " + "".join(SENTENCES))
    tables = attention_tables(compare(text, other), [(1, 2)], unit="sentence")
    of_b = receiver_heads(other, "sentence")
    rows = list(zip(*tables["receivers"].values(), strict=True))
    _, name, kurtosis, place, score = next(row for row in rows if row[0] == "B")
    assert (name, kurtosis) == ("L{}H{}".format(*of_b.ranked[0]), float(of_b.kurtosis.values.nan_to_num(-9).max()))
    sentence = of_b.most_read(of_b.ranked[0])
    text = other.tokenizer.to_string(other.tokens[grouping(other, "sentence") == sentence])
    assert tables["tokens"]["B"][place] == text.strip()
    vertical = tables["vertical"]
    at = [i for i, run in enumerate(vertical["run"]) if run == "B"][place]
    assert score == pytest.approx(float(of_b.vertical.values[of_b.ranked[0]][sentence]))
    assert vertical["L1H2"][at] == pytest.approx(float(of_b.vertical.values[1, 2, sentence]))

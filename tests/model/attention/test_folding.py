"""Attention between sentences, folded from blocks of queries, against loops over whole patterns."""

from dataclasses import replace

import pytest
import torch

from headlight.model import Comparison, Run, Transformer, attention_tables, run_prompt
from headlight.model.attention import fields, folding
from headlight.model.attention.axis import grouping
from headlight.model.attention.fields import attention_of
from headlight.model.attention.folding import Fold
from headlight.model.runs import head
from headlight.model.runs.head import attend
from headlight.model.runs.host import HERE, Host

REDUCED = {"average": lambda cells: cells.sum(1).mean(), "largest": lambda cells: cells.max()}


class Caching(Host):
    """Says that it caches, so that layers are folded whole."""

    caches = True


@pytest.fixture(scope="module")
def text(small: Transformer) -> Run:
    return run_prompt(small, "One two three. Three one! Two, two. One. Four one two?")


@pytest.mark.parametrize("fold", ["average", "largest"])
@pytest.mark.parametrize("host", [HERE, Caching()], ids=["each head by itself", "all heads of a layer"])
def test_units_have_what_their_tokens_have(text: Run, fold: Fold, host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(head, "QUERIES", 4)
    text = replace(text, host=host)
    group = grouping(text, "sentence")
    pattern, n_units = attend(text, 1, 2).pattern, int(group[-1]) + 1
    expected = torch.tensor(
        [
            [REDUCED[fold](pattern[group == query][:, group == key]) for key in range(n_units)]
            for query in range(n_units)
        ]
    )
    assert (folding.kept_folded(text, 1, group, fold) is None) == (host is HERE)
    attended = attention_of(text, (1, 2), group, fold)
    torch.testing.assert_close(attended.weights, expected)
    assert torch.equal(attended.scores.isneginf(), torch.ones(n_units, n_units).triu(1).bool())


def test_largest_weights_are_named_and_never_renormalised(text: Run) -> None:
    tables = attention_tables(Comparison(text), [(1, 2)], sink="renormalise", unit="sentence", fold="largest")
    name = "largest attention weight between two tokens"
    cells = {(q, k): v for q, k, v in zip(*(tables["cells"][each] for each in ("query", "key", name)), strict=True)}
    pattern, group = attend(text, 1, 2).pattern, grouping(text, "sentence")
    assert cells[2, 1] == pytest.approx(float(pattern[group == 2][:, group == 1].max()))
    assert (2, 0) not in cells
    assert fields.how_between("token", "score", "keep", "largest") == fields.How("score")

"""Quantities of a lesson, against passes with hooks written out here."""

import pytest
import torch

from headlight.app.frame.lessons.quantities import (
    compute,
    is_right,
    is_shown_as,
    read_number,
    read_quantity,
    written,
)
from headlight.app.selection import Selection
from headlight.model import AblateHeads, Comparison, Transformer, compare, load, run_prompt
from headlight.model.base.errors import InputError

A = "When Mary and John went to the shop, John gave a drink to"
B = "When Mary and John went to the shop, Mary gave a drink to"
TOLERANCE = 2e-4  # of two ways to sum the same products


@pytest.fixture(scope="module")
def model() -> Transformer:
    return load("mini")


@pytest.fixture(scope="module")
def names(model: Transformer) -> Comparison:
    return compare(run_prompt(model, A), run_prompt(model, B))


def _of(text: str, runs: Comparison, **chosen: str) -> object:
    return compute(read_quantity(text), runs, Selection(model="mini", **chosen))


def _number(text: str, runs: Comparison, **chosen: str) -> float:
    value = _of(text, runs, **chosen)
    assert isinstance(value, float)
    return value


def test_next_token_and_weights_are_those_of_a_pass(model: Transformer, names: Comparison) -> None:
    tokens = names.a.tokens[None]
    logits, cache = model.run_with_cache(tokens)
    chances = logits[0, -1].softmax(-1)
    mary = model.to_single_token(" Mary")
    assert _number('probability " Mary"', names) == pytest.approx(float(chances[mary]), abs=TOLERANCE)
    assert _of("prediction", names) == "␣Mary"
    john = model.to_single_token(" John")
    difference = float(logits[0, -1, mary] - logits[0, -1, john])
    assert _number('logit_difference " Mary" " John"', names) == pytest.approx(difference, abs=1e-3)
    row = cache["pattern", 2][0, 1, -1]
    assert _number("weight L2H1 last 2", names) == pytest.approx(float(row[2]), abs=TOLERANCE)
    assert _of("attended L2H1 last", names) == names.a.labels[int(row.argmax())]


def test_b_is_the_run_with_edits(model: Transformer) -> None:
    edited = run_prompt(model, A, edits=(AblateHeads(((1, 1),)),))
    both = compare(run_prompt(model, A), edited)

    def zero(z: torch.Tensor, hook: object) -> torch.Tensor:
        z[:, :, 1] = 0
        return z

    logits = model.run_with_hooks(edited.tokens[None], fwd_hooks=[("blocks.1.attn.hook_z", zero)])
    chance = float(logits[0, -1].softmax(-1)[model.to_single_token(" Mary")])
    assert _number('probability " Mary" in B', both) == pytest.approx(chance, abs=TOLERANCE)


@pytest.mark.usefixtures("unchecked")  # a batch of patches grows within a pass
def test_patched_share_is_that_of_a_hook(model: Transformer, names: Comparison) -> None:
    assert names.b is not None
    tokens_a, tokens_b = names.a.tokens[None], names.b.tokens[None]
    _, of_b = model.run_with_cache(tokens_b)
    pair = [model.to_single_token(text) for text in (" Mary", " John")]

    def difference(tokens: torch.Tensor, head: tuple[int, int] | None = None) -> float:
        def put(z: torch.Tensor, hook: object) -> torch.Tensor:
            assert head is not None
            z[:, :, head[1]] = of_b["z", head[0]][:, :, head[1]]
            return z

        hooks = [] if head is None else [(f"blocks.{head[0]}.attn.hook_z", put)]
        logits = model.run_with_hooks(tokens, fwd_hooks=hooks)[0, -1]
        return float(logits[pair[0]] - logits[pair[1]])

    clean, other = difference(tokens_a), difference(tokens_b)
    heads = [(layer, head) for layer in range(4) for head in range(4)]
    shares = {head: (difference(tokens_a, head) - clean) / (other - clean) for head in heads}
    largest = max(shares, key=lambda head: abs(shares[head]))
    name = "L{}H{}".format(*largest)
    assert _of("top 1 patched", names) == (name,)
    assert _number(f"score patched {name}", names) == pytest.approx(shares[largest], abs=1e-3)


def test_induction_is_the_mean_weight_on_what_came_next(model: Transformer) -> None:
    prompt = "one two three one two three"
    run = run_prompt(model, prompt)
    tokens = run.tokens.tolist()
    _, cache = model.run_with_cache(run.tokens[None])
    repeated = [(query, tokens.index(token) + 1) for query, token in enumerate(tokens) if tokens.index(token) < query]
    means = torch.stack([cache["pattern", layer][0] for layer in range(4)])
    scores = torch.stack([means[:, :, query, key] for query, key in repeated]).mean(0)
    best = divmod(int(scores.argmax()), 4)
    assert _of("top 1 induction", Comparison(run)) == ("L{}H{}".format(*best),)


@pytest.mark.parametrize(
    "text", ["weight L9H0 0 0", "weight L0H0 99 0", 'probability "no such token"', "top 1 patched"]
)
def test_what_the_runs_do_not_have_is_said(model: Transformer, text: str) -> None:
    with pytest.raises(InputError):
        _of(text, Comparison(run_prompt(model, A)))


def test_b_and_translations_are_missed_in_a_sentence(names: Comparison) -> None:
    alone = Comparison(names.a)
    with pytest.raises(InputError, match="There is no B here"):
        _of("prediction in B", alone)
    with pytest.raises(InputError, match="a quantity of translations"):
        _of("written 0", alone)


def test_answers_are_read_as_people_write_them() -> None:
    assert is_right("L1H1", ("L1H0", "L1H1"), 0)
    assert is_right(" l1h1 ", ("L1H1",), 0)
    assert not is_right("L11", ("L1H1",), 0)
    assert is_right("“ key”", "␣key", 0)
    assert is_right("key", "␣key", 0)
    assert not is_right("keys", "␣key", 0)
    assert is_right("⟨bos⟩", "<|endoftext|>", 0)
    assert is_right("bos", "<|endoftext|>", 0)
    for answer in ("<|endoftext|>", "endoftext", "⟨bos⟩", "bos"):
        assert is_right(answer, "⟨bos⟩", 0)
    assert not is_right("key", "<|endoftext|>", 0)
    assert is_right("96 %", 0.955, 0.01)
    assert is_right("0,96", 0.955, 0.01)
    assert not is_right("0.9", 0.955, 0.01)
    assert read_number("−1.5") == -1.5
    with pytest.raises(InputError, match="Write a number"):
        is_right("much", 0.5, 0.1)


def test_a_shown_number_is_the_value_rounded() -> None:
    assert is_shown_as("96%", 0.9599)
    assert not is_shown_as("95%", 0.9599)
    assert is_shown_as("0.85", 0.8452)
    assert not is_shown_as("0.84", 0.8452)
    assert is_shown_as("−1.2", -1.24)


def test_a_quantity_says_its_run_and_its_kind() -> None:
    assert read_quantity('probability " key" in B').side == "B"
    assert read_quantity("top 2 induction").kind == "head"


def test_a_token_is_named_in_quotation_marks_and_a_special_one_in_its_own() -> None:
    assert (written("␣key"), written("⟨bos⟩")) == ("“key”", "⟨bos⟩")


def test_a_number_is_named_in_percent_to_whoever_answers_in_percent() -> None:
    assert (written(0.00657), written(0.00657, "0.7%"), written(-1.5, "2")) == ("0.00657", "0.657%", "−1.5")


@pytest.mark.parametrize(
    ("value", "answer", "like", "named"),
    [
        (0.67476, "0.7", "0.67", "0.67"),
        (0.67476, "67%", "0.67", "67%"),
        (0.00489, "0.5%", "0.5%", "0.5%"),
        (0.00489, "0.005", "0.5%", "0.005"),
        (-4.966, "-5", "−4.97", "−4.97"),
        (5.96, "6", "6", "6"),
    ],
)
def test_a_number_is_named_as_exactly_as_another(value: float, answer: str, like: str, named: str) -> None:
    assert written(value, answer, like) == named

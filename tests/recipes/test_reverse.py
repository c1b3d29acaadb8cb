"""The embedded model reverse does what its card says; its data are what the card says."""

import re

import numpy as np
import pytest
import torch

from headlight.model.checkpoints.loading import load_seq2seq
from headlight.model.decoding import greedy
from headlight.model.nn.seq2seq import Seq2SeqTransformer
from headlight.model.training.cards import SEEDS, folder_of
from headlight.model.training.pairs import pad_pairs
from headlight.model.training.train_seq2seq import new_model
from headlight.recipes.reverse import CONFIG, SETTINGS, STEPS, SYMBOLS, Reversals, mirrored, reversals
from headlight.recipes.reverse_card import FIGURES, unseen


@pytest.fixture(scope="module")
def reverse() -> Seq2SeqTransformer:
    return load_seq2seq("reverse")


@pytest.fixture(scope="module")
def card(reverse: Seq2SeqTransformer) -> dict[str, list[float]]:
    """What the card states: mean, lowest and highest value by figure."""
    text = (folder_of(reverse) / "README.md").read_text(encoding="utf-8")
    rows = re.findall(
        r"\| (\S+) \((\S+) to (\S+)\) \| yes \| "
        r"`python -m headlight\.recipes\.reverse_card (\w+)` \|",
        text,
    )
    return {name: [float(value) for value in values] for *values, name in rows}


def test_the_card_states_every_figure_and_each_is_kept(card: dict[str, list[float]]) -> None:
    assert set(card) == set(FIGURES)
    assert not [name for name, values in card.items() if not all(map(FIGURES[name].holds, values))]


@pytest.mark.thorough
@pytest.mark.parametrize("name", FIGURES)
def test_a_figure_measured_now_is_the_one_on_the_card(
    name: str, reverse: Seq2SeqTransformer, card: dict[str, list[float]]
) -> None:
    _, lowest, highest = card[name]
    # Another machine's sums may turn one close call of some thousand; the card is written after its own size is taken.
    slack = 0.0005 if name != "megabytes" else 0.01
    assert lowest - slack <= FIGURES[name].measure(reverse, SEEDS[0]) <= highest + slack


def test_a_typed_sequence_comes_back_reversed(reverse: Seq2SeqTransformer) -> None:
    typed = "ba ke ze mo ba tu ra pe"
    (written,) = greedy(reverse, reverse.to_source_tokens(typed))
    assert reverse.target_tokenizer is not None
    assert reverse.target_tokenizer.to_string(written.tokens) == "pe ra tu ba mo ze ke ba </s>"


def test_an_untrained_model_neither_reverses_nor_looks_at_the_mirrored_position() -> None:
    model = new_model(CONFIG, seed=1).eval()
    batch = pad_pairs(unseen(1)[:200])
    assert mirrored(model, batch).float().mean() < 0.3
    written = greedy(model, batch.source, batch.source_mask)
    assert not [1 for each, (_, target) in zip(written, unseen(1), strict=False) if each.tokens.tolist() == target]


def test_mirrored_is_measured_at_every_symbol_of_every_length() -> None:
    """A model whose attention is replaced by the anti-diagonal has all right, by the diagonal the middle alone."""
    model, pairs = new_model(CONFIG, seed=1).eval(), [([5, 6, 7, 1], [7, 6, 5, 1]), ([8, 9, 1], [9, 8, 1])]
    batch = pad_pairs(pairs)

    def share(source_of: torch.Tensor) -> float:
        """With all attention of a row on one source, given as [batch, query]."""
        run = model.run_with_cache

        def looking(*arguments: object) -> object:
            _, cache = run(*arguments)  # type: ignore[arg-type]
            return None, {name: torch.eye(4)[source_of][:, None].expand(-1, 4, -1, -1) for name in cache}

        model.run_with_cache = looking  # type: ignore[assignment, method-assign]
        is_mirrored = mirrored(model, batch)
        model.run_with_cache = run  # type: ignore[method-assign]
        assert len(is_mirrored) == 3 + 2
        return is_mirrored.float().mean().item()

    assert share(torch.tensor([[2, 1, 0, 3], [1, 0, 0, 0]])) == 1
    assert share(torch.tensor([[0, 1, 2, 3], [0, 1, 2, 2]])) == pytest.approx(1 / 5)


def test_the_data_are_sequences_of_8_to_16_symbols_reversed_and_fresh_at_every_step() -> None:
    pairs = reversals(5_000, np.random.default_rng(0))
    assert {len(source) for source, _ in pairs} == set(range(9, 18))
    assert {token for source, _ in pairs for token in source[:-1]} == set(range(3, 100))
    assert all(target == [*source[-2::-1], 1] for source, target in pairs)
    data = Reversals(SETTINGS.seed)
    assert data.pairs(3) == Reversals(SETTINGS.seed).pairs(3) != data.pairs(STEPS - 1)
    assert len(set(SYMBOLS)) == 97

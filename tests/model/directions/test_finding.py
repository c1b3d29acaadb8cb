"""Directions found by each method, against scikit-learn, numpy and formulas written out; and what is refused."""

from collections.abc import Mapping

import numpy as np
import pytest
import torch
from sklearn.decomposition import PCA
from sklearn.linear_model import LogisticRegression

from headlight.model.base.errors import InputError, NotFiniteError
from headlight.model.directions.examples import Examples, contrasted_examples, labelled_examples
from headlight.model.directions.finding import METHODS, find_directions, fit
from headlight.model.directions.streams import read_streams
from headlight.model.prompt_sets.encoding import to_tokens
from headlight.model.prompt_sets.prompt_set import PromptPair, PromptSet
from tests.model.directions.plural import mini, plural_examples, plural_streams
from tests.model.oracles import random_model
from tests.model.runs.edits.lettered import words

RNG = np.random.default_rng(0)
LABELS = np.arange(20) % 2 == 0
ROWS = RNG.normal(size=(20, 6)) + 0.7 * LABELS[:, None] * RNG.normal(size=6) + 3.0
PAIRS = [(place, place + 1) for place in range(0, 20, 2)]
TIGHT = 1e-9  # all is float64; SVD and LAPACK differ by rounding alone


def cosine(one: np.ndarray, other: np.ndarray) -> float:
    return float(one @ other / np.linalg.norm(one) / np.linalg.norm(other))


def test_the_difference_of_means_is_that() -> None:
    direction = fit(torch.tensor(ROWS), torch.tensor(LABELS), PAIRS, "difference")
    first, second = ROWS[LABELS].mean(0), ROWS[~LABELS].mean(0)
    assert cosine(direction.unit.numpy(), first - second) == pytest.approx(1, abs=TIGHT)
    scores = direction.score(torch.tensor(np.stack([first, second, (first + second) / 2])))
    assert scores.tolist() == pytest.approx([1, -1, 0], abs=TIGHT)


def test_the_first_component_of_paired_differences_is_scikit_learns() -> None:
    direction = fit(torch.tensor(ROWS), torch.tensor(LABELS), PAIRS, "pca")
    differences = np.stack([ROWS[first] - ROWS[second] for first, second in PAIRS])
    component = PCA(1).fit(np.concatenate([differences, -differences])).components_[0]
    assert abs(cosine(direction.unit.numpy(), component)) == pytest.approx(1, abs=TIGHT)
    assert cosine(direction.unit.numpy(), differences.mean(0)) > 0


def test_logistic_regression_is_scikit_learns() -> None:
    """The same sides and the same vector as a regression on centred rows over one number, intercept included."""
    direction = fit(torch.tensor(ROWS), torch.tensor(LABELS), PAIRS, "logistic")
    centred = ROWS - ROWS.mean(0)
    scaled = centred / np.sqrt((centred**2).mean())
    reference = LogisticRegression(C=1.0, max_iter=1000).fit(scaled, LABELS)
    assert cosine(direction.unit.numpy(), reference.coef_[0]) == pytest.approx(1, abs=1e-6)  # of L-BFGS's own tolerance
    own = (direction.score(torch.tensor(ROWS)) * direction.half).numpy()
    theirs = reference.decision_function(scaled) / np.linalg.norm(reference.coef_) * np.sqrt((centred**2).mean())
    np.testing.assert_allclose(own, theirs, atol=1e-5)


def test_streams_are_those_of_each_prompt_alone() -> None:
    model = words(random_model())
    texts = ["a b c", "c b", "d e f", "g h", "i a b"]
    rows = [
        PromptPair(text, positions={"mid": (1, None)}, labels={"kind": "xy"[n % 2]}) for n, text in enumerate(texts)
    ]
    prompts = PromptSet("letters", tuple(rows))
    tokens = to_tokens(prompts, model.tokenizer)
    for position in ("end", "mid", "mean"):
        streams = read_streams(model, labelled_examples(prompts, tokens, "kind", position=position))
        for place, text in enumerate(texts):
            ids = model.to_tokens(text)
            _, cache = model.run_with_cache(ids)
            states = [cache[f"blocks.{layer}.hook_resid_pre"][0] for layer in range(model.cfg.n_layers)]
            states.append(cache[f"blocks.{model.cfg.n_layers - 1}.hook_resid_post"][0])
            for state, resid in enumerate(states):
                expected = {"end": resid[-1], "mid": resid[1], "mean": resid[1:].mean(0)}[position]
                torch.testing.assert_close(streams[state, place], expected, rtol=1e-5, atol=1e-5)


def test_a_direction_is_as_long_as_the_stream_on_average() -> None:
    for method in METHODS:
        direction = find_directions(mini(), plural_examples(), method, streams=plural_streams())
        assert (direction.name, direction.model, direction.method) == ("plural", "mini", METHODS[method])
        norms = plural_streams().norm(dim=-1).mean(1)
        for layer, vector in direction.vectors.items():
            assert float(vector.norm()) == pytest.approx(float(norms[layer]), rel=1e-5)


def test_clean_against_corrupted_is_of_pairs() -> None:
    model = words(random_model())
    rows = [PromptPair(f"a {x} c", f"a {y} c", ("d",), ("e",)) for x, y in ("bd", "ef", "gh")]
    prompts = PromptSet("letters", tuple(rows))
    examples = contrasted_examples(prompts, to_tokens(prompts, model.tokenizer))
    assert examples.pairs == ((0, 1), (2, 3), (4, 5))
    assert [row.is_positive for row in examples.rows] == [True, False] * 3
    assert examples.has_answers
    assert len({row.group for row in examples.rows}) == 3
    direction = find_directions(model, examples)
    (first, second) = (read_streams(model, examples)[2][side::2] for side in (0, 1))
    by_hand = (first - second).mean(0)
    assert cosine(direction.vectors[2].numpy(), by_hand.numpy()) == pytest.approx(1, abs=1e-6)


def examples_of(texts: Mapping[str, str], **options: str) -> Examples:
    """Examples of texts with a label each."""
    model = words(random_model())
    prompts = PromptSet("letters", tuple(PromptPair(text, labels={"kind": label}) for text, label in texts.items()))
    return labelled_examples(prompts, to_tokens(prompts, model.tokenizer), "kind", **options)


def test_bad_sets_are_refused_with_what_to_do() -> None:
    for texts, said in (
        ({"a b": "x", "b c": "x"}, "one class only, 'x'"),
        ({"a b": "x", "b c": "y", "c d": "z"}, r"has 3 labels: x, y, z\. Choose two of them"),
        ({"a b": "x", "b c": "y", "c d": "y"}, "1 usable prompts of the class 'x'"),
        ({"a b": "", "b c": ""}, "no labels in a column 'kind'"),
    ):
        with pytest.raises(InputError, match=said):
            examples_of(texts)
    good = {"a b": "x", "b c": "y", "c d": "x", "d e": "y"}
    with pytest.raises(InputError, match=r"Row 1 has no position 'S1'\. Name it in every row"):
        examples_of(good, position="S1")
    with pytest.raises(InputError, match="Row 1 has nothing in the column 'topic'"):
        examples_of(good, group="topic")
    model = words(random_model())
    prompts = PromptSet("letters", (PromptPair("a b"), PromptPair("b c")))
    with pytest.raises(InputError, match="Row 1 of the set letters has no corrupted prompt"):
        contrasted_examples(prompts, to_tokens(prompts, model.tokenizer))


def test_streams_that_are_not_finite_are_refused() -> None:
    model = words(random_model())
    with torch.no_grad():
        model.embed.W_E[0] = float("nan")
    prompts = PromptSet(
        "letters",
        tuple(PromptPair(text, labels={"k": k}) for text, k in zip(("a b", "b a", "c b", "d a"), "xyxy", strict=True)),
    )
    with pytest.raises(NotFiniteError, match="no direction can be found"):
        read_streams(model, labelled_examples(prompts, to_tokens(prompts, model.tokenizer), "k"))


def test_equal_classes_have_no_direction() -> None:
    rows = torch.ones(6, 3, dtype=torch.float64)
    for method in METHODS:
        with pytest.raises(InputError, match="give the same stream"):
            fit(rows, torch.arange(6) % 2 == 0, [(0, 1)], method)

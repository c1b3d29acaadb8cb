"""The plural direction of mini: found, held out, causal; each number beside an independent computation."""

import pytest
import torch
from sklearn.metrics import roc_auc_score

from headlight.model.base.errors import InputError
from headlight.model.directions.dosing import dose_curve, effect, verdict
from headlight.model.directions.examples import Examples
from headlight.model.directions.finding import direction_in
from headlight.model.directions.held_out import auroc, folds_of, held_out
from headlight.model.runs.edits import EditDirection
from headlight.model.runs.run import run_prompt
from tests.model.directions.plural import mini, plural_examples, plural_streams

LAST = 4  # after the last layer of mini
FOLDS = 3


def test_no_template_is_on_both_sides_of_a_split() -> None:
    folds = folds_of(plural_examples(), FOLDS)
    groups = [row.group for row in plural_examples().rows]
    for fold in range(FOLDS):
        tested = {group for group, own in zip(groups, folds.tolist(), strict=True) if own == fold}
        trained = {group for group, own in zip(groups, folds.tolist(), strict=True) if own != fold}
        assert tested
        assert not tested & trained


def test_number_is_read_from_templates_that_were_not_seen() -> None:
    """Chance at the embedding of a last token that is the attractor, nearly sure after the last layer."""
    result = held_out(plural_streams(), plural_examples(), folds=FOLDS, draws=3)
    assert result.accuracy[0] < 0.7
    assert result.auroc[LAST] > 0.95
    assert result.accuracy[LAST] > 0.9
    assert result.best >= 3
    assert abs(float(result.shuffled[LAST].mean()) - 0.5) < 0.2
    assert result.shuffled[LAST].max() < result.accuracy[LAST]
    assert result.random[LAST].mean() < result.accuracy[LAST]


def test_held_out_accuracy_is_that_of_a_loop_by_hand() -> None:
    streams, examples = plural_streams()[3].double(), plural_examples()
    folds, right = folds_of(examples, FOLDS), 0
    is_plural = torch.tensor([row.is_positive for row in examples.rows])
    for place, stream in enumerate(streams):
        train = folds != folds[place]
        means = [streams[train & (is_plural == side)].mean(0) for side in (True, False)]
        nearer = (stream - sum(means) / 2) @ (means[0] - means[1]) > 0
        right += int(bool(nearer) == bool(is_plural[place]))
    assert float(held_out(plural_streams(), examples, folds=FOLDS, draws=1).accuracy[3]) == pytest.approx(
        right / len(streams)
    )


def test_auroc_is_the_share_of_pairs_in_order() -> None:
    scores, labels = torch.tensor([0.1, 0.4, 0.35, 0.8, 0.4]), torch.tensor([False, False, True, True, True])
    pairs = [(p > n) + 0.5 * (p == n) for p in scores[labels] for n in scores[~labels]]
    assert auroc(scores, labels) == pytest.approx(float(sum(pairs)) / len(pairs)) == roc_auc_score(labels, scores)


def test_steering_flips_the_verb_and_a_random_vector_does_not() -> None:
    model, examples, streams = mini(), plural_examples(), plural_streams()
    folds = folds_of(examples, FOLDS)
    neutral = [model.to_tokens("The quick brown fox found a small key.", True)[0]]
    curve = dose_curve(model, examples, streams, folds, layers=[LAST], factors=(-1.0, 0.0, 1.0), neutral=neutral)
    moved, beyond = effect(curve, 1.0)
    assert moved.low > 5
    assert beyond.low > 5
    singular = ~torch.tensor(curve.is_positive)
    assert (curve.values[1][singular] < 0).float().mean() > 0.9
    assert (curve.values[2][singular] > 0).float().mean() > 0.9
    assert (curve.values[0][~singular] < 0).float().mean() > 0.9
    words = " ".join(verdict(curve, examples.classes, 0.95))
    assert "held-out accuracy of 95%, and it causes it" in words
    assert "prefer plural's answers without it" in words
    _check_by_hand(curve.values[2], folds)
    _check_cost(curve.cost.kl[2], curve.cost.loss[2], neutral[0]) if curve.cost else pytest.fail("no cost")


def _check_by_hand(values: torch.Tensor, folds: torch.Tensor) -> None:
    """One example by a hook of its own: the model with the vector added to the last stream, and two logits."""
    model, row = mini(), plural_examples().rows[5]
    vector = direction_in(
        plural_streams(), plural_examples(), "difference", rows=(folds != folds[5]).nonzero().flatten().tolist()
    ).vectors[LAST]
    with torch.inference_mode():
        logits = model.run_with_hooks(
            row.tokens[None], [("blocks.3.hook_resid_post", lambda resid, hook: resid + vector)]
        )
    by_hand = logits[0, -1, row.toward[0]] - logits[0, -1, row.away[0]]
    assert float(values[5]) == pytest.approx(float(by_hand), abs=1e-4)


def _check_cost(kl: torch.Tensor, loss: torch.Tensor, tokens: torch.Tensor) -> None:
    model, vector = mini(), direction_in(plural_streams(), plural_examples(), "difference").vectors[LAST]
    with torch.inference_mode():
        clean = model(tokens[None])[0, :-1]
        edited = model.run_with_hooks(tokens[None], [("blocks.3.hook_resid_post", lambda resid, hook: resid + vector)])[
            0, :-1
        ]
    expected = torch.nn.functional.kl_div(
        edited.log_softmax(-1), clean.log_softmax(-1), log_target=True, reduction="batchmean"
    )
    assert float(kl) == pytest.approx(float(expected), abs=1e-4)
    assert float(loss) == pytest.approx(float(torch.nn.functional.cross_entropy(edited, tokens[1:])), abs=1e-4)


def test_the_edit_flips_a_prompts_verb() -> None:
    direction = direction_in(plural_streams(), plural_examples(), "difference", "plural")
    prompt, edit = "The key near the door", EditDirection("plural", (LAST,), "add", 1.0)
    is_, are = (mini().to_single_token(text) for text in (" is", " are"))
    plain, edited = (
        run_prompt(mini(), prompt, True, edits, directions={"plural": direction}).next_logits for edits in ((), (edit,))
    )
    assert plain[is_] > plain[are]
    assert edited[are] > edited[is_]


def test_what_cannot_be_measured_is_said() -> None:
    examples, streams = plural_examples(), plural_streams()
    with pytest.raises(InputError, match=r"6 groups and is to be split into 9 folds.*split by rows"):
        folds_of(examples, 9)
    with pytest.raises(InputError, match="at least 2"):
        folds_of(examples, 1)
    without = examples.measured_by((), ())
    with pytest.raises(InputError, match="no answers and wrong answers"):
        dose_curve(mini(), without, streams, folds_of(examples, FOLDS))
    one_class = [row for row in examples.rows if row.group == examples.rows[0].group or not row.is_positive]
    rare = Examples("few", examples.classes, "end", tuple(one_class), (), True)
    with pytest.raises(InputError, match="All prompts of the class 'plural' fall into one of the 3 folds"):
        folds_of(rare, FOLDS)

"""Where a lens's best guess changes and from where on it stays, against a walk down each position's layers."""

from itertools import pairwise

import torch

from headlight.model import load
from headlight.model.lens.run_lens import logit_lens
from headlight.model.lens.story import changed_guesses, settled_layers
from headlight.model.runs.run import run_prompt


def test_a_guess_changes_and_settles_where_a_walk_over_the_layers_says() -> None:
    """Also a guess that comes, goes and comes again, and one that a lens does not read."""
    best = torch.randint(-1, 3, (9, 40), generator=torch.Generator().manual_seed(0))
    changed, settled = changed_guesses(best), settled_layers(best)
    for position, guesses in enumerate(best.T.tolist()):
        assert changed[:, position].tolist() == [True, *(a != b for a, b in pairwise(guesses))]
        stays = len(guesses) - 1
        while stays > 0 and guesses[stays - 1] == guesses[-1]:
            stays -= 1
        assert settled[position] == stays
    assert len(set(settled.tolist())) > 3


def test_the_final_answers_probability_is_that_of_each_layers_logits() -> None:
    """Every layer's stream through the final norm and the unembedding by hand; float32 sums in another order."""
    run = run_prompt(load("mini"), "one two one two")
    model, read = run.model, logit_lens(run)
    with torch.no_grad():
        logits = [model.to_unembed(stream[None])[0] @ model.unembed.W_U + model.unembed.b_U for stream in run.streams()]
        answers = model(run.tokens[None])[0].argmax(-1)
    expected = torch.stack([each.softmax(-1).gather(1, answers[:, None])[:, 0] for each in logits])
    torch.testing.assert_close(read.final_probs.values, expected, rtol=1e-4, atol=1e-6)
    torch.testing.assert_close(read.final_probs.values[-1], read.top_probs.values[-1, :, 0])

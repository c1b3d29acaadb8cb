"""Probabilities and divergences of outputs, beside torch.distributions."""

import torch
from torch.distributions import Bernoulli, Categorical, Independent, kl_divergence

from headlight.model.measure import likelihood


def test_kl_is_that_of_torchs_distributions() -> None:
    generator = torch.Generator().manual_seed(0)
    logits, edited = torch.randn(30, generator=generator), torch.randn(3, 30, generator=generator)
    one_of_all = Categorical(logits=logits.double()), Categorical(logits=edited.double())
    each_alone = (Independent(Bernoulli(logits=each.double()), 1) for each in (logits.expand(3, -1), edited))
    for multi_label, distributions in ((False, one_of_all), (True, each_alone)):
        moved = likelihood.kl_divergence(logits, edited, multi_label).values
        torch.testing.assert_close(moved, kl_divergence(*distributions), rtol=1e-12, atol=1e-12)  # float64
        assert likelihood.kl_divergence(logits, logits[None], multi_label).values.tolist() == [0.0]


def test_labels_that_a_text_may_have_several_of_have_probabilities_of_their_own() -> None:
    logits = torch.tensor([0.0, 2.0])
    torch.testing.assert_close(likelihood.probabilities(logits, multi_label=True), Bernoulli(logits=logits).probs)
    torch.testing.assert_close(likelihood.probabilities(logits), Categorical(logits=logits).probs)
    assert likelihood.probabilities(logits[:1]).item() == 0.5  # an only output: the label or not

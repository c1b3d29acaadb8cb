"""Writing with a model, a token at a time: greedy, beam search and sampling, for both kinds of model.

    (written,) = greedy(model, model.to_tokens("Once"), max_new_tokens=20)
    model.to_string(written.tokens)

A decoder-only model continues the prompt; an encoder-decoder takes the prompt as its source and writes the target.
"""

from model.decoding.beam import BeamSearch, Expansion, Hypothesis, beam_search
from model.decoding.distributions import Distributions, Sampling, distributions
from model.decoding.generate import greedy, sample, sample_anew
from model.decoding.key_values import KeyValueCache
from model.decoding.written import Generation, Reason

__all__ = [
    "BeamSearch",
    "Distributions",
    "Expansion",
    "Generation",
    "Hypothesis",
    "KeyValueCache",
    "Reason",
    "Sampling",
    "beam_search",
    "distributions",
    "greedy",
    "sample",
    "sample_anew",
]

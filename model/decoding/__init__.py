"""Writing with a model, a token at a time: greedy, beam search and sampling, for both kinds of model.

    (written,) = greedy(model, model.to_tokens("Once"), max_new_tokens=20)
    model.to_string(written.tokens)

A decoder-only model continues the prompt; an encoder-decoder takes the prompt as its source and writes the target.
"""

from headlight.model.decoding.beam import BeamSearch, Expansion, Hypothesis, beam_search
from headlight.model.decoding.distributions import Distributions, Sampling, distributions
from headlight.model.decoding.generate import greedy, sample, sample_anew
from headlight.model.decoding.key_values import KeyValueCache
from headlight.model.decoding.translation import Translation, translate
from headlight.model.decoding.translations import Translations, compare_translations
from headlight.model.decoding.written import Generation, Reason

__all__ = [
    "BeamSearch",
    "Distributions",
    "Expansion",
    "Generation",
    "Hypothesis",
    "KeyValueCache",
    "Reason",
    "Sampling",
    "Translation",
    "Translations",
    "beam_search",
    "compare_translations",
    "distributions",
    "greedy",
    "sample",
    "sample_anew",
    "translate",
]

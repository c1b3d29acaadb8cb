"""Why a page is unavailable for these runs, as a sentence for the user."""

from headlight.model.runs.comparison import Comparison
from headlight.model.runs.edits.interventions import no_neurons
from headlight.model.runs.linear import no_reading, no_split


def language_model(comparison: Comparison) -> str:
    """A model whose outputs are tokens."""
    for run in comparison.runs:
        if run.cfg.d_vocab_out != run.cfg.d_vocab:
            classes = f"{run.source.name} outputs {run.cfg.d_vocab_out:,} classes, not tokens"
            return f"{classes}, so there is no lens. Open a language model."
    return ""


def two_tokens(comparison: Comparison) -> str:
    """A model that predicts tokens, of which there are two."""
    return language_model(comparison) or next(
        (
            f"{run.source.name} has a single token, so there is no logit difference. Open another model."
            for run in comparison.runs
            if run.cfg.d_vocab < 2
        ),
        "",
    )


def sums(comparison: Comparison) -> str:
    """Two tokens, and logits that are sums over what was written to the stream."""
    return two_tokens(comparison) or next(filter(None, (no_reading(run.model) for run in comparison.runs)), "")


def attribution(comparison: Comparison) -> str:
    """The same, for a page of such sums alone: with what to do instead."""
    if obstacle := two_tokens(comparison):
        return obstacle
    reason = sums(comparison)
    return f"{reason} Use Patching, which needs no such sum, or open another model." if reason else ""


def neurons(comparison: Comparison) -> str:
    """Two tokens, MLPs whose neurons all tokens share, and in B neurons of the same names as in A."""
    if obstacle := two_tokens(comparison) or next(filter(None, (no_neurons(run.cfg) for run in comparison.runs)), ""):
        return obstacle
    shapes = [f"{run.cfg.n_layers} layers of {run.cfg.d_mlp:,}" for run in comparison.runs]
    if len(set(shapes)) == 1:
        return ""
    return (
        f"A has {shapes[0]} neurons and B {shapes[1]}, so their neurons do not correspond. Close B, or compare with a "
        "model of the same shape."
    )


def split(comparison: Comparison) -> str:
    """Streams that are sums of what was written to them."""
    return next(filter(None, (no_split(run.model) for run in comparison.runs)), "")

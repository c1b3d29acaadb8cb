"""Why a page is unavailable for these runs, as a sentence for the user."""

from headlight.model.prompt_sets.encoding import not_read_last
from headlight.model.runs.comparison import Comparison
from headlight.model.runs.edits.interventions import no_neurons
from headlight.model.runs.linear import no_reading, no_split
from headlight.model.runs.run import Run


def language_model(comparison: Comparison) -> str:
    """A model whose outputs are tokens."""
    for run in comparison.runs:
        if said := outputs_of(run):
            return f"{said}, so there is no lens. Open a language model."
    return ""


def outputs_of(run: Run) -> str:
    """Outputs of a model that are not the tokens that it reads."""
    cfg, called = run.cfg, run.source.short_name
    if cfg.output == "none":
        return f"{called} has no language-model head: its output is its last hidden state"
    if cfg.output == "answer span":
        return f"{called} outputs where an answer starts and ends, not tokens"
    if cfg.d_vocab_out != cfg.d_vocab:
        return f"{called} outputs {cfg.d_vocab_out:,} {'labels' if cfg.output_labels else 'classes'}, not tokens"
    return f"{called} outputs labels, not tokens" if cfg.output_labels else ""


def logits(comparison: Comparison) -> str:
    """A model with outputs that have names, of which there are two or an only one, and the same in A and in B."""
    for run in comparison.runs:
        if run.cfg.output == "none":
            return (
                f"{outputs_of(run)}, so there is no logit to explain. Open the model with its head, or choose "
                "Attention, Residual stream or Information flow, which need none."
            )
        if not run.cfg.output_labels and (said := outputs_of(run)):
            return f"{said}, so there is no lens. Open a language model."
    if len({run.cfg.output_labels for run in comparison.runs}) > 1:
        return "A's model and B's have other labels, so no logit of one is one of the other's. Close B."
    return next(
        (
            f"{run.source.name} has a single token, so there is no logit difference. Open another model."
            for run in comparison.runs
            if run.cfg.d_vocab < 2
        ),
        "",
    )


def explained(comparison: Comparison) -> str:
    """Require logits in every run, or in none: of bodies a head's scores are explained, and no logit."""
    return "" if all(run.cfg.output == "none" for run in comparison.runs) else logits(comparison)


def sums(comparison: Comparison) -> str:
    """Require two outputs, and logits that are sums over writes to the stream."""
    return logits(comparison) or next(filter(None, (no_reading(run.model) for run in comparison.runs)), "")


def last_token(comparison: Comparison) -> str:
    """Require outputs that are read at a prompt's last token, where sets are measured."""
    return logits(comparison) or next(filter(None, (not_read_last(run.cfg) for run in comparison.runs)), "")


def ov_circuit(comparison: Comparison) -> str:
    """Require outputs that are tokens, and logits that are such sums, for a circuit from tokens to tokens."""
    return language_model(comparison) or sums(comparison)


def neurons(comparison: Comparison) -> str:
    """Two outputs, MLPs whose neurons all tokens share, and in B neurons of the same names as in A."""
    if obstacle := logits(comparison) or next(filter(None, (no_neurons(run.cfg) for run in comparison.runs)), ""):
        return obstacle
    shapes = [f"{run.cfg.n_layers} layers of {run.cfg.d_mlp:,}" for run in comparison.runs]
    if len(set(shapes)) == 1:
        return ""
    return (
        f"A has {shapes[0]} neurons and B {shapes[1]}, so their neurons do not correspond. Close B, or compare with a "
        "model of the same shape."
    )


def split(comparison: Comparison) -> str:
    """Require streams that are sums of their components' writes."""
    return next(filter(None, (no_split(run.model) for run in comparison.runs)), "")

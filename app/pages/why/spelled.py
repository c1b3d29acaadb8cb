"""Sentences of the page *Why*: the score, the write, the interventions, and the errors of sums."""

from collections.abc import Mapping

from headlight.app.parts.labels import number, signed
from headlight.app.parts.pair import said_of_cap
from headlight.app.parts.sides import DIFFERENCE
from headlight.app.runs import runs
from headlight.model.attribution.explanation import Explained
from headlight.model.attribution.output_layers import output_layers
from headlight.model.attribution.score import Why
from headlight.model.attribution.tables import capped_difference, edge_effect
from headlight.model.runs.comparison import Comparison


def rounding(value: float) -> str:
    """Rounding error, of which only the size means something."""
    return f"{value:.1e}".replace("-", "−")


def score(comparison: Comparison, at: Explained) -> str:
    """The score, the weight that it becomes, and how exactly its parts add up to it."""
    scored = at.why.parts
    names = (comparison.token_at(at.run, position) for position in (at.cell.query, at.cell.key))
    return (
        f"{' looks at '.join(names)}:  score {value(at, at.why)}, weight {number(at.why.weight)}. "
        f"Decomposition error: {rounding(float(scored.residual.values))}.{_shared(at)}"
    )


def value(at: Explained, why: Why) -> str:
    """A score, and its value after the model's soft cap, if there is one."""
    cap, said = at.run.cfg.attn_scores_soft_cap, number(float(why.parts.score.values))
    if cap is None or why.capped is None:
        return said
    return f"{said}, which the soft cap of {cap:g} makes {number(why.capped)}"


def score_name(at: Explained) -> str:
    """Name of the score that the parts sum to."""
    return "pre-softmax score" if at.why.capped is None else "score before the soft cap"


def caps(at: Explained) -> str:
    """Effect of the model's soft caps on the score and on the difference that the parts sum to, in short."""
    said = []
    if at.why.capped is not None:
        said.append(f"the soft cap makes the score {number(at.why.capped)}")
    if at.run.cfg.output_logits_soft_cap is not None:
        said.append(f"that of the logits makes the difference {number(capped_difference(at))}")
    return "; ".join(said)


def _shared(at: Explained) -> str:
    """With which heads this one shares its keys and values, if with any."""
    cfg, (_, head) = at.run.cfg, at.head
    others = [f"H{each}" for each in range(cfg.n_heads) if each != head and cfg.group_of(each) == cfg.group_of(head)]
    return f" Shares its key/value head with {', '.join(others)} (grouped-query attention)." if others else ""


def write(at: Explained) -> str:
    """Norm of the write, and its direct effect."""
    written = at.written
    direct = f"Direct effect on target − distractor: {signed(edge_effect(at))} logits"
    if not at.is_read:
        direct = "No direct effect on target − distractor, which is read at another position"
    return f"L2 norm {number(float(written.norm.values))}. {direct}."


def outcomes(at: Explained) -> str:
    """Sentences on the ablation, and on results that are unavailable."""
    whole, one = ("distribution of labels", "label") if at.run.label_names else ("next-token distribution", "token")
    lines = [
        "Hollow bars: direct effect. Filled bars: total effect, measured by running the rest of the model. "
        f"KL (nats): change of the whole {whole}; →: the {one} predicted then.",
        mean(at),
    ]
    if at.cell.query > at.question.position and at.run.cfg.attention_dir == "causal":
        lines.append("The query comes after the prediction, so ablating the edge cannot change it.")
    return " ".join([*lines, resampled(at)])


def mean(at: Explained) -> str:
    """Tokens over which the head's mean is taken."""
    if not at.replacements.mean_over:
        return f"The mean is over the {len(at.run.tokens):,} tokens of this prompt."
    over = runs.z_sums(at.run.source.name, at.replacements.mean_over, at.run.bos)
    n_prompts = len(at.replacements.mean_over)
    return f"The mean is over {over.n_tokens:,} tokens of {n_prompts:,} prompt{'' if n_prompts == 1 else 's'}."


def resampled(at: Explained) -> str:
    """Replacement of the head's output by resampling, or why it is unavailable."""
    other, n_own = at.replacements.other, len(at.run.tokens)
    if other is None:
        return "With a prompt B the head's output can also be replaced by its output there (resample ablation)."
    if at.replacements.can_resample(at.run):
        n_matched = len(at.replacements.matches)
        sentence = f"Resampled at {n_matched:,} of {n_own:,} positions, those matched with the other run."
        return sentence if n_matched < n_own else ""
    if not other.same_model(at.run):
        return "The other run is by another model, whose head outputs do not fit this one."
    return "No token of the other run matches one of this run: align by position."


def write_apart(sides: Mapping[str, Explained]) -> str:
    """Norm and direct effect of B's write minus A's."""
    (norm_a, effect_a), (norm_b, effect_b) = ((float(at.written.norm.values), edge_effect(at)) for at in sides.values())
    return (
        f"{DIFFERENCE}: L2 norm {signed(norm_b - norm_a)}; direct effect on target − distractor "
        f"{signed(effect_b - effect_a)} logits. Below: tokens that B promotes more, or less, than A."
    )


def effects(at: Explained) -> str:
    """Error of the sum of the effects, and the scale at which they are taken."""
    effects, capped = at.effects, said_of_cap([at.run])
    if capped:
        capped = f" {capped} It makes the difference {number(capped_difference(at))}."
    return (
        f"Contributions sum to {number(float(effects.values.values.sum()))} logits; the model's logit difference is "
        f"{number(float(effects.difference.values))} (error {rounding(float(effects.residual.values))}). "
        f"{_frozen(at)}{capped}"
    )


def _frozen(at: Explained) -> str:
    """What is held at this run's values, so that the effects are a sum."""
    cfg = at.run.cfg
    norms = "Scales of all norms behind a part" if cfg.post_norm else "Final norm scale"
    said = f"{norms} frozen at this run's value{'s' * cfg.post_norm}."
    if output_layers(at.run, at.question.position):
        name = "pooler" if cfg.pooler_act_fn else "output layer"
        said += f" The {name}'s activation function counts as the ratio of what it gave to what it took."
    return said

"""The sentences of the page *Why*: the score, the write, what was done, and how exactly the parts add up."""

from app.views.reasons import numbers, panels
from app.views.reasons.chosen import Explained
from app.views.steps.spelled import number


def score(at: Explained) -> str:
    """The score, the weight that it becomes, and how exactly its parts add up to it."""
    found = at.why.found
    names = (f"{position} {at.run.labels[position]}" for position in (at.cell.query, at.cell.key))
    return (
        f"{' looks at '.join(names)}:  score {number(float(found.score.values))} nats, weight {number(at.why.weight)}. "
        f"The parts' sum is off by {number(float(found.residual.values))}."
    )


def write(at: Explained) -> str:
    """How long the write is, and what it does directly."""
    written = at.written
    direct = f"directly {panels.signed(numbers.edge_effect(at))} logits to target − distractor"
    if at.cell.query != at.question.position:
        direct = "nothing directly to target − distractor, which is read off another position"
    return f"Length {number(float(written.norm.values))} (L2 norm). It adds {direct}."


def outcomes(at: Explained) -> str:
    """What was done, and what is lacking."""
    lines = [
        "Hollow: direct. Filled: measured by running the model on. KL (nats) of all next tokens; → what it then says."
    ]
    if at.cell.query > at.question.position and at.run.cfg.attention_dir == "causal":
        lines.append("The query comes after the prediction, so that cutting the edge cannot change it.")
    if at.other is None:
        lines.append("With a prompt B of as many tokens the head can also be given what it gives there.")
    elif len(at.outcomes.names) < 5:
        lines.append(
            f"The other prompt has {len(at.other.tokens)} tokens and this one {len(at.run.tokens)}, or another model: "
            "a head can be given what it gives there only where these are the same."
        )
    return " ".join(lines)


def effects(at: Explained) -> str:
    """How exactly the effects add up, and at which scale."""
    effects = at.effects
    return (
        f"All parts together: {number(float(effects.values.values.sum()))} logits; the model's own difference: "
        f"{number(float(effects.difference.values))}; off by {number(float(effects.residual.values))}. "
        "At the final LayerNorm scale of this run."
    )

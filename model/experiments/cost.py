"""About how long an experiment takes, from one timed batch of unchanged runs."""

from time import monotonic

import torch
from jaxtyping import Int
from torch import Tensor

from headlight.model.experiments.changes import cells_of
from headlight.model.experiments.plan import Plan, tokens_of
from headlight.model.nn.config import TransformerConfig
from headlight.model.nn.transformer import Transformer
from headlight.model.prompt_sets.encoding import batches

GRADIENT = 3.0  # a pass and its gradients, in passes
DIRECT = 3.0  # a pass and the parts of its last stream


def estimate_seconds(model: Transformer, plan: Plan) -> float:
    """Seconds that the plan takes on one worker."""
    rows = next(batches(plan.rows, plan.settings.batch))
    per_token = seconds_per_token(model, tokens_of(rows, plan.base_side))
    n_tokens = sum(len(row.clean) for row in plan.rows)
    return per_token * n_tokens * passes(plan, model.cfg)


@torch.inference_mode()
def seconds_per_token(model: Transformer, tokens: Int[Tensor, "row pos"]) -> float:
    """How long a pass takes for each token, timed on these."""
    tokens = tokens.to(model.embed.W_E.device)
    for _ in range(2):  # the first one opens what is read when it is needed
        began = monotonic()
        model(tokens, stop_at_layer=model.cfg.n_layers)
        seconds = monotonic() - began
    return seconds / tokens.numel()


def passes(plan: Plan, cfg: TransformerConfig) -> float:
    """How many whole passes each row takes; a changed run counts from its layer on."""
    settings, places = plan.settings, len(plan.places.labels) if plan.by_place else None
    match settings.measure:
        case "dla":
            return DIRECT
        case "lens" | "patterns":
            return 1.0
        case "attribution":
            return 2.0 + GRADIENT
        case "path":
            senders = plan.receiver[0] * len(cells_of("z", cfg, places))
            return 2.0 + senders * (1 + cfg.n_layers - plan.receiver[0]) / cfg.n_layers
    begin = 0.0 if settings.part == "resid_pre" else 0.5
    of_layer = len(cells_of(settings.part, cfg, places))
    return 2.0 + of_layer * sum(cfg.n_layers - layer - begin for layer in range(cfg.n_layers)) / cfg.n_layers

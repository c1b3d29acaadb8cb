"""What a run is estimated to take, before it is made."""

from headlight.app.runs.limits import Cost
from headlight.model import TransformerConfig

FLOPS = 4e10  # operations a second that one core of today reaches, so that the estimate errs on the slow side


def cost(cfg: TransformerConfig, n_tokens: int) -> Cost:
    """What a run is estimated to take, kept or passing, from its shapes alone."""
    heads, d_mlp = cfg.n_heads * cfg.d_head, cfg.d_mlp or 0
    writes = cfg.d_model * (1 if cfg.attn_only else 2)
    kept = cfg.n_layers * n_tokens * (3 * heads + writes)
    passing = 4 * cfg.n_heads * n_tokens**2 + 3 * n_tokens * (d_mlp + cfg.d_model)
    weights = cfg.n_layers * cfg.d_model * (4 * heads + 2 * d_mlp)
    operations = 2 * weights * n_tokens + 4 * cfg.n_layers * heads * n_tokens**2
    return Cost(4 * (kept + passing), operations / FLOPS)

"""What was fed to which model: one line, and the details behind it."""

import streamlit as st

from app.runs import Run
from app.selection import widget_key

HASH_SHOWN = 12  # hexadecimal digits of the weights' hash


def draw(run: Run) -> None:
    """The line above every page's content."""
    with st.container(horizontal=True, vertical_alignment="center", key="headlight-fed"):
        count = f"{len(run.tokens):,} token{'s' if len(run.tokens) > 1 else ''} fed"
        bos = "beginning-of-sequence token included" if run.bos else "no beginning-of-sequence token"
        st.text(f"{run.source.name} · {count}, {bos}", width="content")
        st.text(f"most likely next:  {_next_tokens(run)}", width="content")
        details = st.popover("About this model", type="tertiary", key=widget_key("about"), on_change="rerun")
        if details.open:  # the hash reads the whole file, so not before somebody looks
            with details:
                _details(run)


def _next_tokens(run: Run, count: int = 3) -> str:
    top = run.next_logits.softmax(-1).topk(count)
    labels = run.tokenizer.labels(top.indices)
    return "  ".join(f"“{label}” {_percent(share)}" for label, share in zip(labels, top.values.tolist(), strict=True))


def _percent(share: float) -> str:
    return "<1%" if share < 0.01 else f"{share:.0%}"


def _details(run: Run) -> None:
    cfg, source = run.cfg, run.source
    parameters = list(run.model.parameters())
    dtypes = sorted({str(parameter.dtype).removeprefix("torch.") for parameter in parameters})
    rows = {
        "model": source.name,
        "family": source.family,
        "layers × heads": f"{cfg.n_layers} × {cfg.n_heads}",
        "width (stream, head, MLP)": f"{cfg.d_model}, {cfg.d_head}, {cfg.d_mlp or 'no MLP'}",
        "vocabulary, context": f"{cfg.d_vocab:,} tokens, {cfg.n_ctx:,} tokens",
        "activation, attention": f"{cfg.act_fn}, {cfg.attention_dir}",
        "parameters": f"{sum(parameter.numel() for parameter in parameters):,}, {', '.join(dtypes)}",
        "revision": source.revision or "none: opened from this machine",
        "weights' SHA-256": f"{source.sha256[:HASH_SHOWN]}…",
        "token ids fed": " ".join(map(str, run.tokens.tolist())),
    }
    width = max(map(len, rows))
    st.code("\n".join(f"{name:<{width}}  {value}" for name, value in rows.items()), language=None, wrap_lines=True)

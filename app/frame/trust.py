"""Which model computed the numbers, on what, from which tokens; and on request, how exact they are."""

from collections.abc import Mapping

import streamlit as st

from headlight.app.analyses import checks
from headlight.app.runs import models, runs
from headlight.app.selection import widget_key
from headlight.app.server import boundary
from headlight.app.server.settings import settings
from headlight.model.analysis import Measure
from headlight.model.edits import describe, head_name
from headlight.model.run import Run

SUMS, TRANSFORMERS = "checks.sums", "checks.transformers"


def draw(run: Run, side: str) -> None:
    """The model, how it is computed, its input tokens, and two buttons that check the numbers of this run."""
    table(_model(run) | _machine(run))
    if by_hand := models.heads_by_hand(run.source.name):
        st.text("Its weights were written by hand:")
        table({head_name(head): does for head, does in by_hand.items()})
    if st.button("Check the sums", key=widget_key(f"check_sums{side}")):
        with boundary.guard(_say), st.spinner("Running the model again…"):
            run.keep(SUMS, lambda: checks.sums(run))
    if (found := runs.kept((*run.key, SUMS))) is not None:
        table(
            {
                "components": checks.summed(run),
                "components − final residual": f"{_tiny(found.components)} at most, "
                f"beside entries of up to {found.largest:.3g}",
                "attention rows − 1": f"{_tiny(found.rows)} at most",
            }
        )
    if st.button("Compare with transformers", key=widget_key(f"check_transformers{side}")):
        with boundary.guard(_say), st.spinner("Running transformers' own model…"):
            run.keep(TRANSFORMERS, lambda: checks.differences_from_transformers(run))
    if (differences := runs.kept((*run.key, TRANSFORMERS))) is not None:
        table(_beside_transformers(differences))


def _beside_transformers(found: checks.Differences) -> dict[str, str]:
    largest = "of the layer's largest entry at most"
    patterns = "not compared: all of them would take too much memory" if found.patterns is None else ""
    return {
        "logits − transformers' logits": f"{_tiny(found.logits)} at most, on this prompt",
        "streams before each layer": f"{_tiny(found.streams)} {largest}",
        "patterns of each layer": patterns or f"{_tiny(found.patterns or 0.0)} {largest}",
    }


def _tiny(value: Measure | float) -> str:
    return f"{float(value if isinstance(value, float) else value.values):.1e}".replace("-", "−")


def _say(reason: str) -> None:
    st.text(reason)


def _model(run: Run) -> dict[str, str]:
    cfg, source = run.cfg, run.source
    n_parameters = sum(parameter.numel() for parameter in run.model.parameters())
    return {
        "model": source.name,
        "family": source.family,
        **({"opened": source.note} if source.note else {}),
        "layers × heads": f"{cfg.n_layers} × {cfg.n_heads}",
        "width (stream, head, MLP)": f"{cfg.d_model}, {cfg.d_head}, {cfg.d_mlp or 'no MLP'}",
        "vocabulary, context": f"{cfg.d_vocab:,} tokens, {cfg.n_ctx:,} tokens",
        "activation, attention": f"{cfg.act_fn}, {cfg.attention_dir}",
        "parameters": f"{n_parameters:,}",
        "revision": source.revision or "none: opened from this machine",
        "weights' SHA-256": source.sha256,
    }


def _machine(run: Run) -> dict[str, str]:
    matrices = (parameter for parameter in run.model.parameters() if parameter.ndim > 1)
    dtypes = sorted({str(matrix.dtype).removeprefix("torch.") for matrix in matrices})
    product, precision = checks.product(), checks.precision()
    return {
        "matrices kept in, computed in": f"{', '.join(dtypes)}; float32",
        "device, threads": f"{settings().device}, {checks.n_threads()}",
        "matrix product": f"{product.name}, float32 at {precision} precision",
        "its exactness, its speed": f"relative error {product.error:.1e}, {product.gflops:.0f} GFLOP/s",
        "input token ids": " ".join(map(str, run.tokens.tolist())),
        **{f"edit {number}": describe(edit) for number, edit in enumerate(run.edits, 1)},
    }


def table(rows: Mapping[str, str]) -> None:
    """Names and what is said of them, in two columns."""
    width = max(map(len, rows))
    st.code("\n".join(f"{name:<{width}}  {value}" for name, value in rows.items()), language=None, wrap_lines=True)

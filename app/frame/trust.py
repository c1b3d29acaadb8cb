"""Models, inputs and tokens behind the numbers; and on request, how exact the numbers are."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from textwrap import wrap
from typing import Any

import streamlit as st

from headlight.app.figures import several
from headlight.app.frame import checks, progress
from headlight.app.glossary import MODELS
from headlight.app.parts import charts
from headlight.app.parts.markdown import plain
from headlight.app.runs import models, passes, runs
from headlight.app.selection import widget_key
from headlight.app.server import boundary
from headlight.app.server.settings import settings
from headlight.model.base.source import Source
from headlight.model.measure import Measure
from headlight.model.runs.edits import describe, head_name
from headlight.model.runs.run import Run

UNASKED = 2**30  # bytes of weights up to which they are hashed, and a user's own compared, without a click
MB = 10**6
VALUE_WIDTH = 46  # characters, which fit behind the longest name


@dataclass(frozen=True)
class Check:
    """A check on request: its button, its progress text, and the rows of its result.

    `name` is the measurement's, in the cache of runs.
    """

    name: str
    label: str
    meanwhile: str
    measure: Callable[[Run], Any]
    rows: Callable[[Run, Any], Mapping[str, str]]


def draw(run: Run, side: str) -> None:
    """The model, how it is computed, its input tokens, and buttons that check the numbers of this run."""
    purpose(run.source)
    is_small = run.source.file_bytes < UNASKED
    is_hashed = run.source.is_hashed or is_small
    table(_model(run, is_hashed) | _machine(run))
    if by_hand := models.heads_by_hand(run.source.name):
        st.text("Its weights were written by hand:")
        table({head_name(head): does for head, does in by_hand.items()})
    if not is_hashed:
        _on_request(HASH, run, side)
    _on_request(SUMS, run, side)
    if checks.is_rounded(run):
        _on_request(FLOAT32, run, side)
    if checks.unquantised_beside(run.source.path) is not None:
        _on_request(UNQUANTISED, run, side)
    reference = TRANSFORMER_LENS if checks.is_state_dict(run.source) else TRANSFORMERS
    _on_request(reference, run, side, is_small and checks.has_reference(run) and not models.is_embedded(run.source))
    training(run.source, side)


def purpose_of(source: Source) -> str:
    """Training data and purpose of a model known by its name; empty for any other."""
    return MODELS.get(source.name, "") if models.is_known(source) else ""


def in_a_line(source: Source) -> str:
    """The same after its name, as Markdown."""
    return f"**{plain(source.name)}.** {purpose_of(source)}" if purpose_of(source) else ""


def purpose(source: Source) -> None:
    """The same in a panel."""
    if sentence := purpose_of(source):
        st.text(sentence)


def training(source: Source, side: str) -> None:
    """Training of a model that comes with Headlight, from its log; empty for any other."""
    if (curves := models.training_curves(source)) is not None:
        rows = several.training(curves.steps, curves.by_unit, curves.harder)
        charts.alone(rows, f"Metrics along the training of {source.name}", f"training{side}")


def _on_request(check: Check, run: Run, side: str, unasked: bool = False) -> None:
    """The check's result, with a button that runs it; `unasked` runs it without a click."""
    is_new = unasked and runs.kept((*run.key, check.name)) is None
    if st.button(plain(check.label), key=widget_key(f"{check.name}{side}")) or is_new:
        key = f"{check.name}_steps{side}"
        with boundary.guard(_say), progress.of_steps(check.meanwhile, lambda: None, key=key):
            run.keep(check.name, lambda: check.measure(run))
    if (result := runs.kept((*run.key, check.name))) is not None:
        table(check.rows(run, result))


def _of_sums(run: Run, result: checks.Sums) -> dict[str, str]:
    beside = f"at most, beside entries of up to {result.largest:.3g}"
    return {
        "components": checks.summed(run),
        "components − final residual": f"{_tiny(result.components)} {beside}",
        "attention rows − 1": f"{_tiny(result.rows)} at most",
    }


def _of_float32(run: Run, result: checks.Differences) -> dict[str, str]:
    first = min(len(run.tokens), checks.MAX_COMPARED)
    said = f"on the first {first} tokens, of logits up to {result.largest:.3g}"
    return _differences("logits − float32's logits", said, result)


def _of_unquantised(run: Run, result: tuple[str, checks.WeightError, checks.Differences]) -> dict[str, str]:
    name, error, differences = result
    first = min(len(run.tokens), checks.MAX_COMPARED)
    middle = f"{error.middle:.2%} of a matrix's norm, the median of {error.n_matrices} that differ"
    largest = f"{error.largest:.2%}, of {error.name}"
    where = f"on the first {first} tokens, of logits up to {differences.largest:.3g}"
    return {
        "unquantised model": name,
        "weights − its weights": f"{middle}; at most {largest}" if error.n_matrices else "0, of every matrix",
        **_differences("logits − its logits", where, differences),
    }


def _ids(run: Run, result: checks.Differences) -> dict[str, str]:
    if not checks.has_tokenizer(run):
        return {}
    others = result.other_ids
    return {"token ids": "transformers' own" if others is None else f"not transformers', which are {_spaced(others)}"}


def _spaced(ids: Sequence[int]) -> str:
    return " ".join(map(str, ids)) or "of other token types"


def _differences(logits: str, where: str, result: checks.Differences) -> dict[str, str]:
    largest = "of the layer's largest entry at most"
    patterns = "not compared: all of them would take too much memory" if result.patterns is None else ""
    return {
        logits: f"{_tiny(result.logits)} at most, {where}",
        "streams before each layer": f"{_tiny(result.streams)} {largest}",
        "patterns of each layer": patterns or f"{_tiny(result.patterns or 0.0)} {largest}",
    }


def _hash(run: Run) -> str:
    return run.source.hashed(lambda done, total: passes.tell(done // MB, total // MB, "MB of the weights read"))


SUMS = Check("checks.sums", "Check the sums", "Running the model again…", checks.sums, _of_sums)
TRANSFORMERS = Check(
    "checks.transformers",
    "Compare with transformers",
    "Running transformers' own model…",
    checks.differences_from_transformers,
    lambda run, result: _ids(run, result) | _differences("logits − transformers' logits", "on this prompt", result),
)
TRANSFORMER_LENS = Check(
    "checks.transformer_lens",
    "Compare with TransformerLens",
    "Running TransformerLens's own model…",
    checks.differences_from_transformer_lens,
    lambda run, result: _ids(run, result) | _differences("logits − TransformerLens's logits", "on this prompt", result),
)
FLOAT32 = Check(
    "checks.float32",
    "Compare with float32",
    "Running the model with the files' values in float32, then as it is…",
    checks.differences_from_float32,
    _of_float32,
)
UNQUANTISED = Check(
    "checks.unquantised",
    "Compare with the unquantised model",
    "Comparing the weights, then running both models…",
    checks.differences_from_unquantised,
    _of_unquantised,
)
HASH = Check(
    "checks.hash", "Hash the weights", "Reading the weights…", _hash, lambda run, result: {"weights' SHA-256": result}
)


def _tiny(value: Measure | float) -> str:
    return f"{float(value if isinstance(value, float) else value.values):.1e}".replace("-", "−")


def _say(reason: str) -> None:
    st.text(reason)


def _model(run: Run, is_hashed: bool) -> dict[str, str]:
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
        "revision": source.revision or "local",
        **({"weights' SHA-256": source.sha256} if is_hashed else {}),
        **({"in config.json, not read": ", ".join(source.unread)} if source.unread else {}),
    }


def _machine(run: Run) -> dict[str, str]:
    product, precision = checks.product(), checks.precision()
    return {
        "stored as": _kept_in(run),
        "computed in": "float32: products, norms, softmax",
        "device, threads": f"{settings().device}, {checks.n_threads()}",
        "matrix product": f"{product.name}, float32 at {precision} precision",
        "matmul error, throughput": f"{product.error:.1e}, {product.gflops:.0f} GFLOP/s",
        "input token ids": " ".join(map(str, run.tokens.tolist())),
        **{f"edit {number}": describe(edit) for number, edit in enumerate(run.edits, 1)},
    }


def _kept_in(run: Run) -> str:
    kept, stored = checks.kept_in(run), checks.stored_in(run.source)
    if stored in ((), kept):
        return f"{' and '.join(kept)}, as in the files"
    return f"{' and '.join(kept)}; the files hold {' and '.join(stored)}"


def table(rows: Mapping[str, str]) -> None:
    """Table of names and their values, of which long ones go on below themselves."""
    width = max(map(len, rows))
    below = "\n" + " " * (width + 2)
    lines = {
        name: below.join(wrap(value, VALUE_WIDTH, break_long_words=False, break_on_hyphens=False))
        for name, value in rows.items()
    }
    st.code("\n".join(f"{name:<{width}}  {value}" for name, value in lines.items()), language=None, wrap_lines=True)

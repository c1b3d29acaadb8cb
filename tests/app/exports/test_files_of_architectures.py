"""Every page's files on a tiny model of each kind: bars, cells and labels are read back and held against the model.

What they have to be comes from a pass whose activations are taken as the model names them, by formulas written out.
"""

from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from headlight.app.exports.data import archive
from headlight.app.pages.weights.weight_tables import above_random, compositions_of, weights_of
from headlight.app.registry import VIEWS
from headlight.app.runs import comparisons
from headlight.model.attribution import Question, logit_attribution
from headlight.model.weights.head_circuit import THROUGH
from tests.app.choosing import selection_of
from tests.app.exports.page_files import Files, image, places, titled
from tests.tiny import KINDS, save_tiny

pytestmark = pytest.mark.usefixtures("unchecked")  # a batch grows where variants of a run travel side by side
PROMPT, OTHER = "one two three one two three one", "one two four one two four one"
LAYER, HEAD = 1, 2
# Float32 sums of some dozen numbers of size 10, taken in another order.
CLOSE: dict[str, float] = {"rtol": 1e-4, "atol": 4e-4}
# One kind of each: without a position embedding, a parallel block, ALiBi, BERT, four norms and soft caps, sinks.
TELLING = ("llama-like", "neox-like", "bloom-like", "bert-like", "gemma2-like", "gpt_oss-like")


def states(files: Files) -> list[Tensor]:
    """The stream before the first layer and after each one; after BERT's last its norm comes."""
    cache, model, last = files.cache, files.comparison.a.model, files.comparison.a.cfg.n_layers - 1
    final = cache["resid_post", last]
    if model.cfg.post_norm:
        gain, bias = (model.get_parameter(f"blocks.{last}.ln2.{name}") for name in "wb")
        final = cache[f"blocks.{last}.ln2.hook_normalized"] * gain.detach() + bias.detach()
    return [*(cache["resid_pre", layer] for layer in range(last + 1)), final]


def written(files: Files, position: int) -> dict[tuple[str, str], float]:
    """The norm of what each component wrote at a position, by where its bar stands and what it is called."""
    cache, cfg = files.cache, files.comparison.a.cfg
    names = {"token embedding": "embed", "position embedding": "pos_embed", "token type": "token_type_embed"}
    if cfg.embeddings_ln or cfg.d_embed != cfg.d_model:
        parts = {("embed", "embeddings"): cache["resid_pre", 0]}
    else:
        parts = {
            ("embed", name): cache[hook] for name, hook in ((n, f"hook_{h}") for n, h in names.items()) if hook in cache
        }
    for layer in range(cfg.n_layers):
        parts[f"L{layer}", "attention"] = cache["attn_out", layer]
        parts[f"L{layer}", "MLP"] = cache["mlp_out", layer]
        if f"blocks.{layer}.hook_conv_out" in cache:
            parts[f"L{layer}", "convolution"] = cache["conv_out", layer]
    if cfg.post_norm:
        parts["norms", "norms of the stream"] = states(files)[-1] - sum(parts.values())
    return {where: float(part[0, position].norm()) for where, part in parts.items()}


def residual(files: Files) -> None:
    position = files.comparison.default_place
    norms = torch.stack([state[0].norm(dim=-1) for state in states(files)])
    figure, expected = files.figure, written(files, position)
    np.testing.assert_allclose(image(titled(figure, "L2 norm"))[::-1], norms, **CLOSE)
    bars = titled(figure, "Component norms")
    at, bar_heights = places(bars), {}
    for container in bars.containers:
        for bar in container.patches:
            bar_heights[at[round(bar.get_x() + bar.get_width() / 2)], container.get_label()] = bar.get_height()
    in_legend = {(place, kind.removesuffix(" embedding")): value for (place, kind), value in expected.items()}
    assert bar_heights == pytest.approx(in_legend, rel=1e-4, abs=1e-4)
    shares = [axes for axes in figure.axes if axes.get_title().startswith("Share of")]
    if files.comparison.a.cfg.post_norm:  # the stream is no sum of components
        assert not shares
    else:
        heights = [bar.get_height() for container in shares[0].containers for bar in container.patches]
        assert sum(heights) == pytest.approx(1, abs=1e-3)
    in_html = {
        props["title"]: (props["labels"], arrays["ends"]) for props, arrays in files.mounted if "series" in props
    }
    assert ("share of the final stream" in in_html) != files.comparison.a.cfg.post_norm
    labels, ends = in_html["component norms (L2)"]
    assert dict(zip(labels, ends[position, :, 1], strict=True)) == pytest.approx(
        {
            kind if place in ("embed", "norms") else f"{place} {kind}": value
            for (place, kind), value in expected.items()
        },
        rel=1e-4,
        abs=1e-4,
    )
    table = files.table("components")
    assert table["L2 norm"] == pytest.approx(list(expected.values()), rel=1e-4, abs=1e-4)


def attention(files: Files) -> None:
    pattern = files.cache["pattern", LAYER][0, HEAD].numpy()
    cells = image(titled(files.figure, f"L{LAYER}H{HEAD}"))
    np.testing.assert_allclose(np.nan_to_num(cells), pattern, **CLOSE)
    if files.comparison.a.cfg.attention_dir == "causal":
        assert np.isnan(cells[np.triu_indices(len(cells), 1)]).all()


def inside(files: Files) -> None:
    cfg, query = files.comparison.a.cfg, files.comparison.default_place
    figure, cache = files.figure, files.cache
    steps = {title.partition(":")[0] for axes in figure.axes if (title := axes.get_title())}
    assert ("LayerNorm" in steps) == (cfg.normalization_type == "LN" and not cfg.post_norm)
    assert ("RMSNorm" in steps) == (cfg.normalization_type == "RMS" and cfg.normalize_before)
    assert ("Soft cap" in steps) == (cfg.attn_scores_soft_cap is not None)
    assert ("Position's bias" in steps) == (
        cfg.positional_embedding_type == "alibi" or bool(cfg.disentangled_attention)
    )
    assert any("urned" in step for step in steps) == (cfg.positional_embedding_type == "rotary")
    np.testing.assert_allclose(image(titled(figure, "Softmax"))[0], cache["pattern", LAYER][0, HEAD, query], **CLOSE)
    output = (
        cache["z", LAYER][0, query, HEAD]
        @ files.comparison.a.model.get_parameter(f"blocks.{LAYER}.attn.W_O")[HEAD].float()
    )
    np.testing.assert_allclose(image(titled(figure, "Output"))[0], output, **CLOSE)


def lens(files: Files) -> None:
    """After the last layer the lens is the model itself."""
    (axes,) = (each for each in files.figure.axes if each.images and each.texts)
    n_layers, best = files.comparison.a.cfg.n_layers, files.logits[0].softmax(-1).max(-1)
    labels = files.comparison.a.tokenizer.labels(best.indices.tolist())
    said = {(round(text.get_position()[1]), round(text.get_position()[0])): text.get_text() for text in axes.texts}
    assert [said[n_layers, place] for place in range(len(labels))] == [
        label if len(label) <= 10 else f"{label[:9]}…" for label in labels
    ]
    np.testing.assert_allclose(image(axes)[-1], best.values, **CLOSE)
    assert [label.get_text() for label in axes.get_yticklabels()] == [
        "embed",
        *(f"L{layer}" for layer in range(n_layers)),
    ]


def flow(files: Files) -> None:
    """Shares into the last state sum to 1; a parallel block has one state a layer."""
    cfg = files.comparison.a.cfg
    (axes, *_) = files.figure.axes
    states = [label.get_text() for label in axes.get_yticklabels()]
    assert len(states) == 1 + cfg.n_layers * (1 if cfg.parallel_attn_mlp else 2)
    nodes, edges = files.table("nodes"), files.table("edges")
    (dots,) = axes.collections[-1:]
    assert len(dots.get_offsets()) == len(nodes["state"])
    assert nodes["state"][0] == states[-1]
    into = [
        share for state, share in zip(edges["into"], edges["share of the node"], strict=True) if state == states[-1]
    ]
    assert sum(into) + nodes["from the bias"][0] + nodes["from edits"][0] == pytest.approx(1, abs=1e-3)


def direct(files: Files, vector: Tensor, target: int, distractor: int) -> float:
    """What a part of the last stream adds to the difference of two logits at the final norm's scale."""
    model, cfg = files.comparison.a.model, files.comparison.a.cfg
    final = files.cache["resid_post", cfg.n_layers - 1][0, -1].double()
    part = vector.double()
    if cfg.normalization_type == "LN":
        final, part = final - final.mean(), part - part.mean()
    part = part / (final.square().mean() + cfg.eps).sqrt() * model.ln_final.w.double()
    columns = model.unembed.W_U.double()
    return float(part @ (columns[:, target] - columns[:, distractor])) * cfg.logits_scale


def difference(files: Files) -> float:
    """Target less distractor before any soft cap, the likeliest two."""
    cap, best = files.comparison.a.cfg.output_logits_soft_cap, files.logits[0, -1].double().topk(2).values
    before = best if cap is None else cap * (best / cap).atanh()
    return float(before[0] - before[1])


def why(files: Files) -> None:
    cfg, figure, cache = files.comparison.a.cfg, files.figure, files.cache
    named = [axes for axes in figure.axes if axes.get_title().replace("\n", " ").startswith("direct effect on")]
    (fall,) = (axes for axes in named if axes.patches)
    assert [bar.get_width() for bar in fall.patches][-1] == pytest.approx(difference(files), abs=1e-3)
    labels = [label.get_text() for label in fall.get_yticklabels()]
    in_html = next(
        p
        for p, _ in files.mounted
        if p.get("labels") and p["labels"][-1] not in ("", "sum") and " − " in p["labels"][-1]
    )
    assert in_html["labels"][:-1] == labels[:-1]
    query = files.comparison.default_place
    key = int(cache["pattern", LAYER][0, HEAD, query].argmax())
    score, cap = cache["attn_scores", LAYER][0, HEAD, query, key].double(), cfg.attn_scores_soft_cap
    before = score if cap is None else cap * (score / cap).atanh()
    assert image(titled(figure, "part of the score"))[-1, -1] == pytest.approx(float(before), abs=2e-3)
    has_places = "position embedding" in files.table("score")["query's part"]
    assert has_places == (cfg.positional_embedding_type == "standard")


def mlp(files: Files) -> None:
    target, distractor = files.logits[0, -1].topk(2).indices.tolist()
    run, bars = files.comparison.a, files.figure.axes[0].patches
    if run.cfg.post_norm or run.cfg.mlm_act_fn:  # whose parts tests/model/attribution/test_encoders.py holds
        effects = logit_attribution(run, Question(target, distractor, len(run.tokens) - 1))
        parts = zip(effects.names, effects.values.values.tolist(), strict=True)
        total = sum(value for name, value in parts if name.endswith(" MLP"))
    else:
        outs = (files.cache["mlp_out", layer][0, -1] for layer in range(run.cfg.n_layers))
        total = sum(direct(files, out, target, distractor) for out in outs)
    assert bars[-1].get_width() == pytest.approx(total, abs=1e-3)
    assert sum(bar.get_width() for bar in bars[:-1]) == pytest.approx(total, abs=1e-3)


def graph(files: Files) -> None:
    assert files.table("target")["value (logits)"] == pytest.approx([difference(files)], abs=1e-3)
    marks = files.figure.axes[0].collections
    assert sum(len(each.get_offsets()) for each in marks) >= len(
        [run for run in files.table("nodes")["run"] if run == "A"]
    )


def patching(files: Files) -> None:
    """All heads' cells of the picture are the table's, and the strongest is measured by a hook."""
    table, figure = files.table("map"), files.figure
    measured = dict(
        zip(files.table("measured")["run"], next(iter(list(files.table("measured").values())[1:])), strict=True)
    )
    cells = image(next(axes for axes in figure.axes if axes.images))
    shares = np.array(
        next(values for name, values in table.items() if name.startswith("share") or name == "exact"), float
    )
    np.testing.assert_allclose(cells.ravel(), shares, **CLOSE)
    run_a, run_b = files.comparison.runs
    layer, head = divmod(int(np.abs(shares).argmax()), run_a.cfg.n_heads)
    with torch.inference_mode():
        z_b = run_b.model.run_with_cache(run_b.tokens[None])[1]["z", layer][:, :, head]

        def put(z: Tensor, hook: Any) -> Tensor:
            z[:, :, head] = z_b
            return z

        logits = run_a.model.run_with_hooks(run_a.tokens[None], fwd_hooks=[(f"blocks.{layer}.attn.hook_z", put)])[0, -1]
    cap = run_a.cfg.output_logits_soft_cap
    logits = logits if cap is None else cap * (logits.double() / cap).atanh()
    shows = files.export.data(files.comparison, files.chosen).shows
    labels = run_a.tokenizer.labels(range(run_a.cfg.d_vocab))
    target, distractor = (labels.index(shows[name]) for name in ("target", "distractor"))
    share = (float(logits[target] - logits[distractor]) - measured["A"]) / (measured["B"] - measured["A"])
    assert share == pytest.approx(shares[layer * run_a.cfg.n_heads + head], rel=1e-2, abs=1e-3)


def weights(files: Files) -> None:
    (above,) = above_random(compositions_of(weights_of(files.comparison, files.chosen))).values()
    maps = [image(axes) for axes in files.figure.axes if axes.images and "composition" in axes.get_title()]
    for cells, through in zip(maps, THROUGH, strict=True):
        np.testing.assert_allclose(cells, above[through], **CLOSE)


def generate(files: Files) -> None:
    """The first step's bars are the model's own probabilities of the likeliest tokens."""
    likely = files.logits[0, -1].softmax(-1)
    axes = files.figure.axes[0]
    before = [bar.get_width() for bar in axes.containers[0].patches]
    listed = [label.get_text().removeprefix("◆ ").removesuffix(" (cut)") for label in axes.get_yticklabels()]
    best = likely.topk(3)
    assert before[:3] == pytest.approx(best.values.tolist(), abs=1e-4)
    assert listed[:3] == files.comparison.a.tokenizer.labels(best.indices.tolist())


CHECKS: dict[str, Callable[[Files], None]] = {
    "residual": residual,
    "attention": attention,
    "inside": inside,
    "lens": lens,
    "flow": flow,
    "why": why,
    "mlp": mlp,
    "graph": graph,
    "patching": patching,
    "weights": weights,
    "generate": generate,
}
QUICK = [("residual", kind) for kind in TELLING] + [
    ("inside", "gemma2-like"),
    ("why", "gemma2-like"),
    ("flow", "neox-like"),
]
EVERY = [(slug, kind) for slug in CHECKS for kind in KINDS]


@pytest.fixture
def opened(settings: dict[str, object], tmp_path: Path) -> Callable[[str, str], Files]:
    def open_files(slug: str, kind: str) -> Files:
        save_tiny(kind, tmp_path / kind)
        more = {"patching": {"prompt_b": OTHER}, "flow": {"flow_threshold": 0.0}}.get(slug, {})
        chosen = selection_of(model=str(tmp_path / kind), prompt=PROMPT, heads=((LAYER, HEAD),), **more)
        comparison = comparisons.for_selection(chosen)
        with torch.inference_mode():
            logits, cache = comparison.a.model.run_with_cache(comparison.a.tokens[None], lambda name: True)
        return Files(import_module(f"headlight.app.pages.{slug}").EXPORT, comparison, chosen, logits, cache)

    return open_files


@pytest.mark.parametrize(
    ("slug", "kind"), [each if each in QUICK else pytest.param(*each, marks=pytest.mark.thorough) for each in EVERY]
)
def test_files_hold_the_models_numbers(slug: str, kind: str, opened: Callable[[str, str], Files]) -> None:
    files = opened(slug, kind)
    view = next(view for view in VIEWS if view.slug == slug)
    if view.needs(files.comparison):
        return
    CHECKS[slug](files)
    assert archive(files.comparison, files.export.data(files.comparison, files.chosen))
    assert files.mounted
    assert files.export.script(files.comparison, files.chosen)

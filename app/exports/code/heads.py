"""The script of the page *Heads of this model*."""

from collections.abc import Mapping, Sequence
from string import Template

from app import detection
from app.detection import ABLATIONS
from app.exports.code.parts import PRINTING, loading, whole
from app.exports.numbers.heads import ABLATED, HEADING, LABELS
from app.selection.chosen import Selection
from app.shown import Shown
from app.views.labels import SCORES
from app.views.subjects import Subject, subjects
from model.analysis.detectors import KINDS

REPEATS = Template('''\
bos, seed, count, half = $bos, $seed, $count, $half


def repeat(model, number):
    """Random tokens, twice."""
    words = np.array([token for token in model.tokenizer.word_ids() if token < model.cfg.d_vocab])
    before = [model.tokenizer.bos_token_id] if bos else []
    rng = np.random.default_rng([seed, number])
    return torch.cat([torch.tensor(before, dtype=torch.long), repeated_halves(1, half, words, rng)[0]])


numbers = range(count if half else 0)
repeats = {run: {number: repeat(model, number) for number in numbers} for run, model in models.items()}''')

PROMPTS = Template("""\
prompts = {
$prompts}
sequences = {
    run: {number: models[run].to_tokens(prompt, prepend_bos=bos)[0] for number, prompt in prompts[run].items()}
    for run in models
}""")

SEEN = '''\
def seen(run, tokens):
    """Every head's scores on a sequence, and what a head would score there that looks at all alike."""
    model = models[run]
    marks = torch.tensor([detectors.is_punctuation(model.to_string(token)) for token in tokens.tolist()])
    with torch.inference_mode():
        _, cache = run_with_edits(model, tokens[None], edits[run], lambda name: name.endswith("hook_pattern"), bos)
    layers = [
        detectors.detector_scores(cache["pattern", layer][0], tokens, marks) for layer in range(model.cfg.n_layers)
    ]
    scores = {kind: torch.stack([layer[kind].values for layer in layers]) for kind in detectors.KINDS}
    visible = torch.ones(len(tokens), len(tokens), dtype=torch.bool)
    if model.cfg.attention_dir == "causal":
        visible = visible.tril()
    return scores, detectors.chance_scores(visible, tokens, marks)


def estimate(kind, values):
    """A mean of every head over sequences, with its interval."""
    return detectors.estimate([Measure(kind, "probability", ("layer", "head"), each) for each in values])


looked_at = {run: {number: seen(run, tokens) for number, tokens in sequences[run].items()} for run in models}
found, chance, labels = {}, {}, {}
for run, looked in looked_at.items():
    found[run] = {kind: estimate(kind, [scores[kind] for scores, _ in looked.values()]) for kind in detectors.KINDS}
    alike = {kind: detectors.estimate([even[kind] for _, even in looked.values()]) for kind in detectors.KINDS}
    chance[run] = {kind: each.mean.values.item() for kind, each in alike.items()}
    labels[run] = detectors.head_labels(found[run], chance[run])'''

CHANGES = '''\
def common(a, b):
    """B - A for the layers and heads that both have."""
    both = tuple(slice(min(sizes)) for sizes in zip(a.shape, b.shape))
    return b[both] - a[both]


both = [number for number in looked_at["A"] if number in looked_at["B"]]
scores = {run: {number: looked_at[run][number][0] for number in both} for run in models}
found["B - A"] = {
    kind: estimate(kind, [common(scores["A"][number][kind], scores["B"][number][kind]) for number in both])
    for kind in detectors.KINDS
}'''

COPYING = '''\
def copying(model):
    """Every head's copying score, with both LayerNorms' centring and gain."""
    cfg, weights, plain = model.cfg, model.state_dict(), torch.ones(model.cfg.d_model)
    if cfg.d_vocab_out != cfg.d_vocab:
        return torch.full((cfg.n_layers, cfg.n_heads), torch.nan)
    loop = ov.through_vocabulary(model.unembed.W_U, model.embed.W_E)
    scores = []
    for layer in range(cfg.n_layers):
        W_V, W_O = (weights[f"blocks.{layer}.attn.{name}"] for name in ("W_V", "W_O"))
        if cfg.normalization_type is not None:
            W_V = ov.reading(W_V, weights.get(f"blocks.{layer}.ln1.w", plain))
            W_O = ov.writing(W_O, weights.get("ln_final.w", plain))
        scores.append(ov.copying_scores(W_V, W_O, loop).values)
    return torch.stack(scores)


copies = {run: copying(model) for run, model in models.items()}'''

COPYING_CHANGES = """\
copies["B - A"] = common(copies["A"], copies["B"])"""

SCORES_TABLE = Template('''\
def name(head):
    return f"L{head[0]}H{head[1]}"


def score_rows(run, title, mean, low, high):
    """One row a head that has the score; changes are ranked by their size."""
    by = mean.abs() if run == "B - A" else mean
    ranks = detectors.ranks(Measure(title, "share", ("layer", "head"), by)).values
    for head in map(tuple, mean.isfinite().nonzero().tolist()):
        yield (run, title, name(head), *(each[head].item() for each in (mean, low, high)), ranks[head].item())


titles = $titles
rows = []
for kind in detectors.KINDS:
    for run, by_kind in found.items():
        each = by_kind[kind]
        rows += score_rows(run, titles[kind], each.mean.values, each.low.values, each.high.values)
for run, values in copies.items():
    absent = torch.full_like(values, torch.nan)
    rows += score_rows(run, "Copying (OV)", values, absent, absent)
table($heading, rows)''')

ABLATIONS_TABLE = Template('''\
modes = $modes


def losses(run, tokens, head):
    """The loss on the second copy, untouched and with a head ablated in each way."""
    own = tap(models[run], tokens[None], edits[run], bos)
    taps = [Chain(own, each) for each in (NO_TAP, *(ablate_head(*head, mode) for mode in modes))]
    with torch.inference_mode():
        logits = models[run](tokens.expand(len(taps), -1), tap=abreast(taps))[:, -half:]
    return next_token_loss(logits, tokens[-half:].expand(len(taps), -1))


def measured(changes):
    """The change by each ablation, over repeats."""
    return [detectors.estimate([Measure("change", "nats", (), value) for value in each]) for each in changes]


ablated = $heads
changes = {}
for run in models:
    for head in ablated[run]:
        untouched, *others = torch.stack([losses(run, tokens, head) for tokens in repeats[run].values()], -1)
        changes[run, head] = [each - untouched for each in others]
effects = {place: measured(each) for place, each in changes.items()}
rows = []
for run, by_head in labels.items():
    for head, kinds in by_head.items():
        lows = [each.low.values.item() for each in effects.get((run, head), [])]
        rows += [(run, name(head), titles[kind], detectors.verdict(kind, lows)) for kind in kinds]
table($labels, rows)$both
rows = []
for (run, head), by_mode in effects.items():
    for mode, each in zip(modes, by_mode):
        rows.append((run, name(head), mode, each.mean.values.item(), each.low.values.item(), each.high.values.item()))
table($ablated, rows)''')

ABLATED_IN_BOTH = """
for head in ablated["A"]:
    if head in ablated["B"]:
        pairs = zip(changes["A", head], changes["B", head])
        effects["B - A", head] = measured(after - before for before, after in pairs)"""

ALSO = (
    "from model.analysis.heads import next_token_loss",
    "from model.editing import run_with_edits, tap",
    "from model.hooks import NO_TAP, Chain",
    "from model.interventions import ablate_head, abreast",
    "from model.training.repeats import repeated_halves",
)


def script(texts: Sequence[str], shown: Shown, chosen: Selection) -> str:
    """A script that prints every head's scores, the labels, and what ablating those heads changes that were ablated.

    With two sides it prints all of these of both, and how they change.
    """
    sides = subjects(texts, shown, chosen)
    a, two, on_repeats = sides["A"], len(sides) > 1, chosen.finder_data == "repeats"
    ablated = {
        side: [head for head in subject.heads if detection.effects(subject.repeats, head)]
        for side, subject in sides.items()
    }
    table = {"labels": list(LABELS), "ablated": list(ABLATED), "both": ABLATED_IN_BOTH if two else ""}
    blocks = [
        _models(sides),
        REPEATS.substitute(bos=a.run.bos, seed=chosen.finder_seed, count=len(a.repeats), half=a.half),
        "sequences = repeats" if on_repeats else PROMPTS.substitute(prompts=_prompts(sides)),
        PRINTING,
        SEEN,
        CHANGES if two else "",
        COPYING,
        COPYING_CHANGES if two else "",
        SCORES_TABLE.substitute(titles={kind: SCORES[kind].title for kind in KINDS}, heading=list(HEADING)),
        ABLATIONS_TABLE.substitute(table, modes=tuple(ABLATIONS), heads=ablated),
    ]
    names = " and ".join(dict.fromkeys(subject.model for subject in sides.values()))
    purpose = f"What the heads of {names} do on {'random repeats' if on_repeats else 'prompts'}."
    return whole(purpose, ["Measure", "detectors", "ov"], blocks, ("import numpy as np", *ALSO))


def _models(sides: Mapping[str, Subject]) -> str:
    """Open the models, and write down the edits."""
    kinds = sorted({type(edit).__name__ for subject in sides.values() for edit in subject.edits})
    lines = [f"from model.edits import {', '.join(kinds)}", ""] if kinds else []
    lines.append(f'models = {{"A": {loading(sides["A"].run)}}}')
    if "B" in sides:
        same = sides["B"].run.same_model(sides["A"].run)
        lines.append('models["B"] = ' + ('models["A"]' if same else loading(sides["B"].run)))
    lines.append(f"edits = { ({side: list(subject.edits) for side, subject in sides.items()})!r}")
    return "\n".join(lines)


def _prompts(sides: Mapping[str, Subject]) -> str:
    """The prompts that were looked at, by their places among all, so that two sides find each other's."""
    lines = list[str]()
    for side, subject in sides.items():
        known = [(place, fed) for place, fed in enumerate(subject.sequences) if detection.seen(fed)]
        lines += [f"    {side!r}: {{", *(f"        {place}: {fed.prompt!r}," for place, fed in known), "    },"]
    return "".join(f"{line}\n" for line in lines)

"""The script of the page *Heads of this model*."""

from collections.abc import Sequence
from string import Template

from app import detection
from app.detection import ABLATIONS
from app.exports.code.parts import PRINTING, loading, whole
from app.exports.numbers.heads import ABLATED, HEADING, LABELS
from app.selection.chosen import Selection
from app.shown import Shown
from app.views import found as heads
from app.views.labels import SCORES
from model.analysis.detectors import KINDS

REPEATS = Template('''\
bos, seed, half = $bos, $seed, $half
before = [model.tokenizer.bos_token_id] if bos else []
words = np.array([token for token in model.tokenizer.word_ids() if token < model.cfg.d_vocab])


def repeat(number):
    """Random tokens, twice."""
    rng = np.random.default_rng([seed, number])
    return torch.cat([torch.tensor(before, dtype=torch.long), repeated_halves(1, half, words, rng)[0]])


repeats = [repeat(number) for number in range($count)] if half else []''')

PROMPTS = Template("""\
prompts = [
$prompts]
sequences = [model.to_tokens(prompt, prepend_bos=bos)[0] for prompt in prompts]""")

SEEN = Template('''\
def seen(tokens):
    """Every head's scores on a sequence, and what a head would score there that looks at all alike."""
    marks = torch.tensor([detectors.is_punctuation(model.to_string(token)) for token in tokens.tolist()])
    with torch.inference_mode():
        _, cache = model.run_with_cache(tokens[None], lambda name: name.endswith("hook_pattern"))
    layers = [
        detectors.detector_scores(cache["pattern", layer][0], tokens, marks) for layer in range(model.cfg.n_layers)
    ]
    visible = torch.ones(len(tokens), len(tokens), dtype=torch.bool)$causal
    return layers, detectors.chance_scores(visible, tokens, marks)


def over(kind):
    """A score of every head over the sequences, with its interval, and its chance."""
    values = [torch.stack([layer[kind].values for layer in layers]) for layers, _ in looked_at]
    measures = [Measure(kind, "probability", ("layer", "head"), each) for each in values]
    by_chance = detectors.estimate([chance[kind] for _, chance in looked_at])
    return detectors.estimate(measures), by_chance.mean.values.item()


looked_at = [seen(tokens) for tokens in sequences]
found, chance = {}, {}
for kind in detectors.KINDS:
    found[kind], chance[kind] = over(kind)
labels = detectors.head_labels(found, chance)''')

COPYING = '''\
def copying():
    """Every head's copying score, with both LayerNorms' centring and gain."""
    weights, n_layers, plain = model.state_dict(), model.cfg.n_layers, torch.ones(model.cfg.d_model)
    loop = ov.through_vocabulary(model.unembed.W_U, model.embed.W_E)
    scores = []
    for layer in range(n_layers):
        W_V, W_O = (weights[f"blocks.{layer}.attn.{name}"] for name in ("W_V", "W_O"))
        if model.cfg.normalization_type is not None:
            W_V = ov.reading(W_V, weights.get(f"blocks.{layer}.ln1.w", plain))
            W_O = ov.writing(W_O, weights.get("ln_final.w", plain))
        scores.append(ov.copying_scores(W_V, W_O, loop).values)
    return Measure("copying score", "share", ("layer", "head"), torch.stack(scores))'''

SCORES_TABLE = Template("""\
def name(head):
    return f"L{head[0]}H{head[1]}"


titles = $titles
rows = []
for kind, each in found.items():
    ends, ranks = (each.mean.values, each.low.values, each.high.values), detectors.ranks(each.mean).values
    for head in map(tuple, each.mean.values.isfinite().nonzero().tolist()):
        rows.append((titles[kind], name(head), *(end[head].item() for end in ends), ranks[head].item()))
$copying
table($heading, rows)""")

COPYING_ROWS = """\
scores = copying()
for head in map(tuple, scores.values.isfinite().nonzero().tolist()):
    values = scores.values[head].item(), None, None, detectors.ranks(scores).values[head].item()
    rows.append(("Copying (OV)", name(head), *values))"""

ABLATIONS_TABLE = Template('''\
def losses(tokens, head):
    """The loss on the second copy, untouched and with a head ablated in each way."""
    taps = [NO_TAP, *(ablate_head(*head, mode) for mode in $modes)]
    with torch.inference_mode():
        logits = model(tokens.expand(len(taps), -1), tap=abreast(taps))[:, len(before) + half :]
    return next_token_loss(logits, tokens[len(before) + half :].expand(len(taps), -1))


effects = {}
for head in $heads:
    untouched, *ablated = torch.stack([losses(tokens, head) for tokens in repeats], -1)
    changes = [[Measure("change", "nats", (), change) for change in each - untouched] for each in ablated]
    effects[head] = dict(zip($modes, map(detectors.estimate, changes)))

rows = []
for head, kinds in labels.items():
    lows = [each.low.values.item() for each in effects.get(head, {}).values()]
    rows += [(name(head), titles[kind], detectors.verdict(kind, lows)) for kind in kinds]
table($labels, rows)
rows = []
for head, by_mode in effects.items():
    for mode, each in by_mode.items():
        rows.append((name(head), mode, each.mean.values.item(), each.low.values.item(), each.high.values.item()))
table($ablated, rows)''')

ALSO = (
    "from model.analysis.heads import next_token_loss",
    "from model.hooks import NO_TAP",
    "from model.interventions import ablate_head, abreast",
    "from model.training.repeats import repeated_halves",
)


def script(texts: Sequence[str], shown: Shown, chosen: Selection) -> str:
    """A script that prints every head's scores, the labels, and what ablating those heads changes that were ablated."""
    run, cfg = shown.a, shown.a.cfg
    half = detection.half_of(run.model, run.bos)
    sequences = heads.sequences_of(texts, run, chosen)
    every = [(layer, head) for layer in range(cfg.n_layers) for head in range(cfg.n_heads)]
    ablated = [head for head in every if detection.effects(heads.repeats_of(run, chosen), head)]
    prompts = "".join(f"    {fed.prompt!r},\n" for fed in sequences if fed.prompt is not None and detection.seen(fed))
    same = cfg.d_vocab_out == cfg.d_vocab
    blocks = [
        f"model = {loading(run)}",
        REPEATS.substitute(bos=run.bos, seed=chosen.finder_seed, half=half, count=detection.N_REPEATS),
        "sequences = repeats" if chosen.finder_data == "repeats" else PROMPTS.substitute(prompts=prompts),
        PRINTING,
        SEEN.substitute(causal=".tril()" if cfg.attention_dir == "causal" else ""),
        COPYING if same else "",
        SCORES_TABLE.substitute(
            titles={kind: SCORES[kind].title for kind in KINDS},
            copying=COPYING_ROWS if same else "",
            heading=list(HEADING),
        ),
        ABLATIONS_TABLE.substitute(modes=tuple(ABLATIONS), heads=ablated, labels=list(LABELS), ablated=list(ABLATED)),
    ]
    of = "random repeats" if chosen.finder_data == "repeats" else "prompts"
    return whole(
        f"What the heads of {run.source.name} do on {of}.",
        ["Measure", "detectors", "ov"],
        blocks,
        ("import numpy as np", *ALSO),
    )

"""The script of the attention page."""

from string import Template

from app.exports.code.parts import FINITE, PRINTING, compared, places_of, runs_of, sides_of, tokens_of, whole
from app.exports.numbers.attention import OF_A_RUN, heads_of, how_of, name
from app.fields import TITLES, How
from app.selection.chosen import Head, Selection, Unit
from app.shown import Shown

SCORES = {
    "entropy": "attention.entropy(pattern).values.mean(-1)",
    "mean_distance": "attention.mean_distance(pattern).values.mean(-1)",
    "previous_token": "kinds.previous_token.values",
    "induction": "kinds.induction.values",
    "duplicate_token": "kinds.duplicate_token.values",
    "first_token": "kinds.first_token.values",
    "current_token": "kinds.current_token.values",
    "largest_write": "attention.value_weighted(pattern, v, W_O).values.amax((-2, -1))",
}

SHOW = {
    "weight": "weights",
    "score": "scores",
    "write": "(weights * attention.write_norms(v, W_O).values[0])",
    "disagreement": "attention.disagreement(weights, attention.write_norms(v, W_O).values[0]).values",
}

GROUPS = Template('''\
def joined(run, group):
    """The labels of the tokens of each $unit in a row."""
    together = models[run].tokenizer.label_together
    return [together(tokens[run][0][group == unit]) for unit in range(int(group[-1]) + 1)]


groups = {run: grouping.${unit}s(models[run].to_str_tokens(tokens[run])) for run in tokens}
labels = {run: joined(run, groups[run]) for run in labels}''')

LAID = '''\
def laid(run, values, missing_key=torch.nan):
    """A run's cells on the axis that A and B have in common; not a number in the rows that the run lacks."""
    values = alignment.on_axis(values, places[run], missing_key)
    return alignment.on_axis(values, places[run], torch.nan, dims=(-2,))'''

CELLS = Template("""\
heads = $heads
rows = []
for layer, head in heads:
    rows += [(f"L{layer}H{head}", "A", *index, value) for index, value in finite(cells("A", layer, head))]
table(["head", "run", "query", "key", $title], rows)""")

CELLS_OF_TWO = Template("""\
heads = $heads
rows = []
for layer, head in heads:
    own = {run: cells(run, layer, head) for run in tokens}
    shown = {run: laid(run, own[run]) for run in own}
    shown["B - A"] = laid("B", own["B"], $missing) - laid("A", own["A"], $missing)  # $why
    for run, values in shown.items():
        rows += [(f"L{layer}H{head}", run, *index, value) for index, value in finite(values)]
table(["head", "run", "query", "key", $title], rows)""")

SCORES_TABLE = Template("""\
every = {run: torch.stack([scores(run, layer) for layer in range(models[run].cfg.n_layers)]) for run in tokens}
rows = []
for run, by_layer in $every.items():
    for layer, by_head in enumerate(by_layer.tolist()):
        rows += [(run, f"L{layer}H{head}", *values) for head, values in enumerate(by_head)]
table($heading, rows)""")

APART = """\
patterns = torch.stack([caches["A"]["pattern", layer][0, head] for layer, head in heads])
names = [f"L{layer}H{head}" for layer, head in heads]
rows = []
for one, pattern in enumerate(patterns):
    apart = attention.js_divergence(pattern.expand_as(patterns), patterns).values.mean(-1).tolist()
    rows += [(names[one], names[other], apart[other]) for other in range(one + 1, len(heads))]
table(["head", "other head", "Jensen-Shannon divergence (nats)"], rows)"""

DIVERGENCE = Template("""\
rows = []
for layer in range($n_layers):
    a, b = ($pattern for run in ("A", "B"))
    apart = alignment.pattern_divergence(a, b, common).values.nanmean(-1).tolist()
    rows += [(f"L{layer}H{head}", value) for head, value in enumerate(apart)]
table(["head", "A and B apart (nats)"], rows)""")


def script(shown: Shown, chosen: Selection) -> str:
    """A script that prints the chosen heads' cells, every head's scores, and how far heads are apart."""
    heads, how, unit = heads_of(shown, chosen), how_of(chosen), chosen.unit
    units = ["labels.values()"] if unit != "token" else []
    blocks = [
        runs_of(shown, '("hook_pattern", "hook_attn_scores", "hook_v")'),
        "" if unit == "token" else GROUPS.substitute(unit=unit),
        places_of(shown, chosen.align, *units),
        PRINTING,
        FINITE,
        _scores(),
        sides_of(shown),
        *(_cells(how, unit), LAID if shown.b is not None else ""),
        tokens_of(shown),
        _scores_table(shown),
        *(_heads(shown, heads, how) if heads else []),
        _divergence(shown, unit),
    ]
    analyses = ["attention", *(["alignment"] if shown.b is not None else []), *(["grouping"] if units else [])]
    return whole(f"{TITLES[how.show][0].capitalize()} of {', '.join(map(name, heads)) or 'no head'}.", analyses, blocks)


def _scores() -> str:
    values = [f"        {SCORES[key]}," for key in OF_A_RUN]
    lines = [
        "def scores(run, layer):",
        '    """Every head\'s scores in a layer: [head, score]."""',
        '    pattern, v = caches[run]["pattern", layer][0], caches[run]["v", layer][0]',
        "    W_O = models[run].blocks[layer].attn.W_O",
        "    kinds = attention.head_scores(pattern, tokens[run][0])",
        "    values = [",
        *values,
        "    ]",
        "    return torch.stack(values, -1)",
    ]
    return "\n".join(lines)


def _scores_table(shown: Shown) -> str:
    heading = ["run", "head", *(score.title for score in OF_A_RUN.values())]
    return SCORES_TABLE.substitute(every=compared(shown, "every"), heading=heading)


def _heads(shown: Shown, heads: tuple[Head, ...], how: How) -> list[str]:
    table, scored = CELLS if shown.b is None else CELLS_OF_TWO, how.show == "score"
    cells = table.substitute(
        heads=list(heads),
        title=repr(TITLES[how.show][0]),
        missing="torch.nan" if scored else "0.0",
        why="a score that one run lacks is no zero" if scored else "a key that one run lacks has nothing there",
    )
    return [cells, APART]


def _cells(how: How, unit: Unit) -> str:
    """The function that computes one head's cells in one run: only the lines that this choice needs."""
    lines = [
        "def cells(run, layer, head):",
        f'    """{TITLES[how.show][0].capitalize()} of a head; not a number where it is masked or hidden."""',
        '    weights, scores = (caches[run][name, layer][0, head] for name in ("pattern", "attn_scores"))',
    ]
    masked = "scores.isneginf()"
    if unit != "token":
        lines.append("    weights = grouping.grouped(weights, groups[run])")
        masked = "grouping.grouped(scores.isfinite().float(), groups[run]) == 0"
    if how.show in ("write", "disagreement"):
        lines.append('    v = caches[run]["v", layer][0, :, head : head + 1]')
        lines.append("    W_O = models[run].blocks[layer].attn.W_O[head : head + 1]")
    if how.sink == "renormalise":
        lines.append("    weights = attention.without_first_key(weights, renormalise=True)")
    lines.append(f"    hidden = {masked}")
    if how.sink != "keep":
        lines.append("    hidden[:, 0] = True")
    return "\n".join([*lines, f"    return {SHOW[how.show]}.masked_fill(hidden, torch.nan)"])


def _divergence(shown: Shown, unit: Unit) -> str:
    if shown.b is None:
        return ""
    pattern = 'caches[run]["pattern", layer][0]'
    if shown.a.cfg.n_heads != shown.b.cfg.n_heads:
        pattern += f"[:{shown.n_heads}]"
    if unit != "token":
        pattern = f"grouping.grouped({pattern}, groups[run])"
    return DIVERGENCE.substitute(n_layers=shown.n_layers, pattern=pattern)

"""The script of the page *Why*."""

from string import Template

from app.exports.code.parts import PRINTING, places_of, runs_of, tokens_of, whole
from app.exports.numbers import why as tables
from app.selection.chosen import Selection
from app.shown import Shown
from app.views.reasons.chosen import pair_of, sides_of
from app.views.steps.chosen import head_of

KEPT = (
    '("hook_embed", "hook_pos_embed", "hook_q", "hook_k", "hook_v", "hook_attn_scores", "hook_pattern", "hook_z", '
    '"hook_mlp_out", "hook_resid_pre", "hook_resid_post")'
)

CHOSEN = Template("""\
layer, head = $head
query, key, position = $query, $key, $position
target, distractor = $pair  # token ids
runs = list(query)
editing = $editing
n_layers = {run: models[run].cfg.n_layers for run in runs}
W_O = {run: models[run].blocks[layer].attn.W_O[head] for run in runs}
v = {run: caches[run]["v", layer][0, :, head] for run in runs}
z = {run: caches[run]["z", layer][0, :, head] for run in runs}
pattern = {run: caches[run]["pattern", layer][0, head] for run in runs}""")

PARTS = '''\
def stream_at(run, position, layer):
    """The residual stream before a layer, or after the last one."""
    name = ("resid_pre", layer) if layer < n_layers[run] else ("resid_post", -1)
    return caches[run][name][0, position]


def parts_at(run, position, layer):
    """Who wrote to the stream at a position before a layer, and what."""
    cache, blocks = caches[run], models[run].blocks
    parts = {"token embedding": cache["embed"][0, position], "position embedding": cache["pos_embed"][0, position]}
    for earlier in range(layer):
        attn = blocks[earlier].attn
        for number, written in enumerate(cache["z", earlier][0, position]):
            parts[f"L{earlier}H{number}"] = written @ attn.W_O[number]
        parts[f"L{earlier} attention bias"] = attn.b_O
        if not models[run].cfg.attn_only:
            parts[f"L{earlier} MLP"] = cache["mlp_out", earlier][0, position]
    if editing[run] is not NO_TAP:
        parts["the run's edits"] = stream_at(run, position, layer) - sum(parts.values())
    return parts


def norm_of(ln):
    """What a LayerNorm does; None where there is none."""
    return head_steps.Norm(ln.eps, *(getattr(ln, name, None) for name in "wb")) if hasattr(ln, "eps") else None'''

SCORE = '''\
def projected(run, position, letter, last):
    """What each part gives to q or k, by name."""
    block, parts = models[run].blocks[layer], parts_at(run, position, layer)
    W, b = (getattr(block.attn, f"{kind}_{letter}")[head] for kind in "Wb")
    vectors, stream = torch.stack(list(parts.values())), stream_at(run, position, layer)
    rows = score_parts.projected(vectors, stream, norm_of(block.ln1), W, b)
    names = [*parts, "LayerNorm's bias", last]
    if editing[run] is not NO_TAP:
        whole = caches[run][letter.lower(), layer][0, position, head]
        rows, names = torch.cat([rows, (whole.double() - rows.sum(0))[None]]), [*names, "the run's edits of it"]
    return names, rows


def score(run):
    """A score in parts, and itself."""
    names, rows = projected(run, query[run], "Q", "query's bias b_Q")
    others, columns = projected(run, key[run], "K", "key's bias b_K")
    own = caches[run]["attn_scores", layer][0, head, query[run], key[run]].item()
    return names, others, score_parts.score_parts(rows, columns, models[run].blocks[layer].attn.attn_scale, own)'''

EFFECTS = '''\
def direct(run, vectors, position):
    """What vectors that are part of the final stream at a position add to target - distractor."""
    stream, (direction, _) = stream_at(run, position, n_layers[run]), direction_of(run)
    return attribution.direct_effects(vectors, stream, norm_of(models[run].ln_final), direction).values


def direction_of(run):
    """The target's column of the unembedding less the distractor's, and the same of the bias."""
    unembed = models[run].unembed
    W, b = unembed.W_U[:, [target, distractor]], unembed.b_U[[target, distractor]]
    return W[:, 0] - W[:, 1], (b[0].double() - b[1].double()).item()


def effects(run):
    """Every part's direct effect by name, the constants last."""
    parts, (direction, bias) = parts_at(run, position[run], n_layers[run]), direction_of(run)
    constants = attribution.constant_effects(norm_of(models[run].ln_final), direction, bias).values
    values = torch.cat([direct(run, torch.stack(list(parts.values())), position[run]), constants])
    names = [*parts, "final LayerNorm's bias", "unembedding's bias"]
    return dict(zip(names, values.tolist()))


def over_layers(run):
    """After each layer: what was added up so far, and what the layer itself would say."""
    found, (direction, bias) = effects(run), direction_of(run)
    streams = [stream_at(run, position[run], layer) for layer in range(n_layers[run] + 1)]
    lens = attribution.lens_differences(streams, norm_of(models[run].ln_final), direction, bias).values.tolist()
    later = [{f"L{other}" for other in range(layer, n_layers[run])} for layer in range(n_layers[run] + 1)]
    for label, names, read in zip(["embed", *(f"L{layer}" for layer in range(n_layers[run]))], later, lens):
        yield label, sum(value for name, value in found.items() if layer_of(name) not in names), read


def layer_of(name):
    """The layer that a part belongs to, as L and its number."""
    return name.split()[0].split("H")[0]'''

OUTCOMES = '''\
def mean_of_head(run):
    """What the head gives on average: over the positions of other prompts, or else of this one."""
    return mean_z(models[run], mean_over, prepend_bos=BOS)[layer, head] if mean_over else z[run].mean(0)


def logits_with(run, tap):
    """The logits at the position, with a tap beside the run's own edits."""
    return models[run](tokens[run], tap=Chain(editing[run], tap))[0, position[run]]


def interventions(run):
    """What is done: its tap, and the head's z at the position with it, all else held still."""
    at, own = position[run], z[run]
    where, weight = (layer, head, query[run], key[run]), pattern[run][query[run], key[run]]
    cut = rescaled = own[at]
    if query[run] == at:
        cut = own[at] - weight * v[run][key[run]]
        rescaled = cut / (1 - weight) if weight < 1 else torch.zeros_like(cut)
    yield "edge cut", cut_edge(*where), cut
    yield "edge cut, row rescaled to 1", cut_edge(*where, renormalise=True), rescaled
    yield "head gives nothing", ablate_head(layer, head, "zero"), torch.zeros_like(own[at])
    mean = mean_of_head(run).to(own)
    yield "head gives its mean", ablate_head(layer, head, "mean", mean[None]), mean
    if resampled[run]:
        other = own.clone()
        other[[i for i, _ in matches[run]]] = z["B" if run == "A" else "A"][[j for _, j in matches[run]]]
        yield "head gives the other run's", ablate_head(layer, head, "resample", other), other[at]


def outcomes(run):
    """Direct and total effect, KL, and the token predicted then."""
    before = logits_with(run, NO_TAP)
    for name, tap, given in interventions(run):
        after = logits_with(run, tap)
        change = direct(run, ((given - z[run][position[run]]) @ W_O[run])[None], position[run]).item()
        (on_target, on_distractor) = (after - before)[[target, distractor]].double().tolist()
        kl = attribution.kl_divergence(before, after[None]).values.item()
        label = models[run].tokenizer.labels([after.argmax().item()])[0]
        yield name, change, on_target - on_distractor, kl, label


def outcomes_apart():
    """The differences for what was done to both."""
    of_a = {row[0]: row for row in outcomes("A")}
    for name, *values, _ in outcomes("B"):
        if name in of_a:
            yield name, *(b - a for a, b in zip(of_a[name][1:-1], values)), ""'''

CELL = '''\
def writes(run, query):
    """What a query takes from each key."""
    return attribution.edge_writes(pattern[run][query], v[run], W_O[run]).values


def token_effects(run):
    """What the cell's write adds to every token's logit."""
    model, write = models[run], writes(run, query[run])[key[run]]
    stream = stream_at(run, query[run], n_layers[run])
    return attribution.token_effects(write, stream, norm_of(model.ln_final), model.unembed.W_U)


def promoted(run):
    """The tokens that the cell's write promotes and suppresses; those that B's does more than A's."""
    effects = token_effects("B") - token_effects("A") if run == "B - A" else token_effects(run)
    found = attribution.most_moved(effects, min(10, len(effects)))
    up, down = (models["A"].tokenizer.labels(ids.values.tolist()) for ids in (found.raised, found.lowered))
    for rank in range(len(up)):
        yield rank + 1, up[rank], found.raised_by.values[rank].item(), down[rank], found.lowered_by.values[rank].item()


def cell(run):
    """The cell in a few numbers."""
    found, write = score(run)[2], writes(run, query[run])[key[run]]
    of_edge = direct(run, write[None], query[run]).item() if query[run] == position[run] else 0.0
    stream, (direction, bias) = stream_at(run, position[run], n_layers[run]), direction_of(run)
    difference = attribution.difference_of(stream, norm_of(models[run].ln_final), direction, bias).values.item()
    yield "score (nats)", found.score.values.item()
    yield "attention weight", pattern[run][query[run], key[run]].item()
    yield "length of its write (L2 norm)", write.norm().item()
    yield "direct effect of the edge", of_edge
    yield "direct effect of the whole head", effects(run)[f"L{layer}H{head}"]
    yield "change when the edge is cut", next(outcomes(run))[2]
    yield "target − distractor", difference


def sources(run):
    """What the head adds, by the place of the token that it takes it from."""
    found = direct(run, writes(run, position[run]), position[run]).tolist()
    yield from zip(places[run], found)


def pairs(run):
    """The score's parts, one a line."""
    names, others, found = score(run)
    for name, row in zip(names, found.matrix.values.tolist()):
        yield from ((name, other, value) for other, value in zip(others, row))'''

PRINTED = Template('''\
def compared(of, apart=None):
    """The rows of each run, and those of B - A: for what both have, unless `apart` gives them."""
    rows = {run: list(of(run)) for run in runs}
    yield from ((run, *row) for run in rows for row in rows[run])
    if len(rows) < 2:
        return
    if apart:
        yield from (("B - A", *row) for row in apart())
        return
    before = {key_of(row): row for row in rows["A"]}
    for row in rows["B"]:
        if a := before.get(key_of(row)):
            yield "B - A", *(one - other if isinstance(one, float) else one for one, other in zip(row, a))


def key_of(row):
    """What is not a measured number."""
    return tuple(cell for cell in row if not isinstance(cell, float))


$tokens
with torch.inference_mode():
    table($cell, compared(cell))
    table($score, compared(pairs))
    table($promoted, compared(promoted, lambda: promoted("B - A")))
    table($outcomes, compared(outcomes, outcomes_apart))
    table($effects, compared(lambda run: effects(run).items()))
    table($layers, compared(over_layers))
    table($sources, compared(sources))''')

PLACES_OF_ONE = """\
places = {"A": range(len(labels["A"]))}"""


def script(shown: Shown, chosen: Selection) -> str:
    """A script that prints a cell's score in parts, its write, what cutting it changes, and who made the prediction."""
    sides, pair, head = sides_of(shown, chosen)[0], pair_of(shown, chosen), head_of(shown, chosen)
    positions = ({side: which(at) for side, at in sides.items()} for which in _POSITIONS)
    query, key, position = map(repr, positions)
    own = (name for name in tables.__dict__ if name.isupper())
    headings = {name.lower(): repr(list(getattr(tables, name))) for name in own if name != "DIFFERENCE"}
    given = {
        "mean_over": list(chosen.mean_over),
        "resampled": {side: at.given.can_resample(at.run) for side, at in sides.items()},
        "matches": {side: list(at.given.matches) for side, at in sides.items()},
    }
    blocks = [
        runs_of(shown, KEPT),
        places_of(shown, chosen.align),
        PLACES_OF_ONE if shown.b is None else "",
        PRINTING,
        CHOSEN.substitute(
            head=head,
            query=query,
            key=key,
            position=position,
            pair=(pair.target, pair.distractor),
            editing=_editing(shown),
        )
        + "".join(f"\n{field} = {value!r}" for field, value in given.items()),
        PARTS,
        SCORE,
        EFFECTS,
        OUTCOMES.replace("BOS", repr(shown.a.bos)),
        CELL if shown.b is None else CELL.replace("zip(places[run], found)", _ON_PLACES),
        PRINTED.substitute(tokens=tokens_of(shown), **headings),
    ]
    analyses = ["attribution", "head_steps", "score_parts", *(["alignment"] if shown.b is not None else [])]
    also = ["from model.hooks import NO_TAP, Chain", "from model.interventions import ablate_head, cut_edge"]
    if editing := [*(["mean_z"] if sides else []), *(["tap"] if any(run.edits for run in shown.runs) else [])]:
        also.insert(0, f"from model.editing import {', '.join(editing)}")
    return whole(f"Why head {head[1]} of layer {head[0]} looks there, and what of it.", analyses, blocks, also)


_POSITIONS = (lambda at: at.cell.query, lambda at: at.cell.key, lambda at: at.question.position)
_ON_PLACES = "((place, found[i]) for place, i in enumerate(places[run]) if i is not None)"


def _editing(shown: Shown) -> str:
    """An expression for the tap that makes each run's edits once more."""
    if not any(run.edits for run in shown.runs):
        return "dict.fromkeys(runs, NO_TAP)"
    made = f"tap(models[run], tokens[run], edits[run], {shown.a.bos})"
    return f"{{run: {made} if edits[run] else NO_TAP for run in runs}}"

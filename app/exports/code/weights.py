"""The script of the page *Weights*."""

from string import Template

from app.exports.code.parts import PRINTING, loading, whole
from app.exports.numbers.weights import (
    DIRECTIONS,
    ENDS,
    PAIRS,
    PARTNERS,
    STRENGTHS,
    composition_heading,
    listed,
    looked_up,
    values_heading,
)
from app.selection.chosen import Selection
from app.shown import Shown
from app.views.parts import name
from app.views.weight_tables import weights_of
from app.weights import N_DIRECTIONS, N_PAIRS, N_TOKENS, THROUGH

CIRCUIT = Template('''\
layer, head = $head


def matrices(model, layer):
    """W_Q, W_K, W_V and W_O of a layer's heads."""
    return [model.get_parameter(f"blocks.{layer}.attn.{name}") for name in ("W_Q", "W_K", "W_V", "W_O")]


def gain(model, name):
    """A LayerNorm's gain, which is folded in for this reading; None where the model has no LayerNorm."""
    if model.cfg.normalization_type is None:
        return None
    return dict(model.named_parameters()).get(name, torch.ones(model.cfg.d_model))


def circuit_of(model):
    """The head's circuit."""
    W_E, W_U, (W_Q, W_K, W_V, W_O) = model.embed.W_E, model.unembed.W_U, (each[head] for each in matrices(model, layer))
    before = gain(model, f"blocks.{layer}.ln1.w")
    return circuits.balanced($circuit)


with torch.inference_mode():
    made = {side: circuit_of(model) for side, model in models.items()}
labels = models["A"].tokenizer.labels''')

DIFFERENCE_OF = """\
with torch.inference_mode():
    made["B - A"] = circuits.balanced(circuits.difference(made["A"], made["B"]))"""

CIRCUITS = {
    "qk": "circuits.qk_circuit(W_E, W_Q, W_K, model.blocks[layer].attn.attn_scale, before)",
    "ov": 'circuits.ov_circuit(W_E, W_V, W_O, W_U, before, gain(model, "ln_final.w"))',
}

ENTRIES = Template('''\
circuit = made[$listed]


def entries(rows, columns):
    """What each circuit has there."""
    with torch.inference_mode():
        return [circuits.entries(each, rows, columns).values.tolist() for each in made.values()]''')

PAIRS_TABLE = Template("""\
rows = []
with torch.inference_mode():
    found = pair_search.outermost_pairs(circuit, $count)
for end, pairs in zip($ends, (found.highest, found.lowest)):
    first, second = pairs.rows.values, pairs.columns.values
    cells = [first.tolist(), labels(first), second.tolist(), labels(second), *entries(first, second)]
    rows += [(end, *each) for each in zip(*cells)]
table($heading, rows)""")

STRENGTHS_TABLE = Template("""\
rows = []
for side, each in made.items():
    with torch.inference_mode():
        strengths = circuits.directions(each, $n, $k).strengths.values.tolist()
    rows += [(side, place + 1, strength) for place, strength in enumerate(strengths)]
table($heading, rows)""")

DIRECTIONS_TABLE = Template("""\
with torch.inference_mode():
    found = circuits.directions(circuit, $n, $k)
rows = []
for place, measured in enumerate(zip(found.strengths.values.tolist(), found.shares.values.tolist())):
    for side, stand in (("row", found.rows), ("column", found.columns)):
        for end, sign in enumerate("+-"):
            ids, loads = (each.values[place, end].tolist() for each in (stand.tokens, stand.loads))
            rows += [(place + 1, *measured, side, sign, *cells) for cells in zip(ids, labels(ids), loads)]
table($heading, rows)""")

COMPOSITION_TABLE = Template('''\
def written(model, layer):
    """What a layer's heads write, as the two factors of its matrices."""
    _, _, W_V, W_O = matrices(model, layer)
    own = gain(model, f"blocks.{layer}.ln1.w")
    return composition.Product(W_V if own is None else ov.reading(W_V, own), W_O)


def compositions(model, through):
    """What each earlier head scores, and the mean and the standard deviation of random heads."""
    cfg, before = model.cfg, gain(model, f"blocks.{layer}.ln1.w")
    random = composition.random_composition(through, cfg.d_model, cfg.d_head, cfg.d_value, before)
    with torch.inference_mode():
        later = composition.reader(through, *(each[head] for each in matrices(model, layer)), before)
        scores = [composition.composition(written(model, earlier), later).tolist() for earlier in range(layer)]
    return scores, random.mean.values.item(), random.sd.values.item()


rows, n_heads = [], min(model.cfg.n_heads for model in models.values())
for through in $through:
    found = [compositions(model, through) for model in models.values()]
    for earlier in range(layer):
        for other in range(n_heads):
            cells = [cell for scores, *random in found for cell in (scores[earlier][other], *random)]
            rows.append((through, f"L{earlier}H{other}", *cells))
table($heading, rows)''')

PARTNERS_TABLE = Template("""\
token, rows = $token, []
for side, looked_at in (("row", circuit), ("column", circuit.T)):
    for end in $ends:
        with torch.inference_mode():
            found = circuits.partners(looked_at, token, $count, end == "lowest")
        own = found if side == "row" else found.turned
        ids = found.columns.values.tolist()
        cells = zip(ids, labels(ids), *entries(own.rows.values, own.columns.values))
        rows += [(side, end, *each) for each in cells]
table($heading, rows)""")


def script(shown: Shown, chosen: Selection) -> str:
    """A script that prints a head's outermost pairs, its singular directions and its composition."""
    of = weights_of(shown, chosen)
    token, values = looked_up(of.run, chosen), values_heading(of)
    opened = ", ".join(f'"{side}": {loading(run)}' for side, run in of.models.items())
    sizes = {"n": N_DIRECTIONS, "k": N_TOKENS}
    blocks = [
        f"models = {{{opened}}}",
        PRINTING,
        CIRCUIT.substitute(head=of.head, circuit=CIRCUITS[of.kind]),
        DIFFERENCE_OF if of.compares else "",
        ENTRIES.substitute(listed=repr(listed(of))),
        PAIRS_TABLE.substitute(ends=ENDS, count=N_PAIRS, heading=[*PAIRS, *values]),
        STRENGTHS_TABLE.substitute(sizes, heading=list(STRENGTHS)) if of.compares else "",
        DIRECTIONS_TABLE.substitute(sizes, heading=list(DIRECTIONS)),
        COMPOSITION_TABLE.substitute(through=THROUGH, heading=list(composition_heading(of.compares))),
    ]
    if token is not None:
        heading = [*PARTNERS, *values]
        blocks.append(PARTNERS_TABLE.substitute(token=token, ends=ENDS, count=N_PAIRS // 2, heading=heading))
    purpose = f"What the weights of {name(of.head)} do with tokens, by its {of.kind.upper()} circuit."
    return whole(purpose, ["circuits", "composition", "ov", "pair_search"], blocks)

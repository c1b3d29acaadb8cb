"""The script of the page *Weights*."""

from string import Template

from app.exports.code.parts import PRINTING, loading, whole
from app.exports.numbers.weights import COMPOSITION, DIRECTIONS, ENDS, PAIRS, PARTNERS, looked_up
from app.selection.chosen import Selection
from app.shown import Shown
from app.views.head_tables import name
from app.views.weight_tables import weights_of
from app.weights import N_DIRECTIONS, N_PAIRS, N_TOKENS, THROUGH

CIRCUIT = Template('''\
layer, head = $head
weights = dict(model.named_parameters())
W_E, W_U = model.embed.W_E, model.unembed.W_U


def matrices(layer):
    """W_Q, W_K, W_V and W_O of a layer's heads."""
    return [weights[f"blocks.{layer}.attn.{name}"] for name in ("W_Q", "W_K", "W_V", "W_O")]


def gain(name):
    """A LayerNorm's gain, which is folded in for this reading; None where the model has no LayerNorm."""
    if model.cfg.normalization_type is None:
        return None
    return weights.get(name, torch.ones(model.cfg.d_model))


W_Q, W_K, W_V, W_O = (each[head] for each in matrices(layer))
before = gain(f"blocks.{layer}.ln1.w")
with torch.inference_mode():
    circuit = circuits.balanced($circuit)''')

CIRCUITS = {
    "qk": "circuits.qk_circuit(W_E, W_Q, W_K, model.blocks[layer].attn.attn_scale, before)",
    "ov": 'circuits.ov_circuit(W_E, W_V, W_O, W_U, before, gain("ln_final.w"))',
}

PAIRS_TABLE = Template("""\
labels, rows = model.tokenizer.labels, []
for end in $ends:
    with torch.inference_mode():
        found = circuits.top_pairs(circuit, $count, end == "lowest")
    ids = [each.values.tolist() for each in (found.rows, found.columns)]
    columns = [[end] * len(ids[0]), ids[0], labels(ids[0]), ids[1], labels(ids[1]), found.values.values.tolist()]
    rows += zip(*columns)
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
def written(layer):
    """What a layer's heads write, as the two factors of its matrices."""
    _, _, W_V, W_O = matrices(layer)
    own = gain(f"blocks.{layer}.ln1.w")
    return composition.Product(W_V if own is None else ov.reading(W_V, own), W_O)


rows, cfg = [], model.cfg
for through in $through:
    random = composition.random_composition(through, cfg.d_model, cfg.d_head, cfg.d_value, before)
    with torch.inference_mode():
        later = composition.reader(through, W_Q, W_K, W_V, W_O, before)
        for earlier in range(layer):
            for other, score in enumerate(composition.composition(written(earlier), later).tolist()):
                rows.append((through, f"L{earlier}H{other}", score, random.mean.values.item(), random.sd.values.item()))
table($heading, rows)''')

PARTNERS_TABLE = Template("""\
token, rows = $token, []
for side, looked_at in (("row", circuit), ("column", circuit.T)):
    for end in $ends:
        with torch.inference_mode():
            found = circuits.partners(looked_at, token, $count, end == "lowest")
        ids = found.columns.values.tolist()
        rows += [(side, end, *cells) for cells in zip(ids, labels(ids), found.values.values.tolist())]
table($heading, rows)""")


def script(shown: Shown, chosen: Selection) -> str:
    """A script that prints a head's outermost pairs, its singular directions and its composition."""
    of = weights_of(shown, chosen)
    token = looked_up(of.run, chosen)
    blocks = [
        f"model = {loading(of.run)}",
        PRINTING,
        CIRCUIT.substitute(head=of.head, circuit=CIRCUITS[of.kind]),
        PAIRS_TABLE.substitute(ends=ENDS, count=N_PAIRS, heading=list(PAIRS)),
        DIRECTIONS_TABLE.substitute(n=N_DIRECTIONS, k=N_TOKENS, heading=list(DIRECTIONS)),
        COMPOSITION_TABLE.substitute(through=THROUGH, heading=list(COMPOSITION)),
    ]
    if token is not None:
        blocks.append(PARTNERS_TABLE.substitute(token=token, ends=ENDS, count=N_PAIRS // 2, heading=list(PARTNERS)))
    purpose = f"What the weights of {name(of.head)} do with tokens, by its {of.kind.upper()} circuit."
    return whole(purpose, ["circuits", "composition", "ov"], blocks)

"""The script of the flow page."""

from string import Template

from app.exports.code.parts import PRINTING, places_of, runs_of, tokens_of, whole
from app.exports.numbers.flow import CHANGED_EDGES, CHANGED_HEADS, CHANGED_NODES, EDGES, HEADS, NODES
from app.selection.chosen import Selection
from app.shown import Shown
from app.views.flows.chosen import change_in, start_of
from app.views.sides import positions_at

KEPT = '("resid_pre", "resid_mid", "resid_post", "hook_pattern", "hook_v", "mlp_out")'

FLOW = Template('''\
start, threshold = $start, $threshold


def supply(run):
    """A function that gives what a layer of a run adds up at some positions."""
    model, cache = models[run], caches[run]

    def summands(layer, positions):
        attn = model.blocks[layer].attn
        after = ["resid_post"] if model.cfg.attn_only else ["resid_mid", "mlp_out", "resid_post"]
        pre, *others = (cache[name, layer][0, positions] for name in ["resid_pre", *after])
        pattern, v = cache["pattern", layer][0][:, positions], cache["v", layer][0]
        return flow.Summands(pre, pattern, v, attn.W_O, attn.b_O, *others)

    return summands


def graph(run):
    """What the last state at the start was made of."""
    cfg = models[run].cfg
    return flow.flow(supply(run), cfg.n_layers, cfg.attn_only, start[run], threshold)


with torch.inference_mode():
    graphs = {run: graph(run) for run in start}''')

NAMES = '''\
def state(run, depth):
    """What the states of the stream are called, from the embedding up."""
    parts = [""] if models[run].cfg.attn_only else [" attention", " MLP"]
    layers = range(models[run].cfg.n_layers)
    return ["embed", *(f"L{layer}{part}" for layer in layers for part in parts)][depth]'''

TABLES = Template("""\
nodes, edges, heads = [], [], []
for run, found in graphs.items():
    for node in found.nodes:
        depth, position = node.place
        nodes.append((run, state(run, depth), $position, node.flow, node.bias, node.rest))
    for edge in found.edges:
        into = run, state(run, edge.target.depth), $target
        edges.append((*into, edge.kind, $source, edge.share))
        heads += [(*into, $source, head, share) for head, share in sorted(edge.heads)]
table($nodes, nodes)
table($edges, edges)
table($heads, heads)""")


CHANGE = Template("""\
with torch.inference_mode():
    a, b = (flow_change.FlowOf(supply(run), models[run].cfg.n_layers) for run in "AB")
    change = flow_change.flow_change(a, b, common, models["A"].cfg.attn_only, $place, threshold)
nodes, edges, heads = [], [], []
for pair in change.nodes:
    depth, place = pair.place
    nodes.append((state("A", depth), place, pair.a and pair.a.flow, pair.b and pair.b.flow, pair.change))
for edge in change.edges:
    into, source = (state("A", edge.target.depth), edge.target.position), edge.source.position
    edges.append((*into, edge.kind, source, edge.a, edge.b, edge.change))
    heads += [(*into, source, head, a, b, b - a) for head, a, b in sorted(edge.heads)]
table($nodes, nodes)
table($edges, edges)
table($heads, heads)""")


def script(shown: Shown, chosen: Selection) -> str:
    """A script that prints the nodes, the edges and the heads of each run's graph, and how they change from A to B."""
    positions = {"position": "position", "target": "edge.target.position", "source": "edge.source.position"}
    if shown.b is not None:
        positions = {name: f"places[run].index({each})" for name, each in positions.items()}
    changes, place = change_in(shown, chosen) is not None, start_of(shown, chosen)
    blocks = [
        runs_of(shown, KEPT),
        places_of(shown, chosen.align),
        PRINTING,
        FLOW.substitute(start=positions_at(shown, place), threshold=chosen.flow_threshold),
        NAMES,
        tokens_of(shown),
        TABLES.substitute(positions, **_headings(NODES, EDGES, HEADS)),
        CHANGE.substitute(_headings(CHANGED_NODES, CHANGED_EDGES, CHANGED_HEADS), place=place) if changes else "",
    ]
    analyses = ["flow", *(["alignment"] if shown.b is not None else []), *(["flow_change"] if changes else [])]
    return whole("What a token's last state was made of: the information flow.", analyses, blocks)


def _headings(nodes: tuple[str, ...], edges: tuple[str, ...], heads: tuple[str, ...]) -> dict[str, list[str]]:
    return {"nodes": list(nodes), "edges": list(edges), "heads": list(heads)}

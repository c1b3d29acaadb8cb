"""The script of the flow page."""

from string import Template

from app.exports.code.parts import PRINTING, places_of, runs_of, tokens_of, whole
from app.exports.numbers.flow import EDGES, HEADS, NODES
from app.selection.chosen import Selection
from app.shown import Shown
from app.views.flow import start_of
from app.views.sides import positions_at

KEPT = '("resid_pre", "resid_mid", "resid_post", "hook_pattern", "hook_v", "mlp_out")'

FLOW = Template('''\
start, threshold = $start, $threshold


def graph(run):
    """What the last state at the start was made of."""
    model, cache = models[run], caches[run]
    attn_only = model.cfg.attn_only

    def summands(layer, positions):
        attn = model.blocks[layer].attn
        states = ["resid_pre", "resid_post"] if attn_only else ["resid_pre", "resid_mid", "mlp_out", "resid_post"]
        pre, *others = (cache[name, layer][0, positions] for name in states)
        pattern, v = cache["pattern", layer][0][:, positions], cache["v", layer][0]
        return flow.Summands(pre, pattern, v, attn.W_O, attn.b_O, *others)

    return flow.flow(summands, model.cfg.n_layers, attn_only, start[run], threshold)


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


def script(shown: Shown, chosen: Selection) -> str:
    """A script that prints the nodes, the edges and the heads of each run's graph."""
    positions = {"position": "position", "target": "edge.target.position", "source": "edge.source.position"}
    if shown.b is not None:
        positions = {name: f"places[run].index({each})" for name, each in positions.items()}
    headings = {name: str(list(each)) for name, each in (("nodes", NODES), ("edges", EDGES), ("heads", HEADS))}
    blocks = [
        runs_of(shown, KEPT),
        places_of(shown, chosen.align),
        PRINTING,
        FLOW.substitute(start=positions_at(shown, start_of(shown, chosen)), threshold=chosen.flow_threshold),
        NAMES,
        tokens_of(shown),
        TABLES.substitute(positions | headings),
    ]
    analyses = ["flow"] if shown.b is None else ["alignment", "flow"]
    return whole("What a token's last state was made of: the information flow.", analyses, blocks)

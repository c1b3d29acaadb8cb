"""The script of the page *Inside one head*."""

from string import Template

from app.exports.code.parts import PRINTING, places_of, runs_of, tokens_of, whole
from app.selection.chosen import Selection
from app.shown import Shown
from app.views.steps.chosen import head_of, sides_of

STEPS = Template('''\
layer, head = $head
query, key = $query, $key


def inside(run):
    """Every step of the head at the query, from the run's own activations."""
    cache, block = caches[run], models[run].blocks[layer]
    ln1, attn = block.ln1, block.attn
    norm = head_steps.Norm(ln1.eps, *(getattr(ln1, name, None) for name in "wb")) if hasattr(ln1, "eps") else None
    q, k, v = (cache[name, layer][0, :, head] for name in ("q", "k", "v"))
    visible = cache["attn_scores", layer][0, head, query[run]].isfinite()
    stream = cache["resid_pre", layer][0]
    return head_steps.head_steps(stream, norm, q[query[run]], k, v, attn.W_O[head], visible, attn.attn_scale)


with torch.inference_mode():
    steps = {run: inside(run) for run in query}''')

SIDES = '''\
def sides(values):
    """A, B and, where they have one shape, B - A."""
    if len(values) == 2 and values["A"].shape == values["B"].shape:
        return values | {"B - A": values["B"] - values["A"]}
    return values'''

ROWS = '''\
def rows(values):
    """A row for each index and run of which anything is known."""
    for run, lines in sides(values).items():
        for index, numbers in enumerate(lines.tolist()):
            if any(number == number for number in numbers):
                yield run, index, *numbers'''

KEYS = Template("""\
by_key = {
    run: torch.stack([each.values for each in (s.dots, s.scores, s.masked, s.exponentials, s.weights)])
    for run, s in steps.items()
}
by_key = {run: $laid.T for run, values in by_key.items()}
names = ["q · k", "q · k / scale", "masked score", "exp(score − max)", "attention weight"]
table(["run", "place", *names], rows(by_key))""")

COMPONENTS = '''\
def components(run):
    """q, k and v of the followed key, and z; padded where values are narrower."""
    s = steps[run]
    q, k, v = s.q.values, s.k.values[key[run]], s.v.values[key[run]]
    columns = [q, k, q * k, v, s.z.values]
    return torch.nn.utils.rnn.pad_sequence(columns, padding_value=torch.nan)


names = ["q", "k", "q × k", "v", "z"]
table(["run", "component", *names], rows({run: components(run) for run in steps}))'''

ENTRIES = """\
by_entry = {
    run: torch.stack([s.stream.values[query[run]], s.read.values[query[run]], s.output.values], -1)
    for run, s in steps.items()
}
table(["run", "entry", "stream", "after LayerNorm", "output"], rows(by_entry))"""


def script(shown: Shown, chosen: Selection) -> str:
    """A script that prints what the query makes of every key, and the vectors on the way."""
    sides, head = sides_of(shown, chosen), head_of(shown, chosen)
    positions = ({side: getattr(at, which) for side, at in sides.items()} for which in ("query", "key"))
    query, key = map(repr, positions)
    laid = "values" if shown.b is None else "alignment.on_axis(values, places[run], torch.nan)"
    blocks = [
        runs_of(shown, '("resid_pre", "hook_q", "hook_k", "hook_v", "hook_attn_scores")'),
        places_of(shown, chosen.align),
        PRINTING,
        STEPS.substitute(head=head, query=query, key=key),
        SIDES,
        ROWS,
        tokens_of(shown),
        KEYS.substitute(laid=laid),
        COMPONENTS,
        ENTRIES,
    ]
    analyses = ["head_steps"] if shown.b is None else ["alignment", "head_steps"]
    return whole(f"Every step of head {head[1]} of layer {head[0]} at one query.", analyses, blocks)

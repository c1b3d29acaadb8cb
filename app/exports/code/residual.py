"""The script of the residual page."""

from string import Template

from app.exports.code.parts import (
    FINITE,
    LAYERS,
    PRINTING,
    STREAMS,
    compared,
    laid,
    places_of,
    runs_of,
    sides_of,
    tokens_of,
    whole,
)
from app.exports.numbers.residual import place_of
from app.run import EDITED
from app.selection.chosen import Selection
from app.shown import Shown

WRITES = Template('''\
def writes(run):
    """What each part of the model wrote to the residual stream, in the order of writing."""
    cache, found = caches[run], {"token embedding": caches[run]["embed"][0]}
    found["position embedding"] = cache["pos_embed"][0]
    for layer in range(models[run].cfg.n_layers):
        found[f"L{layer} attention"] = cache["attn_out", layer][0]
        if not models[run].cfg.attn_only:
            found[f"L{layer} MLP"] = cache["mlp_out", layer][0]$edited
    return found''')

BY_EDITS = """
    if run == "B":
        found["$name"] = streams(run)[-1] - sum(found.values())"""

NORMS = Template("""\
norms = $norms
rows = [(run, layers[at], place, norm) for run in norms for (at, place), norm in finite(norms[run])]
table(["run", "after layer", "place", "L2 norm"], rows)""")

COSINES = Template("""\
cosines = $cosines
rows = [(run, layers[at], layers[other], value) for run in cosines for (at, other), value in finite(cosines[run])]
table(["run", "after layer", "other layer", "cosine"], rows)""")

COMPONENTS = Template("""\
place = $place
parts = {run: residual.decompose(writes(run), streams(run)[-1]) for run in tokens}
lengths = $lengths
shares = $shares
components = max((parts[run].components for run in parts), key=len)
rows = []
for run in lengths:
    both = zip(components, lengths[run][:, place].tolist(), shares[run][:, place].tolist())
    rows += [(run, *values) for values in both]
table(["run", "component", "L2 norm", "share of the final stream"], rows)""")


def _writes(shown: Shown) -> str:
    by_edits = shown.b is not None and shown.b.edits_stream
    return WRITES.substitute(edited=BY_EDITS.replace("$name", EDITED) if by_edits else "")


def script(shown: Shown, chosen: Selection) -> str:
    """A script that prints the stream's norms and cosines, and the components at the place looked at."""

    def by_run(values: str) -> str:
        return compared(shown, f"{{run: {values} for run in tokens}}")

    blocks = [
        runs_of(shown, '("resid_pre", "resid_post", "embed", "attn_out", "mlp_out")'),
        places_of(shown, chosen.align),
        LAYERS,
        PRINTING,
        FINITE,
        sides_of(shown),
        STREAMS,
        _writes(shown),
        tokens_of(shown),
        NORMS.substitute(norms=by_run(laid(shown, "residual.stream_norms(streams(run)).values"))),
        COSINES.substitute(cosines=by_run("residual.layer_cosine(streams(run)).values")),
        COMPONENTS.substitute(
            place=place_of(shown, chosen),
            lengths=by_run(laid(shown, "parts[run].norms.values")),
            shares=by_run(laid(shown, "parts[run].shares.values")),
        ),
    ]
    analyses = ["residual"] if shown.b is None else ["alignment", "residual"]
    return whole("The residual stream: how long it is, where it turns, and who writes it.", analyses, blocks)

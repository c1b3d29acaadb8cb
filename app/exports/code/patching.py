"""The script of the page *Patching*."""

from string import Template

from app.exports.code.parts import PRINTING, TOKENS_OF_TWO, loading, places_of, whole
from app.exports.numbers.patching import MEASURED
from app.patching import KINDS, PATHS, Asked
from app.selection.chosen import Selection
from app.shown import Shown
from app.views.patches import asked_of, axes

RUNS = Template("""\
model = $model
a = model.to_tokens($a, prepend_bos=$bos)
b = model.to_tokens($b, prepend_bos=$bos)
tokens = {"A": a, "B": b}
labels = {run: model.tokenizer.labels(tokens[run]) for run in tokens}
measured = LogitDifference(target=$target, distractor=$distractor, position=$position)
patching = Patching(model, a, b, measured, into=$into)""")

NAMES = '''\
def named(axis, places):
    """What the places of a side of the map are called."""
    if axis == "layer":
        return [f"L{layer}" for layer in range(places)]
    if axis == "head":
        return [f"LAYERH{head}" for head in range(places)]
    pairs = enumerate(zip(labels["A"][:places], labels["B"]))
    return [f"{place} {one}" if one == other else f"{place} {one}→{other}" for place, (one, other) in pairs]'''

PRINTED = Template("""\
$tokens
table($measured, [("A", patching.a), ("B", patching.b)])
exact = $exact
maps = [exact$estimate]
rows, columns = (named(axis, size) for axis, size in zip(exact.axes, exact.values.shape))
cells = [
    (row, column, *(each.values[i, j].item() for each in maps))
    for i, row in enumerate(rows)
    for j, column in enumerate(columns)
]
table($heading, cells)""")


def script(shown: Shown, chosen: Selection) -> str:
    """A script that makes the map once more, with its estimate where one was asked for."""
    asked = asked_of(shown, chosen)
    estimated = chosen.patch_estimate and asked.map not in PATHS
    function = "path_map" if asked.map in PATHS else "patching_map"
    names = ["LogitDifference", "Patching", *(["attribution_map"] if estimated else []), function]
    blocks = [
        RUNS.substitute(
            model=loading(shown.a),
            a=repr(asked.a),
            b=repr(asked.b),
            bos=asked.bos,
            target=asked.target,
            distractor=asked.distractor,
            position=asked.position,
            into=repr(asked.into),
        ),
        places_of(shown, chosen.align),
        PRINTING,
        NAMES.replace("LAYER", f"L{asked.layer}" if asked.map == "z_by_position" else ""),
        PRINTED.substitute(
            tokens=TOKENS_OF_TWO,
            measured=list(MEASURED),
            exact=_call(asked, function),
            estimate=f", {_call(asked, 'attribution_map')}" if estimated else "",
            heading=[*axes(asked), "share", *(["estimate"] if estimated else [])],
        ),
    ]
    imports = f"from model.patching import {', '.join(sorted(names, key=str.lower))}"
    return whole("What parts of one prompt's run change in another's.", ["alignment"], blocks, (imports,))


def _call(asked: Asked, function: str) -> str:
    if asked.map in PATHS:
        return f"path_map(patching, {asked.receiver}, {PATHS[asked.map]!r}, through_mlps={asked.through_mlps})"
    layer = f", layer={asked.layer}" if asked.map == "z_by_position" else ""
    return f"{function}(patching, {KINDS[asked.map]!r}{layer})"

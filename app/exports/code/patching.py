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
model_b = $model_b
a = model.to_tokens($a, prepend_bos=$bos)
b = model_b.to_tokens($b, prepend_bos=$bos)
tokens = {"A": a, "B": b}
labels = {run: model.tokenizer.labels(tokens[run]) for run in tokens}
matches = alignment.match_positions(a[0].tolist(), b[0].tolist(), $align)
measured = LogitDifference(target=$target, distractor=$distractor, position=$position, position_b=$position_b)
$edits
patching = Patching(model, a, b, measured, $into, matches, model_b, tap_b)""")

EDITS = Template("""\
edits = [
$edits]
with torch.no_grad():
    tap_b = tap(model_b, b, edits, prepend_bos=$bos)""")

NAMES = '''\
def named(axis, places):
    """What the places of a side of the map are called."""
    if axis == "layer":
        return [f"L{layer}" for layer in range(places)]
    if axis == "head":
        return [f"LAYERH{head}" for head in range(places)]
    own = labels[patching.into]
    names = dict(enumerate(f"{place} SIGN{own[place]}" for place in range(len(own))))
    for pair in matches:
        place = pair["AB".index(patching.into)]
        one, other = (labels[run][position] for run, position in zip("AB", pair))
        same = a[0, pair[0]] == b[0, pair[1]]
        names[place] = f"{place} {one}" if same else f"{place} {one}→{other}"
    return [names[place] for place in range(places)]'''

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
    assert shown.b is not None  # refused before
    estimated = chosen.patch_estimate and asked.map not in PATHS
    function = "path_map" if asked.map in PATHS else "patching_map"
    names = ["LogitDifference", "Patching", *(["attribution_map"] if estimated else []), function]
    blocks = [
        RUNS.substitute(
            model=loading(shown.a),
            model_b="model" if shown.b.same_model(shown.a) else loading(shown.b),
            align=repr(asked.align),
            position_b=asked.position_b,
            edits=_edits(asked),
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
        NAMES.replace("LAYER", f"L{asked.layer}" if asked.map == "z_by_position" else "").replace(
            "SIGN", "−" if asked.into == "A" else "+"
        ),
        PRINTED.substitute(
            tokens=TOKENS_OF_TWO,
            measured=list(MEASURED),
            exact=_call(asked, function),
            estimate=f", {_call(asked, 'attribution_map')}" if estimated else "",
            heading=[*axes(asked), "share", *(["estimate"] if estimated else [])],
        ),
    ]
    kinds = ", ".join(sorted({type(edit).__name__ for edit in asked.edits}))
    edited = ["from model.editing import tap", f"from model.edits import {kinds}"] if asked.edits else []
    imports = (*(edited or [_NO_TAP]), f"from model.patching import {', '.join(sorted(names, key=str.lower))}")
    return whole("What parts of one run change in another.", ["alignment"], blocks, imports)


_NO_TAP = "from model.hooks import NO_TAP"


def _edits(asked: Asked) -> str:
    """B's tap: none, or that of its edits."""
    if not asked.edits:
        return "tap_b = NO_TAP"
    return EDITS.substitute(edits="".join(f"    {edit!r},\n" for edit in asked.edits), bos=asked.bos)


def _call(asked: Asked, function: str) -> str:
    if asked.map in PATHS:
        return f"path_map(patching, {asked.receiver}, {PATHS[asked.map]!r}, through_mlps={asked.through_mlps})"
    layer = f", layer={asked.layer}" if asked.map == "z_by_position" else ""
    return f"{function}(patching, {KINDS[asked.map]!r}{layer})"

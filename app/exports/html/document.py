"""One html file: the components' own scripts and styles, their data, and nothing that is not in the file.

The data is packed as it is for the page, compressed, and in base64: no text of a user's is ever read as markup. What is
markup here, the heading, is escaped.
"""

import base64
import gzip
import html
import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from headlight.app.components.shared.mount import SHARED, bare, entry, joined, recorded, scripts
from headlight.app.components.shared.packing import pack
from headlight.app.exports.drawings import Drawings, OpenableHeads
from headlight.app.exports.facts import Input, inputs, sources
from headlight.app.exports.html.mounts import mount
from headlight.app.figures.tokens import SHEET
from headlight.app.parts.grid import CHOICES

HERE = Path(__file__).parent
POLICY = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:"


def document(drawings: Drawings) -> bytes:
    """Html file: a heading that describes it, and each drawing as a component.

    The heading has the input tokens too, unless the drawings are of other prompts. The same numbers give the same
    bytes.
    """
    runs, note = drawings.runs, drawings.note
    models = () if runs is None else (source.short_name for source in sources(runs).values())
    title = drawings.title if runs is None else f"{drawings.title} of {' and '.join(models)}"
    listed = [drawing for row in drawings.rows for drawing in row]
    with recorded() as mounted:
        for slot, drawing in enumerate(listed):
            mount(drawing, f"drawing {slot}")
    script = "attention" if any(isinstance(drawing.description, OpenableHeads) for drawing in listed) else "plain"
    names = [each.component.folder.name for each in mounted]
    arrays = {str(slot): np.frombuffer(component.data, np.uint8) for slot, component in enumerate(mounted)}
    packed = _apart(pack({"components": names}, arrays))
    data = base64.b64encode(gzip.compress(packed, mtime=0)).decode()
    folders = {each.component.folder for each in mounted}
    text = f"""\
<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{POLICY}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{html.escape(title)}</title>
<style>
{SHEET.read_text(encoding="utf-8")}
{_read("page.css")}
</style>
{"".join(_template(folder) for folder in (SHARED, *sorted(folders)))}
</head>
<body>
<header>
<h1>{html.escape(title)}</h1>
{f"<p>{html.escape(note)}</p>" if note else ""}
{"".join(_section(each, drawings.tokens) for each in (inputs(runs) if runs else ()))}
</header>
<main></main>
<script type="text/plain" id="data">{data}</script>
<script type="module">
{_script(sorted(folders), script)}
</script>
</body>
</html>
"""
    return text.encode("utf-8", "replace")


def _apart(packed: bytes) -> bytes:
    """Every fourth byte first, then those after them and so on: the bytes of float32 values compress better apart."""
    return np.frombuffer(packed.ljust(-len(packed) % 4 + len(packed), b"\0"), np.uint8).reshape(-1, 4).T.tobytes()


def _section(each: Input, with_tokens: bool) -> str:
    """Models and their tokens, as labels, because these show every character."""
    source = each.source
    side = f"{each.called}: " if each.called else ""
    revision = f", revision {source.revision}" if source.revision else ""
    facts = html.escape(f"{side}{source.short_name}{revision}, sha256 of the weights {source.sha256}")
    labels = "".join(f"<span>{html.escape(label)}</span>" for label in each.labels)
    tokens = f'<p class="tokens">{labels}</p>' if with_tokens else ""
    edits = f"<p>edited: {html.escape('; '.join(each.edits))}</p>" if each.edits else ""
    return f'<section class="fed"><p>{facts}</p>{edits}{tokens}</section>\n'


def _template(folder: Path) -> str:
    """The styles of a folder, waiting to be put beside a component where they reach nothing else."""
    return f'<template id="{folder.name}"><style>\n{joined("*.css", folder)}\n</style></template>\n'


def _script(folders: Sequence[Path], own: str) -> str:
    """The shared scripts, each component's as the body of a function, and the page's own."""
    components = [_component(folder) for folder in folders]
    last = _read(f"{own}.js").replace('"parts/grid.py"', json.dumps(json.dumps(CHOICES)))
    parts = [scripts(SHARED), _read("components.js"), *components, _read("page.js"), last]
    return bare("\n".join(parts))  # the comments name sources by their addresses


def _component(folder: Path) -> str:
    return f'COMPONENTS["{folder.name}"] = (() => {{\n{scripts(folder)}\nreturn {entry(folder)};\n}})();'


def _read(name: str) -> str:
    return (HERE / name).read_text(encoding="utf-8")

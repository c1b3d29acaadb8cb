"""What the scripts have in common: they open the models, run the prompts, and print tables as csv, a line apart.

Whatever a user typed enters a script as a Python literal, so that no prompt can become code.
"""

from collections.abc import Sequence
from string import Template

from app import models
from app.run import Run
from app.selection.chosen import Align
from app.shown import Shown

HOW = "The numbers of Headlight's page, without the page. Save this in Headlight's folder and run it there."

PRINTING = '''\
sys.stdout.reconfigure(encoding="utf-8")
out = csv.writer(sys.stdout, lineterminator="\\n")


def table(heading, rows):
    """Print a table; what is not a number is an empty cell."""
    out.writerow(heading)
    out.writerows([["" if cell != cell or cell is None else cell for cell in row] for row in rows])
    print()'''

FINITE = '''\
def finite(values):
    """The indices and values of all entries that are numbers."""
    for index in values.isfinite().nonzero().tolist():
        yield index, values[tuple(index)].item()'''

LAYERS = """\
layers = ["embed", *(f"L{layer}" for layer in range(max(model.cfg.n_layers for model in models.values())))]"""

STREAMS = '''\
def streams(run):
    """The residual stream before the first layer and after each one."""
    n_layers = models[run].cfg.n_layers
    return [caches[run]["resid_pre", 0][0], *(caches[run]["resid_post", layer][0] for layer in range(n_layers))]'''

TOKENS = """\
table(["place", "A"], enumerate(labels["A"]))"""

TOKENS_OF_TWO = """\
stands = {run: [None if i is None else labels[run][i] for i in places[run]] for run in places}
table(["place", "A", "B"], zip(range(len(common)), stands["A"], stands["B"]))"""

SIDES = '''\
def sides(values):
    """A, B and B - A."""
    return values | {"B - A": values["B"] - values["A"]}'''

SIDES_OF_UNEQUAL = '''\
def sides(values):
    """A, B and B - A, for the layers and heads that both have."""
    both = tuple(slice(min(sizes)) for sizes in zip(*(value.shape for value in values.values())))
    return values | {"B - A": values["B"][both] - values["A"][both]}'''


def whole(purpose: str, analyses: Sequence[str], blocks: Sequence[str], also: Sequence[str] = ()) -> str:
    """A script: what it is for, the modules of the analysis that it needs, other imports, and its blocks of code."""
    opening = f'"""{purpose}\n\n{HOW}\n"""'
    ours = ["from model import load", f"from model.analysis import {', '.join(sorted(analyses))}", *also]
    imports = "\n".join(["import csv", "import sys", "", "import torch", "", *ours])
    return "\n\n\n".join([f"{opening}\n\n{imports}", *filter(None, blocks)]) + "\n"


def runs_of(shown: Shown, kept: str) -> str:
    """Open the models and run the prompts; `kept` is a tuple of the last names of the activations needed."""
    lines = [*opened(shown, "tokens"), f"kept = {kept}"]
    if any(run.edits for run in shown.runs):
        return "\n".join([*edits_of(shown), *lines, _RUN_EDITED.substitute(bos=shown.a.bos), _LABELS])
    return "\n".join([*lines, _RUN, _LABELS])


def opened(shown: Shown, name: str) -> list[str]:
    """Lines that open the models, and make token ids of the prompts under this name."""
    lines = [f'models = {{"A": {loading(shown.a)}}}']
    if shown.b is not None:
        same = shown.b.same_model(shown.a)
        lines.append(f'models["B"] = {_SAME if same else loading(shown.b)}')
    lines.append(f"{name} = {{")
    for side, run in shown.sides.items():
        lines.append(f'    "{side}": models["{side}"].to_tokens({run.prompt!r}, prepend_bos={run.bos}),')
    return [*lines, "}"]


def edits_of(shown: Shown) -> list[str]:
    """The edits of each run, as they are written in Python."""
    kinds = sorted({type(edit).__name__ for run in shown.runs for edit in run.edits})
    lines = ["from model.editing import run_with_edits", f"from model.edits import {', '.join(kinds)}", "", "edits = {"]
    for side, run in shown.sides.items():
        lines += [f'    "{side}": [', *(f"        {edit!r}," for edit in run.edits), "    ],"]
    return [*lines, "}"]


_SAME = 'models["A"]'
_RUN = """\
with torch.inference_mode():
    caches = {run: models[run].run_with_cache(tokens[run], lambda name: name.endswith(kept))[1] for run in tokens}"""
_RUN_EDITED = Template("""\
with torch.inference_mode():
    caches = {
        run: run_with_edits(models[run], tokens[run], edits[run], lambda name: name.endswith(kept), $bos)[1]
        for run in tokens
    }""")
_LABELS = """\
labels = {run: models[run].tokenizer.labels(tokens[run]) for run in tokens}"""


def loading(run: Run) -> str:
    """An expression that opens a run's model, at the commit that was used where it has one."""
    revision = f", {run.source.revision!r}" if run.source.revision else ""
    return f"load({models.opened_by(run.source)!r}{revision})"


def places_of(shown: Shown, align: Align, units: str = "(ids[0].tolist() for ids in tokens.values())") -> str:
    """Lay the runs' units, by default tokens, side by side; nothing to lay where there is one run."""
    if shown.b is None:
        return ""
    matched = f"align_tokens(*{units})" if align == "tokens" else "align_positions(*map(len, labels.values()))"
    return f'common = alignment.{matched}\nplaces = {{"A": common.a, "B": common.b}}'


def sides_of(shown: Shown) -> str:
    """The function that adds B - A, where there is a B."""
    if shown.b is None:
        return ""
    return SIDES if shown.a.cfg == shown.b.cfg and not shown.b.edits_stream else SIDES_OF_UNEQUAL


def tokens_of(shown: Shown) -> str:
    """Print which token stands where."""
    return TOKENS if shown.b is None else TOKENS_OF_TWO


def compared(shown: Shown, by_run: str) -> str:
    """An expression for values by run, with B - A added where there is a B."""
    return by_run if shown.b is None else f"sides({by_run})"


def laid(shown: Shown, values: str) -> str:
    """An expression for values [..., position] of `run`, laid on the common axis where there is a B."""
    return values if shown.b is None else f"alignment.on_axis({values}, places[run], torch.nan)"

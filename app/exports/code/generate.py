"""The script of the page *Generate*."""

from string import Template

from app import continuations, generation
from app.continuations import Continuations
from app.exports.code.parts import FINITE, HOW, PRINTING, TOKENS, TOKENS_OF_TWO, edits_of, opened
from app.exports.numbers.generate import APART, CHOICES, OWN, STEPS, WEIGHTS
from app.generation import MOST_CANDIDATES
from app.selection.chosen import Selection
from app.shown import Shown
from app.views.written import heads_of, step_of

OPENING = Template('''\
"""What a model writes behind a prompt, and what each token was drawn from.

$how
"""

import csv
import sys

import torch

from model import load
$imports''')

PROMPTS = Template("""\
given = $given  # tokens that were put behind the prompt
n_new, seed, stop = $n_new, $seed, $stop
sampling = $sampling""")

CONTINUED = '''\
def continued(run):
    """The tokens that were given, and those drawn behind them."""
    if len(given) == n_new or (given and given[-1] in stop):
        return given
    begun = torch.cat([prompts[run], torch.tensor([given], dtype=torch.long)], 1)
    how = {
        "sampling": sampling,
        "generator": torch.Generator().manual_seed(seed),
        "max_new_tokens": n_new - len(given),
        "stop_tokens": stop,
    }
$draw
    return [*given, *drawn.tokens.tolist()]'''

DRAW = "    (drawn,) = sample(models[run], begun, **how)"
DRAW_EDITED = """\
    if edits[run]:
        drawn = sample_anew(lambda text: whole_run(run, text)[0], begun, cfg=models[run].cfg, **how)
    else:
        (drawn,) = sample(models[run], begun, **how)"""

WHOLE_RUN = '''\
def whole_run(run, text):
    """Logits and patterns of a prompt and what is written behind it."""
    kept = lambda name: name.endswith("hook_pattern")
    with torch.inference_mode():
        return models[run].run_with_cache(text, kept)'''
WHOLE_RUN_EDITED = Template('''\
def whole_run(run, text):
    """Logits and patterns of a prompt and what is written behind it, with the run's edits."""
    kept = lambda name: name.endswith("hook_pattern")
    with torch.inference_mode():
        return run_with_edits(models[run], text, edits[run], kept, $bos, prompts[run].shape[1])''')

RUN = """\
tokens, caches, logits = {}, {}, {}
for run, ids in written.items():
    tokens[run] = torch.cat([prompts[run], torch.tensor([ids], dtype=torch.long)], 1)
    every, caches[run] = whole_run(run, tokens[run])
    logits[run] = every[0, prompts[run].shape[1] - 1 : -1]  # each token was written at the position before its own
chances = {run: distributions(logits[run], sampling) for run in logits}
labels = {run: models[run].tokenizer.labels(tokens[run]) for run in tokens}"""

SIDE_BY_SIDE = Template("""\
n_read = {run: prompts[run].shape[1] - 1 for run in prompts}  # from the last token on, step by step
read = {run: tokens[run][0, : n_read[run]].tolist() for run in tokens}
head = $head
tail = alignment.align_positions(*(tokens[run].shape[1] - n_read[run] for run in tokens))
places = {}
for run, of_head, of_tail in ("A", head.a, tail.a), ("B", head.b, tail.b):
    places[run] = [*of_head, *(None if place is None else n_read[run] + place for place in of_tail)]
common = places["A"]""")
STEP_TABLE = Template("""\
numbers, rows = {}, []
for run, ids in written.items():
    log_probs = logits[run].log_softmax(-1)[range(len(ids)), ids]
    entropies = [torch.special.entr(each).sum(-1) for each in (chances[run].before, chances[run].after)]
    numbers[run] = torch.stack([log_probs, *entropies], -1)
    named = models[run].tokenizer.labels(ids)
    n_given = $n_given
    rows += [(run, step, named[step], int(step < n_given), *numbers[run][step].tolist()) for step in range(len(ids))]
$difference
table($heading, rows)""")
STEP_DIFFERENCE = """\
n_both = min(map(len, written.values()))
difference = (numbers["B"][:n_both] - numbers["A"][:n_both]).tolist()
rows += [("B - A", step, None, None, *difference[step]) for step in range(n_both)]"""

CHOICES_TABLE = Template("""\
step = $step
runs = [run for run in written if step < len(written[run])]
likely = torch.stack([chances[run].before[step] for run in runs]).amax(0)
wanted = likely.clone()
wanted[[written[run][step] for run in runs]] = torch.inf  # listed however unlikely
listed = wanted.topk(min($most, len(wanted))).indices
listed = listed[likely[listed].argsort(descending=True, stable=True)]
named = models["A"].tokenizer.labels(listed)
rows = []
for run in runs:
    for label, token in zip(named, listed.tolist()):
        rank = (logits[run][step] > logits[run][step, token]).sum().item() + 1
        shares = [each[step, token].item() for each in (chances[run].before, chances[run].after)]
        rows.append((run, rank, label, *shares))
$difference
table($heading, rows)""")
CHOICES_DIFFERENCE = """\
if len(runs) == 2:
    for label, token in zip(named, listed.tolist()):
        before, after = ([each[step, token].item() for each in vars(chances[run]).values()] for run in runs)
        rows.append(("B - A", None, label, after[0] - before[0], after[1] - before[1]))"""

HEADS_TABLE = Template("""\
place = prompts["A"].shape[1] + step - 1
rows = []
for layer, head in $heads:
    weights = caches["A"]["pattern", layer][0, head, place, : place + 1].tolist()
    rows += [(f"L{layer}H{head}", "A", key, weight) for key, weight in enumerate(weights)]
table($heading, rows)""")

HEADS_TABLE_OF_TWO = Template('''\
def laid(run, layer, head, missing_key):
    """A head's pattern on the axis that A and B have in common; not a number where it is masked."""
    pattern = caches[run]["pattern", layer][0, head]
    pattern = pattern.masked_fill(torch.ones_like(pattern).triu(1).bool(), torch.nan)
    columns = alignment.on_axis(pattern, places[run], missing_key)
    return alignment.on_axis(columns, places[run], torch.nan, dims=(-2,))


place = places["A"].index(prompts["A"].shape[1] + step - 1)
rows = []
for layer, head in $heads:
    cells = {run: laid(run, layer, head, torch.nan) for run in tokens}
    # A key that one run lacks has no weight there.
    cells["B - A"] = laid("B", layer, head, 0.0) - laid("A", layer, head, 0.0)
    for run, values in cells.items():
        rows += [(f"L{layer}H{head}", run, *index, value) for index, value in finite(values[place])]
table($heading, rows)''')

OWN_TABLE = Template("""\
text = torch.cat([prompts["B"], torch.tensor([own], dtype=torch.long)], 1)
ours = whole_run("B", text)[0][0, prompts["B"].shape[1] - 1 : -1].log_softmax(-1)[range(len(own)), own].tolist()
named = models["B"].tokenizer.labels(own)
table($heading, [(step, named[step], ours[step]) for step in range(len(own))])""")

APART_TABLE = Template("""\
apart = []
for when in ("before", "after"):
    a, b = (getattr(chances[run], when)[:n_both] for run in ("A", "B"))
    apart.append(attention.js_divergence(a, b).values.tolist())
table($heading, [(step, *each) for step, each in enumerate(zip(*apart))])""")


def script(shown: Shown, chosen: Selection) -> str:
    """A script that writes the same tokens, and prints every step, one step's choices and where heads looked for it."""
    found = continuations.of(shown, chosen)
    edited = any(run.edits for run in shown.runs)
    blocks = [
        OPENING.substitute(how=HOW, imports=_imports(shown, edited)),
        PRINTING,
        FINITE if found.b is not None else "",
        _prompts(shown, chosen, found),
        WHOLE_RUN_EDITED.substitute(bos=shown.a.bos) if edited else WHOLE_RUN,
        Template(CONTINUED).substitute(draw=DRAW_EDITED if edited else DRAW),
        _written(found),
        RUN,
        _side_by_side(chosen) if found.b is not None else "",
        TOKENS if found.b is None else TOKENS_OF_TWO,
        _tables(found, chosen),
    ]
    return "\n\n\n".join(filter(None, blocks)) + "\n"


def _imports(shown: Shown, edited: bool) -> str:
    lines = ["from model.analysis import alignment, attention"] if shown.b is not None else []
    names = ["Sampling", "distributions", "sample", *(["sample_anew"] if edited else [])]
    return "\n".join([*lines, f"from model.decoding import {', '.join(names)}"])


def _prompts(shown: Shown, chosen: Selection, found: Continuations) -> str:
    lines = edits_of(shown) if any(run.edits for run in shown.runs) else []
    lines += opened(shown, "prompts")
    end = generation.stop_of(shown.a, chosen)
    settings = PROMPTS.substitute(
        given=list(generation.given_of(shown.a, chosen)),
        n_new=chosen.n_new,
        seed=chosen.seed,
        stop=() if end is None else (end,),
        sampling=repr(found.a.sampling),
    )
    return "\n".join([*lines, settings])


def _written(found: Continuations) -> str:
    """What is read behind each prompt."""
    lines = ['written = {"A": continued("A")}']
    if found.b is not None:
        lines.append('own = continued("B")')
        forced = 'written["A"][: models["B"].cfg.n_ctx - prompts["B"].shape[1]]  # B is made to write what A wrote'
        lines.append(f'written["B"] = {"own" if found.b is found.own else forced}')
    return "\n".join(lines)


def _side_by_side(chosen: Selection) -> str:
    by = "align_tokens(*read.values())" if chosen.align == "tokens" else "align_positions(*n_read.values())"
    return SIDE_BY_SIDE.substitute(head=f"alignment.{by}")


def _tables(found: Continuations, chosen: Selection) -> str:
    two = found.b is not None
    forced = two and found.b is not found.own
    n_given = 'len(given) if run == "A" else len(ids)' if forced else "len(given)"
    steps = STEP_TABLE.substitute(heading=STEPS, n_given=n_given, difference=STEP_DIFFERENCE if two else "")
    blocks = [steps.replace("\n\n", "\n")]
    if found.a.labels:
        blocks += [_choices(found, chosen), _heads(found, chosen)]
    if two:
        blocks += [OWN_TABLE.substitute(heading=OWN), APART_TABLE.substitute(heading=APART)]
    return "\n\n\n".join(blocks)


def _choices(found: Continuations, chosen: Selection) -> str:
    return CHOICES_TABLE.substitute(
        step=step_of(found, chosen),
        most=MOST_CANDIDATES,
        heading=CHOICES,
        difference=CHOICES_DIFFERENCE if found.b is not None else "",
    ).replace("\n\n", "\n")


def _heads(found: Continuations, chosen: Selection) -> str:
    table = HEADS_TABLE if found.b is None else HEADS_TABLE_OF_TWO
    return table.substitute(heads=list(heads_of(found, chosen)), heading=WEIGHTS)

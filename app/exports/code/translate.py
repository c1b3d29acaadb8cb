"""The script of the page *Translate and reverse*."""

from string import Template

from app import models
from app.exports.code.parts import FINITE, HOW, PRINTING
from app.exports.numbers.translate import APART, BEAMS, HEADS, SOURCE, TARGET
from app.selection.chosen import Selection
from app.translation import MOST_STEPS, PLACES, Translation
from app.translations import Translations
from app.views.translated.heads import chosen_of

OPENING = Template('''\
"""What an encoder-decoder writes for a source, and where its heads look.

$how
"""

import csv
import sys

import torch

from model import load_seq2seq
$also''')

SEARCHED = Template('''\
def searched(run):
    """The tree of beams."""
    n_new = min($most_steps, models[run].cfg.n_ctx - 1)
    return beam_search(models[run], sources[run], n_beams=$beams, n_best=$beams, max_new_tokens=n_new)[0]


def given(run, text):
    """The tokens of a target that is given, and the end token."""
    return [*models[run].to_target_tokens(text)[0, 1:].tolist(), models[run].cfg.end_token]''')

RUN = '''\
read, logits, caches = {}, {}, {}
for run, ids in written.items():
    read[run] = [models[run].cfg.start_token, *ids[:-1]]
    with torch.inference_mode():
        every, caches[run] = models[run].run_with_cache(sources[run], torch.tensor([read[run]]))
    logits[run] = every[0]
log_probs = {run: logits[run].log_softmax(-1)[range(len(ids)), ids].tolist() for run, ids in written.items()}


def labels(run, side, ids):
    """How tokens are shown."""
    tokenizer = models[run].source_tokenizer if side == "source" else models[run].target_tokenizer
    return tokenizer.labels(ids) if tokenizer else list(map(str, ids))'''

PLACES_ALONE = '''\
def places(ids):
    """The places of each run's tokens on their axis."""
    return {run: range(len(ids[run])) for run in ids}'''
PLACES_OF_TWO = Template('''\
def places(ids):
    """The places of each run's tokens on the axis that they have in common; None where a run has none."""
    common = alignment.$by
    return {"A": common.a, "B": common.b}''')

TOKENS = Template("""\
source_ids = {run: ids[0].tolist() for run, ids in sources.items()}
rows = []
for run, positions in places(source_ids).items():
    named = labels(run, "source", source_ids[run])
    rows += [(run, place, at, named[at]) for place, at in enumerate(positions) if at is not None]
table($source, rows)

stands, rows = places(written), []
for run, positions in stands.items():
    tokens = list(zip(labels(run, "target", read[run]), labels(run, "target", written[run]), log_probs[run]))
    rows += [(run, place, at, *tokens[at]) for place, at in enumerate(positions) if at is not None]
$change
table($target, rows)""")

CHANGE = """\
for place, (a, b) in enumerate(zip(stands["A"], stands["B"])):
    if a is not None and b is not None:
        names = [labels(run, "target", written[run])[at] for run, at in (("A", a), ("B", b))]
        label = names[0] if written["A"][a] == written["B"][b] else "→".join(names)
        rows.append(("B - A", place, None, None, label, log_probs["B"][b] - log_probs["A"][a]))"""

CELLS = Template('''\
rows_of, columns_of = places($down), places($across)


def cells(run, layer, head, missing_key):
    """A head's weights on the axes; not a number where they are masked or a token is missing."""
    part = f"$part"
    masked = caches[run][f"{part}.hook_attn_scores"][0, head].isneginf()
    values = caches[run][f"{part}.hook_pattern"][0, head].masked_fill(masked, torch.nan)
    values = alignment.on_axis(values, columns_of[run], missing_key)
    return alignment.on_axis(values, rows_of[run], torch.nan, dims=(-2,))


rows = []
for layer, head in $heads:
    shown = {run: cells(run, layer, head, torch.nan) for run in written}
$difference
    for run, values in shown.items():
        rows += [(layer, head, run, *index, value) for index, value in finite(values)]
table($heading, rows)''')
DIFFERENCE = """\
    # A key that one of the two lacks has no weight there.
    shown["B - A"] = cells("B", layer, head, 0.0) - cells("A", layer, head, 0.0)"""

APART_TABLE = Template("""\
rows = []
for layer, head in [(layer, head) for layer in range($n_layers) for head in range($n_heads)]:
    both = [cells(run, layer, head, 0.0) for run in ("A", "B")]
    missing = both[0].isnan().all(-1) | both[1].isnan().all(-1)
    apart = attention.js_divergence(*(each.nan_to_num(0) for each in both)).values[~missing].mean().item()
    rows.append((layer, head, apart))
table($heading, rows)""")

BEAMS_TABLE = Template("""\
rows = []
for run, search in searches.items():
    named = labels(run, "target", [each.token for each in search.tree])
    rows += [
        (run, place, each.n_tokens, label, each.parent, each.log_prob, each.score, each.fate)
        for place, (each, label) in enumerate(zip(search.tree, named))
    ]
table($heading, rows)""")


def script(found: Translations, chosen: Selection) -> str:
    """A script that prints the tokens, the chosen heads' cells and the beams."""
    two = found.b is not None
    analyses = "alignment, attention" if two else "alignment"
    also = f"from model.analysis import {analyses}\nfrom model.decoding import beam_search"
    by = "align_tokens(*ids.values())" if found.align == "tokens" else "align_positions(*map(len, ids.values()))"
    tokens = TOKENS.substitute(source=SOURCE, target=TARGET, change=CHANGE if two else "")
    blocks = [
        OPENING.substitute(how=HOW, also=also),
        PRINTING,
        FINITE,
        _opened(found),
        SEARCHED.substitute(most_steps=MOST_STEPS, beams=chosen.beams),
        _written(found, chosen),
        RUN,
        PLACES_OF_TWO.substitute(by=by) if two else PLACES_ALONE,
        tokens.replace("\n\ntable", "\ntable"),
        _cells(found, chosen),
        _apart(found, chosen) if two else "",
        BEAMS_TABLE.substitute(heading=BEAMS) if any(each.search for each in found.sides.values()) else "",
    ]
    return "\n\n\n".join(filter(None, blocks)) + "\n"


def _opened(found: Translations) -> str:
    """Open the models and read the sources."""
    lines = [f'models = {{"A": {_loading(found.a)}}}']
    if found.b is not None:
        again = 'models["A"]' if found.b.model is found.a.model else _loading(found.b)
        lines.append(f'models["B"] = {again}')
    read = [
        f'    "{side}": models["{side}"].to_source_tokens({each.source_text!r}),' for side, each in found.sides.items()
    ]
    return "\n".join([*lines, "sources = {", *read, "}"])


def _loading(found: Translation) -> str:
    return f"load_seq2seq({models.opened_by(found.source)!r})"


def _written(found: Translations, chosen: Selection) -> str:
    """What is written for each source: the branch of the beams that is looked at, or what was given."""
    lines = ["searches, written = {}, {}"]
    texts = {"A": chosen.translation, "B": chosen.translation_b}
    for side, each in found.sides.items():
        if each.search is None:
            lines.append(f'written["{side}"] = given("{side}", {texts[side]!r})')
        else:
            lines.append(f'searches["{side}"] = searched("{side}")')
            lines.append(f'written["{side}"] = list(searches["{side}"].path({each.leaf}))')
    return "\n".join(lines)


def _cells(found: Translations, chosen: Selection) -> str:
    inside = "source_ids" if chosen.attends == "encoder" else "read"
    down, across = (chosen.rows, "source_ids") if chosen.attends == "cross" else (inside, inside)
    text = CELLS.substitute(
        down=down,
        across=across,
        part=PLACES[chosen.attends].format("blocks.{layer}"),
        heads=list(chosen_of(found, chosen)),
        difference=DIFFERENCE if found.b is not None else "",
        heading=HEADS,
    )
    return text.replace("\n\n    for run", "\n    for run")


def _apart(found: Translations, chosen: Selection) -> str:
    n_layers, n_heads = found.shape(chosen.attends)
    return APART_TABLE.substitute(n_layers=n_layers, n_heads=n_heads, heading=APART)

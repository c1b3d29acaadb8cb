"""The script of the page *Translate and reverse*."""

from string import Template

from app import models
from app.exports.code.parts import FINITE, HOW, PRINTING
from app.exports.numbers.translate import heads_of
from app.selection.chosen import Selection
from app.translation import MOST_STEPS, PLACES, Translation

OPENING = Template('''\
"""What an encoder-decoder writes for a source, and where its heads look.

$how
"""

import csv
import sys

import torch

from model import load_seq2seq
$also''')

SEARCH = Template("""\
n_new = min($most_steps, model.cfg.n_ctx - 1)
(search,) = beam_search(model, source, n_beams=$beams, n_best=$beams, max_new_tokens=n_new)
written = list(search.path($leaf))""")

GIVEN = Template("""\
written = [*model.to_target_tokens($target)[0, 1:].tolist(), model.cfg.end_token]""")

RUN = Template("""\
read = torch.tensor([[model.cfg.start_token, *written[:-1]]])
with torch.inference_mode():
    logits, cache = model.run_with_cache(source, read)
log_probs = logits[0].log_softmax(-1)[range(len(written)), written].tolist()


def labels(side, ids):
    tokenizer = model.source_tokenizer if side == "source" else model.target_tokenizer
    return tokenizer.labels(ids) if tokenizer else list(map(str, ids))""")

TOKENS = """\
table(["position", "token read"], enumerate(labels("source", source[0].tolist())))
rows = zip(labels("target", read[0].tolist()), labels("target", written), log_probs)
heading = ["position", "token read", "token written", "its log-probability (nats)"]
table(heading, [(position, *row) for position, row in enumerate(rows)])"""

HEADS = Template("""\
heads = $heads
rows = []
for layer, head in heads:
    part = f"$part"
    masked = cache[f"{part}.hook_attn_scores"][0, head].isneginf()
    cells = cache[f"{part}.hook_pattern"][0, head].masked_fill(masked, torch.nan)
    rows += [(layer, head, *index, value) for index, value in finite(cells)]
table(["layer", "head", "row", "column", "attention weight"], rows)""")

BEAMS = """\
named = labels("target", [each.token for each in search.tree])
rows = [
    (place, each.n_tokens, label, each.parent, each.log_prob, each.score, each.fate)
    for place, (each, label) in enumerate(zip(search.tree, named))
]
table(["place", "step", "token", "follows", "log-probability (nats)", "score", "fate"], rows)"""


def script(found: Translation, chosen: Selection) -> str:
    """A script that prints the tokens, the chosen heads' cells and the beams."""
    opened = f"model = load_seq2seq({models.opened_by(found.source)!r})"
    source = f"source = model.to_source_tokens({found.source_text!r})"
    if found.search is None:
        also, write = "", GIVEN.substitute(target=repr(chosen.translation))
    else:
        also = "from model.decoding import beam_search"
        write = SEARCH.substitute(most_steps=MOST_STEPS, beams=chosen.beams, leaf=found.leaf)
    part = PLACES[chosen.attends].format("blocks.{layer}")
    blocks = [
        OPENING.substitute(how=HOW, also=also).rstrip(),
        PRINTING,
        FINITE,
        "\n".join([opened, source, write]),
        RUN.substitute(),
        TOKENS,
        HEADS.substitute(heads=repr(heads_of(found, chosen)), part=part),
        BEAMS if found.search is not None else "",
    ]
    return "\n\n\n".join(filter(None, blocks)) + "\n"

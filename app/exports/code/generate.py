"""The script of the page *Generate*."""

from string import Template

from app import generation
from app.exports.code.parts import HOW, PRINTING, loading
from app.exports.numbers.generate import CHOICES, STEPS, WEIGHTS
from app.generation import MOST_CANDIDATES, Written
from app.selection.chosen import Selection
from app.shown import Shown
from app.views.written import heads_of, step_of

OPENING = f'''\
"""What a model writes behind a prompt, and what each token was drawn from.

{HOW}
"""

import csv
import sys

import torch

from model import load
from model.decoding import Sampling, distributions, sample'''

PROMPT = Template("""\
model = $load
prompt = model.to_tokens($prompt, prepend_bos=$bos)
given = $given  # tokens that were put behind it
begun = torch.cat([prompt, torch.tensor([given], dtype=torch.long)], 1)
sampling = $sampling""")

DRAWN = Template("""\
(drawn,) = sample(
    model,
    begun,
    sampling=sampling,
    generator=torch.Generator().manual_seed($seed),
    max_new_tokens=$n_more,
    stop_tokens=$stop,
)
tokens = torch.cat([begun, drawn.tokens[None]], 1)""")

RUN = """\
with torch.inference_mode():
    logits, cache = model.run_with_cache(tokens, lambda name: name.endswith("hook_pattern"))
n_prompt = prompt.shape[1]
written = tokens[0, n_prompt:]
logits = logits[0, n_prompt - 1 : -1]  # each token was written at the position before its own
log_probs = logits.log_softmax(-1)[range(len(written)), written]
chances = distributions(logits, sampling)
entropies = [torch.special.entr(each).sum(-1) for each in (chances.before, chances.after)]
labels = model.tokenizer.labels"""

TOKENS = Template("""\
table(["place", "token"], enumerate(labels(tokens[0])))
rows = []
for step, token in enumerate(written.tolist()):
    numbers = [each[step].item() for each in (log_probs, *entropies)]
    rows.append((step, labels([token])[0], int(step < len(given)), *numbers))
table($heading, rows)""")

STEP = Template("""\
step = $step
choices = logits[step].topk(min($most, logits.shape[1])).indices.tolist()
if written[step] not in choices:
    choices[-1] = written[step].item()
rows = []
for token in choices:
    rank = (logits[step] > logits[step, token]).sum().item() + 1
    rows.append((rank, labels([token])[0], chances.before[step, token].item(), chances.after[step, token].item()))
table($heading, rows)""")

HEADS = Template("""\
query = n_prompt + step - 1
rows = []
for layer, head in $heads:
    weights = cache["pattern", layer][0, head, query, : query + 1].tolist()
    rows += [(f"L{layer}H{head}", key, weight) for key, weight in enumerate(weights)]
table($heading, rows)""")


def script(shown: Shown, chosen: Selection) -> str:
    """A script that writes the same tokens, and prints every step, one step's choices and where heads looked for it."""
    run = shown.a
    found = generation.of(run, chosen)
    prompt = PROMPT.substitute(
        load=loading(run),
        prompt=repr(run.prompt),
        bos=run.bos,
        given=list(generation.given_of(run, chosen)),
        sampling=repr(found.sampling),
    )
    blocks = [OPENING, PRINTING, prompt, _drawn(found, chosen), RUN, TOKENS.substitute(heading=STEPS)]
    if found.labels:
        blocks += [
            STEP.substitute(step=step_of(found, chosen), most=MOST_CANDIDATES, heading=CHOICES),
            HEADS.substitute(heads=list(heads_of(found, chosen)), heading=WEIGHTS),
        ]
    return "\n\n\n".join(blocks) + "\n"


def _drawn(found: Written, chosen: Selection) -> str:
    """The lines that draw what was not given, if anything was left to draw."""
    if len(found.labels) == found.n_given:
        return "tokens = begun"
    end = generation.stop_of(found.run, chosen)
    stop = () if end is None else (end,)
    return DRAWN.substitute(seed=chosen.seed, n_more=chosen.n_new - found.n_given, stop=stop)

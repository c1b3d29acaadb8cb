"""The script of the page of prompts."""

from collections.abc import Sequence
from string import Template

from app.exports.code.attention import SCORES
from app.exports.code.parts import PRINTING, loading, whole
from app.exports.numbers.prompts import HEADS, found_of
from app.selection.chosen import Selection
from app.shown import Shown
from app.views.parts import name
from app.views.prompts import Listed
from app.views.scores import SCORES as TITLES

STATISTIC = Template('''\
def statistic(tokens):
    """$title of every head."""
    with torch.inference_mode():
        _, cache = model.run_with_cache(tokens, lambda name: name.endswith("hook_pattern"))
    patterns = [cache["pattern", layer][0] for layer in range(model.cfg.n_layers)]
    values = torch.stack([$score for pattern in patterns])
    return Measure($name, $unit, ("layer", "head"), values)''')

PROMPTS_TABLE = Template("""\
tokens = {prompt: model.to_tokens(prompt, prepend_bos=$bos) for prompt in prompts}
found = {prompt: statistic(fed) for prompt, fed in tokens.items()}
rows = [(prompt, found[prompt].values[$layer, $head].item(), tokens[prompt].shape[1]) for prompt in prompts]
table(["prompt", $title, "tokens"], rows)""")

HEADS_TABLE = Template("""\
over = spread(list(found.values()))
rows = []
for layer in range(model.cfg.n_layers):
    for head in range(model.cfg.n_heads):
        values = (each[layer, head].item() for each in (over.mean.values, over.sd.values, over.count))
        rows.append((f"L{layer}H{head}", *values))
table($heading, rows)""")


def script(listed: Sequence[Listed], shown: Shown, chosen: Selection) -> str:
    """A script that prints a statistic of each prompt that was run, and of every head over all of them."""
    found, title = found_of(listed, shown, chosen), TITLES[chosen.statistic].title
    measure = next(row.known.scores[chosen.statistic] for row in found.rows if row.known)
    literals = "".join(f"    {row.prompt.text!r},\n" for row in found.rows if row.known)
    blocks = [
        f"model = {loading(shown.a)}\nprompts = [\n{literals}]",
        PRINTING,
        STATISTIC.substitute(
            title=title,
            score=SCORES[chosen.statistic].replace("kinds", "attention.head_scores(pattern, tokens[0])"),
            name=repr(measure.name),
            unit=repr(measure.unit),
        ),
        PROMPTS_TABLE.substitute(
            bos=shown.a.bos, layer=found.head[0], head=found.head[1], title=repr(f"{name(found.head)} {title}")
        ),
        HEADS_TABLE.substitute(heading=list(HEADS)),
    ]
    also = ["from model.analysis.spread import spread"]
    return whole(f"{title} of every head {found.over}.", ["Measure", "attention"], blocks, also)

"""The script of the lens page."""

from string import Template

from app.exports.code.parts import (
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
from app.exports.numbers.lens import MEASURES, cell_of, followed_token
from app.selection.chosen import Selection
from app.shown import Shown

READ = '''\
def reader(run):
    """What the lens reads a run's streams with: the final norm and the unembedding."""
    model = models[run]
    return lambda rows: model.ln_final(rows[None], NO_TAP)[0], model.unembed.W_U, model.unembed.b_U


with torch.inference_mode():
    read = {run: lens.logit_lens(streams(run), *reader(run), multiply=affine) for run in tokens}
    followed = {}
    for run in tokens:
        everywhere = torch.full((len(labels[run]), 1), token)
        found = lens.chosen_probabilities(streams(run), *reader(run), read[run].log_normalizer, everywhere)
        followed[run] = found.values[..., 0]'''

BEST = Template('''\
def best(run, at, place):
    """The label of the best token of a cell; none for B - A."""
    if run not in read:
        return None
    return models[run].tokenizer.labels(read[run].top_tokens.values[at, $position, :1])[0]''')

LENS = Template("""\
every = {}
for run, found in read.items():
    columns = [found.top_probs.values[..., 0], found.entropy.values, found.kl_from_final.values, followed[run]]
    every[run] = $stacked
rows = []
for run, values in $every.items():
    for at, by_place in enumerate(values.permute(1, 2, 0).tolist()):
        for place, numbers in enumerate(by_place):
            if any(number == number for number in numbers):
                rows.append((run, layers[at], place, best(run, at, place), *numbers))
table($heading, rows)""")

CELL = Template("""\
at, place = $cell
rows, ways = [], []
for run in tokens:
    position = $position
    if position is None:
        continue
    if at < len(streams(run)):
        names = models[run].tokenizer.labels(read[run].top_tokens.values[at, position])
        chances = read[run].top_probs.values[at, position].tolist()
        rows += [(run, rank + 1, *row) for rank, row in enumerate(zip(names, chances))]
    here = [stream[position : position + 1] for stream in streams(run)]
    with torch.inference_mode():
        found = lens.chosen_ranks(here, *reader(run), torch.tensor([[token]]), multiply=affine)
    ranks = found.values[:, 0, 0]
    ways += [(run, *row) for row in zip(layers, followed[run][:, position].tolist(), ranks.tolist())]
table(["run", "rank", "token", "probability"], rows)
table(["run", "after layer", "probability", "rank"], ways)""")


def script(shown: Shown, chosen: Selection) -> str:
    """A script that prints the lens, the ten best of the cell looked at, and the followed token's way to it."""
    position = "place" if shown.b is None else "places[run][place]"
    token = followed_token(shown, chosen)
    blocks = [
        runs_of(shown, '("resid_pre", "resid_post")'),
        places_of(shown, chosen.align),
        LAYERS,
        f"token = {token}  # the one followed: {shown.a.tokenizer.labels([token])[0]!r}",
        PRINTING,
        sides_of(shown),
        STREAMS,
        READ,
        BEST.substitute(position=position),
        tokens_of(shown),
        LENS.substitute(
            stacked=laid(shown, "torch.stack(columns)"),
            every=compared(shown, "every"),
            heading=["run", "after layer", "place", "top token", *MEASURES],
        ),
        CELL.substitute(cell=cell_of(shown, chosen), position=position),
    ]
    analyses = ["lens"] if shown.b is None else ["alignment", "lens"]
    purpose = "What the model would say after each layer: the logit lens."
    return whole(purpose, analyses, blocks, ["from model.hooks import NO_TAP", "from model.product import affine"])

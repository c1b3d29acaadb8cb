"""The page *Why* in numbers: a cell's score, its write, what cutting it changes, and who made the prediction."""

from collections.abc import Mapping

from headlight.app.exports.data import Data
from headlight.app.pages.why import spelled
from headlight.app.pages.why.by_features import wanted
from headlight.app.pages.why.chosen import query_place, sides_of
from headlight.app.parts.first_heads import head_of
from headlight.app.parts.pair import pair_of, place_of
from headlight.app.selection.chosen import Selection
from headlight.model.analysis import Measure
from headlight.model.comparison import Comparison
from headlight.model.edits import head_name
from headlight.model.explain.explained import Explained
from headlight.model.reports.why import explained_by_features, explained_tables


def data(shown: Comparison, chosen: Selection) -> Data:
    """Tables of both runs with B - A where there is such a thing, and the arrays that they are made of."""
    sides, pair = sides_of(shown, chosen)[0], pair_of(shown, chosen)
    labels = shown.a.tokenizer.labels([pair.target, pair.distractor])
    shows = {
        "head": head_name(head_of(shown, chosen)),
        "query is at place": query_place(shown, chosen),
        "key is at position": {side: at.cell.key for side, at in sides.items()},
        "predicted after place": place_of(shown, chosen),
        "target": {"token id": pair.target, "token": labels[0]},
        "distractor": {"token id": pair.distractor, "token": labels[1]},
        "the head's mean": {side: spelled.mean(at) for side, at in sides.items()},
        "the mean is over": list(chosen.mean_over) or "this prompt",
        "the other run's": {side: spelled.resampled(at) for side, at in sides.items()},
        "LayerNorm": "every scale is the run's own; nothing is folded or centred",
        "names of the parts": {
            side: {"query": at.why.query_names, "key": at.why.key_names, "effects": at.effects.names}
            for side, at in sides.items()
        },
    }
    tables, arrays = explained_tables(shown, sides), _arrays(sides)
    if (reader := wanted(shown, chosen, head_of(shown, chosen)[0])) is not None:
        tables |= explained_by_features(shown, sides, reader.dictionary)
        shows |= {"dictionary": reader.name, "it reads": reader.dictionary.hook_in}
        arrays |= {f"{side} score by features": reader.why(at).found.matrix for side, at in sides.items()}
    return Data("why", shows, tables, arrays)


def _arrays(sides: Mapping[str, Explained]) -> dict[str, Measure]:
    arrays: dict[str, Measure] = {}
    for side, at in sides.items():
        found = {
            "score parts": at.why.found.matrix,
            "score": at.why.found.score,
            "score residual": at.why.found.residual,
            "write norm": at.written.norm,
            "direct effects": at.effects.values,
            "difference": at.effects.difference,
            "difference residual": at.effects.residual,
            "accumulated": at.effects.accumulated,
            "lens": at.effects.lens,
            "by source": at.by_source,
            "interventions direct": at.outcomes.direct,
            "interventions total": at.outcomes.total,
            "interventions KL": at.outcomes.kl,
        }
        arrays |= {f"{side} {name}": measure for name, measure in found.items()}
    return arrays

"""What the page *Features* shows: the dictionary of a layer, the features that are listed, and the chosen one."""

from dataclasses import dataclass
from functools import cached_property

from headlight.app.parts.pair import place_of
from headlight.app.runs import dictionaries
from headlight.app.selection.chosen import Selection
from headlight.model.comparison import Comparison
from headlight.model.dictionaries.dictionary import Dictionaries, Dictionary
from headlight.model.reports.features import default_feature, strongest


@dataclass(frozen=True, eq=False)
class Found:
    """The dictionaries of a name, the layer whose one is shown, and the feature and place that are looked at."""

    shown: Comparison
    name: str
    opened: Dictionaries
    layer: int
    feature: int
    place: int

    @property
    def dictionary(self) -> Dictionary:
        """The one that is shown."""
        return self.opened[self.layer]

    @cached_property
    def listed(self) -> list[int]:
        """The features that are listed, the chosen one among them."""
        return strongest(self.shown, self.opened, self.layer, self.feature)

    @property
    def told(self) -> str:
        """What the dictionary is, in a line."""
        each = self.dictionary
        stands = "" if each.is_autoencoder else f", writes {', '.join(each.hooks_out)}"
        return f"{each.n_features:,} features ({each.architecture}) · reads {each.hook_in}{stands}"


def find(shown: Comparison, chosen: Selection) -> Found | None:
    """What is chosen, or stands for what is not; None where there is no dictionary at all.

    Raises:
        HeadlightError: a dictionary is not offered here, cannot be opened, or does not fit a model.
    """
    name = dictionaries.named(chosen.dictionary, shown.a.source.name)
    if not name:
        return None
    for run in shown.runs:
        opened = dictionaries.fitting(name, run.cfg)
    layer, feature = chosen.feature or (next(iter(opened)), None)
    layer = layer if layer in opened else next(iter(opened))
    place = place_of(shown, chosen)
    if feature is None or feature >= opened[layer].n_features:
        feature = default_feature(shown, opened, layer, place)
    return Found(shown, name, opened, layer, feature, place)

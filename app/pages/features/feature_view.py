"""State of the page *Features*: the dictionary of a layer, the listed features, and the chosen one."""

from dataclasses import dataclass
from functools import cached_property

from headlight.app.parts import needs
from headlight.app.parts.pair import pair_of, place_of
from headlight.app.runs import dictionaries
from headlight.app.selection.chosen import Selection
from headlight.model.features.tables import FeatureOrder, default_feature, first_features
from headlight.model.runs.comparison import Comparison
from headlight.model.runs.dictionary import Dictionaries, Dictionary


@dataclass(frozen=True, eq=False)
class FeatureView:
    """The dictionaries of one name, the chosen layer and feature, and the order of the list."""

    comparison: Comparison
    name: str
    opened: Dictionaries
    layer: int
    feature: int
    order: FeatureOrder

    @property
    def place(self) -> int:
        """The place that is looked at."""
        return self.order.place

    @property
    def dictionary(self) -> Dictionary:
        """The dictionary of the chosen layer."""
        return self.opened[self.layer]

    @cached_property
    def listed(self) -> list[int]:
        """The features that are listed, the chosen one among them."""
        return first_features(self.comparison, self.opened, self.layer, self.feature, self.order)

    @property
    def description(self) -> str:
        """One line about the dictionary."""
        each = self.dictionary
        stands = "" if each.is_autoencoder else f", writes {', '.join(each.hooks_out)}"
        return f"{each.n_features:,} features ({each.architecture}) · reads {each.hook_in}{stands}"


def find(comparison: Comparison, chosen: Selection) -> FeatureView | None:
    """Resolve the choices, with defaults for those not made; None without any dictionary.

    Raises:
        HeadlightError: a dictionary is not offered here, cannot be opened, or does not fit a model.
    """
    name = dictionaries.named(chosen.dictionary, comparison.a.source.name)
    if not name:
        return None
    opened = dictionaries.fitting_all(name, comparison.runs)
    layer, feature = chosen.feature or (max(opened), None)
    layer = layer if layer in opened else max(opened)
    order = _order(comparison, chosen)
    if feature is None or feature >= opened[layer].n_features:
        feature = default_feature(comparison, opened, layer, order)
    return FeatureView(comparison, name, opened, layer, feature, order)


def _order(comparison: Comparison, chosen: Selection) -> FeatureOrder:
    """Order of the list; by activation where the model's logits are no sums."""
    place = place_of(comparison, chosen)
    if chosen.features_by == "activation" or needs.sums(comparison):
        return FeatureOrder(place)
    pair = pair_of(comparison, chosen)
    return FeatureOrder(place, pair.target, pair.distractor)

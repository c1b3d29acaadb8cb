"""The translations that a selection asks for, within what the page allows, from the cache where they are known."""

from headlight.app.runs import models, prompts, runs
from headlight.app.selection import Selection
from headlight.model.decoding.translation import Translation, translate
from headlight.model.errors import ConfigError

MOST_BEAMS = 16


def of(chosen: Selection) -> Translation:
    """The translation that a selection asks for.

    Raises:
        HeadlightError: the model, the source or the target does not allow it; the message says what would.
    """
    example = prompts.first_source(chosen.translator)
    source = example.source if chosen.source is None else chosen.source
    prompts.check_text(source, "source")
    if not 1 <= chosen.beams <= MOST_BEAMS:
        raise ConfigError(f"{chosen.beams} beams were asked for; it can be 1, which is greedy, to {MOST_BEAMS}.")
    model = models.open_seq2seq(chosen.translator or example.model)
    runs.forget_closed()
    return translate(model, source, chosen.translation, chosen.beams, chosen.branch, runs.HOST)

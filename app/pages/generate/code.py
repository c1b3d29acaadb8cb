"""The script of the page *Generate*."""

from headlight.app.exports.script import report
from headlight.app.pages.generate import generation
from headlight.app.pages.generate.choices import Choices
from headlight.app.pages.generate.written import heads_of, step_of
from headlight.app.selection.chosen import Selection
from headlight.model.comparison import Comparison

PURPOSE = "What a model writes behind a prompt, and what each token was drawn from."


def script(shown: Comparison, chosen: Selection) -> str:
    """A script that writes the same tokens, and prints every step, one step's choices and where heads looked for it."""
    own, found = chosen.of(Choices), generation.both(shown, chosen)
    options: dict[str, object] = {
        "n_new": own.n_new,
        "temperature": own.temperature,
        "top_k": own.top_k,
        "top_p": own.top_p,
        "seed": own.seed,
        "given": own.written,
        "stop": own.stop,
        "step": step_of(found, chosen),
        "heads": heads_of(found, chosen),
    }
    if shown.b is not None:
        options["b_writes"] = own.b_writes
    return report(PURPOSE, shown, chosen.align, "generate_tables", **options)

"""The pages, in the order of the navigation: a new page is one file in `views` and one line here."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from app import about, prompt_bar, selection, shown, source_bar, translations
from app.exports import export
from app.exports.export import Export
from app.selection import Selection
from app.shown import Shown
from app.views import (
    attention,
    finder,
    flow,
    generate,
    inside,
    lens,
    patching,
    prompts,
    residual,
    translate,
    weights,
    why,
)
from app.views.edits import drawer


@dataclass(frozen=True)
class Kind:
    """What the pages of one kind of model share.

    `bar` is drawn above the page and asks for a selection; `of` finds what that selection shows, and `within` takes out
    of the selection what is not there. `about` says in a line what was run, `inputs` are the texts that it was run on,
    `look_at` says what to look at on the page that is shown, if what was run is an example.
    """

    bar: Callable[[], None]
    of: Callable[[Selection], Any]
    within: Callable[[Selection, Any], Selection]
    about: Callable[[Any], None]
    inputs: Callable[[Any], tuple[str, ...]]
    look_at: Callable[[Any], None]


def _about_runs(found: Shown) -> None:
    about.draw(found)
    drawer.draw()


PROMPTED = Kind(
    prompt_bar.draw,
    shown.of,
    shown.within,
    _about_runs,
    lambda found: tuple(dict.fromkeys(run.prompt for run in found.runs)),
    lambda found: prompt_bar.look_at(found.a.prompt),
)
TRANSLATED = Kind(
    source_bar.draw,
    translations.of,
    translations.within,
    source_bar.about,
    lambda found: tuple(dict.fromkeys(each.source_text for each in found.sides.values())),
    lambda found: source_bar.look_at(found.a.source_text),
)


def nothing(found: Any) -> str:
    """A view that can show anything of its kind."""
    return ""


@dataclass(frozen=True)
class View:
    """A page: its place in the URL, its title, what draws it, its files, and what is lacking to be shown by it.

    Views of one `group` share an entry of the navigation. `export` is asked when the page is drawn, in its session, and
    gives None where there is nothing to take along. `needs` gives a sentence for the user (what is missing, and what to
    do), or nothing.
    """

    slug: str
    title: str
    render: Callable[[Any], None]
    export: Callable[[], Export | None] = lambda: None
    needs: Callable[[Any], str] = nothing
    kind: Kind = PROMPTED
    group: str = ""


EXPLAIN, MODEL, WRITE = "Explain", "This model", "Write"


def patching_export() -> Export | None:
    """The map of patches, once it is there."""
    return export.PATCHING if patching.is_complete(shown.of(selection.current())) else None


def weights_export() -> Export | None:
    """The weights' tables, once all pairs were searched."""
    return export.WEIGHTS if weights.is_complete(shown.of(selection.current())) else None


VIEWS = (
    View("attention", "Attention", attention.render, lambda: export.ATTENTION),
    View("head", "Inside one head", inside.render, lambda: export.INSIDE),
    View("residual", "Residual stream", residual.render, lambda: export.RESIDUAL),
    View("lens", "Logit lens", lens.render, lambda: export.LENS, lens.needs),
    View("prompts", "Prompts", prompts.render, lambda: export.of_prompts(prompts.listed())),
    View("why", "Why", why.render, lambda: export.WHY, why.needs, group=EXPLAIN),
    View("patching", "Patching", patching.render, patching_export, patching.needs, group=EXPLAIN),
    View("flow", "Flow", flow.render, lambda: export.FLOW, group=EXPLAIN),
    View("heads", "Heads of this model", finder.render, lambda: export.of_heads(finder.texts()), group=MODEL),
    View("weights", "Weights", weights.render, weights_export, weights.needs, group=MODEL),
    View("generate", "Generate", generate.render, lambda: export.GENERATE, generate.needs, group=WRITE),
    View(
        "translate", "Translate and reverse", translate.render, lambda: export.TRANSLATE, kind=TRANSLATED, group=WRITE
    ),
)

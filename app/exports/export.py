"""What a view offers to take along."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from app.exports.code import attention as attention_code
from app.exports.code import flow as flow_code
from app.exports.code import generate as generate_code
from app.exports.code import heads as heads_code
from app.exports.code import inside as inside_code
from app.exports.code import lens as lens_code
from app.exports.code import patching as patching_code
from app.exports.code import prompts as prompts_code
from app.exports.code import residual as residual_code
from app.exports.code import translate as translate_code
from app.exports.code import weights as weights_code
from app.exports.code import why as why_code
from app.exports.numbers import attention as attention_numbers
from app.exports.numbers import flow as flow_numbers
from app.exports.numbers import generate as generate_numbers
from app.exports.numbers import heads as heads_numbers
from app.exports.numbers import inside as inside_numbers
from app.exports.numbers import lens as lens_numbers
from app.exports.numbers import patching as patching_numbers
from app.exports.numbers import prompts as prompts_numbers
from app.exports.numbers import residual as residual_numbers
from app.exports.numbers import translate as translate_numbers
from app.exports.numbers import weights as weights_numbers
from app.exports.numbers import why as why_numbers
from app.exports.numbers.data import Data
from app.exports.pages import attention as attention_page
from app.exports.pages import flow as flow_page
from app.exports.pages import generate as generate_page
from app.exports.pages import heads as heads_page
from app.exports.pages import inside as inside_page
from app.exports.pages import lens as lens_page
from app.exports.pages import patching as patching_page
from app.exports.pages import prompts as prompts_page
from app.exports.pages import residual as residual_page
from app.exports.pages import translate as translate_page
from app.exports.pages import weights as weights_page
from app.exports.pages import why as why_page
from app.exports.pictures import attention as attention_picture
from app.exports.pictures import flow as flow_picture
from app.exports.pictures import generate as generate_picture
from app.exports.pictures import heads as heads_picture
from app.exports.pictures import inside as inside_picture
from app.exports.pictures import lens as lens_picture
from app.exports.pictures import patching as patching_picture
from app.exports.pictures import prompts as prompts_picture
from app.exports.pictures import residual as residual_picture
from app.exports.pictures import translate as translate_picture
from app.exports.pictures import weights as weights_picture
from app.exports.pictures import why as why_picture
from app.exports.pictures.style import Palette
from app.selection.chosen import Selection
from app.views.prompts import Listed

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Export:
    """A view's script, numbers, picture and page; `name` begins the files' names.

    All four are of the same numbers, and none needs the page: what is shown and what was chosen says everything.
    """

    name: str
    script: Callable[[Any, Selection], str]
    data: Callable[[Any, Selection], Data]
    draw: Callable[[Any, Selection, Palette], "Figure"]
    page: Callable[[Any, Selection], bytes]


ATTENTION = Export(
    "attention", attention_code.script, attention_numbers.data, attention_picture.draw, attention_page.page
)
INSIDE = Export("head", inside_code.script, inside_numbers.data, inside_picture.draw, inside_page.page)
WHY = Export("why", why_code.script, why_numbers.data, why_picture.draw, why_page.page)
RESIDUAL = Export("residual", residual_code.script, residual_numbers.data, residual_picture.draw, residual_page.page)
LENS = Export("lens", lens_code.script, lens_numbers.data, lens_picture.draw, lens_page.page)
FLOW = Export("flow", flow_code.script, flow_numbers.data, flow_picture.draw, flow_page.page)
PATCHING = Export("patching", patching_code.script, patching_numbers.data, patching_picture.draw, patching_page.page)
GENERATE = Export("generate", generate_code.script, generate_numbers.data, generate_picture.draw, generate_page.page)
TRANSLATE = Export(
    "translate", translate_code.script, translate_numbers.data, translate_picture.draw, translate_page.page
)
WEIGHTS = Export("weights", weights_code.script, weights_numbers.data, weights_picture.draw, weights_page.page)


def of_heads(texts: tuple[str, ...]) -> Export:
    """What the page of all heads offers, with the list of prompts as it is now."""
    return Export(
        "heads",
        partial(heads_code.script, texts),
        partial(heads_numbers.data, texts),
        partial(heads_picture.draw, texts),
        partial(heads_page.page, texts),
    )


def of_prompts(listed: tuple[Listed, ...]) -> Export | None:
    """What the page of prompts offers, with the list as it is now; nothing where no prompt has been run."""
    if not any(each.run for each in listed):
        return None
    return Export(
        "prompts",
        partial(prompts_code.script, listed),
        partial(prompts_numbers.data, listed),
        partial(prompts_picture.draw, listed),
        partial(prompts_page.page, listed),
    )

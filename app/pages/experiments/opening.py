"""A row of a set as prompts A and B of any page, with its answers as target and distractor."""

from dataclasses import dataclass, replace

from headlight.app import selection
from headlight.app.components import Link
from headlight.app.parts.pair import typeable
from headlight.app.selection import Selection
from headlight.app.selection.choices import Change
from headlight.model.base.errors import HeadlightError
from headlight.model.prompt_sets.encoding import TokenRow
from headlight.model.prompt_sets.prompt_set import Prompt, PromptPair
from headlight.model.runs.edits import Head
from headlight.model.runs.run import Run
from headlight.model.text.chat import Begin

PAGES = {
    "why": "Why",
    "patching": "Patching",
    "attention": "Attention",
    "residual": "Residual",
    "lens": "Lens",
    "flow": "Flow",
    "graph": "Graph",
    "generate": "Generate",
}


@dataclass(frozen=True)
class OpenedPair:
    """The texts of a row's two prompts, what they begin with, and whether they have the row's tokens."""

    clean: str
    corrupted: str | None
    bos: Begin
    target: str
    distractor: str
    exact: bool


def pair_of(pair: PromptPair, row: TokenRow, run: Run, bos: Begin) -> OpenedPair:
    """The row as it is typed into the prompt bar; of token ids their text, which may be of other tokens."""
    begins = bos if isinstance(pair.clean, str) else _begins(row, run)
    clean = _text(pair.clean, run, begins)
    corrupted = None if pair.corrupted is None else _text(pair.corrupted, run, begins)
    exact = _is(run, clean, begins, row.clean.tolist())
    if corrupted is not None and row.corrupted is not None:
        exact &= _is(run, corrupted, begins, row.corrupted.tolist())
    target, distractor = (_answer(run, ids) for ids in (row.answers, row.wrong_answers))
    return OpenedPair(clean, corrupted, begins, target, distractor, exact)


def _begins(row: TokenRow, run: Run) -> Begin:
    return run.tokenizer.bos_token_id is not None and int(row.clean[0]) == run.tokenizer.bos_token_id


def _text(prompt: Prompt, run: Run, begins: Begin) -> str:
    if isinstance(prompt, str):
        return prompt
    return run.tokenizer.to_string(list(prompt)[1 if begins else 0 :])


def _is(run: Run, text: str, bos: Begin, ids: list[int]) -> bool:
    try:
        return run.tokenizer.to_tokens(text, prepend_bos=bos)[0].tolist() == ids
    except HeadlightError:
        return False


def _answer(run: Run, ids: tuple[int, ...]) -> str:
    """The first answer as it is typed; nothing where there is none, or no text gives it."""
    return (ids and typeable(run, ids[0])) or ""


def links(pair: OpenedPair, head: Head | None = None) -> list[Link]:
    """Links to the pages that show a row as A and B, with a head where one is looked at."""

    def link(slug: str, title: str) -> Link:
        return Link(slug, title, None, lambda _: selection.ask(opened(pair, head), slug))

    return [link(slug, title) for slug, title in PAGES.items()]


def opened(pair: OpenedPair, head: Head | None) -> Selection:
    """The selection that shows a row: its corrupted prompt as B, where it has one."""
    now = selection.current()
    new = replace(now, prompt=pair.clean, prompt_b=pair.corrupted, model_b="", bos=pair.bos, edits=(), edits_off=())
    new = new.after(Change(prompt=True))
    new = replace(new, queries=(), keys=(), layer=None, position=None, target=pair.target, distractor=pair.distractor)
    return new if head is None else replace(new, heads=(head,))

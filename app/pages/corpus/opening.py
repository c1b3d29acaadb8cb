"""A sampled sequence as prompt A of any page, with the head and its strongest cell chosen."""

from dataclasses import dataclass, replace
from pathlib import Path

from headlight.app import selection
from headlight.app.pages.corpus.scan_view import ScanView
from headlight.app.selection import Selection
from headlight.app.selection.choices import Change
from headlight.model.base.errors import HeadlightError
from headlight.model.corpus.tree import Head, SampledSequence, Tree
from headlight.model.runs.run import Run
from headlight.model.text.chat import Begin, as_literal

PAGES = {
    "attention": "Attention",
    "inside": "Internals",
    "why": "Why",
    "residual": "Residual",
    "lens": "Lens",
    "patching": "Patching",
    "flow": "Flow",
    "generate": "Generate",
}
# Beginning of sequences for a model that is not open and whose tokenizer is unavailable.
BEGINNINGS = ("<|endoftext|>", "<|begin_of_text|>", "<bos>", "<s>", "[CLS]", "<|begin▁of▁sentence|>", "<BOS_TOKEN>")


@dataclass(frozen=True)
class Prompt:
    """The prompt, the model, and whether its tokens are known to be the sequence's."""

    model: str
    text: str
    bos: Begin
    exact: bool | None


def prompt_of(view: ScanView, sequence: SampledSequence, run: Run) -> Prompt:
    """Text of a sequence for the open model if the scan is of it, else for the scan's own model."""
    if not view.own:
        begins = sequence.tokens[0] in BEGINNINGS
        return Prompt(_model(view.a), "".join(sequence.tokens[begins:]), begins, None)
    bos = run.tokenizer.bos_token_id
    ids = known_ids(sequence, run)
    if not ids:
        begins = bos is not None and sequence.tokens[0] == run.tokenizer.to_string([bos])
        text = "".join(sequence.tokens[begins:])
    else:
        begins = ids[0] == bos
        text = run.tokenizer.to_string(ids[begins:])
    readings = begins, as_literal(begins, True)  # a scan takes spellings of special tokens in its documents for text
    exact = next((bos for bos in readings if _is_exact(run, text, bos, ids, len(sequence.tokens))), None)
    return Prompt(run.source.name, text, begins if exact is None else exact, exact is not None)


def known_ids(sequence: SampledSequence, run: Run) -> list[int]:
    """A sequence's token ids, if they are the open model's: one of its name may have another tokenizer."""
    ids = list(sequence.token_ids)
    try:
        return ids if tuple(run.tokenizer.to_str_tokens(ids)) == sequence.tokens else []
    except HeadlightError:
        return []


def _model(tree: Tree) -> str:
    return (tree.provenance and tree.provenance.model) or tree.model_name


def _is_exact(run: Run, text: str, bos: Begin, ids: list[int], count: int) -> bool:
    try:
        again = run.tokenizer.to_tokens(text, prepend_bos=bos)[0].tolist()
    except HeadlightError:
        return False
    return again == ids if ids else len(again) == count


def open_on(slug: str, prompt: Prompt, head: Head, sequence: SampledSequence) -> None:
    """Show a sequence as prompt A on a page."""
    now = selection.current()
    new = replace(now, model=prompt.model, prompt=prompt.text, bos=prompt.bos, prompt_b=None, model_b="", edits=())
    new = new.after(Change(model=new.model != now.model, prompt=True))
    selection.ask(_with_cell(new, head, sequence), slug)


def _with_cell(new: Selection, head: Head, sequence: SampledSequence) -> Selection:
    cell = sequence.strongest
    queries, keys = ((), ()) if cell is None else ((cell[0],), (cell[1],))
    place = None if cell is None else cell[0]
    new = replace(new, heads=(head,), queries=queries, keys=keys, position=place, layer=None)
    return replace(new, target="", distractor="", edits_off=())


def document_of(sequence: SampledSequence) -> str:
    """Source of a sequence: its document's name and its first token there, or its number."""
    if not sequence.document:
        return f"sequence {sequence.sequence_id:,}"
    name = Path(sequence.document).name
    return name if sequence.start is None else f"{name}, from token {sequence.start:,}"

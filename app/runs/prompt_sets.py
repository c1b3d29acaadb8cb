"""Sets of prompts as sessions ask for them: in a model's tokens, and how well a model does on them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, lru_cache
from hashlib import blake2b
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlencode

import torch

from headlight.app.runs import models, runs
from headlight.app.runs.cost import cost
from headlight.model.base.errors import InputError, nearest
from headlight.model.experiments.intervals import MIN_ROWS
from headlight.model.prompt_sets import encoding, reading
from headlight.model.prompt_sets.columns import ColumnMatching
from headlight.model.prompt_sets.encoding import TokenRow, TokenSet, batches
from headlight.model.prompt_sets.metric import Metric
from headlight.model.prompt_sets.performance import Performance, performance
from headlight.model.prompt_sets.prompt_set import PromptSet
from headlight.model.prompt_sets.shipped import shipped_set, shipped_sets
from headlight.model.prompt_sets.templates import PromptTemplate, from_templates
from headlight.model.runs.host import Host
from headlight.model.runs.run import tokenizer_of
from headlight.model.text.chat import Begin, as_literal, is_literal, prepends

SESSION = "session:"  # before the names of sets that were uploaded or written
SUFFIXES = reading.SUFFIXES
MAX_READ = 32  # sets of files that stay read
FIELDS = {  # what a set has, with what a form calls it
    "clean": "Clean prompt",
    "corrupted": "Corrupted prompt",
    "answers": "Answer",
    "wrong_answers": "Wrong answer",
    "year": "Year, of which all later ones are answers",
}
PIECE_SECONDS = 0.4  # by estimate, so that a click is heard soon
MAX_BATCH = 256  # rows of one length


@dataclass(frozen=True)
class KnownSet:
    """A set, and the digest of its rows by which it is the same as another."""

    digest: str
    prompt_set: PromptSet = field(compare=False, repr=False)


@dataclass(frozen=True)
class ReadSet:
    """A set as a model is to read it: what its results are kept under."""

    model: str
    bos: Begin
    known: KnownSet


@dataclass(frozen=True)
class PerformancePiece:
    """Some rows of a set whose answers a model is asked for."""

    read: ReadSet
    metric: Metric
    numbers: tuple[int, ...]


def known(prompt_set: PromptSet) -> KnownSet:
    """A set with its digest."""
    digest = blake2b(prompt_set.name.encode(), digest_size=16)
    for row in prompt_set.rows:
        digest.update(repr(row).encode("utf-8", "surrogatepass"))
    return KnownSet(digest.hexdigest(), prompt_set)


def offered() -> dict[str, str]:
    """The titles of the sets on offer, by name: those that come with the project."""
    return {each.name: each.title for each in shipped_sets()}


def first_for(model: str, bos: Begin) -> str:
    """The set that the page opens with: the first that is made for this model, or else the one of most usable rows.

    It is nothing where the model's tokenizer has no single tokens for the answers of any.

    Raises:
        HeadlightError: the model cannot be opened.
    """
    if made_for_it := next((each.name for each in shipped_sets() if model in each.models), ""):
        return made_for_it
    n_rows = {name: len(tokens_of(ReadSet(model, bos, _shipped(name))).rows) for name in offered()}
    most = max(n_rows, key=n_rows.__getitem__, default="")
    return most if n_rows.get(most, 0) >= MIN_ROWS else ""


def named(name: str, columns: str) -> KnownSet:
    """A set on offer, or the one in any file, folder or data set of the hub where that is allowed.

    Raises:
        HeadlightError: it is not on offer here, or cannot be read.
    """
    if name in offered():
        return _shipped(name)
    if not models.any_model_allowed():
        raise InputError(f"The set {name!r} is not offered here.{nearest(name, offered())}")
    return _read(name, columns, _stamp(Path(name).expanduser()))


@cache
def _shipped(name: str) -> KnownSet:
    return known(shipped_set(name).prompt_set())


def _stamp(path: Path) -> tuple[int, ...]:
    """What changes when a file is written anew; nothing of what is no file."""
    return (path.stat().st_mtime_ns, path.stat().st_size) if path.is_file() else ()


@lru_cache(MAX_READ)
def _read(source: str, columns: str, stamp: tuple[int, ...]) -> KnownSet:
    return known(reading.read_prompt_set(source, matching_of(columns)))


def from_link(name: str, text: str) -> KnownSet:
    """A set that a link holds whole.

    Raises:
        HeadlightError: it holds something else.
    """
    made = reading.read_prompt_set(text.encode(), name=f"{name}.jsonl")
    return known(replace(made, name=name))


def to_link(prompt_set: PromptSet) -> str:
    """A set as a link can hold it."""
    return reading.to_jsonl(prompt_set)


def unknown_columns(name: str, data: bytes) -> tuple[str, ...]:
    """The columns of a file in which nothing is known to be the prompts; none of one that can be read as it is.

    Raises:
        HeadlightError: it cannot be read.
    """
    columns = reading.columns_of(data, name)
    return () if columns.matching.clean else columns.names


def uploaded(name: str, data: bytes, columns: str) -> PromptSet:
    """The set of an uploaded file.

    Raises:
        HeadlightError: it cannot be read; the message has the row.
    """
    return reading.read_prompt_set(data, matching_of(columns), name=name)


def columns_text(columns: Mapping[str, str]) -> str:
    """What a file's columns are, as an address holds it."""
    return urlencode(columns)


def matching_of(columns: str) -> ColumnMatching | None:
    """The columns that an address holds; None where it holds none, and they are known by their names."""
    matched: dict[str, Any] = {name: column for name, column in parse_qsl(columns) if name in FIELDS}
    return ColumnMatching(**matched) if matched else None


def in_script(known: KnownSet) -> str:
    """A set as an expression of a script: all of its rows."""
    rows = "".join(f"        {row!r},\n" for row in known.prompt_set.rows)
    return f"PromptSet(\n    {known.prompt_set.name!r},\n    (\n{rows}    ),\n)"


def names_in_script(known: KnownSet) -> set[str]:
    """What that expression needs of `headlight.model`."""
    return {"PromptPair", "PromptSet"}


def write_set(model_name: str, template: PromptTemplate, name: str, count: int) -> PromptSet:
    """The set of a template, with those values that give prompts of one length and answers of one token.

    Raises:
        HeadlightError: the template cannot be filled, or has not as many different rows.
    """
    tokenizer = tokenizer_of(models.open_model(model_name))
    return from_templates(name, [template.with_equal_tokens(tokenizer)], count)


def tokens_of(read: ReadSet) -> TokenSet:
    """The set in the model's tokens, from the cache where it was encoded before.

    Raises:
        HeadlightError: the model cannot be opened.
    """

    def made() -> TokenSet:
        model = models.open_model(read.model)
        tokenizer = tokenizer_of(model)
        bos = read.bos
        if prepends(bos) and tokenizer.bos_token_id is None and not tokenizer.adds_special:
            bos = as_literal(False, is_literal(bos))
        return encoding.to_tokens(read.known.prompt_set, tokenizer, bos, cfg=model.cfg)

    return runs.keep(("token set", read), made)


def in_pieces(rows: Sequence[TokenRow], seconds_each: float, most: int = MAX_BATCH) -> list[tuple[TokenRow, ...]]:
    """Rows of one length side by side, as many as a click waits for."""
    at_most = min(most, max(1, int(PIECE_SECONDS / max(seconds_each, 1e-9))))
    return [tuple(batch) for batch in batches(rows, at_most)]


def seconds_of(read: ReadSet, rows: Sequence[TokenRow]) -> float:
    """How long one pass of the clean and one of the corrupted prompts of these rows are estimated to take."""
    cfg = models.open_model(read.model).cfg  # by its shapes alone, so that the pieces are the same ones each time
    return sum(cost(cfg, n_tokens).seconds for row in rows for n_tokens in row.lengths if n_tokens is not None)


def performance_pieces(read: ReadSet, metric: Metric) -> tuple[PerformancePiece, ...]:
    """The set in pieces."""
    rows = [row for row in tokens_of(read).rows if row.answers]
    if not rows:
        return ()
    parts = in_pieces(rows, seconds_of(read, rows) / len(rows))
    return tuple(PerformancePiece(read, metric, tuple(row.number for row in part)) for part in parts)


def seconds_of_pieces(pieces: Sequence[PerformancePiece]) -> float:
    """How long these, which are of one set, are estimated to take."""
    if not pieces:
        return 0.0
    numbers = {number for piece in pieces for number in piece.numbers}
    return seconds_of(pieces[0].read, [row for row in tokens_of(pieces[0].read).rows if row.number in numbers])


def do_performance(piece: PerformancePiece, host: Host = runs.HOST) -> Performance:
    """A model's answers to a piece of a set; the cache keeps them.

    Raises:
        HeadlightError: the model cannot be run.
    """

    def made() -> Performance:
        model = models.open_model(piece.read.model)
        return performance(model, tokens_of(piece.read).only(piece.numbers), piece.metric, host)

    return runs.keep(("set performance", piece), made)


def is_performed(piece: PerformancePiece) -> bool:
    """Whether a piece has been done."""
    return runs.kept(("set performance", piece)) is not None


def known_performance(pieces: Sequence[PerformancePiece]) -> Performance | None:
    """The answers as far as they are known, in the set's order; None before the first."""
    there = [part for piece in pieces if (part := runs.kept(("set performance", piece))) is not None]
    if not there:
        return None
    numbers = torch.tensor([number for part in there for number in part.numbers])
    order = numbers.argsort()
    whole = {
        name: torch.cat([getattr(part, name) for part in there])[order]
        for name in ("clean", "corrupted", "rank", "is_correct")
    }
    return Performance(there[0].kind, tuple(numbers[order].tolist()), **whole)

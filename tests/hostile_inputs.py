"""Hostile input of every kind, thousands of each: `make hostile`. Each is a plain message or a right result.

It prints how many inputs of each kind there were, how many were refused, and the most time and memory that one took. It
exits with 1, and names the input, if anything else than an error of ours was raised, or one took too long or too much.
"""

import random
import resource
import sys
import tempfile
import time
from argparse import ArgumentParser
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import cycle, islice
from pathlib import Path

import torch
from streamlit.testing.v1 import AppTest

from headlight.app.frame.lessons import library
from headlight.app.frame.lessons.lesson import read_lesson
from headlight.app.pages.prompts import prompt_files
from headlight.app.registry import VIEWS
from headlight.app.runs import comparisons
from headlight.app.selection import Selection
from headlight.model.attention import fields
from headlight.model.attention.axis import axis_of
from headlight.model.attention.fields import How
from headlight.model.base.errors import HeadlightError
from headlight.model.prompt_sets.reading import read_prompt_set
from headlight.model.text.tokenizer import Tokenizer
from tests.app.test_random_prompts import PIECES
from tests.hostile import damaged, mistaken
from tests.places import MAIN, MINI

SECONDS, MEMORY = 2.0, 2**30  # of the processor, and bytes; for one input
MODEL = "mini"
UNEXPECTED = "Unexpected error"
STRANGE = (*PIECES, "a" * 300, "\ud800", "{{ 1 }}", "\u0301" * 40)
VALUES = (
    *("", "-1", "1e999", "nan", "9" * 400, "../" * 9, "\x00", "0.0", "99.99", ",".join(["1.1"] * 500), "~" + "A" * 99),
    *("ablate:0.1:mean", "patch:blocks.1.hook_resid_pre:a:1:", "steer:9:a:b:1e30", "[]", "true", "<b>", "mini", "L1H1"),
)


class WrongError(Exception):
    """An input was neither refused in words nor answered rightly."""


@dataclass
class Seen:
    """What came of the inputs of a kind."""

    inputs: int = 0
    refused: int = 0
    seconds: float = 0
    megabytes: float = 0


Take = Callable[[], str]  # gives what is said where it is refused, and else nothing
Inputs = Callable[[int, random.Random, Path], Iterator[tuple[object, Take]]]


def prompts(count: int, draw: random.Random, folder: Path) -> Iterator[tuple[object, Take]]:
    """Texts as nobody types them. A result has the tokens of `tokenizers`, and rows of patterns that sum to one."""
    tokenizer = Tokenizer.from_file(MINI / "tokenizer.json")
    for _ in range(count):
        text = "".join(draw.choice(STRANGE) for _ in range(draw.randint(0, 12)))
        if draw.random() < 0.3:
            text += "".join(chr(draw.randrange(1, 0xD800)) for _ in range(draw.randint(1, 30)))
        yield text, lambda text=text: _shown(text, tokenizer)


def _shown(text: str, tokenizer: Tokenizer) -> str:
    comparison = comparisons.for_selection(Selection(model=MODEL, prompt=text, bos=False))
    if comparison.a.tokens.tolist() != tokenizer.to_tokens(text)[0].tolist():
        raise WrongError("other tokens")
    pattern = fields.on_axis(comparison, "a", (1, 2), How(), axis_of(comparison, "token", "tokens"))
    if not torch.allclose(pattern.nansum(-1), torch.ones(len(pattern)), atol=1e-5):
        raise WrongError("a row that is not one")
    return ""


def links(count: int, draw: random.Random, folder: Path) -> Iterator[tuple[object, Take]]:
    """Links of the lessons with other values, and a page and names of options that they were not written with."""
    queries = [dict(step.query) for path in sorted(library.LESSONS.rglob("*.md")) for step in _lesson(path).steps]
    names = sorted({name for query in queries for name in query})
    for view in VIEWS:  # a server has imported what its pages need before the first link
        _run({"page": view.slug, "model": MODEL})
    for _ in range(count):
        query = {**draw.choice(queries), "page": draw.choice(VIEWS).slug, "model": MODEL}
        for _ in range(draw.choice((1, 1, 2, 5))):
            name = draw.choice([*query, *names])
            query[name] = draw.choice([*VALUES, *PIECES, draw.choice(queries).get(name, "1")])
        yield query, lambda query=query: _page(query)


def _lesson(path: Path) -> "library.Lesson":
    return read_lesson(path.read_text(encoding="utf-8"))


def _page(query: dict[str, str]) -> str:
    """The page of a link, which says what it refuses beside what it shows."""
    page = _run(query)
    texts = [each.value for each in (*page.text, *page.caption, *page.markdown, *page.error, *page.warning, *page.info)]
    if page.exception or any(UNEXPECTED in text for text in texts):
        raise WrongError(str(page.exception or texts))
    return ""


def _run(query: dict[str, str]) -> AppTest:
    page = AppTest.from_file(MAIN, default_timeout=600)  # on a busy machine: what counts is the processor's time
    for name, value in query.items():
        page.query_params[name] = value
    return page.run()


def lessons(count: int, draw: random.Random, folder: Path) -> Iterator[tuple[object, Take]]:
    """Lessons with lines that are damaged, left out, doubled or moved, some opened on the page by their link."""
    texts = [path.read_text(encoding="utf-8") for path in sorted(library.LESSONS.rglob("*.md"))]
    for number in range(count):
        text = draw.choice(texts)
        for _ in range(draw.choice((1, 1, 3))):
            lines = text.splitlines()
            at, other = (draw.randrange(len(lines)) for _ in range(2))
            change = draw.randrange(4)
            if change == 0:
                _, changed = damaged(lines[at].encode() or b"-", 2, draw.randrange(10**6))
                lines[at] = changed.decode(errors="replace")
            elif change == 1:
                del lines[at]
            elif change == 2:
                lines.insert(other, lines[at])
            else:
                lines[at] = lines[at].replace("L1H1", draw.choice(VALUES)).replace("0", draw.choice(("-1", "9" * 30)))
            text = "\n".join(lines)
        yield text, lambda text=text, number=number: _learn(text, number)


def _learn(text: str, number: int) -> str:
    lesson = read_lesson(text)
    packed = library.in_link(text)
    if packed and number % 4 == 0:
        return _page({"lesson": packed, "step": str(number % len(lesson.steps) + 1), "model": MODEL})
    return ""


ROW = '"clean": "one two", "corrupted": "two one", "answers": [" three"], "wrong_answers": [" four"]'
FILES: dict[str, bytes] = {
    "x.csv": b'prompt;kind\none "two";3\n' * 20,
    "x.jsonl": b'{"prompt": "one", "kind": [1, 2e9]}\n' * 20,
    "x.txt": "one\ntwo é\n".encode() * 20,
    "x.json": b'[{"messages": [{"role": "user", "content": "one"}]}]',
    "set.csv": b"clean,corrupted,correct_idx,incorrect_idx\n" + b"one two,two one,5,6\n" * 20,
    "set.jsonl": f"{{{ROW}}}\n".encode() * 20,
    "set.json": f'{{"name": "mine", "rows": [{{{ROW}}}]}}'.encode(),
}


def files(count: int, draw: random.Random, folder: Path) -> Iterator[tuple[object, Take]]:
    """Files of prompts and sets that are damaged, or have values of another kind."""
    for name in islice(cycle(FILES), count):
        seed = draw.randrange(10**6)
        data = draw.choice([*damaged(FILES[name], 7, seed), *mistaken(FILES[name], 3, seed)])
        yield (name, data), lambda name=name, data=data: _read(name, data)


def _read(name: str, data: bytes) -> str:
    if name.startswith("set"):
        read_prompt_set(data, name=name)
    else:
        prompt_files.read(name, data, 1000)
    return ""


def folders(*kinds: str) -> Inputs:
    """Folders of these kinds in which a file is damaged."""
    from tests.test_hostile_files import FOLDERS  # here: it imports what each kind is written by

    names = [name for name in FOLDERS if name.startswith(kinds)]

    def inputs(count: int, draw: random.Random, folder: Path) -> Iterator[tuple[object, Take]]:
        for name in names:
            prepare, file, read = FOLDERS[name]
            place, share = folder / name.replace("/", " "), -(-count // len(names))
            place.mkdir()
            prepare(place)
            (path,) = place.glob(file)
            whole, seed = path.read_bytes(), draw.randrange(10**6)
            read(place)
            contents = [*mistaken(whole, share // 2, seed), *damaged(whole, share, seed)][:share]
            for number, content in enumerate(contents):
                path.unlink()  # what is mapped of the last one stays as it is
                path.write_bytes(content)
                yield f"{name}, {number}", lambda read=read, place=place: read(place) and ""

    return inputs


MODELS = ("a model", "a training", "a GGUF", "a quantised", "an adapter")
KINDS: dict[str, tuple[int, Callable[[], Inputs]]] = {
    "prompts": (5000, lambda: prompts),
    "model folders": (2000, lambda: folders(*MODELS)),
    "links": (1000, lambda: links),
    "lessons": (500, lambda: lessons),
    "prompt and set files": (500, lambda: files),
    "scans": (200, lambda: folders("a scan", "units")),
    "dictionaries": (200, lambda: folders("a dictionary", "transcoders", "a tuned lens")),
    "results": (200, lambda: folders("an experiment", "a circuit", "a direction")),
}


def take(kind: str, count: int, seed: int, folder: Path) -> Seen:
    """Give so many inputs of a kind to what reads them.

    Raises:
        WrongError: one was not refused in words and not answered rightly, took too long or too much.
    """
    seen = Seen()
    for what, read in KINDS[kind][1]()(count, random.Random(seed), folder):
        begun, before = time.process_time(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        try:
            read()
        except HeadlightError:
            seen.refused += 1
        except Exception as error:
            raise WrongError(f"{kind}: {what!r}") from error
        seconds = time.process_time() - begun
        megabytes = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
        seen.inputs += 1
        if seen.inputs > 1:  # the first imports what it needs
            seen.seconds, seen.megabytes = max(seen.seconds, seconds), max(seen.megabytes, megabytes)
            if seconds > SECONDS or megabytes * 2**20 > MEMORY:
                raise WrongError(f"{kind}: {what!r} took {seconds:.1f} s and {megabytes:.0f} MB")
    return seen


def main() -> int:
    """The command line."""
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("kinds", nargs="*", help=f"of {', '.join(KINDS)}; all by default")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--share", type=float, default=1.0, help="of the numbers that there are by default")
    options = parser.parse_args()
    torch.set_num_threads(1)
    from tests.app import conftest  # noqa: F401 - pages are configured as those that are served

    print("kind                    inputs  refused   longest    most memory")
    failed = False
    for kind in options.kinds or KINDS:
        with tempfile.TemporaryDirectory() as folder:
            try:
                seen = take(kind, max(1, int(KINDS[kind][0] * options.share)), options.seed, Path(folder))
            except WrongError as error:
                failed = True
                print(f"{kind}: {error}, because of {error.__cause__!r}", flush=True)
                continue
        print(
            f"{kind:22} {seen.inputs:7,} {seen.refused:8,} {seen.seconds:7.2f} s {seen.megabytes:11.0f} MB", flush=True
        )
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())

"""What people do on a server beside asking their own prompt, each in a session that ends with it."""

import random
from collections.abc import Callable
from itertools import count
from urllib.parse import urlencode

from headlight.app.frame.lessons.lesson import read_lesson
from headlight.app.frame.lessons.library import LESSONS
from headlight.app.registry import VIEWS
from tests.hostile import damaged, mistaken
from tests.sessions.client import Client

HUB_MODEL = "owner/small"
UNEXPECTED = "Unexpected error"
TABLES = {".csv": b"prompt,kind\n" + b"one two three,a\n" * 20, ".jsonl": b'{"prompt": "one two"}\n' * 20}
SET = {".json": b'{"name": "mine", "rows": [{"clean": "one two", "corrupted": "two one", "answer": " three"}]}'}
FILES = {"prompts": TABLES | {".txt": b"one two\n" * 20}, "experiments": TABLES | SET, "directions": TABLES | SET}
_numbers = count()


def _open(url: str, **query: str) -> Client:
    return Client(url, urlencode(query))


def model(url: str, names: list[str], rng: random.Random) -> tuple[str, str]:
    """Open one of the models that are damaged or replaced meanwhile, and close it."""
    with _open(url, model=rng.choice([*names, HUB_MODEL]), prompt="one two") as client:
        opened = any("input tokens" in text for text in client.texts)
        return "model opened" if opened else "model refused", client.all_texts


def page(url: str, names: list[str], rng: random.Random) -> tuple[str, str]:
    """Open a page by its link: experiments and directions measure, Corpus reads a scan."""
    slug = rng.choice([view.slug for view in VIEWS])
    name = "translate" if slug == "translate" else "mini"
    with _open(url, page=slug, model=name, prompt="Mary and John went out. John gave a book to") as client:
        return f"page opened: {slug or 'attention'}", client.all_texts


def lesson(url: str, names: list[str], rng: random.Random) -> tuple[str, str]:
    """Read a lesson, as far as one gets."""
    path = rng.choice(sorted(LESSONS.glob("*.md")))
    steps = read_lesson(path.read_text(encoding="utf-8")).steps
    with _open(url, lesson=path.stem.partition("-")[2], step=str(rng.randint(1, len(steps)))) as client:
        client.go_to(rng.choice(["", "lens", "heads"]))
        return "lesson read", client.all_texts


def upload(url: str, names: list[str], rng: random.Random) -> tuple[str, str]:
    """Upload a file, most of them damaged: prompts, a set, labelled prompts or a circuit."""
    slug = rng.choice(list(FILES))
    suffix, whole = rng.choice(list(FILES[slug].items()))
    seed = rng.randrange(10**6)
    strange = [whole, *list(damaged(whole, 6, seed))[1:], *mistaken(whole, 2, seed)]
    with _open(url, page=slug, model="mini", prompt="one two") as client:
        client.upload(f"mine-{next(_numbers)}{suffix}", rng.choice(strange))
        return "file uploaded", client.all_texts


VISITS: list[Callable[[str, list[str], random.Random], tuple[str, str]]] = [model, page, lesson, upload]

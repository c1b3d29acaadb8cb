"""Facts needed to reproduce a view: the weights and the tokens that they read."""

from dataclasses import dataclass
from typing import Any

from headlight.model.base.source import Source
from headlight.model.decoding.translation import Translation
from headlight.model.decoding.translations import Translations
from headlight.model.runs.comparison import Comparison
from headlight.model.runs.edits import describe
from headlight.model.runs.run import Run
from headlight.model.text.chat import LITERAL, Begin, prepends

Subject = Comparison | Translations

BEGINS: dict[Begin, str] = {
    True: "the beginning-of-sequence token",
    "chat": "a user's turn in the chat template",
    False: "nothing",
}
BEGINS |= {literal: f"{BEGINS[prepends(literal)]}; special tokens as plain text" for literal in LITERAL}


@dataclass(frozen=True)
class Input:
    """A text `called` by its side, the display labels of its tokens, and the edits of its forward pass."""

    called: str
    source: Source
    labels: tuple[str, ...]
    text: str
    edits: tuple[str, ...] = ()


def inputs(runs: Subject) -> tuple[Input, ...]:
    """The tokens of each run, or of source and target."""
    if isinstance(runs, Translations):
        return tuple(each for side in runs.sides for each in _inputs_of(runs, side))
    several = runs.b is not None
    return tuple(
        Input(side if several else "", run.source, run.labels, run.prompt, tuple(map(describe, run.edits)))
        for side, run in runs.sides.items()
    )


def _inputs_of(translations: Translations, side: str) -> tuple[Input, Input]:
    each, called = translations.sides[side], "" if translations.b is None else f"{side}, "
    read = Input(f"{called}source", each.source, each.source_labels, each.source_text)
    return read, Input(f"{called}target", each.source, each.read_labels, each.text)


def sources(runs: Subject) -> dict[str, Source]:
    """Origin of each model, by its name."""
    return {each.source.name: each.source for each in inputs(runs)}


def facts(runs: Subject) -> dict[str, dict[str, Any]]:
    """Model, weights, text and tokens of each run; `places` are its tokens' places on the common axis."""
    if isinstance(runs, Translations):
        return {side: _of_translation(each) for side, each in runs.sides.items()}
    return {side: _of(run) | {"places": list(runs.places(run))} for side, run in runs.sides.items()}


def _of(run: Run) -> dict[str, Any]:
    return {
        **_weights(run.source),
        "dtype": str(run.model.embed.W_E.dtype).removeprefix("torch."),
        "prompt": run.prompt,
        "begins with": BEGINS[run.bos],
        "token ids": run.tokens.tolist(),
        "tokens": list(run.labels),
        **({} if run.token_types is None else {"token types": run.token_types}),
        "edits": list(map(repr, run.edits)),
    }


def _of_translation(translation: Translation) -> dict[str, Any]:
    return {
        **_weights(translation.source),
        "source": translation.source_text,
        "source token ids": translation.source_tokens.tolist(),
        "source tokens": list(translation.source_labels),
        "target": translation.text,
        "target token ids": translation.written.tolist(),
        "target tokens": list(translation.written_labels),
    }


def _weights(source: Source) -> dict[str, Any]:
    return {"model": source.name, "revision": source.revision, "sha256 of the weights": source.sha256}

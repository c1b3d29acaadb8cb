"""What the page has to say of a prompt, computed by the library alone, and prompts that are told apart by it."""

import random
import re
from dataclasses import dataclass
from functools import cache
from itertools import islice

import torch

from headlight.app.figures.text import token_name
from headlight.model import Transformer, load
from headlight.model.runs.edits import AblateHeads, Edit, FreezePatterns, Steer
from headlight.model.runs.edits.editing import run_with_edits

EDITS = AblateHeads(((0, 1), (2, 3)), "mean"), Steer(1, "red green", "blue", 2.0), FreezePatterns((3,))
WORDS = (
    "one",
    "two",
    "three",
    "red",
    "green",
    "blue",
    "cat",
    "dog",
    "bird",
    "Monday",
    "river",
    "garden",
    "seven",
    "Paris",
)


@dataclass(frozen=True)
class Answer:
    """How many tokens were fed, and the three most likely next ones with their probabilities in percent."""

    n_tokens: int
    labels: tuple[str, ...]
    percents: tuple[float, ...]

    def same(self, other: "Answer") -> bool:
        """Whether nothing but the rounding to whole percents differs."""
        near = all(abs(a - b) <= 1 for a, b in zip(self.percents, other.percents, strict=True))
        return (self.n_tokens, self.labels) == (other.n_tokens, other.labels) and near


def said(texts: list[str], run: int = 0) -> Answer:
    """The answer in the page's line about what was fed, for run A or, as 1, for run B."""
    fed, likely = ([text for text in texts if word in text][run] for word in ("input tokens", "predicted: "))
    count = re.search(r"([\d,]+) input tokens", fed)
    matches = re.findall(r"(?:“(.*?)”|(⟨\w+⟩)) (?:<1|(\d+))%", likely)
    assert count
    return Answer(
        int(count[1].replace(",", "")),
        tuple(text or special for text, special, _ in matches),
        tuple(float(n or 0) for *_, n in matches),
    )


@cache
def _mini() -> Transformer:
    return load("mini")


@cache
def answer(prompt: str, bos: bool, edits: tuple[Edit, ...] = ()) -> Answer:
    """What the embedded model predicts, with edits or without."""
    model = _mini()
    tokens = model.to_tokens(prompt, prepend_bos=bos)
    with torch.inference_mode():
        logits, _ = run_with_edits(model, tokens, edits, "hook_embed", bos)
    top = logits[0, -1].softmax(-1).topk(3)
    assert model.tokenizer is not None
    names = tuple(token_name(label, 1) for label in model.tokenizer.labels(top.indices))
    return Answer(tokens.shape[1], names, tuple((100 * top.values).tolist()))


def _clear(prompt: str, bos: bool, edits: tuple[Edit, ...] = ()) -> bool:
    """Whether the order of the three is beyond any rounding."""
    first, second, third = answer(prompt, bos, edits).percents
    return first > second + 0.5 and second > third + 0.5 and third > 2


def distinct(count: int, seed: int) -> list[tuple[str, bool]]:
    """Prompts, each with or without BOS, whose answers all differ."""
    rng, chosen = random.Random(seed), list[tuple[str, bool]]()

    def candidates():
        while True:
            prompt, bos = " ".join(rng.choices(WORDS, k=rng.randint(3, 12))), rng.random() < 0.5
            clear = _clear(prompt, bos) and _clear(prompt, bos, EDITS)
            if clear and not any(answer(prompt, bos).same(answer(*other)) for other in chosen):
                chosen.append((prompt, bos))
                yield prompt, bos

    return list(islice(candidates(), count))

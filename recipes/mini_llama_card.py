"""The card of the embedded model `mini-llama`: `mini`'s figures, and its heads beside `mini`'s.

`python -m headlight.recipes.mini_llama_card` prints the figures, with a NAME one of them; `--write`
(`make card`) writes the card.
"""

from pathlib import Path

from jaxtyping import Float
from torch import Tensor

from headlight.model.checkpoints.loading import load
from headlight.model.nn.transformer import Transformer
from headlight.model.training.cards import SEEDS, Card, command_line, folder_of
from headlight.model.training.log import TRAINING_LOG, read_rows
from headlight.recipes.card import TEMPLATE, facts, names
from headlight.recipes.figures import FIGURES, accuracy_without, induction_heads, repeats
from headlight.recipes.mini import FIRST_SYMBOLS, MASTERED
from headlight.recipes.repeat_scores import repeat_scores

NAME, OTHER = "mini-llama", "mini"
HAS_FORMED = 0.5  # induction: the best head's score from here on

OF_MINI_LLAMA = {
    "name": NAME,
    "introduction": (
        "`mini`'s sibling of the modern kind: rotary positions, RMSNorm, a key and a value for every two heads, a\n"
        "gated MLP; the same corpus, curriculum, seed and tokenizer, so that the two can be held against each other,\n"
        "A | B. It is a plain Llama: `transformers.LlamaForCausalLM.from_pretrained` opens this folder and gives the\n"
        "same logits."
    ),
    "grouped": " (two to each key and value)",
    "recipe": "mini_llama.py",
    "shared": (
        ", and so was a direction that all\nembeddings share, without which a rotated key says nothing of its distance"
    ),
    "settled": "The recipe's stages and learning rates are those that were settled while `mini` was trained.",
}

Line = dict[str, float]  # of a training log


def comparison(models: dict[str, Transformer]) -> str:
    """The section that holds the heads of the models against each other: a row each, a column a model."""
    columns = {name: _column(model) for name, model in models.items()}
    rows = next(iter(columns.values()))
    table = [
        f"| | {' | '.join(f'`{name}`' for name in columns)} |",
        f"|---|{'---|' * len(columns)}",
        *(f"| {row} | {' | '.join(column[row] for column in columns.values())} |" for row in rows),
    ]
    return "\n".join(["## Its heads beside `mini`'s", "", *table, "", _answer(models), "", ""])


def _column(model: Transformer) -> dict[str, str]:
    scores = repeat_scores(model, repeats(model, SEEDS[0]))
    without = accuracy_without(induction_heads, model, SEEDS[0])
    log, whole = _log(model), float(model.cfg.d_vocab)
    return {
        "induction heads": names(induction_heads(model, SEEDS[0])),
        "best of them": _best(scores.induction),
        "best previous-token head": _best(scores.previous_token),
        f"induction score above {HAS_FORMED} at step": _step(_formed(log)),
        "loss there, nats a token": f"{line['loss']:.2f}" if (line := _formed(log)) else "never",
        f"accuracy above {MASTERED} on repeats over the whole vocabulary at step": _step(_mastered(log, whole)),
        "accuracy on repeats without the induction heads": f"{without:.2g}",
        "loss on held-out library files, nats a token": f"{FIGURES['library_loss'].measure(model, SEEDS[0]):.2f}",
    }


def _answer(models: dict[str, Transformer]) -> str:
    """Whether induction forms at the same loss, and in the same layer."""
    layers = {name: sorted({layer for layer, _ in induction_heads(model, SEEDS[0])}) for name, model in models.items()}
    where = ", ".join(f"layer {' and '.join(map(str, detected))} of `{name}`" for name, detected in layers.items())
    same_layer = "in the same layer" if len(set(map(tuple, layers.values()))) == 1 else "not in the same layer"
    losses = [line["loss"] for model in models.values() if (line := _formed(_log(model)))]
    return (
        f"So induction forms {same_layer} ({where}). Where it has formed, the loss on repeats over\n"
        f"{FIRST_SYMBOLS} tokens was {' and '.join(f'{loss:.2f}' for loss in losses)} nats a token, the mean of the\n"
        "hundred steps between two lines of a log; there it falls by whole nats a line, so nearer it cannot be told."
    )


def _log(model: Transformer) -> list[Line]:
    return read_rows(folder_of(model) / TRAINING_LOG)


def _formed(log: list[Line]) -> Line | None:
    return next((line for line in log if line["best_induction_score"] > HAS_FORMED), None)


def _mastered(log: list[Line], n_symbols: float) -> Line | None:
    return next((line for line in log if line["n_symbols"] == n_symbols and line["repeat_accuracy"] > MASTERED), None)


def _step(line: Line | None) -> str:
    return f"{line['step']:,.0f}" if line else "never"


def _best(scores: Float[Tensor, "layer head"]) -> str:
    layer, head = divmod(int(scores.argmax()), scores.shape[1])
    return f"L{layer}H{head}, {scores[layer, head]:.3f}"


def facts_of_mini_llama(model: Transformer, folder: Path) -> dict[str, object]:
    """`facts`, what is said of `mini-llama` alone, and its heads beside `mini`'s."""
    return facts(model, folder) | OF_MINI_LLAMA | {"comparison": comparison({OTHER: load(OTHER), NAME: model})}


CARD = Card(NAME, "headlight.recipes.mini_llama_card", FIGURES, load, TEMPLATE, facts_of_mini_llama)

if __name__ == "__main__":
    command_line(CARD)

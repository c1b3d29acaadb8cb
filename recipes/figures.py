"""Figures of the embedded model `mini` for its card, measured on evaluation data drawn from a seed."""

from collections.abc import Callable, Iterator
from functools import partial
from itertools import islice
from random import Random

import numpy as np
import torch
from jaxtyping import Bool, Int
from torch import Tensor
from torch.nn import functional as F

from headlight.model.checkpoints.reference import reference
from headlight.model.nn.transformer import Transformer
from headlight.model.roles.sequences import repeated_halves
from headlight.model.runs.edits import Head
from headlight.model.training.cards import Figure, folder_of, megabytes
from headlight.model.training.pairs import padded
from headlight.recipes import library
from headlight.recipes.grammar import FAMILIES, Example, Split
from headlight.recipes.repeat_scores import mean_ablation, repeat_scores

N_ROWS, HALF = 128, 25  # of random repeats
N_QUESTIONS = 1000
QUESTIONS_AT_ONCE = 50
IS_INDUCTION = 0.3  # a head whose induction score is above this counts as one


def repeats(model: Transformer, seed: int) -> Int[Tensor, "batch pos"]:
    """Rows of 25 random tokens of the whole vocabulary, twice."""
    return repeated_halves(N_ROWS, HALF, np.arange(model.cfg.d_vocab), np.random.default_rng(seed))


def induction_heads(model: Transformer, seed: int) -> list[Head]:
    """The heads whose induction score is above `IS_INDUCTION`."""
    scores = repeat_scores(model, repeats(model, seed)).induction
    return [(int(layer), int(head)) for layer, head in (scores > IS_INDUCTION).nonzero()]


def other_heads(model: Transformer, seed: int) -> list[Head]:
    """Control heads: as many of each layer as it has induction heads, with the lowest induction scores."""
    scores = repeat_scores(model, repeats(model, seed)).induction
    n_induction = (scores > IS_INDUCTION).sum(1).tolist()
    lowest_first = scores.argsort(1).tolist()
    return [(layer, head) for layer, count in enumerate(n_induction) for head in lowest_first[layer][:count]]


def accuracy_without(choose: Callable[[Transformer, int], list[Head]], model: Transformer, seed: int) -> float:
    """Accuracy on repeats with the chosen heads ablated together."""
    return repeat_scores(model, repeats(model, seed), mean_ablation(choose(model, seed))).accuracy


def question_accuracy(family: str, split: Split, model: Transformer, seed: int) -> float:
    """Share of a grammar family's questions in which the right word's logit is above the wrong word's."""
    stream = (example for example in FAMILIES[family].examples(Random(seed), split) if example.prompt)
    batches = [list(islice(stream, QUESTIONS_AT_ONCE)) for _ in range(N_QUESTIONS // QUESTIONS_AT_ONCE)]
    return torch.cat([_right(model, batch) for batch in batches]).float().mean().item()


@torch.inference_mode()
def _right(model: Transformer, questions: list[Example]) -> Bool[Tensor, " question"]:
    tokens, real = padded([model.to_tokens(question.prompt)[0].tolist() for question in questions])
    logits = model(tokens, real)[torch.arange(len(tokens)), real.sum(1) - 1]
    answers = torch.tensor([[model.to_single_token(question.answer)] for question in questions])
    distractors = torch.tensor([[model.to_single_token(question.distractor)] for question in questions])
    return (logits.gather(1, answers) > logits.gather(1, distractors))[:, 0]


@torch.inference_mode()
def library_loss(model: Transformer, seed: int) -> float:
    """Mean loss (nats a token) on the held-out library files, cut into contexts from an offset that the seed draws."""
    windows = _library_windows(model, int(np.random.default_rng(seed).integers(model.cfg.n_ctx)))
    losses = [F.cross_entropy(model(window)[0, :-1], window[0, 1:], reduction="none") for window in windows]
    return torch.cat(losses).mean().item()


def _library_windows(model: Transformer, offset: int) -> Iterator[Int[Tensor, "1 pos"]]:
    for text in library.held_out_files().values():
        for window in model.to_tokens(text)[:, offset:].split(model.cfg.n_ctx, dim=1):
            if window.shape[1] > 1:
                yield window


@torch.inference_mode()
def transformers_difference(model: Transformer, seed: int) -> float:
    """Largest absolute difference of a logit from transformers' own, over four contexts of random tokens."""
    random = np.random.default_rng(seed).integers(model.cfg.d_vocab, size=(4, model.cfg.n_ctx))
    tokens = torch.from_numpy(random)
    return (model(tokens) - reference(folder_of(model), tokens).logits).abs().max().item()


FIGURES: dict[str, Figure[Transformer]] = {
    "repeat_accuracy": Figure(
        "next-token accuracy on the second half of random repeats, 2 x 25 tokens",
        lambda model, seed: repeat_scores(model, repeats(model, seed)).accuracy,
        at_least=0.97,
    ),
    "induction_score": Figure(
        "induction (prefix-matching) score of the best head on them",
        lambda model, seed: repeat_scores(model, repeats(model, seed)).induction.max().item(),
        at_least=0.85,
    ),
    "previous_token_score": Figure(
        "previous-token score of the best head on them",
        lambda model, seed: repeat_scores(model, repeats(model, seed)).previous_token.max().item(),
        at_least=0.90,
    ),
    "without_induction_heads": Figure(
        "accuracy on them with the induction heads ablated together",
        partial(accuracy_without, induction_heads),
        at_most=0.10,
    ),
    "without_other_heads": Figure(
        "accuracy on them with as many other heads of the same layers ablated",
        partial(accuracy_without, other_heads),
        at_least=0.90,
    ),
    "giving_held_out_names": Figure(
        "indirect-object sentences right, name pairs held out",
        partial(question_accuracy, "giving", "held_out_fillers"),
        at_least=0.97,
    ),
    "giving_held_out_templates": Figure(
        "indirect-object sentences right, templates held out",
        partial(question_accuracy, "giving", "held_out_templates"),
        at_least=0.90,
    ),
    "agreement_held_out_nouns": Figure(
        "subject-verb agreement across an attractor right, nouns held out",
        partial(question_accuracy, "agreement", "held_out_fillers"),
        at_least=0.97,
    ),
    "library_loss": Figure("loss on held-out library files, nats a token", library_loss, at_most=3.5),
    "transformers_difference": Figure(
        "largest difference from transformers' logits", transformers_difference, at_most=1e-4
    ),
    "megabytes": Figure("size of the model's folder, MB", megabytes, at_most=25),
}

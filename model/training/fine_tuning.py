"""Fine-tuning a decoder-only model to tell classes of texts apart: a new head on its body, or the whole.

The classifier is a `Transformer` whose unembedding gives a logit a class instead of a token, so that everything that
shows a transformer shows it too. It is read at a text's last token, which has seen all others.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Float, Int
from safetensors import safe_open
from safetensors.torch import save_file
from torch import Tensor
from torch.nn import functional as F

from headlight.model.base.errors import CheckpointError, TrainingError
from headlight.model.base.files import replacing
from headlight.model.base.source import Source
from headlight.model.checkpoints.family import Opening
from headlight.model.checkpoints.tensors import read_safetensors, taken
from headlight.model.nn.transformer import Transformer
from headlight.model.training.buckets import Indices, random_batches
from headlight.model.training.labelled import Example
from headlight.model.training.log import Row
from headlight.model.training.loop import SetRecipe, Settings, train_as_set
from headlight.model.training.pairs import in_parts, padded

BATCH_SIZE = 64
TEXTS_AT_ONCE = 256  # when nothing is learned

FILE = "classifier.safetensors"
FAMILY = "classifier"
HEAD = "unembed."


def classifier_from(model: Transformer, n_classes: int, freeze: bool) -> Transformer:
    """A copy of the model with a new head that gives a logit a class; the model itself is never changed.

    The head is zero at first, so that every class is equally likely. With `freeze` nothing else takes a gradient: what
    is trained is logistic regression on the last token's normalised residual.
    """
    classifier = Transformer(replace(model.cfg, d_vocab_out=n_classes, tie_word_embeddings=False))
    body = {name: tensor for name, tensor in model.state_dict().items() if not name.startswith(HEAD)}
    classifier.load_state_dict(body, strict=False)
    torch.nn.init.zeros_(classifier.unembed.W_U)
    classifier.requires_grad_(not freeze)
    classifier.unembed.requires_grad_(True)
    classifier.tokenizer, classifier.source = model.tokenizer, model.source
    return classifier.to(model.embed.W_E.device)


EncodedText = tuple[list[int], int]  # token ids, and the index of the class


def encode(model: Transformer, examples: Sequence[Example], classes: Sequence[str]) -> list[EncodedText]:
    """Texts and their classes as numbers.

    Raises:
        InputError: the model has no tokenizer, or a text is no valid Unicode.
        TrainingError: a text without tokens, or longer than the context, or a label that is none of the classes.
    """
    encoded = []
    for text, label in examples:
        ids = model.to_tokens(text)[0].tolist()
        if not 1 <= len(ids) <= model.cfg.n_ctx:
            raise TrainingError(
                f"A text has {len(ids)} tokens, and can have 1 to {model.cfg.n_ctx}: {text[:60]!r}… Shorten it, or "
                "remove it."
            )
        if label not in classes:
            raise TrainingError(f"{label!r} is none of the classes; they are {', '.join(classes)}.")
        encoded.append((ids, classes.index(label)))
    return encoded


@dataclass(frozen=True)
class TextBatch:
    """Texts as token ids padded on the right, the mask 1 for real tokens, and the index of each one's class."""

    tokens: Int[Tensor, "text pos"]
    mask: Int[Tensor, "text pos"]
    labels: Int[Tensor, " text"]


def pad(encoded: Sequence[EncodedText], device: torch.device) -> TextBatch:
    """Encoded texts as one batch."""
    tokens, mask = padded([ids for ids, _ in encoded])
    labels = torch.tensor([label for _, label in encoded])
    return TextBatch(tokens.to(device), mask.to(device), labels.to(device))


def class_logits(classifier: Transformer, batch: TextBatch) -> Float[Tensor, "text class"]:
    """Each text's logits, read at its last token."""
    last = batch.mask.sum(1) - 1
    return classifier(batch.tokens, batch.mask)[torch.arange(len(last), device=last.device), last]


def predict(classifier: Transformer, classes: Sequence[str], texts: Sequence[str]) -> list[str]:
    """The likeliest class of each text.

    Raises:
        InputError, TrainingError: as `encode`.
    """
    encoded = encode(classifier, [(text, classes[0]) for text in texts], classes)
    return [classes[index] for index in _likeliest(classifier, encoded)]


def accuracy(classifier: Transformer, classes: Sequence[str], examples: Sequence[Example]) -> float:
    """Share of the texts whose likeliest class is theirs.

    Raises:
        InputError, TrainingError: as `encode`.
    """
    return _share_right(classifier, encode(classifier, examples, classes))


def _share_right(classifier: Transformer, encoded: Sequence[EncodedText]) -> float:
    likeliest = _likeliest(classifier, encoded)
    return sum(index == label for index, (_, label) in zip(likeliest, encoded, strict=True)) / len(encoded)


@torch.inference_mode()
def _likeliest(classifier: Transformer, encoded: Sequence[EncodedText]) -> list[int]:
    batches = (pad(part, classifier.embed.W_E.device) for part in in_parts(encoded, TEXTS_AT_ONCE))
    return [index for batch in batches for index in class_logits(classifier, batch).argmax(1).tolist()]


@dataclass(frozen=True)
class Task:
    """A classification task: the classes, training texts and held-out texts, which are only measured."""

    classes: Sequence[str]
    train: Sequence[Example]
    held_out: Sequence[Example]


def fine_tune(classifier: Transformer, task: Task, settings: Settings, run: Path) -> None:
    """Train all parameters that require a gradient, in place, from `run`'s checkpoint if there is one, with a log.csv.

    Raises:
        InputError, TrainingError: as `encode`; or the loss became NaN, or the checkpoint is of another run.
    """
    train_as_set(classifier, ClassifierRecipe(classifier, task, settings), run)


class ClassifierRecipe(SetRecipe[Transformer, TextBatch]):
    """Labelled texts, epoch after epoch in a new order."""

    def __init__(self, classifier: Transformer, task: Task, settings: Settings) -> None:
        trained = [name for name, parameter in classifier.named_parameters() if parameter.requires_grad]
        super().__init__(settings, classifier.cfg, _began_as(classifier), trained, task)
        self.train, self.held_out = (encode(classifier, part, task.classes) for part in (task.train, task.held_out))
        self.device = classifier.embed.W_E.device
        self._epoch = lru_cache(maxsize=1)(self._draw_epoch)

    def batch(self, step: int) -> TextBatch:
        """The next texts of the epoch."""
        epoch, nth = divmod(step, -(-len(self.train) // BATCH_SIZE))
        return pad([self.train[index] for index in self._epoch(epoch)[nth]], self.device)

    def _draw_epoch(self, epoch: int) -> list[Indices]:
        return random_batches(len(self.train), BATCH_SIZE, np.random.default_rng((self.settings.seed, epoch)))

    def loss(self, model: Transformer, batch: TextBatch, step: int) -> Float[Tensor, ""]:
        """Mean cross-entropy a text, labels smoothed."""
        smoothing = self.settings.label_smoothing
        return F.cross_entropy(class_logits(model, batch), batch.labels, label_smoothing=smoothing)

    def counts(self, batch: TextBatch) -> Row:
        """Real tokens."""
        return {"tokens_per_step": int(batch.mask.sum())}

    def figures(self, model: Transformer) -> Row:
        """Share of the held-out texts that are right."""
        return {"held_out_accuracy": _share_right(model, self.held_out)}


def save_classifier(classifier: Transformer, classes: Sequence[str], folder: Path) -> None:
    """Write what was trained, the head or the whole, with the classes' names and the hash of the model it began as."""
    metadata = json.dumps({"classes": list(classes), "body": _began_as(classifier)})
    trained = {name: tensor for name, tensor in classifier.named_parameters() if tensor.requires_grad}
    state = {name: tensor.detach().cpu().contiguous() for name, tensor in trained.items()}
    with replacing(folder / FILE) as beside:
        save_file(state, beside, metadata={FAMILY: metadata})


def _began_as(classifier: Transformer) -> str | None:
    """The hash of the weights that a classifier was made from."""
    return None if classifier.source is None else classifier.source.sha256


def load_classifier(folder: Path, body: Transformer) -> tuple[Transformer, tuple[str, ...]]:
    """The classifier of a folder that `save_classifier` wrote, and its classes; `model` is the model that it began as.

    Raises:
        CheckpointError: the file is damaged or no classifier's, or it began as another model.
    """
    tensors = read_safetensors(folder / FILE)
    classes, began_as = _read_metadata(folder / FILE)
    if body.source is not None and began_as not in (None, body.source.sha256):
        raise CheckpointError(
            f"{folder.name} was not fine-tuned from {body.source.name}: the weights it began as have another hash. "
            "Give the model that it was trained on, or train it again."
        )
    classifier = classifier_from(body, len(classes), freeze=True)
    shapes = {name: tuple(tensor.shape) for name, tensor in classifier.state_dict().items()}
    head_alone = all(name.startswith(HEAD) for name in tensors)
    wanted = {name: shape for name, shape in shapes.items() if name.startswith(HEAD) or not head_alone}
    classifier.load_state_dict(taken(tensors, wanted, Opening()), strict=False)
    classifier.source = Source(folder.name, folder, FAMILY, (folder / FILE,))
    return classifier.requires_grad_(False).eval(), classes


def _read_metadata(path: Path) -> tuple[tuple[str, ...], str | None]:
    with safe_open(path, framework="pt") as file:
        metadata = file.metadata() or {}
    try:
        content = json.loads(metadata[FAMILY])
        return tuple(map(str, content["classes"])), content["body"]
    except (KeyError, ValueError, TypeError) as error:
        raise CheckpointError(f"{path.name} is no classifier's file: it does not name its classes.") from error

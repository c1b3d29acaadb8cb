"""Refuse models without a language modelling head, by the name of their class: they have no logits."""

import re
from collections.abc import Iterable

from headlight.model.base.errors import CheckpointError

LANGUAGE = ("ForCausalLM", "LMHeadModel", "ForMaskedLM", "ForPreTraining", "ForConditionalGeneration", "MTModel")
VALUE_HEAD = r"(v_head|value_head)\..*"  # which trl puts beside a language model's
HEADS = {  # tensors of other heads, and what has them
    r"score\..*": "reward model or sequence classifier",
    r"(pre_)?classifier\..*|classification_head\..*": "classifier",
    r"qa_outputs\..*": "question answerer",
    r"discriminator_predictions\..*": "discriminator of replaced tokens",
}


def check_head(architectures: object, names: Iterable[str], needed: Iterable[str]) -> None:
    """Refuse a folder without a language modelling head.

    Args:
        architectures: the class names in config.json.
        names: the folder's tensor names.
        needed: the tensor names of a language model.

    Raises:
        CheckpointError: the folder has another head, or none.
    """
    present, wanted = set(names), set(needed)
    beside = present - wanted
    if any(re.fullmatch(VALUE_HEAD, name) for name in beside):
        raise CheckpointError(
            "This is a model with a value head (trl's AutoModelForCausalLMWithValueHead), which is not read. Save the "
            "language model in it: model.pretrained_model.save_pretrained(folder)."
        )
    other = next((kind for head, kind in HEADS.items() if any(re.fullmatch(head, name) for name in beside)), None)
    named = architectures if isinstance(architectures, list) else []
    classes = [each for each in named if isinstance(each, str) and not each.endswith(LANGUAGE)]
    if other is not None or (classes and not wanted <= present):
        raise CheckpointError(
            f"This is a {classes[0] if classes else other}, which has no language model's head, and so no logits of "
            "tokens to look at. Open the language model that it was made from, saved by its own class."
        )

"""How good the circuits of each method are: `make bench ARGS="circuits mini smollm2"`, as the manual's table has it.

CPR and CMD as MIB defines them, on rows that were held out of scoring: subject and verb on `mini`, indirect objects on
SmolLM2. Beside the methods stand random scores. Methods that take hours are left out where a model is large.
"""

import argparse
from collections.abc import Sequence
from dataclasses import replace

import torch

from headlight.model import Transformer, load
from headlight.model.circuits import EdgeScores, edge_scores, split_rows
from headlight.model.circuits.evaluation import evaluate
from headlight.model.circuits.preparing import Baseline
from headlight.model.circuits.scoring import DEFAULT_STEPS, Method
from headlight.model.prompt_sets.encoding import TokenRow, to_tokens
from headlight.model.prompt_sets.prompt_set import PromptPair, PromptSet

ONE, MANY = (" is", " was"), (" are", " were")
NOUNS = ("girl", "dog", "cat")
ENDS = ("house", "birds")
NAMES = ("Mary", "John", "Tom", "James", "Dan", "Martin")
METHODS: dict[tuple[Method, Baseline], str] = {
    ("eap", "pair"): "EAP",
    ("eap_ig_inputs", "pair"): "EAP-IG, inputs",
    ("eap_ig_activations", "pair"): "EAP-IG, activations",
    ("clean_corrupted", "pair"): "clean-corrupted",
    ("exact", "pair"): "exact patching",
    ("flow", "pair"): "information flow routes",
    ("eap", "mean"): "EAP, baseline mean",
    ("eap", "zero"): "EAP, baseline zero",
}
SLOW = ("EAP-IG, activations", "exact patching")  # hours with SmolLM2


def agreement(model: Transformer) -> tuple[TokenRow, ...]:
    """Nouns of one and of many, before another noun."""
    pairs = []
    for noun in NOUNS:
        for end in ENDS:
            one, many = f"The {noun} near the {end}", f"The {noun}s near the {end}"
            pairs += [PromptPair(one, many, ONE, MANY), PromptPair(many, one, MANY, ONE)]
    return in_tokens(model, "agreement", pairs)


def indirect_objects(model: Transformer) -> tuple[TokenRow, ...]:
    """Names of one token, of which the corrupted prompt repeats the other."""
    pairs = []
    for a, b in zip(NAMES, (*NAMES[1:], NAMES[0]), strict=True):
        begun = f"When {a} and {b} went to the store,"
        clean, corrupted = (f"{begun} {giver} gave a drink to" for giver in (b, a))
        pairs.append(PromptPair(clean, corrupted, (f" {a}",), (f" {b}",)))
    return in_tokens(model, "indirect objects", pairs)


def in_tokens(model: Transformer, name: str, pairs: Sequence[PromptPair]) -> tuple[TokenRow, ...]:
    """The pairs that the model can take."""
    assert model.tokenizer is not None
    return tuple(row for row in to_tokens(PromptSet(name, tuple(pairs)), model.tokenizer).rows if row.is_aligned)


def table(
    name: str, rows: Sequence[TokenRow], model: Transformer, methods: Sequence[str], steps: int = DEFAULT_STEPS
) -> list[str]:
    """One line a method: CPR, CMD, and faithfulness at 1, 5 and 20 % of the edges."""
    train, held_out = split_rows(rows, 0.5)
    lines = []
    for (method, baseline), called in METHODS.items():
        if called in methods:
            scores = edge_scores(model, train, method, baseline, steps=steps)
            lines.append(_line(name, called, model, held_out, scores))
            print(lines[-1], flush=True)
    scored = edge_scores(model, train[0], "flow")
    random = torch.rand(scored.by_row.shape, generator=torch.Generator().manual_seed(0))
    lines.append(_line(name, "random", model, held_out, replace(scored, by_row=random)))
    print(lines[-1], flush=True)
    return lines


def _line(name: str, called: str, model: Transformer, rows: Sequence[TokenRow], scores: EdgeScores) -> str:
    result = evaluate(model, rows, scores, baseline="pair")
    at = [result.shares.index(share) for share in (0.01, 0.05, 0.2)]
    points = " | ".join(f"{float(result.faithfulness[place]):.2f}" for place in at)
    return f"| {name} | {called} | {result.cpr:.2f} | {result.cmd:.2f} | {points} |".replace("-0.", "−0.")


def main() -> None:
    """Print the table of each model that is named."""
    parser = argparse.ArgumentParser(prog="circuits", description=__doc__)
    parser.add_argument("models", nargs="*", choices=("mini", "smollm2"), default="mini")
    parser.add_argument(
        "--methods", nargs="+", choices=METHODS.values(), help="default: all; of smollm2 the quick ones"
    )
    parser.add_argument("--steps", type=int, default=DEFAULT_STEPS, help="gradients on the way of EAP-IG (default: 5)")
    flags = parser.parse_args()
    models = flags.models
    print("| model | method | CPR | CMD | 1 % | 5 % | 20 % |\n|---|---|---|---|---|---|---|", flush=True)
    for name in [models] if isinstance(models, str) else models:
        model = load(name)
        rows = agreement(model) if name == "mini" else indirect_objects(model)
        methods = flags.methods or [called for called in METHODS.values() if name == "mini" or called not in SLOW]
        table(name, rows, model, methods, flags.steps)


if __name__ == "__main__":
    main()

"""Circuits that are known edge by edge: programs compiled by tracr, and weights written by hand, over sets of prompts.

Source of tracr's truth: UFO-101/auto-circuit's official circuits, by resampling (Miller et al. 2024) and by zeros
(Conmy et al. 2023, where ACDC has an AUROC of 1.00 on both programs, HISP 0.66 and 0.68, SP 0.69 and 0.56).
"""

import json
import os
import random
from pathlib import Path

import pytest
import torch

from headlight.model import Transformer, load
from headlight.model.circuits import EdgeScores, above_share, edge_scores
from headlight.model.circuits.evaluation import edge_auroc
from headlight.model.circuits.preparing import Baseline
from headlight.model.circuits.scoring import Method
from headlight.model.circuits.selection import EdgeMask
from headlight.model.prompt_sets.encoding import TokenRow
from headlight.recipes.programs import BOS, programs
from tests.model.circuits.test_edges import KNOWN
from tests.places import ROOT
from tests.recipes.test_programs import length, sequence

TRACR = Path(os.environ.get("HEADLIGHT_TRACR", ROOT.parent / "shared" / "data" / "tracr"))
RESAMPLED = {
    "reverse": "L3H0.v < embeddings; logits < L3H0",
    "xproportion": "L0 MLP < embeddings; L1H0.v < L0 MLP; logits < L1H0",
}
ZEROED = {
    "reverse": "logits < L3H0; L3H0.q < L2 MLP; L3H0.k < embeddings; L3H0.v < embeddings; L2 MLP < L1 MLP; "
    "L1 MLP < L0 MLP; L1 MLP < embeddings; L0 MLP < L0H0; L0 MLP < embeddings; L0H0.v < embeddings",
    "xproportion": "logits < L1H0; L1H0.q < embeddings; L1H0.k < embeddings; L1H0.v < L0 MLP; L0 MLP < embeddings",
}


def rows_of(program: str, ids: dict[str, int], n_prompts: int = 4) -> list[TokenRow]:
    """Random inputs of four symbols, each with another, at every position at which the two outputs differ."""
    draw, rows = random.Random(0), list[TokenRow]()
    for _ in range(n_prompts):
        a, b = ([draw.choice("123" if program == "reverse" else "wxyz") for _ in range(4)] for _ in range(2))
        clean, corrupted = (torch.tensor([ids[symbol] for symbol in ("BOS", *text)]) for text in (a, b))
        for position in range(1, 5):
            if program == "reverse":  # the symbol from the other end against the other two
                here, there = a[-position], b[-position]
                right, wrong = (int(here) - 1,), tuple(i for i in range(3) if i != int(here) - 1)
            else:  # the share of x, against an output that is 0 in both: the position's own index is another
                here, there = (str(text[:position].count("x")) for text in (a, b))
                right, wrong = (0,), (2 if position == 1 else 1,)
            if here != there:
                end = {"end": (position, position)}
                rows.append(TokenRow(len(rows) + 1, clean, corrupted, right, wrong, end))
    return rows


def compiled(program: str) -> tuple[Transformer, list[TokenRow]]:
    if not TRACR.is_dir():
        pytest.skip("the compiled programs are not on this machine; HEADLIGHT_TRACR names their folder")
    model = load(
        TRACR / f"{program}.safetensors",
        act_fn="relu",
        attention_dir="bidirectional",
        normalization_type=None,
        positional_embedding_type="standard",
        attn_scale=None,
        window_size=None,
    )
    ids = json.loads((TRACR / "vocabulary.json").read_text())[program]["tokens"]
    return model, rows_of(program, ids)


def truth_of(scores: EdgeScores, edges: str) -> EdgeMask:
    receivers, senders = (
        {each.name: place for place, each in enumerate(part)} for part in (scores.wires.receivers, scores.wires.senders)
    )
    truth = torch.zeros_like(scores.wires.before)
    for edge in edges.split("; "):
        receiver, sender = edge.split(" < ")
        truth[receivers[receiver], senders[sender]] = True
    return truth


@pytest.mark.parametrize("program", ZEROED)
def test_edges_of_compiled_programs_are_told_apart_by_either_truth(program: str) -> None:
    model, rows = compiled(program)
    expected: dict[tuple[Method, Baseline], tuple[str, float]] = {
        ("exact", "pair"): (RESAMPLED[program], 1.0),
        ("eap", "pair"): (RESAMPLED[program], 1.0),
        ("exact", "zero"): (ZEROED[program], 1.0),
        ("eap_ig_activations", "zero"): (ZEROED[program], 0.95),  # an estimate
    }
    for (method, baseline), (edges, least) in expected.items():
        scores = edge_scores(model, rows, method, baseline)
        sizes = scores.by_row.abs().mean(0)  # what helps at one position hurts at another
        assert edge_auroc(sizes, truth_of(scores, edges), scores.wires.before) >= least - 1e-9, (method, baseline)
    exact = edge_scores(model, rows, "exact", "zero")
    # Nothing else has any effect; 1e-5 is float32 rounding of outputs up to 1.
    assert torch.equal(exact.by_row.abs().amax(0) > 1e-5, truth_of(exact, ZEROED[program]))


SETS = {
    "teach-induction": [
        ("the quick fox found the", "a small fox found john"),
        ("Mary gave the Mary", "John gave a Mary"),
    ],
    "teach-copy": [("! fox gave john ?", "( apples gave john ."), ("! key gave john ?", "( fox gave john .")],
}


@pytest.mark.parametrize("name", ["teach-induction", "teach-copy"])
@pytest.mark.parametrize("method", ["eap_ig_inputs", "exact"])
def test_of_weights_written_by_hand_exactly_the_edges_are_found(name: str, method: Method) -> None:
    model = load(name)
    pairs = [tuple(model.to_tokens(text)[0] for text in texts) for texts in SETS[name]]
    rows = []
    for number, (clean, corrupted) in enumerate(pairs, start=1):
        end = len(clean) - 1
        with torch.no_grad():
            right, wrong = (int(model(tokens[None])[0, -1].argmax()) for tokens in (clean, corrupted))
        wrong = wrong if wrong != right else int(corrupted[2])
        rows.append(TokenRow(number, clean, corrupted, (right,), (wrong,), {"end": (end, end)}))
    scores = edge_scores(model, rows, method, steps=20)
    edges = above_share(scores.wires, scores.mean, 1e-3)
    wires = scores.wires
    assert {(wires.receivers[row], wires.senders[column]) for row, column in edges.nonzero().tolist()} == KNOWN


PROGRAMS = programs()


def rows_by_hand(name: str, n_rows: int = 40) -> list[TokenRow]:
    """Pairs of sequences for a program, each measured where the two have other answers."""
    draw, program, rows = random.Random(1), PROGRAMS[name], list[TokenRow]()
    while len(rows) < n_rows:
        n_tokens = length(name, draw)
        a, b = (sequence(name, draw, n_tokens) for _ in range(2))
        at = draw.randrange(n_tokens)
        right, wrong = program.answers(a)[at], program.answers(b)[at]
        if right != wrong:
            clean, corrupted = (torch.tensor([BOS, *tokens]) for tokens in (a, b))
            rows.append(TokenRow(len(rows) + 1, clean, corrupted, (right,), (wrong,), {"end": (at + 1, at + 1)}))
    return rows


@pytest.mark.parametrize("name", PROGRAMS)
def test_edges_of_programs_written_by_hand_are_told_apart_from_decoys(name: str) -> None:
    program, rows = PROGRAMS[name], rows_by_hand(name)
    truths: dict[Baseline, EdgeMask] = {}
    for baseline, edges in (("pair", program.varying), ("zero", program.varying | program.constant)):
        exact = edge_scores(program.model, rows, "exact", baseline)
        truths[baseline] = truth_of(exact, "; ".join(" < ".join(edge) for edge in edges))
        # Nothing else has any effect: logits go up to 10, and a match's score leaves e^-30 to all else.
        assert torch.equal(exact.by_row.abs().amax(0) > 1e-4, truths[baseline]), baseline
    estimated = edge_scores(program.model, rows, "eap_ig_inputs", steps=20)
    sizes = estimated.by_row.abs().mean(0)
    assert edge_auroc(sizes, truths["pair"], estimated.wires.before) >= 0.99

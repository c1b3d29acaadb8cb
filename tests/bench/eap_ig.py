"""Edge scores, CPR and CMD beside EAP-IG's and MIB's own programs: `make bench ARGS="eap_ig mini smollm2"`.

On the first rows of `circuits`, none held out. CPR and CMD are compared on mini alone: theirs has a key and a value
edge for each head of SmolLM2, ours one for the heads that share it, and a share of the edges is another number of them.
"""

import argparse
import json
import os
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from headlight.model import Transformer, load
from headlight.model.circuits import EdgeScores, edge_scores
from headlight.model.circuits.evaluation import evaluate
from headlight.model.circuits.files import read_circuit
from headlight.model.circuits.preparing import Baseline
from headlight.model.circuits.scoring import Method
from headlight.model.prompt_sets.encoding import TokenRow
from tests.bench.circuits import METHODS, agreement, indirect_objects
from tests.model.lens.lens_twin import lens_twin
from tests.places import ROOT

PYTHON = ROOT / ".venv" / "eap-ig" / "bin" / "python"  # the Makefile fills it from requirements-eap-ig.txt
STEPS = 5
N_ROWS = 4
THEIR_METHOD: dict[Method, str] = {
    "eap": "EAP",
    "eap_ig_inputs": "EAP-IG-inputs",
    "eap_ig_activations": "EAP-IG-activations",
    "clean_corrupted": "clean-corrupted",
    "exact": "exact",
    "flow": "information-flow-routes",
}
THEIR_BASELINE: dict[Baseline, str] = {"pair": "patching", "zero": "zero"}  # their means divide by the wrong length
# Their node of the embeddings has no positions, and each of the heads that share keys has a flow of its own.
NOT_THE_SAME = {"mini": (("eap", "zero"), ("flow", "pair")), "smollm2": (("flow", "pair"),)}
SLOW = {"mini": ("exact",), "smollm2": ("exact", "eap_ig_activations")}  # their programs take many minutes, or hours


def compare(name: str, model: Transformer, rows: Sequence[TokenRow], named: Sequence[str]) -> None:
    """Print a line a method: the largest difference of a score, by the largest score, and both pairs of areas."""
    small, methods = name == "mini", _methods(name, named)
    tasks = [
        {
            "name": f"{method}-{baseline}",
            "method": THEIR_METHOD[method],
            "intervention": THEIR_BASELINE[baseline],
            "areas": small,
        }
        for method, baseline in methods
    ]
    with tempfile.TemporaryDirectory() as folder:
        run_theirs(Path(folder), model, rows, tasks)
        for method, baseline in methods:
            ours = edge_scores(model, rows, method, baseline, steps=STEPS, rule="eap_ig")
            theirs = read_circuit(Path(folder) / f"{method}-{baseline}.pt", model.cfg).scores
            off = float((ours.mean - theirs).abs().max() / theirs.abs().max())
            areas = _areas(model, rows, ours, Path(folder) / f"{method}-{baseline}.json") if small else " | |"
            print(f"| {name} | {METHODS[method, baseline]} | {off:.0e} |{areas}", flush=True)


def run_theirs(folder: Path, model: Transformer, rows: Sequence[TokenRow], methods: Sequence[Any]) -> None:
    """Have their programs score the rows and leave the graphs in the folder."""
    twin = lens_twin(model)
    settings = {
        name: value for name, value in twin.cfg.to_dict().items() if isinstance(value, str | int | float | list)
    }
    (folder / "config.json").write_text(json.dumps(settings))
    torch.save(twin.state_dict(), folder / "weights.pt")
    del twin
    tokens = [
        {
            "clean": row.clean.tolist(),
            "corrupted": row.corrupted.tolist(),
            "answers": [row.answers, row.wrong_answers],
        }
        for row in rows
        if row.corrupted is not None
    ]
    (folder / "tasks.json").write_text(json.dumps({"rows": tokens, "methods": methods, "steps": STEPS}))
    program = Path(__file__).parent / "peers" / "eap_ig.py"
    quiet = os.environ | {"TQDM_DISABLE": "1", "OMP_NUM_THREADS": "1"}
    subprocess.run([PYTHON, "-W", "ignore", program, folder], check=True, stdout=subprocess.DEVNULL, env=quiet)


def _methods(model: str, named: Sequence[str]) -> list[tuple[Method, Baseline]]:
    """Those that are named, or else those that take no hours."""
    return [
        (method, baseline)
        for (method, baseline), title in METHODS.items()
        if baseline in THEIR_BASELINE
        and (title in named if named else method not in SLOW[model])
        and (method, baseline) not in NOT_THE_SAME[model]
    ]


def _areas(model: Transformer, rows: Sequence[TokenRow], scores: EdgeScores, theirs: Path) -> str:
    ours, areas = evaluate(model, rows, scores, baseline="pair"), json.loads(theirs.read_text())
    return f" {ours.cpr:.5f} / {areas['cpr']:.5f} | {ours.cmd:.5f} / {areas['cmd']:.5f} |"


def main() -> None:
    """Print the table of each model that is named."""
    parser = argparse.ArgumentParser(prog="eap_ig", description=__doc__)
    parser.add_argument("models", nargs="*", choices=("mini", "smollm2"), default="mini")
    parser.add_argument("--methods", nargs="+", choices=METHODS.values(), default=(), help="default: the quick ones")
    flags = parser.parse_args()
    print("| model | method | difference | CPR ours / MIB's | CMD ours / MIB's |\n|---|---|---|---|---|", flush=True)
    for name in [flags.models] if isinstance(flags.models, str) else flags.models:
        model = load(name)
        compare(name, model, (agreement if name == "mini" else indirect_objects)(model)[:N_ROWS], flags.methods)


if __name__ == "__main__":
    main()

"""EAP-IG's and MIB's own programs, in an environment of their own: `python eap_ig.py FOLDER`.

The folder has what `tests.bench.eap_ig` writes: a model's settings and weights in TransformerLens's names, rows in
tokens, and what to score. Each method's graph is written there, and the areas below its circuits' curve.
"""

import json
import sys
from pathlib import Path
from typing import Any

import torch
from eap import attribute, evaluate, utils
from eap.graph import Graph
from MIB_circuit_track import evaluation
from torch import Tensor
from torch.overrides import TorchFunctionMode
from transformer_lens import HookedTransformer, HookedTransformerConfig

SETTINGS = {"use_attn_result": True, "use_split_qkv_input": True, "use_hook_mlp_in": True}


class OnProcessor(TorchFunctionMode):
    """EAP-IG makes its tensors on a GPU, whatever device the model is on."""

    def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = dict(kwargs or {})
        if kwargs.get("device") == "cuda":
            kwargs["device"] = "cpu"
        return function(*args, **kwargs)


def tokens_of(model: HookedTransformer, rows: list[list[int]], max_length: int | None = None) -> tuple[Any, ...]:
    """What EAP-IG's `tokenize_plus` returns of texts, here of token ids of one length."""
    tokens = torch.tensor(rows)
    return tokens, torch.ones_like(tokens), torch.full((len(rows),), tokens.shape[1]), tokens.shape[1]


def logit_difference(logits: Tensor, clean_logits: Tensor, lengths: Tensor, labels: list[list[list[int]]]) -> Tensor:
    """The answers' mean logit less that of the wrong ones."""
    last = logits[torch.arange(len(lengths)), lengths - 1]
    return torch.stack(
        [row[right].mean() - row[wrong].mean() for row, (right, wrong) in zip(last, labels, strict=True)]
    )


def total(*arguments: Any) -> Tensor:
    return logit_difference(*arguments).sum()


def without_path(*arguments: Any, optimal_ablation_path: None = None, **settings: Any) -> Any:
    """MIB's program is written for a branch of EAP-IG's that has one more argument."""
    return evaluate.evaluate_graph(*arguments, **settings)


def main(folder: Path) -> None:
    """Score what is asked for in `tasks.json`, one row at a time."""
    attribute.tokenize_plus = evaluate.tokenize_plus = utils.tokenize_plus = tokens_of
    evaluation.evaluate_graph = without_path
    settings = json.loads((folder / "config.json").read_text())
    model = HookedTransformer(HookedTransformerConfig(**(settings | SETTINGS)))
    model.cfg.ungroup_grouped_query_attention = True
    model.load_state_dict(torch.load(folder / "weights.pt"), strict=False)
    tasks = json.loads((folder / "tasks.json").read_text())
    rows = [([row["clean"]], [row["corrupted"]], [row["answers"]]) for row in tasks["rows"]]
    for task in tasks["methods"]:
        graph = Graph.from_model(model)
        attribute.attribute(
            model,
            graph,
            rows,
            total,
            task["method"],
            task["intervention"],
            ig_steps=tasks["steps"],
            intervention_dataloader=rows,
            quiet=True,
        )
        graph.to_pt(str(folder / f"{task['name']}.pt"))
        if task["areas"]:
            _, cpr, cmd, _, _ = evaluation.evaluate_area_under_curve(model, graph, rows, logit_difference, quiet=True)
            (folder / f"{task['name']}.json").write_text(json.dumps({"cpr": cpr, "cmd": cmd}))


if __name__ == "__main__":
    with OnProcessor():
        main(Path(sys.argv[1]))

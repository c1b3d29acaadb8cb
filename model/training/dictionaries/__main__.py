"""Training dictionaries from the command line: `make train-dictionary MODEL=mini HOOK=blocks.2.hook_resid_post`.

Several hooks are trained together, in one pass of the model. What was begun goes on from its last checkpoint.
"""

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import get_args

import torch

from headlight.model.base.errors import TrainingError, exit_on_error, nearest
from headlight.model.base.files import writing
from headlight.model.checkpoints.loading import load
from headlight.model.features.sae_lens import CONFIG, WEIGHTS
from headlight.model.nn.transformer import Transformer
from headlight.model.training.dictionaries.recipe import Bundle, DictionaryRecipe, Place, Rows, activations, place_of
from headlight.model.training.dictionaries.saving import save
from headlight.model.training.dictionaries.sparse import Kind, Shape, Sparse
from headlight.model.training.dictionaries.text import rows_of_files
from headlight.model.training.log import keep_log
from headlight.model.training.loop import faster_products, train
from headlight.model.training.outputs import check_out


def parser() -> argparse.ArgumentParser:
    """The flags, with their help."""
    made = argparse.ArgumentParser(prog="train-dictionary", description="Train dictionaries of a model's activations.")
    made.add_argument("model", help="an embedded model's name, a folder or a hub name")
    made.add_argument(
        "hooks",
        nargs="+",
        metavar="HOOK",
        help="activations by TransformerLens's names: of a hook_mlp_out a transcoder, of any other an autoencoder",
    )
    made.add_argument(
        "--kind",
        choices=get_args(Kind),
        default="topk",
        help="topk, batchtopk or jumprelu; SAELens opens no topk transcoders (default: %(default)s)",
    )
    made.add_argument("--features", type=int, default=1024, help="number of features (default: %(default)s)")
    made.add_argument(
        "--k", type=int, default=16, help="how many features are active at a position (default: %(default)s)"
    )
    made.add_argument("--steps", type=int, default=1800, help="training steps of 1024 tokens (default: %(default)s)")
    made.add_argument("--rate", type=float, default=3e-3, help="learning rate (default: %(default)s)")
    made.add_argument("--seed", type=int, default=0, help="of weights and order of text (default: %(default)s)")
    made.add_argument("--text", help="text to train on: a file, a folder, or a table of documents")
    made.add_argument(
        "--run",
        type=Path,
        default=Path("runs/dictionaries"),
        help="where checkpoints and corpus are kept (default: %(default)s)",
    )
    made.add_argument("--out", type=Path, help="where the dictionaries are written (default: the folder of --run)")
    made.add_argument("--threads", type=int, help="processor threads (default: as many as torch takes)")
    return made


def shapes_of(model: Transformer, places: list[Place], args: argparse.Namespace) -> list[Shape]:
    """Width of each activation, from a pass over two tokens.

    Raises:
        TrainingError: the model has no such activation, or sizes that make no dictionary.
    """
    if not 1 <= args.k <= args.features or args.steps < 1:
        raise TrainingError(
            f"k is {args.k} of {args.features} features, for {args.steps} steps; 1 is the least of each."
        )
    hooks = frozenset(hook for place in places for hook in (place.hook_in, place.hook_out))
    for hook in sorted(hooks - set(model.hook_names)):
        raise TrainingError(f"The model has no activation {hook!r}.{nearest(hook, model.hook_names)}")
    widths = {
        name: activation.shape[-1] for name, activation in activations(model, torch.tensor([[0, 0]]), hooks).items()
    }
    sizes = {"n_features": args.features, "k": args.k}
    return [
        Shape(args.kind, widths[p.hook_in], widths[p.hook_out], is_autoencoder=p.is_autoencoder, **sizes)
        for p in places
    ]


def no_corpus(model: Transformer, run: Path) -> Rows:
    """Without a text there is nothing to train on."""
    raise TrainingError("Name the text to train on: --text with a text file, a folder, or a table of documents.")


@exit_on_error()
def main(corpus: Callable[[Transformer, Path], Rows] = no_corpus) -> None:
    """Train, or resume, and write every dictionary with the log of the run.

    Args:
        corpus: the rows to train on where no text was named, made of the model and the run's folder.
    """
    args = parser().parse_args()
    torch.set_num_threads(args.threads or torch.get_num_threads())
    model, places = load(args.model), [place_of(hook) for hook in args.hooks]
    shapes = shapes_of(model, places, args)
    out = args.out or args.run / "dictionaries"
    check_out(out, *(f"{place.hook_out}/{name}" for place in places for name in (CONFIG, WEIGHTS)))
    with writing(args.run):
        args.run.mkdir(parents=True, exist_ok=True)
    rows = corpus(model, args.run) if args.text is None else rows_of_files(model, args.text)
    bundle = Bundle([Sparse(shape, args.seed) for shape in shapes])
    recipe = DictionaryRecipe(model, places, rows, steps=args.steps, rate=args.rate, seed=args.seed)
    with faster_products():
        recipe.begin(bundle)
        train(bundle, recipe, args.run)
    keep_log(args.run, out)
    for sparse, place in zip(bundle.each, places, strict=True):
        assert isinstance(sparse, Sparse)
        save(sparse, place, Path(args.model).name, model.cfg, out / place.hook_out)
    print(f"Written to {out}: open it on the page Features, or by open_dictionary.")


if __name__ == "__main__":
    main()

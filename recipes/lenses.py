"""Fits a model's tuned lens and Jacobian lens and writes them beside it, with the card of what they lose.

`python -m headlight.recipes.lenses MODEL` (`make fit-lens MODEL=mini`) fits them, or goes on from the
last checkpoints; with `--card` it only measures those that are there again and writes the card.
"""

import argparse
from collections.abc import Iterator
from pathlib import Path

from jaxtyping import Int
from torch import Tensor

from headlight.model.base.errors import TrainingError, exit_on_error
from headlight.model.checkpoints.loading import load
from headlight.model.corpus.documents import open_corpus
from headlight.model.lens import held_out
from headlight.model.lens.files import read_lens, write_jacobian, write_tuned
from headlight.model.lens.kinds import LOGIT, Kind
from headlight.model.lens.opening import FILES, home
from headlight.model.nn.transformer import Transformer
from headlight.model.training.cards import CARD
from headlight.model.training.lenses.mean_jacobian import fit_jacobian
from headlight.model.training.lenses.rows import token_rows
from headlight.model.training.lenses.tuned import TunedRecipe, fit_tuned
from headlight.model.training.log import TRAINING_LOG, is_log, keep_log
from headlight.model.training.loop import faster_products
from headlight.model.training.outputs import check_out
from headlight.recipes import corpus
from headlight.recipes.lens_card import write_card
from headlight.recipes.scans import held_out as held_out_documents

ROWS, STEPS, ROWS_A_STEP, PROMPTS = 4096, 500, 8, 120
# Of so many rows of held-out text every tenth is measured, so that they come from many files.
HELD_OUT_ROWS, EVERY = 960, 10
LOGGED_ROWS = 16
OURS = "the project's own corpus, files and names that are held out of it"

Rows = Int[Tensor, "row pos"]


def documents(path: str, held_out: bool, seed: int) -> Iterator[str]:
    """The project's own corpus, or that of a path, of which every tenth document is held out."""
    if not path:
        yield from held_out_documents() if held_out else corpus.documents(seed)
        return
    for document in open_corpus(path).documents():
        if document.text and (document.index % EVERY == 0) == held_out:
            yield document.text


def fit(model: Transformer, name: str, args: argparse.Namespace, out: Path) -> None:
    """Fit both lenses and write them, with their logs."""
    rows = token_rows(model, documents(args.corpus, False, args.seed), args.rows)
    logged = token_rows(model, documents(args.corpus, True, args.seed), LOGGED_ROWS)
    recipe = TunedRecipe(model, rows, logged, args.steps, ROWS_A_STEP, args.seed)
    with faster_products():
        translators = fit_tuned(model, recipe, args.run / "tuned")
    keep_log(args.run / "tuned", out / "tuned")
    write_tuned(out / "tuned", model, translators.state_dict(), name)
    jacobians = fit_jacobian(model, rows[: args.prompts], args.run / "jacobian")
    keep_log(args.run / "jacobian", out / "jacobian")
    write_jacobian(out / "jacobian", jacobians, min(args.prompts, len(rows)), model.cfg.d_model)


def measured(model: Transformer, folder: Path, path: str, n_rows: int) -> held_out.HeldOut:
    """Losses on held-out text of a folder's lenses, as stored, and of the logit lens."""
    rows = token_rows(model, documents(path, True, 0), n_rows)[::EVERY]
    kinds: tuple[Kind, ...] = ("tuned", "jacobian")
    lenses = [LOGIT, *(read_lens(kind, folder / kind) for kind in kinds)]
    return held_out.measure(model, lenses, rows, OURS if not path else Path(path).name)


def check(model: Transformer, name: str) -> None:
    """Refuse a model that no lens can be fitted for.

    Raises:
        TrainingError: it caps its logits, or its outputs are no tokens.
    """
    if model.cfg.output_logits_soft_cap is not None or model.cfg.d_vocab_out != model.cfg.d_vocab:
        raise TrainingError(f"{name} caps its logits or gives classes; lenses are fitted for language models without.")


def check_place(out: Path) -> None:
    """Refuse a folder in which another program's lenses, figures or card would be replaced.

    Raises:
        TrainingError: it holds some.
    """
    for kind, names in FILES.items():
        check_out(out / kind, *names)
    others = [name for name in (held_out.FIGURES, CARD) if (out / name).exists()]
    if others and not is_log(out / "tuned" / TRAINING_LOG):
        raise TrainingError(f"{out} holds {' and '.join(others)}, and no lens of ours: give another folder by --out.")


def parser() -> argparse.ArgumentParser:
    """The flags, with what `--help` says of each."""
    made = argparse.ArgumentParser(prog="fit-lens", description="Fit a model's tuned lens and Jacobian lens.")
    made.add_argument("model", help="an embedded model's name, a folder or a hub name")
    made.add_argument(
        "--corpus", default="", help="text files, a table or a data set (default: the text mini was trained on)"
    )
    made.add_argument("--out", type=Path, help="the folder of the lenses (default: beside the model)")
    made.add_argument("--run", type=Path, help="where checkpoints are kept (default: runs/lenses/MODEL)")
    made.add_argument("--rows", type=int, default=ROWS, help="rows of 128 tokens to draw from (default: %(default)s)")
    made.add_argument(
        "--steps",
        type=int,
        default=STEPS,
        help="training steps of the tuned lens, eight rows each (default: %(default)s)",
    )
    made.add_argument(
        "--prompts", type=int, default=PROMPTS, help="rows whose Jacobians are averaged (default: %(default)s)"
    )
    made.add_argument(
        "--held-out",
        type=int,
        default=HELD_OUT_ROWS,
        help="held-out rows, every tenth of which is measured (default: %(default)s)",
    )
    made.add_argument("--seed", type=int, default=0, help="of the rows that are drawn (default: %(default)s)")
    made.add_argument("--card", action="store_true", help="fit nothing: measure what is there, and write the card")
    return made


@exit_on_error()
def main() -> None:
    """Fit from the command line."""
    args = parser().parse_args()
    model = load(args.model)
    assert model.source is not None  # set by load
    check(model, args.model)
    out, args.run = args.out or home(model.source), args.run or Path("runs/lenses", Path(args.model).name)
    check_place(out)
    if not args.card:
        fit(model, args.model, args, out)
    figures = measured(model, out, args.corpus, args.held_out)
    held_out.write(out, figures)
    print(write_card(out, args.model, model, figures))


if __name__ == "__main__":
    main()

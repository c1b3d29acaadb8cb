"""Whether a lens fits a model."""

import hashlib

import numpy as np

from headlight.model.base.commands import make
from headlight.model.base.errors import InputError
from headlight.model.lens.kinds import Lens
from headlight.model.nn.config import TransformerConfig
from headlight.model.nn.layers.parameters import widened
from headlight.model.nn.transformer import Transformer

FOLDED = ("LNPre", "RMSPre")
FOLDABLE = ("headlight", "transformer_lens")  # families of our own parameters; others lack gains by design, as OLMo


def check_fits(lens: Lens, model: Transformer, name: str) -> None:
    """Refuse a lens that was made for another model than this one, which is called `name`.

    Raises:
        InputError: its width, its layers or its unembedding are not the model's, or the model's norms were folded into
            its weights, so that its stream is not the one that lenses are made for.
    """
    cfg, called = model.cfg, f"The {lens.title} {lens.name}"
    instead = f"Choose one that was made for {name}, or fit one: {make('fit-lens', MODEL=name)}"
    if cfg.normalization_type in FOLDED and (model.source is None or model.source.family in FOLDABLE):
        raise InputError(
            f"{name} has its norms folded into its weights ({cfg.normalization_type}), and the {lens.title} is made of "
            "the stream of the weights as they were published. Open the model as it was published."
        )
    width = next(iter(lens.maps.values())).W.shape[0] if lens.maps else cfg.d_model
    if width != cfg.d_model:
        raise InputError(f"{called} is for a stream of width {width:,}; that of {name} is {cfg.d_model:,}. {instead}")
    if wrong := _wrong_layers(lens, cfg):
        raise InputError(f"{called} {wrong}; {name} has {cfg.n_layers} layers. {instead}")
    if lens.unembedding is not None and lens.unembedding != unembedding_hash(model):
        raise InputError(f"{called} was made for another unembedding than that of {name}. {instead}")


def _wrong_layers(lens: Lens, cfg: TransformerConfig) -> str:
    states = sorted(lens.maps)
    if lens.kind == "tuned" and states != list(range(cfg.n_layers)):
        return f"is for {len(states)} layers"
    if lens.kind == "jacobian" and states and states[-1] > cfg.n_layers:
        return f"is for layers up to L{states[-1] - 1}"
    return ""


def unembedding_hash(model: Transformer) -> str:
    """The hash by which tuned lenses tell unembeddings apart: of the corners of W_U transposed, to one digit.

    It is robust against rounding, and says nothing of what lies between the corners.

    Source: AlignmentResearch/tuned-lens, `tuned_lens/utils.py`, tensor_hash (MIT).
    """
    rows = widened(model.unembed.W_U.detach()).T.cpu().numpy()
    with np.printoptions(threshold=1000, edgeitems=3, linewidth=75, suppress=False, floatmode="maxprec"):
        return hashlib.sha256(np.array_str(rows, precision=1).encode()).hexdigest()

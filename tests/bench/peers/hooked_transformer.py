"""HookedTransformer of TransformerLens 3.9, the last release that has it."""

from headlight.model import load
from tests.bench.peers.transformer_lens_models import TransformerLensPeer
from tests.model.lens.lens_twin import lens_twin


class Peer(TransformerLensPeer):
    """The same weights in a HookedTransformer, without the outputs of heads apart, which Headlight also leaves out."""

    def load(self, folder: str) -> None:
        self.model = lens_twin(load(folder)).to(self.device)
        self.model.set_use_attn_result(False)

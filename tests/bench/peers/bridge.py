"""TransformerBridge of TransformerLens's newest release, in an environment of its own."""

from tests.bench.peers.transformer_lens_models import TransformerLensPeer


class Peer(TransformerLensPeer):
    """transformers' model, wrapped."""

    def load(self, folder: str) -> None:
        from transformer_lens.model_bridge import TransformerBridge

        self.model = TransformerBridge.boot_transformers(folder, device=self.device)

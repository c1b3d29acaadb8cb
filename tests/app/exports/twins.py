"""Small models as transformers has them: folders that pages open, and the same weights in float64 for what is right."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from tokenizers import Tokenizer as Backend
from tokenizers import models, pre_tokenizers, processors
from torch import Tensor
from transformers import (
    AutoModelForCausalLM,
    AutoModelForMaskedLM,
    AutoModelForSeq2SeqLM,
    BertConfig,
    GPT2Config,
    LlamaConfig,
    PreTrainedConfig,
    T5Config,
)

from tests.model.text.small_tokenizer import write
from tests.places import MINI

N_LAYERS, N_HEADS, D_MODEL = 3, 4, 20
WORDS = ["one", "two", "three", "four", "five", "six", ","]
SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
VOCABULARY = [*SPECIAL, *WORDS]
# Weights and shares of at most 1 in float32, over three layers.
NEAR: dict[str, float] = {"rtol": 1e-4, "atol": 2e-5}
CONFIGS: dict[str, PreTrainedConfig] = {
    "gpt2": GPT2Config(
        vocab_size=4096, n_positions=64, n_embd=D_MODEL, n_layer=N_LAYERS, n_head=N_HEADS, bos_token_id=0
    ),
    "llama": LlamaConfig(
        vocab_size=4096,
        hidden_size=D_MODEL,
        intermediate_size=22,
        num_hidden_layers=N_LAYERS,
        num_attention_heads=N_HEADS,
        num_key_value_heads=2,
        head_dim=6,
        max_position_embeddings=64,
        bos_token_id=0,
    ),
    "bert": BertConfig(
        vocab_size=len(VOCABULARY),
        hidden_size=D_MODEL,
        num_hidden_layers=N_LAYERS,
        num_attention_heads=N_HEADS,
        intermediate_size=22,
        max_position_embeddings=64,
    ),
    "t5": T5Config(
        vocab_size=len(VOCABULARY),
        d_model=D_MODEL,
        d_kv=6,
        d_ff=22,
        num_layers=2,
        num_decoder_layers=N_LAYERS,
        num_heads=N_HEADS,
        pad_token_id=0,
        eos_token_id=3,
        decoder_start_token_id=0,
    ),
}
NOISE = {"t5": 0.2}  # its scores are not scaled
CLASSES = {"bert": AutoModelForMaskedLM, "t5": AutoModelForSeq2SeqLM}
DECODERS = ("gpt2", "llama")


@dataclass(frozen=True, eq=False)
class Twin:
    """A folder, and transformers' model of it in float64."""

    folder: str
    model: Any

    @torch.inference_mode()
    def __call__(self, tokens: Tensor, **more: Any) -> Any:
        return self.model(tokens[None], output_hidden_states=True, output_attentions=True, **more)

    def patterns(self, tokens: Tensor) -> np.ndarray:
        """[layer, head, query, key]."""
        return torch.stack([each[0] for each in self(tokens).attentions]).numpy()

    @property
    def layers(self) -> Any:
        """The blocks."""
        body = self.model.base_model
        return body.h if hasattr(body, "h") else body.encoder.layer if hasattr(body, "encoder") else body.layers

    @property
    def final_norm(self) -> Any:
        """The last norm of a decoder."""
        body = self.model.base_model
        return body.ln_f if hasattr(body, "ln_f") else body.norm

    @property
    def unembedding(self) -> Tensor:
        """[d_model, d_vocab]."""
        return self.model.get_output_embeddings().weight.T

    def heads(self, layer: int) -> dict[str, Tensor]:
        """Per-head W_Q, W_K, W_V [head, d_model, d_head] and W_O [head, d_head, d_model], as they are stored."""
        block, n_shared = self.layers[layer], N_HEADS
        match self.model.config.model_type:
            case "gpt2":
                (q, k, v), out = block.attn.c_attn.weight.split(D_MODEL, 1), block.attn.c_proj.weight
            case "llama":
                attn, n_shared = block.self_attn, 2
                q, k, v, out = (each.weight.T for each in (attn.q_proj, attn.k_proj, attn.v_proj, attn.o_proj))
            case _:
                own, after = block.attention.self, block.attention.output.dense
                q, k, v, out = (each.weight.T for each in (own.query, own.key, own.value, after))
        weights = {"W_Q": q.unflatten(1, (N_HEADS, -1)), "W_O": out.unflatten(0, (N_HEADS, -1))}
        for name, shared in (("W_K", k), ("W_V", v)):
            weights[name] = shared.unflatten(1, (n_shared, -1)).repeat_interleave(N_HEADS // n_shared, 1)
        return {
            name: each.detach() if name == "W_O" else each.detach().transpose(0, 1) for name, each in weights.items()
        }

    def linear_norm(self, norm: Any) -> Tensor:
        """What a norm does to a stream at a scale of 1: its centring, if it is LayerNorm, and its gain."""
        centre = 0 if self.model.config.model_type == "llama" else 1 / D_MODEL
        return (torch.eye(D_MODEL, dtype=torch.float64) - centre) @ norm.weight.detach().diag()

    def reading(self, layer: int) -> Tensor:
        """The same of the norm before a layer's heads; they read BERT's stream as it is."""
        block = self.layers[layer]
        for name in ("ln_1", "input_layernorm"):
            if hasattr(block, name):
                return self.linear_norm(getattr(block, name))
        return torch.eye(D_MODEL, dtype=torch.float64)

    def scaled(self, stream: Tensor) -> Tensor:
        """What the final norm does to parts of a stream, at the scale of the whole."""
        norm, is_llama = self.final_norm, self.model.config.model_type == "llama"
        centred = stream if is_llama else stream - stream.mean()
        eps = norm.variance_epsilon if is_llama else norm.eps
        return self.linear_norm(norm) / (centred.square().mean() + eps).sqrt()

    def outputs(self, layer: int) -> tuple[Any, Any]:
        """The modules by which a decoder's layer writes: heads' and neurons'."""
        block = self.layers[layer]
        if self.model.config.model_type == "llama":
            return block.self_attn.o_proj, block.mlp.down_proj
        return block.attn.c_proj, block.mlp.c_proj

    def written_by_neurons(self, layer: int) -> Tensor:
        """What a layer's neurons write at an activation of 1 [neuron, d_model]."""
        weight = self.outputs(layer)[1].weight
        return weight.T if self.model.config.model_type == "llama" else weight

    @contextmanager
    def record_inputs(self, module: Any) -> Iterator[list[Tensor]]:
        """What a module is given, pass by pass, first argument and batch."""
        records: list[Tensor] = []

        def look(module: Any, inputs: tuple[Tensor, ...]) -> None:
            records.append(inputs[0][0].detach().clone())

        handle = module.register_forward_pre_hook(look)
        yield records
        handle.remove()


def save_twin(kind: str, folder: Path) -> Twin:
    """A model with noise on every parameter, so that each of them matters."""
    torch.manual_seed(0)
    model = CLASSES.get(kind, AutoModelForCausalLM).from_config(CONFIGS[kind], attn_implementation="eager").eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter += NOISE.get(kind, 0.3) * torch.randn(parameter.shape)
    model.tie_weights()
    model.save_pretrained(folder)
    if kind in DECODERS:
        for file in MINI.glob("tokenizer*.json"):
            shutil.copy(file, folder)
    else:
        special = {f"{name}_token": SPECIAL[at] for name, at in (("pad", 0), ("unk", 1), ("mask", 4))}
        ends = {"cls_token": "[CLS]", "sep_token": "[SEP]"} if kind == "bert" else {"eos_token": "[SEP]"}
        write(folder, _words(kind), tokenizer_class="PreTrainedTokenizerFast", **special, **ends)
    return Twin(str(folder), model.double())


def _words(kind: str) -> Backend:
    """A tokenizer of whole words, with what the kind has before and behind them."""
    backend = Backend(models.WordLevel({word: at for at, word in enumerate(VOCABULARY)}, "[UNK]"))
    backend.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    single = "[CLS] $A [SEP]" if kind == "bert" else "$A [SEP]"
    backend.post_processor = processors.TemplateProcessing(single=single, special_tokens=[("[CLS]", 2), ("[SEP]", 3)])
    return backend

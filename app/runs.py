"""The only module that loads or runs a model.

A run keeps what every page can be computed from and no pattern: queries, keys and values (any head's pattern on
demand), what each part wrote to the residual stream (the stream is their sum), and of each head's pattern a thumbnail
and a few mean scores, taken as the pattern passes.
"""

from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import PurePath
from threading import Lock
from typing import TypeVar

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from app import limits, prompts
from app.limits import GIB, ByteCache, Cost, Gate
from app.settings import Settings, from_environment
from model import ActivationCache, Transformer, TransformerConfig, embedded_models, load
from model.analysis import Measure, attention, lens
from model.errors import InputError, ModelNotFoundError
from model.hooks import Tap
from model.layers import attention_pattern, attention_scale, attention_scores, visible_keys
from model.source import Source
from model.tokenizer import Tokenizer

Value = TypeVar("Value")

THUMBNAIL = 64  # pixels on a side at most
HUB_MODELS = ("gpt2", "distilgpt2", "gpt2-medium", "gpt2-large", "gpt2-xl")
KEPT = ("hook_q", "hook_k", "hook_v", "hook_attn_out", "hook_mlp_out", "hook_embed", "hook_pos_embed")
MODELS_OPEN = 3
FLOPS = 4e10  # operations a second that one core of today reaches, so that the estimate errs on the slow side


@cache
def settings() -> Settings:
    """The server's settings, read once."""
    return from_environment()


@dataclass(frozen=True, eq=False)
class Run:
    """One forward pass over one prompt; immutable, and shared by the sessions that ask for it.

    `cache` holds the activations named in `KEPT`. `thumbnails` are the patterns' maxima over bins, `hidden` is true
    where every cell of a bin is masked. `scores` are per layer and head. `next_logits` are those at the last position.
    """

    model: Transformer
    prompt: str
    bos: bool
    tokens: Int[Tensor, " pos"]
    labels: tuple[str, ...]
    cache: ActivationCache
    thumbnails: Float[Tensor, "layer head rows columns"]
    hidden: Bool[Tensor, "rows columns"]
    scores: dict[str, Measure]
    next_logits: Float[Tensor, " d_vocab"]

    @property
    def cfg(self) -> TransformerConfig:
        """The model's settings."""
        return self.model.cfg

    @property
    def source(self) -> Source:
        """Where the model came from."""
        assert self.model.source is not None  # set by load
        return self.model.source

    @property
    def tokenizer(self) -> Tokenizer:
        """The model's tokenizer."""
        return tokenizer_of(self.model)

    @property
    def layer_labels(self) -> tuple[str, ...]:
        """What the states of the residual stream are called: the embedding, then after each layer."""
        return "embed", *(f"L{layer}" for layer in range(self.cfg.n_layers))

    def writes(self) -> Iterator[tuple[str, Float[Tensor, "pos d_model"]]]:
        """What each part of the model wrote to the residual stream, by name, in the order of writing."""
        yield "token embedding", self.cache["embed"]
        yield "position embedding", self.cache["pos_embed"]
        for layer in range(self.cfg.n_layers):
            yield f"L{layer} attention", self.cache["attn_out", layer]
            if not self.cfg.attn_only:
                yield f"L{layer} MLP", self.cache["mlp_out", layer]

    def streams(self) -> Iterator[Float[Tensor, "pos d_model"]]:
        """The residual stream before the first layer and after each one."""
        resid = self.cache["embed"] + self.cache["pos_embed"]
        yield resid
        for layer in range(self.cfg.n_layers):
            resid = resid + self.cache["attn_out", layer]
            if not self.cfg.attn_only:
                resid = resid + self.cache["mlp_out", layer]
            yield resid


@dataclass(frozen=True)
class HeadAttention:
    """One head's attention on demand, row = query and column = key: scores (-inf where masked) and their softmax."""

    scores: Float[Tensor, "query key"]
    pattern: Float[Tensor, "query key"]


def offered_models() -> tuple[str, ...]:
    """The names in the model list: the server's own model, the embedded ones, GPT-2's family."""
    return tuple(dict.fromkeys((settings().model, *embedded_models(), *HUB_MODELS)))


_opening = Lock()
_models: dict[str, Transformer] = {}


def open_model(name: str) -> Transformer:
    """The one instance of a model that all sessions share.

    Raises:
        HeadlightError: the model is not offered here, or cannot be opened.
    """
    if name not in offered_models() and not settings().allow_paths:
        raise ModelNotFoundError(f"{name!r} is not offered here. Choose one of {', '.join(offered_models())}.")
    if name not in offered_models() and PurePath(name).suffix in (".pt", ".pth", ".bin"):
        raise InputError("The page opens folders and .safetensors files only. Save the weights as .safetensors first.")
    with _opening:
        if name not in _models:
            _models[name] = load(name, allow_pickle=False)
            while len(_models) > MODELS_OPEN:
                del _models[next(iter(_models))]
        return _models[name]


@cache
def _gate() -> Gate:
    return Gate(settings().runs_at_once, settings().runs_waiting)


@cache
def _results() -> ByteCache:
    return ByteCache(int(settings().cache_gib * GIB))


def run(model_name: str, prompt: str, bos: bool) -> Run:
    """The run of a prompt, from the cache where it was made before.

    Raises:
        HeadlightError: the prompt, the model or the machine does not allow it; the message says what would.
    """
    prompts.check_text(prompt)
    return _results().get((model_name, prompt, bos), lambda: _run_anew(model_name, prompt, bos))


def _run_anew(model_name: str, prompt: str, bos: bool) -> Run:
    model = open_model(model_name)
    tokenizer = tokenizer_of(model)
    bos = bos and tokenizer.bos_token_id is not None
    tokens = tokenizer.to_tokens(prompt, prepend_bos=bos)[0]
    prompts.check_length(len(tokens), model.cfg.n_ctx, bos)
    budget = Cost(settings().run_gib * GIB, settings().run_seconds)
    limits.check_cost(len(tokens), lambda n_tokens: cost(model.cfg, n_tokens), budget)
    with _gate().enter(), torch.inference_mode():
        return make_run(model, prompt, bos, tokens)


def tokenizer_of(model: Transformer) -> Tokenizer:
    """The model's tokenizer.

    Raises:
        InputError: the model came without one.
    """
    if model.tokenizer is None:
        raise InputError(
            "This model came without a tokenizer, so no prompt can be typed. Put its tokenizer.json, or its vocab.json "
            "and merges.txt, beside the weights."
        )
    return model.tokenizer


def make_run(model: Transformer, prompt: str, bos: bool, tokens: Int[Tensor, " pos"]) -> Run:
    """One forward pass over these tokens, whatever the cache holds."""
    tap = _Reduce(tokens, model.cfg.n_layers)
    final = model(tokens[None], tap=tap, stop_at_layer=model.cfg.n_layers)
    visible = visible_keys(model.cfg.attention_dir, None, len(tokens), tokens.device)[0, 0]
    return Run(
        model=model,
        prompt=prompt,
        bos=bos,
        tokens=tokens,
        labels=tuple(tokenizer_of(model).labels(tokens)),
        cache=ActivationCache(tap.kept, model.cfg.n_layers),
        thumbnails=torch.stack(tap.thumbnails),
        hidden=~attention.max_pool(visible, THUMBNAIL),
        scores=_stack(tap.scores),
        next_logits=model.unembed(model.ln_final(final[:, -1:], Tap()))[0, 0],
    )


class _Reduce(Tap):
    """Keeps the activations in `KEPT` and lets the patterns pass, of each a thumbnail and scores.

    What is kept is copied, all layers of a kind side by side: left where the pass put them, the kept ones would pin the
    memory of those that passed between them (100 MB at 1024 tokens of GPT-2).
    """

    def __init__(self, tokens: Int[Tensor, " pos"], n_layers: int) -> None:
        self._tokens, self._n_layers = tokens, n_layers
        self._shelves: dict[str, Iterator[Tensor]] = {}
        self.kept: dict[str, Tensor] = {}
        self.thumbnails: list[Tensor] = []
        self.scores: list[dict[str, Measure]] = []

    def __call__(self, name: str, activation: Tensor) -> Tensor:
        part = name.rpartition(".")[2]
        if part in KEPT:
            if part not in self._shelves:
                n_layers = self._n_layers if name.startswith("blocks.") else 1
                self._shelves[part] = iter(activation.new_empty(n_layers, *activation.shape[1:]))
            self.kept[name] = next(self._shelves[part]).copy_(activation[0])
        elif part == "hook_pattern":
            self.thumbnails.append(attention.max_pool(activation[0], THUMBNAIL))
            self.scores.append(_scores(activation[0], self._tokens))
        return activation


def _scores(pattern: Float[Tensor, "head query key"], tokens: Int[Tensor, " pos"]) -> dict[str, Measure]:
    """A layer's mean scores, one a head."""
    rows = {"entropy": attention.entropy(pattern), "mean_distance": attention.mean_distance(pattern)}
    means = {name: Measure(row.name, row.unit, ("head",), row.values.mean(-1)) for name, row in rows.items()}
    return means | vars(attention.head_scores(pattern, tokens))


def _stack(layers: list[dict[str, Measure]]) -> dict[str, Measure]:
    return {
        name: Measure(first.name, first.unit, ("layer", "head"), torch.stack([layer[name].values for layer in layers]))
        for name, first in layers[0].items()
    }


def cost(cfg: TransformerConfig, n_tokens: int) -> Cost:
    """What a run is estimated to take, kept or passing, from its shapes alone."""
    heads, d_mlp = cfg.n_heads * cfg.d_head, cfg.d_mlp or 0
    writes = cfg.d_model * (1 if cfg.attn_only else 2)
    kept = cfg.n_layers * n_tokens * (3 * heads + writes)
    passing = 4 * cfg.n_heads * n_tokens**2 + 3 * n_tokens * (d_mlp + cfg.d_model)
    weights = cfg.n_layers * cfg.d_model * (4 * heads + 2 * d_mlp)
    operations = 2 * weights * n_tokens + 4 * cfg.n_layers * heads * n_tokens**2
    return Cost(4 * (kept + passing), operations / FLOPS)


def attend(made: Run, layer: int, head: int) -> HeadAttention:
    """One head's scores and pattern, computed anew from the run's queries and keys."""
    q, k = (made.cache[name, layer][None, :, head : head + 1] for name in ("q", "k"))
    visible = visible_keys(made.cfg.attention_dir, None, len(made.tokens), q.device)
    with torch.inference_mode():
        scores = attention_scores(q, k, visible, attention_scale(made.cfg, layer))
        return HeadAttention(scores[0, 0], attention_pattern(scores, visible)[0, 0])


def value_weighted(made: Run, layer: int, head: int, pattern: Float[Tensor, "query key"]) -> Measure:
    """What each key writes into each query's output through one head; axes query, key; L2 norm."""
    v = made.cache["v", layer][:, head : head + 1]
    W_O = made.model.get_parameter(f"blocks.{layer}.attn.W_O")[head : head + 1]
    with torch.inference_mode():
        weighted = attention.value_weighted(pattern[None], v, W_O)
    return Measure(weighted.name, weighted.unit, ("query", "key"), weighted.values[0])


def logit_lens(made: Run, token: int) -> lens.LogitLens:
    """Every layer's and position's distribution in short, with one token followed.

    Raises:
        BusyError: too many runs at once.
    """
    model, chosen = made.model, torch.full((len(made.tokens), 1), token)
    with _gate().enter(), torch.inference_mode():
        return lens.logit_lens(
            made.streams(),
            lambda rows: model.ln_final(rows[None], Tap())[0],
            model.unembed.W_U,
            model.unembed.b_U,
            chosen,
        )


def kept(made: Run, name: Hashable, make: Callable[[], Value]) -> Value:
    """What a page computes from a run, from the cache where it was computed before."""
    return _results().get((made.source.name, made.prompt, made.bos, name), make)

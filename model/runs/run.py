"""One forward pass over one prompt, and the activations that are kept.

A run keeps what every page can be computed from and no pattern: queries, keys and values (any head's pattern on
demand), and what each part wrote to the residual stream (the stream is their sum). A thumbnail and a few mean scores of
each head's pattern are computed when they are first read, so that what needs none of them does not wait for them.
"""

import functools
import itertools
from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from headlight.model.base.errors import InputError
from headlight.model.base.source import Source
from headlight.model.measure import Measure
from headlight.model.nn.cache import ActivationCache
from headlight.model.nn.config import TransformerConfig
from headlight.model.nn.hooks import NO_TAP, Chain, Tap
from headlight.model.nn.layers import ScoreRule, place
from headlight.model.nn.layers.positions import Positions
from headlight.model.nn.overflow import check_finite
from headlight.model.nn.transformer import Transformer
from headlight.model.runs.dictionary import Dictionaries
from headlight.model.runs.direction import Direction
from headlight.model.runs.edits import AblateHeads, Edit
from headlight.model.runs.edits.edited import Means, Opened
from headlight.model.runs.edits.editing import NO_EDITS, EditTap, tap
from headlight.model.runs.host import HERE, Host, Value
from headlight.model.runs.kept import STREAMS, Keep
from headlight.model.text.chat import Begin
from headlight.model.text.outputs import Outputs
from headlight.model.text.tokenizer import Tokenizer
from headlight.model.text.turns import Turn, turns_of

if TYPE_CHECKING:
    from headlight.model.runs.summaries import Summaries

Stream = Float[Tensor, "pos d_model"]
EMBEDDINGS = {"token embedding": "embed", "position embedding": "pos_embed", "token type": "token_type_embed"}
WRITERS = {"attn_out": "attention", "mlp_out": "MLP", "conv_out": "convolution"}  # by their writes
EDITED = "edits of the stream"
LONG = 256  # tokens from which thumbnails and scores of all heads take a time that somebody may notice
SUMMARIES, POSITIONS = "summaries", "positions"  # by which a run keeps its own
NORMALISED = "norms of the stream"


@dataclass(frozen=True, eq=False)
class Run:
    """One forward pass over one prompt, with its edits applied; immutable.

    Attributes:
        model: the model.
        prompt: the text.
        bos: how the prompt begins.
        tokens: token ids, those generated after the prompt included.
        labels: each token made visible.
        cache: queries, keys and the activations named in `headlight.model.runs.kept.KEPT`; also the residual stream
            where an edit changed it.
        next_logits: logits at `prediction_position`.
        edits: the edits of this run.
        tap: applies the edits in a further pass.
        written: the generated token ids, the last of `tokens`.
        host: runs the model and may cache results.
    """

    model: Transformer
    prompt: str
    bos: Begin
    tokens: Int[Tensor, " pos"]
    labels: tuple[str, ...]
    cache: ActivationCache
    next_logits: Float[Tensor, " d_vocab"]
    edits: tuple[Edit, ...] = ()
    tap: EditTap = NO_EDITS
    written: tuple[int, ...] = ()
    host: Host = HERE

    @property
    def cfg(self) -> TransformerConfig:
        """The model's settings."""
        return self.model.cfg

    @property
    def source(self) -> Source:
        """Origin of the model."""
        assert self.model.source is not None  # set by load
        return self.model.source

    def same_model(self, other: "Run") -> bool:
        """Whether both are of one model, even if it was closed and opened again between them."""
        return self.source == other.source

    @property
    def key(self) -> tuple[Hashable, ...]:
        """A hashable identity."""
        key = run_key(self.source.name, self.prompt, self.bos, self.edits)
        return (*key, "written", self.written) if self.written else key

    @property
    def thumbnails(self) -> Float[Tensor, "layer head rows columns"]:
        """The patterns' maxima over bins."""
        return self._summaries.thumbnails

    @property
    def scores(self) -> dict[str, Measure]:
        """Mean scores of every head's pattern, by name."""
        return self._summaries.scores

    @property
    def _summaries(self) -> "Summaries":
        """Kept by hand: in Python 3.11 a cached_property has one lock for all runs, which would wait for each other."""
        if SUMMARIES not in vars(self):
            from headlight.model.runs.summaries import summarize  # here: it reads runs

            is_apart = self.model.source is not None and len(self.tokens) >= LONG  # else it is the run's own alone
            made = self.keep("summaries of patterns", lambda: summarize(self)) if is_apart else summarize(self)
            vars(self)[SUMMARIES] = made
        kept: Summaries = vars(self)[SUMMARIES]
        return kept

    @property
    def is_summarized(self) -> bool:
        """Whether thumbnails and scores are there already, or of a short prompt, where they take no time."""
        return SUMMARIES in vars(self) or len(self.tokens) < LONG

    @functools.cached_property
    def hidden(self) -> Bool[Tensor, "*layer rows columns"]:
        """True where every cell of a thumbnail's bin is masked, in all layers or, with windows, in each [layer, 1]."""
        from headlight.model.runs.summaries import hidden_bins

        return hidden_bins(self.cfg, len(self.tokens))

    def queries(self, layer: int) -> Float[Tensor, "pos head d_head"]:
        """A layer's queries as they enter the scores: rotated, where the model rotates them."""
        return self.cache[f"blocks.{layer}.attn.{self.model.block(layer).attn.compared[0]}"]

    def keys(self, layer: int) -> Float[Tensor, "pos kv_head d_head"]:
        """A layer's keys as they enter the scores, of each head or each group of heads."""
        return self.cache[f"blocks.{layer}.attn.{self.model.block(layer).attn.compared[1]}"]

    def values(self, layer: int) -> Float[Tensor, "pos kv_head d_value"]:
        """A layer's values, of each head or each group of heads."""
        return self.cache["v", layer]

    def values_of(self, layer: int, head: int) -> Float[Tensor, "pos d_value"]:
        """One head's values, or its group's."""
        return self.values(layer)[:, self.cfg.group_of(head)]

    @property
    def _positions(self) -> Positions:
        """Positions and masks of the tokens; of a short prompt kept, since every layer asks for them."""
        kept: Positions | None = vars(self).get(POSITIONS)
        if kept is None:
            kept = place(self.cfg.attention_dir, None, len(self.tokens), torch.device("cpu"))
            if len(self.tokens) < LONG:
                vars(self)[POSITIONS] = kept
        return kept

    def rule(self, layer: int) -> ScoreRule:
        """The layer's rule from queries and keys to scores, and from scores to a pattern."""
        positions = self._positions
        compared = (self.queries(layer)[None], self.keys(layer)[None]) if self.cfg.disentangled_attention else ()
        return self.model.block(layer).attn.rule(positions, *compared)

    def keep(self, name: Hashable, make: Callable[[], Value]) -> Value:
        """Return a cached result computed from this run."""
        return self.host.keep((*self.key, name), make)

    @property
    def tokenizer(self) -> Tokenizer:
        """The model's tokenizer."""
        return tokenizer_of(self.model)

    @property
    def outputs(self) -> Outputs:
        """The names of the model's outputs: tokens, or a classifier's labels."""
        return self.model.outputs

    @property
    def label_names(self) -> tuple[str, ...]:
        """The names of a classifier's labels; none of a language model's."""
        return tuple(self.outputs.labels(range(len(self.cfg.output_labels)))) if self.cfg.output_labels else ()

    @property
    def token_types(self) -> list[int] | None:
        """Segment of each token, 0 or 1; None where the model has no segments."""
        is_told = (self.cfg.n_token_types or 1) > 1 and self.tokenizer.separator is not None
        return self.model.token_types(self.tokens[None])[0].tolist() if is_told else None

    @property
    def turns(self) -> tuple[Turn, ...]:
        """The turns of a conversation, with the tokens of each; none of any other prompt."""
        if self.bos != "chat":
            return ()
        return self.keep("turns", lambda: turns_of(self.tokenizer, self.prompt, len(self.written)))

    @property
    def prediction_position(self) -> int:
        """The position of the prediction: a classifier's own, or the first masked token, or else the last token."""
        return prediction_position(self.model, self.tokens)

    @property
    def layer_labels(self) -> tuple[str, ...]:
        """Names of the residual stream's states: the embedding, then after each layer."""
        return "embed", *(f"L{layer}" for layer in range(self.cfg.n_layers))

    @property
    def edits_stream(self) -> bool:
        """Whether an edit changes the residual stream itself, beyond the components' writes."""
        return any(name.endswith(STREAMS) for name in self.cache)

    def writes(self) -> Iterator[tuple[str, Stream]]:
        """Yield each component's write to the residual stream by name, in order.

        What edits added to the stream itself comes last, all together. In a model that normalises its stream after each
        addition the stream is no sum: what its norms changed is then a part too, edits of the stream included.
        """
        rest = NORMALISED if self.cfg.post_norm else EDITED if self.edits_stream else None
        *_, final = self.streams() if rest else [torch.empty(0)]
        for name, part in self._parts():
            final = final - part if rest else final
            yield name, part
        if rest:
            yield rest, final

    def _parts(self) -> Iterator[tuple[str, Stream]]:
        yield from self.embeddings()
        for layer in range(self.cfg.n_layers):
            for part, _ in self.cfg.written(layer):
                yield f"L{layer} {WRITERS[part]}", self.cache[part, layer]

    def embeddings(self) -> Iterator[tuple[str, Stream]]:
        """Embeddings that begin the stream, by name; one sum where the model normalises or widens it."""
        parts = {name: self.cache[part] for name, part in EMBEDDINGS.items() if part in self.cache}
        if self.cfg.embeddings_ln or self.cfg.project_embeddings:
            yield "embeddings", self.model.begun(functools.reduce(torch.add, parts.values())[None])[0]
        else:
            yield from parts.items()

    def streams(self, positions: slice = slice(None)) -> Iterator[Stream]:
        """The residual stream at these positions before the first layer and after each one."""
        yield from (resid for _, part, resid in self.sums(positions) if part is None)

    def sums(self, positions: slice = slice(None)) -> Iterator[tuple[int, str | None, Stream]]:
        """The stream before each layer, and its sum with each of the layer's writes by hook name, before any norm.

        What comes before a layer has None for a write; the last is the stream after all layers.
        """
        resid = functools.reduce(torch.add, (part[positions] for _, part in self.embeddings()))
        for layer in range(self.cfg.n_layers):
            resid = self._edited(f"blocks.{layer}.hook_resid_pre", positions, resid)
            yield layer, None, resid
            for part, state in self.cfg.written(layer):
                resid = resid + self.cache[part, layer][positions]
                if state is not None:
                    resid = self._edited(f"blocks.{layer}.hook_{state}", positions, resid)
                yield layer, part, resid
                resid = self.model.block(layer).after(part, resid[None])[0]
        yield self.cfg.n_layers, None, resid

    def mid(self, layer: int, pre: Stream) -> Stream:
        """The stream to which a layer's attention has been added, from that before the layer."""
        return self._edited(f"blocks.{layer}.hook_resid_mid", slice(None), pre + self.cache["attn_out", layer])

    def stream(self, layer: int, positions: slice = slice(None)) -> Stream:
        """The residual stream at these positions before a layer, or by the number of layers after all of them."""
        return next(itertools.islice(self.streams(positions), layer, None))

    def _edited(self, name: str, positions: slice, summed: Stream) -> Stream:
        """A stream after the edits where they change it; else the sum computed elsewhere."""
        return self.cache[name][positions] if self.tap.look(name) else summed


def run_key(model_name: str, prompt: str, bos: Begin, edits: tuple[Edit, ...] = ()) -> tuple[Hashable, ...]:
    """A run's identity, before it is computed."""
    return (model_name, prompt, bos, edits) if edits else (model_name, prompt, bos)


def run_prompt(
    model: Transformer,
    prompt: str,
    prepend_bos: Begin = True,
    edits: tuple[Edit, ...] = (),
    dictionaries: Mapping[str, Dictionaries] | None = None,
    directions: Mapping[str, Direction] | None = None,
) -> Run:
    """Run a model on a prompt.

    Args:
        model: the model.
        prompt: the text.
        prepend_bos: whether the beginning-of-sequence token comes first, or another way to begin the prompt.
        edits: interventions, such as `AblateHeads`.
        dictionaries: the dictionaries of `EditFeature` edits, by name.
        directions: the directions of `EditDirection` edits, by name.

    Raises:
        HeadlightError: the model has no tokenizer, the prompt is empty or longer than the context, or an edit does
            not apply to it.
    """
    tokens = model.to_tokens(prompt, prepend_bos)[0].cpu()
    with torch.inference_mode():
        opened: dict[str, Dictionaries | Direction] = {**(dictionaries or {}), **(directions or {})}
        return make_run(model, prompt, prepend_bos, tokens, edits, opened=opened)


def make_run(
    model: Transformer,
    prompt: str,
    bos: Begin,
    tokens: Int[Tensor, " pos"],
    edits: tuple[Edit, ...] = (),
    written: tuple[int, ...] = (),
    means: Means | None = None,
    on: Transformer | None = None,
    host: Host = HERE,
    watch: Tap = NO_TAP,
    opened: Opened | None = None,
) -> Run:
    """One forward pass over the prompt's tokens and those written behind it, which `watch` sees too.

    `means` are those over other prompts that are known, so that these need not be run again for the edits. `on` is a
    copy of the model on another device, where the pass is to be made. `opened` are the dictionaries and
    directions that edits name, by these names; they have to fit the model.

    Raises:
        HeadlightError: an edit that this model or prompt does not allow, or numbers that become infinite.
    """
    prompted, tokens = tokens, torch.cat([tokens, torch.tensor(written, dtype=torch.long)])
    running = on or model
    inputs = tokens[None].to(running.embed.W_E.device)
    editing = tap(running, inputs, edits, bos, len(prompted), means, opened)
    keep = Keep(model, editing)
    final = running(inputs, tap=Chain(editing, keep, watch), stop_at_layer=model.cfg.n_layers)
    next_logits = running.to_logits(running.read_from(final, prediction_position(model, tokens)))[0, 0].cpu()
    return finish_run(model, prompt, bos, tokens, keep, final, next_logits, edits, editing, written, host)


def finish_run(
    model: Transformer,
    prompt: str,
    bos: Begin,
    tokens: Int[Tensor, " pos"],
    keep: Keep,
    final: Float[Tensor, "*batch pos d_model"],
    next_logits: Float[Tensor, " d_vocab"],
    edits: tuple[Edit, ...] = (),
    editing: EditTap = NO_EDITS,
    written: tuple[int, ...] = (),
    host: Host = HERE,
) -> Run:
    """The run of a pass that has ended: what its tap kept, the last layer's stream and the logits.

    Raises:
        NotFiniteError: they are infinite or NaN.
    """
    check_finite(keep.kept, final, next_logits)
    return Run(
        model=model,
        prompt=prompt,
        bos=bos,
        tokens=tokens,
        labels=tuple(tokenizer_of(model).labels(tokens)),
        cache=ActivationCache(keep.kept, model.cfg.n_layers),
        next_logits=next_logits,
        edits=edits,
        tap=editing,
        written=written,
        host=host,
    )


def prediction_position(model: Transformer, tokens: Int[Tensor, " pos"]) -> int:
    """The position at which a model predicts: the first masked token's, or the last where none is.

    A classifier's is the one that its labels are read at: the first, or the last that is no padding. A tagger's is the
    last that is text.
    """
    match model.cfg.output, model.cfg.output_position:
        case "labels", "first" | "mean":
            return 0
        case "labels", "last":
            real = [] if model.cfg.pad_token is None else (tokens != model.cfg.pad_token).nonzero().flatten().tolist()
            return real[-1] if real else 0 if model.cfg.pad_token is not None else len(tokens) - 1
        case "token labels", _ if model.tokenizer is not None:
            text = [place for place, token in enumerate(tokens.tolist()) if not model.tokenizer.is_special(token)]
            return text[-1] if text else len(tokens) - 1
    mask = tokenizer_of(model).mask_token_id if model.cfg.is_masked else None
    masked = [] if mask is None else (tokens == mask).nonzero().flatten().tolist()
    return masked[0] if masked else len(tokens) - 1


def means_of(made: Run) -> Means:
    """The means over other prompts that a run's edits need, by these prompts."""
    ablations = [edit for edit in made.edits if isinstance(edit, AblateHeads) and edit.by == "mean" and edit.over]
    return {edit.over: made.host.mean_z(made.model, edit.over, made.bos) for edit in ablations}


def once_more(
    made: Run, tap: Tap, stop_at_layer: int | None = None, most: int | None = None
) -> Float[Tensor, "pos width"]:
    """Output for a run's tokens, logits or the stream before a layer, from another pass with this tap.

    The run's edits are made before the tap sees anything. It is a pass over the first `most` tokens, by default all.

    Raises:
        HeadlightError: the run's host lets no more passes in.
    """
    host, model = made.host, made.host.on_device(made.model)
    with host.turn(), torch.inference_mode():
        tokens, editing = made.tokens[None, :most].to(host.device), Chain(made.tap, tap)
        return model(tokens, tap=editing, stop_at_layer=stop_at_layer)[0].cpu()


def tokenizer_of(model: Transformer) -> Tokenizer:
    """The model's tokenizer.

    Raises:
        InputError: the model came without one.
    """
    if model.tokenizer is None:
        raise InputError(
            "This model came without a tokenizer, so no prompt can be typed. Put its tokenizer.json, or the files that "
            "its tokenizer has in place of that, beside the weights."
        )
    return model.tokenizer

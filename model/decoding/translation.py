"""One source read by an encoder-decoder, the target that it wrote or read, and the attention between them.

Sources are short, so every pattern is kept: encoder to encoder, decoder to decoder, and decoder to encoder (cross).
"""

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from headlight.model.base.errors import InputError
from headlight.model.base.source import Source
from headlight.model.decoding.beam import BeamSearch, beam_search
from headlight.model.measure import attention
from headlight.model.nn.seq2seq import Seq2SeqTransformer, languages_of
from headlight.model.runs.host import HERE, Host, Value
from headlight.model.runs.outputs import Answer, answerable, likeliest_span
from headlight.model.text.id_tokenizer import IdTokenizer
from headlight.model.text.outputs import Outputs
from headlight.model.text.tokenizer import Tokenizer

Side = Literal["source", "target"]
Languages = tuple[str | None, str | None]  # by the names of their tokens

MAX_STEPS = 128  # tokens that a beam may write: no page can show a larger tree
Attends = Literal["cross", "decoder", "encoder"]
PLACES: dict[Attends, str] = {
    "cross": "decoder.{}.cross_attn",
    "decoder": "decoder.{}.attn",
    "encoder": "encoder.{}.attn",
}


@dataclass(frozen=True, eq=False)
class Attention:
    """The attention of all heads of one kind, row = query and column = key.

    `logsumexp` is that of each row's scores (nats), `write_norms` the L2 norm of what a head would write from each key
    at weight 1.
    """

    pattern: Float[Tensor, "layer head query key"]
    masked: Bool[Tensor, "query key"]
    logsumexp: Float[Tensor, "layer head query"]
    write_norms: Float[Tensor, "layer head key"]


@dataclass(frozen=True, eq=False)
class Translation:
    """A source, its target, and the model's activations for both; immutable.

    `written` are the target's tokens, the end token included where it was written; each was written by the row that
    reads the token before it, the first by the start token. `log_probs` are theirs (nats). `search` is None where the
    user gave the target, `leaf` the place in its tree of the last token. A first token that the target has to begin
    with, as its language's, has probability 1. `languages` are the source's and the target's, where these were chosen.

    A model that writes no tokens `reads_source`: `written` are then the source's tokens, which it reads as its target
    one token later, and `log_probs` are NaN. `label_logits` are what a classifier says of the source, `span_logits`
    those of an answer that starts, and ends, at each of its tokens. `host` runs the model, and may cache under `key`
    what is computed from this translation.
    """

    model: Seq2SeqTransformer
    source_text: str
    source_tokens: Int[Tensor, " source"]
    written: Int[Tensor, " target"]
    log_probs: Float[Tensor, " target"]
    attention: Mapping[Attends, Attention]
    search: BeamSearch | None
    leaf: int | None
    languages: Languages = (None, None)
    reads_source: bool = False
    label_logits: Float[Tensor, " label"] | None = None
    span_logits: Float[Tensor, "source 2"] | None = None
    host: Host = HERE
    key: tuple[Hashable, ...] = ()

    def keep(self, name: Hashable, make: Callable[[], Value]) -> Value:
        """Return a cached result computed from this translation."""
        return self.host.keep((*self.key, name), make)

    @property
    def outputs(self) -> Outputs:
        """Names of the tokens that the model writes; ids where it came without their tokenizer."""
        return self.model.target_tokenizer or IdTokenizer(self.model.cfg.decoder.d_vocab)

    @property
    def source(self) -> Source:
        """Origin of the model."""
        assert self.model.source is not None  # set by load_seq2seq
        return self.model.source

    @cached_property
    def source_labels(self) -> tuple[str, ...]:
        """The source tokens' labels."""
        return labels(self.model, "source", self.source_tokens.tolist())

    @cached_property
    def written_labels(self) -> tuple[str, ...]:
        """The target tokens' labels."""
        return labels(self.model, "target", self.written.tolist())

    @property
    def offered_languages(self) -> tuple[str, ...]:
        """The languages that the model has tokens for."""
        return tuple(languages_of(self.model.target_tokenizer))

    @property
    def answer(self) -> Answer | None:
        """The likeliest answer within the source; None where the model gives none."""
        if self.span_logits is None:
            return None
        tokens, tokenizer = self.source_tokens.tolist(), self.model.source_tokenizer
        text = torch.ones(len(tokens), dtype=torch.bool) if tokenizer is None else answerable(tokens, tokenizer)
        return likeliest_span(self.span_logits, text)

    @property
    def read(self) -> list[int]:
        """The tokens that the decoder read: the start token, then all written but the last."""
        if self.reads_source:
            return self.model.to_own_target(self.source_tokens[None])[0].tolist()
        return [self.model.cfg.start_token, *self.written[:-1].tolist()]

    @cached_property
    def read_labels(self) -> tuple[str, ...]:
        """Labels of the tokens that the decoder read."""
        return labels(self.model, "target", self.read)

    @property
    def text(self) -> str:
        """The target as text, without special tokens."""
        tokenizer = self.model.target_tokenizer
        bos = tokenizer.bos_token_id if tokenizer else None
        around = {self.model.forced_token, *languages_of(tokenizer).values()}
        ends = {self.model.cfg.start_token, *self.model.stop_tokens, bos, *around}
        plain = [token for token in self.written.tolist() if token not in ends]
        return " ".join(map(str, plain)) if tokenizer is None else tokenizer.to_string(plain)


def labels(model: Seq2SeqTransformer, side: Side, tokens: Sequence[int]) -> tuple[str, ...]:
    """Labels of source or target tokens; ids where the model came without that tokenizer."""
    tokenizer = model.source_tokenizer if side == "source" else model.target_tokenizer
    return tuple(map(str, tokens) if tokenizer is None else tokenizer.labels(tokens))


def translate(
    model: Seq2SeqTransformer,
    source: str,
    target: str | None = None,
    beams: int = 4,
    leaf: int | None = None,
    host: Host = HERE,
    languages: Languages = (None, None),
) -> Translation:
    """Translate a source text by beam search, or read a target text with teacher forcing.

    Args:
        model: an encoder-decoder.
        source: the source text.
        target: a target text to read in place of a search.
        beams: number of beams.
        leaf: the node of the search tree whose hypothesis is returned, by default the best.
        host: runs the model and may cache results.
        languages: the source's and the target's, by the names of their tokens in the model's tokenizer.

    Raises:
        HeadlightError: the model cannot read the source or the target.
    """
    key = ("" if model.source is None else model.source.name, source, beams, languages)
    if model.cfg.labels and target is not None:
        raise InputError("This model writes no tokens: its target is the source itself. Leave the target empty.")
    if model.cfg.output != "tokens" and target is None:
        return _kept(host, ("source as target", *key), lambda: _read_source(model, source, host))
    if target is not None:
        return _kept(host, ("given", *key, target), lambda: _read_target(model, source, target, host, languages))
    search = host.keep(("beams", *key), lambda: _search(model, source, beams, host, languages))
    at = search.best[0].leaf if leaf is None or leaf >= len(search.tree) else leaf
    written = list(search.path(at))
    return _kept(host, ("translation", *key, at), lambda: _read(model, source, written, search, at, host, languages))


def _kept(host: Host, key: tuple[Hashable, ...], make: Callable[[], Translation]) -> Translation:
    """A translation that keeps what is computed from it beside itself."""
    return host.keep(key, lambda: replace(make(), host=host, key=key))


def same_vocabularies(a: Translation, b: Translation) -> bool:
    """Whether every token id stands for the same text in both models, in the source and in the target."""
    one, other = a.model, b.model
    return one is other or (
        _same(one.source_tokenizer, other.source_tokenizer, one.cfg.d_vocab, other.cfg.d_vocab)
        and _same(one.target_tokenizer, other.target_tokenizer, one.cfg.decoder.d_vocab, other.cfg.decoder.d_vocab)
    )


def _same(one: Tokenizer | None, other: Tokenizer | None, d_vocab_one: int, d_vocab_other: int) -> bool:
    return d_vocab_one == d_vocab_other if one is None or other is None else one.same_vocabulary(other)


def _search(model: Seq2SeqTransformer, source: str, beams: int, host: Host, languages: Languages) -> BeamSearch:
    tokens, first = model.to_source_tokens(source, languages[0]), model.first_token(languages[1])
    with host.turn():
        most = min(MAX_STEPS, model.cfg.n_ctx - 1)
        return beam_search(model, tokens, n_beams=beams, n_best=beams, first_token=first, max_new_tokens=most)[0]


def _read_target(model: Seq2SeqTransformer, source: str, target: str, host: Host, languages: Languages) -> Translation:
    if target.isspace():
        raise InputError(
            "The target is nothing but spaces. Write a target, or leave it empty and the model writes one."
        )
    written = [*model.to_target_tokens(target, languages[1])[0, 1:].tolist(), model.cfg.end_token]
    return _read(model, source, written, None, None, host, languages)


def _read(
    model: Seq2SeqTransformer,
    text: str,
    written: list[int],
    search: BeamSearch | None,
    leaf: int | None,
    host: Host,
    languages: Languages,
) -> Translation:
    """One forward pass over the source and a target."""
    source = model.to_source_tokens(text, languages[0])
    inputs = torch.tensor([[model.cfg.start_token, *written[:-1]]])
    with host.turn(), torch.inference_mode():
        logits, cache = model.run_with_cache(source, inputs)
        log_probs = torch.full((len(written),), torch.nan)
        if model.cfg.output == "tokens":
            log_probs = logits[0].log_softmax(-1).gather(-1, torch.tensor(written)[:, None])[:, 0]
        if written and written[0] == model.first_token(languages[1]):
            log_probs[0] = 0.0
        attention = {attends: _attention(model, cache, place) for attends, place in PLACES.items()}
    return Translation(model, text, source[0], torch.tensor(written), log_probs, attention, search, leaf, languages)


def _read_source(model: Seq2SeqTransformer, text: str, host: Host) -> Translation:
    """One forward pass over the source, which is read as the target too."""
    source = model.to_source_tokens(text)
    with host.turn(), torch.inference_mode():
        outputs, cache = model.run_with_cache(source, model.to_own_target(source))
        attention = {attends: _attention(model, cache, place) for attends, place in PLACES.items()}
    nothing = torch.full(source[0].shape, torch.nan)
    read = Translation(model, text, source[0], source[0], nothing, attention, None, None, reads_source=True)
    match model.cfg.output:
        case "labels":
            return replace(read, label_logits=outputs[0, model.label_position(source[0])])
        case "answer span":
            return replace(read, span_logits=outputs[0])
    return read


def _attention(model: Seq2SeqTransformer, cache: Mapping[str, Tensor], place: str) -> Attention:
    side = place.split(".")[0]
    n_layers = model.cfg.n_encoder_layers if side == "encoder" else model.cfg.n_decoder_layers
    parts = [place.format(f"blocks.{layer}") for layer in range(n_layers)]
    scores = torch.stack([cache[f"{part}.hook_attn_scores"][0] for part in parts])
    norms = [
        attention.write_norms(cache[f"{part}.hook_v"][0], model.get_parameter(f"{part}.W_O")).values for part in parts
    ]
    return Attention(
        pattern=torch.stack([cache[f"{part}.hook_pattern"][0] for part in parts]),
        masked=scores[0, 0].isneginf(),
        logsumexp=scores.logsumexp(-1),
        write_norms=torch.stack(norms),
    )

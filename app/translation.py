"""One source read by an encoder-decoder, the target that it wrote or was given, and the attention between them.

Sources are short, so every pattern is kept: encoder to encoder, decoder to decoder, and decoder to encoder (cross).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from app import models, prompts, runs
from app.selection import Selection
from app.selection.chosen import Attends
from model import Seq2SeqTransformer
from model.analysis import attention
from model.decoding import BeamSearch, beam_search
from model.errors import ConfigError, InputError
from model.source import Source
from model.tokenizer import Tokenizer

Side = Literal["source", "target"]

MOST_BEAMS = 16
MOST_STEPS = 128  # tokens that a beam may write: no page can show a larger tree
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
    """A source, the target that is looked at, and what the model computes of both; immutable.

    `written` are the target's tokens, the end token included where it was written; each was written by the row that
    reads the token before it, the first by the start token. `log_probs` are theirs (nats). `search` is None where the
    user gave the target, `leaf` the place in its tree of the last token.
    """

    model: Seq2SeqTransformer
    source_text: str
    source_tokens: Int[Tensor, " source"]
    written: Int[Tensor, " target"]
    log_probs: Float[Tensor, " target"]
    attention: Mapping[Attends, Attention]
    search: BeamSearch | None
    leaf: int | None

    @property
    def source(self) -> Source:
        """Where the model came from."""
        assert self.model.source is not None  # set by load_seq2seq
        return self.model.source

    @cached_property
    def source_labels(self) -> tuple[str, ...]:
        """How the source's tokens are shown."""
        return labels(self.model, "source", self.source_tokens.tolist())

    @cached_property
    def written_labels(self) -> tuple[str, ...]:
        """How the target's tokens are shown."""
        return labels(self.model, "target", self.written.tolist())

    @property
    def read(self) -> list[int]:
        """The tokens that the decoder read: the start token, then all written but the last."""
        return [self.model.cfg.start_token, *self.written[:-1].tolist()]

    @cached_property
    def read_labels(self) -> tuple[str, ...]:
        """How the tokens that the decoder read are shown."""
        return labels(self.model, "target", self.read)

    @property
    def text(self) -> str:
        """The target as text, without special tokens."""
        ends = {self.model.cfg.start_token, self.model.cfg.end_token}
        plain = [token for token in self.written.tolist() if token not in ends]
        tokenizer = self.model.target_tokenizer
        return " ".join(map(str, plain)) if tokenizer is None else tokenizer.to_string(plain)


def labels(model: Seq2SeqTransformer, side: Side, tokens: Sequence[int]) -> tuple[str, ...]:
    """How tokens of the source or the target are shown; ids where the model came without that tokenizer."""
    tokenizer = model.source_tokenizer if side == "source" else model.target_tokenizer
    return tuple(map(str, tokens) if tokenizer is None else tokenizer.labels(tokens))


def of(chosen: Selection) -> Translation:
    """The translation that a selection asks for.

    Raises:
        HeadlightError: the model, the source or the target does not allow it; the message says what would.
    """
    example = prompts.first_source(chosen.translator)
    name = chosen.translator or example.model
    source = example.source if chosen.source is None else chosen.source
    _check(source, chosen.beams)
    model = models.open_seq2seq(name)
    runs.forget_closed()
    key = (name, source, chosen.beams)
    if chosen.translation is not None:
        return runs.remembered(
            ("given", *key, chosen.translation), lambda: _given(model, source, chosen.translation or "")
        )
    search = runs.remembered(("beams", *key), lambda: _search(model, source, chosen.beams))
    leaf = search.best[0].leaf if chosen.branch is None or chosen.branch >= len(search.tree) else chosen.branch
    return runs.remembered(("translation", *key, leaf), lambda: _branch(model, source, search, leaf))


def same_vocabularies(a: Translation, b: Translation) -> bool:
    """Whether every token id stands for the same text in both models, in the source and in the target."""
    one, other = a.model, b.model
    return one is other or (
        _same(one.source_tokenizer, other.source_tokenizer, one.cfg.d_vocab, other.cfg.d_vocab)
        and _same(one.target_tokenizer, other.target_tokenizer, one.cfg.decoder.d_vocab, other.cfg.decoder.d_vocab)
    )


def _same(one: Tokenizer | None, other: Tokenizer | None, d_vocab_one: int, d_vocab_other: int) -> bool:
    return d_vocab_one == d_vocab_other if one is None or other is None else one.same_vocabulary(other)


def _check(source: str, beams: int) -> None:
    prompts.check_text(source, "source")
    if not 1 <= beams <= MOST_BEAMS:
        raise ConfigError(f"{beams} beams were asked for; it can be 1, which is greedy, to {MOST_BEAMS}.")


def _search(model: Seq2SeqTransformer, source: str, beams: int) -> BeamSearch:
    tokens = model.to_source_tokens(source)
    with runs.turn():
        most = min(MOST_STEPS, model.cfg.n_ctx - 1)
        return beam_search(model, tokens, n_beams=beams, n_best=beams, max_new_tokens=most)[0]


def _branch(model: Seq2SeqTransformer, source: str, search: BeamSearch, leaf: int | None) -> Translation:
    return _read(model, source, list(search.path(leaf)), search, leaf)


def _given(model: Seq2SeqTransformer, source: str, target: str) -> Translation:
    if target.isspace():
        raise InputError(
            "The target is nothing but spaces. Write a target, or leave it empty and the model writes one."
        )
    return _read(model, source, [*model.to_target_tokens(target)[0, 1:].tolist(), model.cfg.end_token], None, None)


def _read(
    model: Seq2SeqTransformer, text: str, written: list[int], search: BeamSearch | None, leaf: int | None
) -> Translation:
    """One forward pass over the source and a target."""
    source = model.to_source_tokens(text)
    fed = torch.tensor([[model.cfg.start_token, *written[:-1]]])
    with runs.turn(), torch.inference_mode():
        logits, cache = model.run_with_cache(source, fed)
        log_probs = logits[0].log_softmax(-1).gather(-1, torch.tensor(written)[:, None])[:, 0]
        found = {attends: _attention(model, cache, place) for attends, place in PLACES.items()}
    return Translation(model, text, source[0], torch.tensor(written), log_probs, found, search, leaf)


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

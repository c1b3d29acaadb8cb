"""Decoder attention of `translate`, compared with the source of each English word by the grammar."""

from collections.abc import Sequence

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from headlight.model.base.errors import InputError
from headlight.model.nn.seq2seq import Seq2SeqTransformer
from headlight.model.training.pairs import PairBatch, in_parts, pad_pairs
from headlight.model.training.parallel_text import encode
from headlight.recipes.translation.words import MARKS, Pair, tokens

AT_ONCE = 250


def to_batch(model: Seq2SeqTransformer, pairs: Sequence[Pair]) -> PairBatch:
    """The token ids of sentences and their translations.

    Raises:
        InputError: the model came without its tokenizers.
    """
    source, target = model.source_tokenizer, model.target_tokenizer
    if source is None or target is None:
        raise InputError("The model came without tokenizers, and sentences need them.")
    return pad_pairs(encode([(pair.german, pair.english) for pair in pairs], source, target, model.cfg.n_ctx))


@torch.inference_mode()
def aligned(model: Seq2SeqTransformer, pairs: Sequence[Pair]) -> Float[Tensor, "layer head"]:
    """Share of English words whose strongest source is a German word that they come from, for every decoder head.

    The last column is the mean of a layer's heads. The attention is that from the token before the word, where it is
    foretold; the right translation is fed in. Marks are not counted.
    """
    return torch.cat([_hits(model, part) for part in in_parts(pairs, AT_ONCE)]).float().mean(0)


def _hits(model: Seq2SeqTransformer, pairs: Sequence[Pair]) -> Bool[Tensor, "word layer head"]:
    batch = to_batch(model, pairs)
    names = [f"decoder.blocks.{layer}.cross_attn.hook_pattern" for layer in range(model.cfg.n_decoder_layers)]
    _, cache = model.run_with_cache(batch.source, batch.target, names, batch.source_mask, batch.target_mask)
    patterns = torch.stack([cache[name] for name in names], 1)
    strongest = torch.cat([patterns, patterns.mean(2, keepdim=True)], 2).argmax(-1)
    return torch.stack(
        [
            torch.tensor([[at in links for at in row] for row in strongest[index, :, :, word].tolist()])
            for index, pair in enumerate(pairs)
            for word, links in _words(pair)
        ]
    )


def same_place(pairs: Sequence[Pair]) -> float:
    """Share of English words that stand in the place of a German word that they come from: without reordering, all."""
    places = [place in links for pair in pairs for place, links in _words(pair)]
    return sum(places) / len(places)


def _words(pair: Pair) -> list[tuple[int, frozenset[int]]]:
    """The places of the English words, marks left out, and for each those of the German words that it comes from."""
    read = enumerate(zip(tokens(pair.english), pair.links, strict=True))
    return [(place, links) for place, (text, links) in read if text not in MARKS]

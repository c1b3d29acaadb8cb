"""The lens of a run against the distribution that the model itself gives."""

from pathlib import Path

import pytest
import tokenizers
import torch

from headlight.model import Transformer, TransformerConfig, load
from headlight.model.base.source import Source
from headlight.model.lens.run_lens import followed_probabilities, followed_ranks, logit_lens
from headlight.model.runs.run import run_prompt
from headlight.model.text.tokenizer import Tokenizer
from tests.tiny import save_tiny


@pytest.mark.parametrize("kind", ["llama-like", "gemma2-like"])
def test_after_the_last_layer_it_says_what_the_model_says(kind: str, tmp_path: Path) -> None:
    save_tiny(kind, tmp_path)
    run = run_prompt(load(tmp_path), "The cat sat on the mat")
    with torch.no_grad():
        probabilities = run.model(run.tokens[None])[0].softmax(-1)
    best, token = probabilities.topk(10), int(probabilities[-1].argmax())
    read = logit_lens(run)
    # Float32 sums of 20 products in another order.
    torch.testing.assert_close(read.top_probs.values[-1], best.values, rtol=1e-4, atol=1e-6)
    followed = followed_probabilities(run, token).values[-1]
    torch.testing.assert_close(followed, probabilities[:, token], rtol=1e-4, atol=1e-6)
    assert followed_ranks(run, token).values[-1, -1] == 1


@pytest.mark.parametrize("words", ["a", "abc"])
def test_a_vocabulary_of_fewer_words_than_are_listed_is_listed_whole(words: str) -> None:
    sizes = {"n_layers": 2, "d_model": 8, "n_ctx": 8, "n_heads": 2, "d_head": 4, "d_vocab": len(words)}
    torch.manual_seed(0)
    model = Transformer(TransformerConfig(**sizes)).requires_grad_(False)
    backend = tokenizers.Tokenizer(tokenizers.models.WordLevel({word: token for token, word in enumerate(words)}, "a"))
    backend.pre_tokenizer = tokenizers.pre_tokenizers.WhitespaceSplit()
    model.tokenizer, model.source = Tokenizer(backend), Source("small", Path(), "", ())
    run = run_prompt(model, " ".join(words * 2), prepend_bos=False)
    read = logit_lens(run)
    expected = model(run.tokens[None])[0].softmax(-1).sort(-1, descending=True).values
    # Float32 sums of 8 products in another order.
    torch.testing.assert_close(read.top_probs.values[-1], expected, rtol=1e-5, atol=1e-6)

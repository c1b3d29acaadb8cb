"""The folders of the models that were written by hand, with what each of their heads does in `heads.json`.

They are written again by `python -m headlight.recipes.teaching`.
Both read the same words, so that they can be compared.
"""

import json

import tokenizers
from tokenizers import decoders, models, normalizers, pre_tokenizers

from headlight.model.base.files import write_text
from headlight.model.checkpoints.families.headlight import save_transformer
from headlight.model.checkpoints.loading import EMBEDDED
from headlight.model.nn.transformer import Transformer
from headlight.model.text.tokenizer import END_OF_TEXT, Tokenizer
from headlight.recipes.teaching_weights import BOS, HEADS, copy_circuit, induction_circuit

MARK, ASK = "!", "?"
MARKS = ["!", "?", ".", ",", "(", ")"]
WORDS = (
    "a and apples brown drink found fox gave john key mary near one quick ring river shop small the three to two went "
    "when"
)
N_CTX = 40


def teaching_models() -> dict[str, Transformer]:
    """The models by name, each with its tokenizer."""
    tokenizer, d_vocab = word_tokenizer(), 1 + len(MARKS) + len(WORDS.split())
    mark, ask = (tokenizer.to_single_token(token) for token in (MARK, ASK))
    made = {
        "teach-induction": induction_circuit(d_vocab, N_CTX),
        "teach-copy": copy_circuit(mark, ask, d_vocab, N_CTX),
    }
    for model in made.values():
        model.tokenizer = tokenizer
    return made


def word_tokenizer() -> Tokenizer:
    """One token a word or mark, capitals or not; any other word is refused."""
    ids = {word: token for token, word in enumerate([END_OF_TEXT, *MARKS, *WORDS.split()])}
    assert ids[END_OF_TEXT] == BOS
    backend = tokenizers.Tokenizer(models.WordLevel(ids))
    backend.normalizer = normalizers.Lowercase()
    backend.pre_tokenizer = pre_tokenizers.BertPreTokenizer()  # spaces part words, and every mark stands alone
    backend.decoder = decoders.Replace(tokenizers.Regex("^"), " ")  # so that each token begins a word
    return Tokenizer(backend, [END_OF_TEXT], {"bos_token": END_OF_TEXT})


if __name__ == "__main__":
    for name, model in teaching_models().items():
        save_transformer(model, EMBEDDED / name)
        rows = [[*head, does] for head, does in HEADS[name].items()]
        lines = ",\n".join(map(json.dumps, rows))
        write_text(EMBEDDED / name / "heads.json", f"[\n{lines}\n]\n")

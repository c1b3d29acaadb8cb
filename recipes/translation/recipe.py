"""The embedded model `translate`: its sentences, its words, its shape and how it is trained."""

from collections.abc import Iterable

from tokenizers import Regex, decoders, pre_tokenizers

from headlight.model.nn.seq2seq_config import Seq2SeqConfig
from headlight.model.text.tokenizer import Tokenizer
from headlight.model.training.loop import Settings
from headlight.model.training.pairs import END_TOKEN, START_TOKEN
from headlight.model.training.parallel_text import SPECIAL, Corpus, word_tokenizer
from headlight.model.training.schedules import Cosine
from headlight.recipes.translation.sentences import different_sentences
from headlight.recipes.translation.words import tokens

N_TRAIN, N_HELD_OUT = 160_000, 512
BATCH_SIZE = 64
STEPS = 8_000
SETTINGS = Settings(steps=STEPS, schedule=Cosine(peak=2e-3, warmup=300, steps=STEPS), measure_every=200)


def corpus(seed: int) -> Corpus:
    """Training data, and the data measured for the log."""
    drawn = different_sentences(seed, {"train": N_TRAIN, "held_out": N_HELD_OUT})
    texts = {split: [(pair.german, pair.english) for pair in pairs] for split, pairs in drawn.items()}
    return Corpus(texts["train"], texts["held_out"])


def sentence_tokenizer(texts: Iterable[str]) -> Tokenizer:
    """One token for each word and mark of the texts as it is written: "Der" and "der" are two."""
    words = sorted({word for text in texts for word in tokens(text)})
    no_space_before_marks = decoders.Replace(Regex(" (?=[.,?])"), "")
    spaced = decoders.WordPiece(prefix="##", cleanup=False)  # no word has that prefix: all are set apart
    joining = decoders.Sequence([spaced, decoders.Fuse(), no_space_before_marks])
    return word_tokenizer(words, pre_tokenizers.Whitespace(), joining)


def config(source: Tokenizer, target: Tokenizer) -> Seq2SeqConfig:
    """The model's shape, for these vocabularies."""
    return Seq2SeqConfig(
        n_encoder_layers=2,
        n_decoder_layers=2,
        d_model=64,
        n_heads=4,
        d_head=16,
        n_ctx=40,
        d_vocab=source.n_words + len(SPECIAL),
        d_vocab_out=target.n_words + len(SPECIAL),
        start_token=START_TOKEN,
        end_token=END_TOKEN,
        source_end_token=END_TOKEN,
        positions="sinusoidal",
        shared_embeddings="target",
    )

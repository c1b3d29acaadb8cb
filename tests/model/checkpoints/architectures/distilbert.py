"""DistilBERT."""

from transformers import AutoModelForMaskedLM, DistilBertConfig

SIZES = {"vocab_size": 23, "dim": 20, "hidden_dim": 31, "n_layers": 3, "n_heads": 5, "max_position_embeddings": 32}
MODEL = AutoModelForMaskedLM

CONFIGS = {
    "tied": DistilBertConfig(**SIZES),
    "untied, relu": DistilBertConfig(**SIZES, tie_word_embeddings=False, activation="relu"),
    "sinusoidal": DistilBertConfig(**SIZES | {"n_heads": 2}, sinusoidal_pos_embds=True),
}

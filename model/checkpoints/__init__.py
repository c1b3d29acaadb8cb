"""Opening models: files of weights, adapters and tokenizers of every kind, and what may be wrong with them."""

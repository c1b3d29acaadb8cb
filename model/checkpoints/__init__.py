"""Opening models: files of weights, adapters and tokenizers of every kind, and checks of them."""

"""Training of the models in `assets/`: data, tokenizer, loop and recipes."""

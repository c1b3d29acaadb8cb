"""The tokenizer, and visible labels of tokens."""

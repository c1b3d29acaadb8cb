"""The tokenizer, and how tokens are shown."""

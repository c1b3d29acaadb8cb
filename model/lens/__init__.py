"""Lenses: what each layer's state says of the next token, read as it is, or carried to the end by a map made for it."""

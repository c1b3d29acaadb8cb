"""Training of sparse dictionaries of a model's activations, and measures of their reconstruction error."""

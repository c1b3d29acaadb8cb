"""Training sparse dictionaries of a model's activations, and measuring what they leave out."""

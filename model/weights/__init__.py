"""QK and OV circuits from the weights alone: their outermost pairs, singular vectors, and composition."""

"""Attention between tokens, words or sentences, the inside of one head, and the residual stream."""

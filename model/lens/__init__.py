"""Lenses: each layer's state decoded to next-token logits, directly or after a fitted map to the last layer."""

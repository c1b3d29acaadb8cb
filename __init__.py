"""Headlight: what every attention head of a transformer does with a prompt."""

"""Headlight: what every attention head of a transformer does with a prompt."""

__version__ = "0.1.0"

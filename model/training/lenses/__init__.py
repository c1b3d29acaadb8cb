"""Fitting lenses: their training text, the tuned lens and the Jacobian lens, and the card of their results."""

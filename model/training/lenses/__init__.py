"""Fitting lenses: the text they are fitted on, the tuned lens and the Jacobian lens, and the card of what they give."""

"""Neurons of a run and of a model: activations, effects on a prediction, and analyses of their weights."""

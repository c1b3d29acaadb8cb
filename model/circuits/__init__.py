"""Automatic circuit discovery: score every edge between parts of a model, keep the largest, measure the result."""

from headlight.model.circuits.finding import Circuit, find_circuit, measure_circuit
from headlight.model.circuits.scoring import edge_scores
from headlight.model.circuits.wiring import Receiver, Sender, wiring

__all__ = ["Circuit", "Receiver", "Sender", "edge_scores", "find_circuit", "measure_circuit", "wiring"]

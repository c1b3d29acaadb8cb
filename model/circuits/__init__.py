"""Automatic circuit discovery: score every edge between parts of a model, keep the largest, measure the result."""

from headlight.model.circuits.finding import Circuit, measure_circuit
from headlight.model.circuits.scoring import score
from headlight.model.circuits.selection import above_share, select_edges
from headlight.model.circuits.set_scores import EdgeScores, edge_scores, split_rows
from headlight.model.circuits.wiring import Receiver, Sender, wiring

__all__ = [
    "Circuit",
    "EdgeScores",
    "Receiver",
    "Sender",
    "above_share",
    "edge_scores",
    "measure_circuit",
    "score",
    "select_edges",
    "split_rows",
    "wiring",
]

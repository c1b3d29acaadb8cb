"""Attribution graphs: the paths to a prediction through tokens, heads' writes, and neurons or features."""

from headlight.model.graph.building import Aim, graph_of
from headlight.model.graph.graph import Graph, Node, Target

__all__ = ["Aim", "Graph", "Node", "Target", "graph_of"]

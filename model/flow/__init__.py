"""Information flow: the graph of nodes and edges from which a token's last state was computed."""

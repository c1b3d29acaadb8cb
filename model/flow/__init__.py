"""Information flow: the graph of the nodes and edges that a token's last state was made of."""

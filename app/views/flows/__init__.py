"""The flow page's parts: what is chosen, the graphs, the tables, and what is told of a node or an edge."""

"""Common parts of several pages: the grid of heads, panels, options, labels, tables, the sides of A | B."""

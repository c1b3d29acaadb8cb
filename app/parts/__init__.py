"""What several pages are made of: the grid of heads, panels, options, labels, tables, the sides of A | B."""

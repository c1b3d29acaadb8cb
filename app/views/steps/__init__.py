"""One head at one query, for the page *Inside one head*: what is chosen, its equations, its numbers in words."""

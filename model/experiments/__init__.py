"""Measure a model over a set of prompts: a value for every row of the set, and intervals over the rows."""

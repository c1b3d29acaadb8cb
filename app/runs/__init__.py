"""Runs of all sessions, open models, limits, jobs, and comparisons of A and B."""

"""A run, the runs of all sessions, the models that are open, limits, jobs, and what A and B have in common."""

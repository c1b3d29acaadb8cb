"""Shared basics: errors, checks of settings, files, memory, and where weights came from."""

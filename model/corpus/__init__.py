"""Scan a corpus for the behaviour of every head, and read and write the results."""

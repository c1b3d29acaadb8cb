"""Scan a corpus for what every head does, and read and write the results."""

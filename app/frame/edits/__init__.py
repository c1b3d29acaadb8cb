"""Edits of run A: the list with its switches, the form for another one, and their effect."""

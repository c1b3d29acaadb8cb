"""Directions in the residual stream: found in labelled prompts, held out, acted with, kept in files."""

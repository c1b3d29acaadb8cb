"""Folders whose matrices are quantised: one file for each way in which that is done."""

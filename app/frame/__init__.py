"""The frame around every page: prompt bar, notices, about, trust, edits, tour, prompt list, the box of files."""

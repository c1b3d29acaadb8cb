"""What pages have a model compute: caching, limits, and the progress of long work."""

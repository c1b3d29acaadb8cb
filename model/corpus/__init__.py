"""What every head does over a whole corpus: the scan that finds it out, and the tree of files that tells it."""

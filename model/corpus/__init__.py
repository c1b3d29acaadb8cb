"""What every head does over a corpus: the scan that measures it, and the files of its results."""

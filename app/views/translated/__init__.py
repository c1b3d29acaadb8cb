"""What encoder-decoders wrote, where their heads looked while writing, and the trees of beams it was found in."""

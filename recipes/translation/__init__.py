"""German and English sentences of one grammar, each pair generated together: the data of the embedded `translate`."""

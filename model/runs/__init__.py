"""Forward passes with their cached activations, comparisons of two, and edits."""

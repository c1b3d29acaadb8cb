"""One forward pass and what is kept of it, two of them side by side, and edits of them."""

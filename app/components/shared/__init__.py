"""What all canvas components have in common: coding, packing, mounting, and the JavaScript under them."""

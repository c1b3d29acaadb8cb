"""Common parts of all canvas components: coding, packing, mounting, and the JavaScript under them."""

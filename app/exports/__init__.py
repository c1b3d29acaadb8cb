"""What can be taken away from a page."""

"""Headlight's library: a transformer whose every activation can be read, edited and explained."""

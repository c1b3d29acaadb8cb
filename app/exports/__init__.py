"""Exports of a page: code, data, pictures and html."""

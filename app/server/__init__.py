"""Streamlit's start, settings, memory, and the error boundary."""

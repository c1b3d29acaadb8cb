"""Headlight's page in the browser: `python -m streamlit run app/main.py`."""

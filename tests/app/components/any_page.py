"""The page of components that the address names, so that one server shows them all."""

from pathlib import Path
from runpy import run_path

import streamlit as st

run_path(str(Path(__file__).parent / st.query_params["of"]), run_name="__main__")
